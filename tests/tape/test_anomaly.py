"""Anomaly mode: how it reports errors, and how it is switched on and off."""

import warnings

import numpy as np
import pytest

from gradcli.autograd import detect_anomaly, grad, set_detect_anomaly
from gradcli.tape.modes import state

from .build import function, leaf


@function(lambda ctx, grad: grad * float("nan"))
def broken(ctx, x):
    return x * 2


@function(lambda ctx, grad: broken.apply(grad))
def outer(ctx, x):
    return x * 2


def test_nan_is_reported_with_the_forward_lines():
    x, v = leaf(1.0), leaf(1.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with detect_anomaly():
            (first,) = grad(outer.apply(x), x, v, create_graph=True)
            with pytest.raises(RuntimeError, match="'brokenBackward' returned nan values in its 0th output"):
                first.sum().backward()
    texts = [str(w.message) for w in told]
    assert "has been enabled" in texts[0]
    assert "Error detected in brokenBackward" in texts[1]
    assert "broken.apply" in texts[1]
    assert len(texts) == 2


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_other_errors_are_reported_even_if_warnings_are_errors(capsys):
    x = leaf(1.0)
    with warnings.catch_warnings(), detect_anomaly():
        warnings.simplefilter("error")
        a = x + 1
        y = a**2
        a.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_nodes_recorded_before_anomaly_mode_have_no_line():
    y = broken.apply(leaf(1.0))
    silent = pytest.warns(UserWarning, match="No forward pass information")
    with silent, detect_anomaly(), pytest.raises(RuntimeError, match="returned nan"):
        y.backward()


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_switching_anomaly_mode():
    x = leaf(1.0)
    assert not state.anomaly
    with detect_anomaly(check_nan=False):
        assert state.anomaly
        broken.apply(x).backward()
    set_detect_anomaly(True)
    assert state.anomaly
    set_detect_anomaly(False)
    with set_detect_anomaly(True), pytest.raises(RuntimeError, match="returned nan"), pytest.warns(UserWarning):
        broken.apply(x).backward()
    assert not state.anomaly
    assert not hasattr(x.exp().grad_fn, "made_at")
    assert np.isnan(x.grad.item())
