"""Anomaly mode: how it reports errors, and how it is switched on and off."""

import warnings

import numpy as np
import pytest

from gradcli.autograd import detect_anomaly, grad, set_detect_anomaly
from gradcli.tape.anomaly import AnomalyError, Observed, copy_value, nan_search, observation_of
from gradcli.tape.modes import state
from gradcli.tape.record import recording

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
    assert x.exp().grad_fn.origin is None
    assert np.isnan(x.grad.item())


def test_observed_nodes_keep_what_they_computed_and_where():
    x = leaf(2.0, 3.0)
    with recording(Observed(lambda: "a scope")):
        y = x * 5
    seen = observation_of(y.grad_fn)
    assert seen.primitive.name == "multiply" and seen.scope == "a scope"
    assert seen.operands[0].tolist() == [2, 3] and seen.result.tolist() == [10, 15]
    assert seen.made_at[0] == __file__
    assert observation_of((x * 5).grad_fn) is None


def test_kept_values_do_not_change_in_place():
    raw = np.ones(2)
    kept = copy_value((raw, 3.0))
    raw[0] = 7
    assert kept[0].tolist() == [1, 1] and kept[1] == 3.0


def test_a_nan_search_names_the_line_without_a_warning():
    with nan_search(), pytest.raises(AnomalyError, match="returned nan") as caught:
        broken.apply(leaf(1.0)).backward()
    assert caught.value.node.name() == "brokenBackward"
