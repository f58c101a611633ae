"""The checks of the table must catch wrong rules: the gradient check must fail for each rule that is perturbed."""

import numpy as np
import pytest

from gradcli.rules import shapes
from gradcli.tape import record
from gradcli.tape import send as vjps

from . import test_table as net
from .calls import calls

SKIP = {"floor", "ceil", "round", "trunc", "sign", "sgn", "floor_divide", "trunc_divide", "angle"}
"""Entries whose gradient (on real numbers) is zero, so scaling it changes nothing."""

FIRST_CALLS = {}
for _call in calls("elementwise", "linear", "general"):
    if _call.entry.name not in SKIP and all(x.size for x in _call.arrays):
        FIRST_CALLS.setdefault(_call.entry.name, _call)


BROADCASTING = [c for c in calls("elementwise") if len({x.shape for x in c.arrays}) > 1]


def differs(call) -> bool:
    """Return whether the gradient of a call is wrong or cannot be computed."""
    try:
        net.test_gradients_match_differences.check(call)
    except Exception:
        return True
    return False


def scaled_rule(rule, factor):
    """Return a rule whose result is multiplied by a factor."""
    return rule * factor if not callable(rule) else lambda *args, **params: _times(rule(*args, **params), factor)


def _times(x, factor):
    return x if x is None else x * factor


FACTOR = 1.001
"""A check that detects such a small change of a rule detects a wrong sign, too."""


@pytest.mark.parametrize("name", FIRST_CALLS)
def test_a_scaled_rule_is_caught(name, monkeypatch):
    call = FIRST_CALLS[name]
    assert not differs(call)
    monkeypatch.setattr(call.entry, "pair", None)
    for i in range(len(call.entry.rules)):
        rules = list(call.entry.rules)
        rules[i] = scaled_rule(rules[i], FACTOR)
        if rules[i] == call.entry.rules[i] == 0 or (name == "where" and i == 0):
            continue
        monkeypatch.setattr(call.entry, "rules", tuple(rules))
        assert differs(call), f"rule {i} of {name}"


@pytest.mark.parametrize("name", [name for name, call in FIRST_CALLS.items() if call.entry.pair])
@pytest.mark.parametrize("place", [0, 1])
def test_a_scaled_pair_is_caught(name, place, monkeypatch):
    entry = FIRST_CALLS[name].entry
    right = entry.pair
    factors = [FACTOR if i == place else 1.0 for i in range(2)]
    monkeypatch.setattr(entry, "pair", lambda *args: [_times(x, f) for x, f in zip(right(*args), factors, strict=True)])
    for call in calls("elementwise"):
        assert call.entry is not entry or not call.arrays[0].size or differs(call)


def test_skipping_fit_is_caught(monkeypatch):
    assert not any(differs(c) for c in BROADCASTING[:10])
    monkeypatch.setattr(vjps, "fit_to_shape", lambda g, shape, ndim: g)
    assert all(differs(c) for c in BROADCASTING if c.entry.name not in SKIP)


def test_a_wrong_fit_is_caught(monkeypatch):
    """Take the mean over broadcast axes instead of the sum."""

    def mean(g, shape, ndim):
        return shapes.fit_to_shape(g, shape, ndim) * (np.prod(shape) / max(np.prod(g.shape[-ndim:]), 1))

    monkeypatch.setattr(vjps, "fit_to_shape", mean)
    assert all(differs(c) for c in BROADCASTING if c.entry.name == "multiply")


def test_keeping_the_wrong_operand_is_caught(monkeypatch):
    real = record.saved_values
    monkeypatch.setattr(record, "saved_values", lambda p, n, o, r: real(p, n, o, r[::-1]))
    assert all(differs(c) for c in BROADCASTING if c.entry.name == "divide")
