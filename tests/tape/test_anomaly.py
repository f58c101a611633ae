"""Anomaly mode: what it says of errors, and how it is switched."""

import warnings

import numpy as np
import pytest

import gradcli as g
from gradcli.autograd import Function, detect_anomaly, grad, set_detect_anomaly


def leaf(*numbers):
    return g.tensor(numbers, dtype=g.double, requires_grad=True)


class Broken(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * float("nan")


class Outer(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return Broken.apply(grad)


def test_nan_is_told_with_the_lines_that_led_to_it():
    x = leaf(1.0)
    v = leaf(1.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with detect_anomaly():
            (first,) = grad(Outer.apply(x), x, v, create_graph=True)
            with pytest.raises(RuntimeError, match="'BrokenBackward' returned nan values in its 0th output"):
                first.sum().backward()
    texts = [str(w.message) for w in told]
    assert "has been enabled" in texts[0]
    assert "Error detected in BrokenBackward" in texts[1]
    assert "Broken.apply" in texts[1]
    assert "Previous calculation was induced by OuterBackward" in texts[2]
    assert "Outer.apply" in texts[2]


def test_other_errors_are_told_too_even_where_warnings_are_errors(capsys):
    x = leaf(1.0)
    with warnings.catch_warnings(), detect_anomaly():
        warnings.simplefilter("error")
        a = x + 1
        y = a**2
        a.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err


def test_nodes_made_before_have_no_line():
    x = leaf(1.0)
    y = Broken.apply(x)
    silent = pytest.warns(UserWarning, match="No forward pass information")
    with silent, detect_anomaly(), pytest.raises(RuntimeError, match="returned nan"):
        y.backward()


def test_switches():
    x = leaf(1.0)
    assert not g.is_anomaly_enabled()
    with detect_anomaly(check_nan=False):
        assert g.is_anomaly_enabled()
        assert not g.is_anomaly_check_nan_enabled()
        Broken.apply(x).backward()
    set_detect_anomaly(True)
    assert g.is_anomaly_enabled()
    set_detect_anomaly(False)
    with set_detect_anomaly(True), pytest.raises(RuntimeError, match="returned nan"), pytest.warns(UserWarning):
        Broken.apply(x).backward()
    assert not g.is_anomaly_enabled()
    assert not hasattr(x.exp().grad_fn, "made_at")
    assert np.isnan(x.grad.item())
