"""Names that are resolved on first use, and what help() shows for entries of the table."""

import inspect

import pytest

import gradcli as gc
from gradcli import fft, linalg, special


def test_functions_show_the_entrys_arguments():
    assert str(inspect.signature(gc.rot90)) == "(x, k=1, axes=(0, 1))"
    assert gc.rot90.__name__ == "rot90"
    assert fft.fftshift.__name__ == "fftshift"


@pytest.mark.parametrize("owner", [gc, linalg, special], ids=lambda m: m.__name__)
def test_every_name_resolves(owner):
    assert not [name for name in dir(owner) if not name.startswith("_") and not hasattr(owner, name)]
    assert all(hasattr(owner, name) for name in owner.__all__)


def test_methods_exist_before_their_first_use():
    assert callable(gc.Tensor.erfinv)
    assert hasattr(gc.Tensor, "logaddexp")
    assert not hasattr(gc.Tensor, "sinn")
    assert {"logaddexp2", "unsqueeze"} <= set(dir(gc.Tensor))
    assert [y.item() for y in map(gc.Tensor.sinc, [gc.tensor(0.0)])] == [1.0]
    assert gc.nn.Parameter.cosh.__doc__ == "Hyperbolic cosine."
