"""Names that are looked up when they are first used, and what help() shows of entries of the table."""

import inspect

import pytest

import gradcli as gc
from gradcli import fft, linalg, nn, optim, special
from gradcli.nn import functional as F
from gradcli.optim import lr_scheduler


def test_the_entrys_own_arguments():
    assert str(inspect.signature(gc.rot90)) == "(x, k=1, axes=(0, 1))"
    assert gc.rot90.__name__ == "rot90"
    assert fft.fftshift.__name__ == "fftshift"


@pytest.mark.parametrize("owner", [gc, linalg, special], ids=lambda m: m.__name__)
def test_every_name_resolves(owner):
    assert not [name for name in dir(owner) if not name.startswith("_") and not hasattr(owner, name)]
    assert all(hasattr(owner, name) for name in owner.__all__)


@pytest.mark.parametrize(
    ("owner", "name", "nearest"),
    [
        (gc, "sinn", "sin"),
        (linalg, "eigen", "eig"),
        (special, "erfcxx", "erfcx"),
        (F, "convd2", "conv2d"),
        (optim, "Adm", "Adam"),
        (lr_scheduler, "SteplR", "StepLR"),
    ],
)
def test_an_unknown_name_names_the_nearest(owner, name, nearest):
    with pytest.raises(AttributeError, match=rf"no .*{name}; nearest: .*{nearest}"):
        getattr(owner, name)


@pytest.mark.parametrize(
    ("owner", "name"), [(gc, "Generator"), (nn, "Transformer"), (F, "ctc_loss"), (gc.ones(1), "pin"), (optim, "LBFGS")]
)
def test_what_belongs_to_pytorch_alone_is_refused_with_a_way_out(owner, name):
    with pytest.raises(AttributeError, match=rf"no .*{name}.*'gradcli gradcheck FILE.py:f' checks code that runs"):
        getattr(owner, name)
