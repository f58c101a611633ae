"""Names, documentation and complaints of gradcli.nn.functional."""

import inspect

import pytest

import gradcli
import gradcli.nn.functional as F
from gradcli import zeros
from gradcli.nn.functional import OUTSIDE_TOO


@pytest.mark.parametrize("name", F.__all__)
def test_every_name_is_a_documented_function(name):
    function = getattr(F, name)
    assert function.__name__ == name
    assert inspect.getdoc(function)


@pytest.mark.parametrize("name", sorted(OUTSIDE_TOO))
def test_names_of_the_top_level_are_the_same_functions(name):
    assert getattr(gradcli, name) is getattr(F, name)


def whole(*numbers):
    return gradcli.tensor(numbers)


X = zeros(2, 4, 5, 5)
ERRORS = {
    "channels": (RuntimeError, "expected input", lambda: F.conv2d(X, zeros(2, 3, 2, 2))),
    "axes": (RuntimeError, "Expected 3D", lambda: F.conv2d(zeros(4, 5), zeros(2, 4, 2, 2))),
    "kernel": (RuntimeError, "Kernel size can't be greater", lambda: F.conv2d(X, zeros(2, 4, 6, 2))),
    "stride": (RuntimeError, "non-positive stride", lambda: F.conv2d(X, zeros(2, 4, 2, 2), stride=0)),
    "same": (RuntimeError, "strided", lambda: F.conv2d(X, zeros(2, 4, 2, 2), stride=2, padding="same")),
    "count": (RuntimeError, "2 numbers", lambda: F.max_pool2d(X, (1, 2, 3))),
    "pad": (RuntimeError, "at most half", lambda: F.avg_pool2d(X, 2, padding=2)),
    "reflect": (RuntimeError, "less than", lambda: F.pad(zeros(1, 3), (3, 0), "reflect")),
    "mode": (NotImplementedError, "mode", lambda: F.pad(zeros(1, 3), (1, 0), "wrap")),
    "row": (IndexError, "out of range", lambda: F.embedding(whole(3), zeros(3, 2))),
    "classes": (RuntimeError, "num_classes", lambda: F.one_hot(whole(3), 2)),
    "layer": (RuntimeError, "normalized_shape", lambda: F.layer_norm(X, (4,))),
    "groups": (RuntimeError, "divisible", lambda: F.group_norm(X, 3)),
    "batch": (ValueError, "more than 1 value", lambda: F.batch_norm(zeros(1, 3), None, None, training=True)),
    "class": (IndexError, "out of bounds", lambda: F.cross_entropy(zeros(2, 3), whole(0, 3))),
    "target": (ValueError, "batch_size", lambda: F.nll_loss(zeros(2, 3), whole(0, 1, 2))),
    "smoothing": (RuntimeError, "label_smoothing", lambda: F.cross_entropy(zeros(1, 3), whole(0), label_smoothing=2)),
    "probability": (RuntimeError, "between 0 and 1", lambda: F.binary_cross_entropy(zeros(2) + 2, zeros(2))),
    "shape": (ValueError, "size", lambda: F.binary_cross_entropy(zeros(2), zeros(3))),
    "reduction": (ValueError, "not a valid value", lambda: F.mse_loss(zeros(2), zeros(2), reduction="max")),
    "delta": (RuntimeError, "non-positive", lambda: F.huber_loss(zeros(2), zeros(2), delta=0)),
    "dropout": (ValueError, "between 0 and 1", lambda: F.dropout(X, 2.0)),
    "gelu": (RuntimeError, "none or tanh", lambda: F.gelu(X, approximate="erf")),
    "linear": (RuntimeError, "multiplied", lambda: F.linear(zeros(2, 3), zeros(2, 4))),
}


@pytest.mark.parametrize(("kind", "words", "call"), ERRORS.values(), ids=ERRORS)
def test_wrong_arguments_are_named(kind, words, call):
    with pytest.raises(kind, match=words):
        call()


def test_empty_batches_give_empty_results():
    empty = zeros(0, 4, 5, 5)
    assert F.conv2d(empty, zeros(2, 4, 3, 3)).shape == (0, 2, 3, 3)
    assert F.max_pool2d(empty, 2).shape == F.avg_pool2d(empty, 2).shape == (0, 4, 2, 2)
