"""The resolution that a pass states: an error just above it does not pass."""

import numpy as np
import pytest

from gradcli import check_gradient

from ..bank.hunt import Function

JUST_ABOVE = 1.5  # times the resolution, which also has the error of the numeric derivative


def verdict_just_above(seed):
    """Return the verdict on a random function's gradient with such an error in its largest element; None if open."""
    function = Function(np.random.default_rng([33, seed]))
    with np.errstate(all="ignore"):
        right = check_gradient(function.value, function.gradient, at={"x": function.x}, strict=True)
        assert right.verdict != "fail", function
        if right.verdict != "pass" or right.inputs[0].resolution is None:
            return None
        gradient = np.asarray(function.gradient(function.x))
        off = np.ones_like(gradient)
        off.flat[np.argmax(np.abs(gradient))] += JUST_ABOVE * right.inputs[0].resolution
        return check_gradient(
            function.value, lambda x: function.gradient(x) * off, at={"x": function.x}, strict=True
        ).verdict


@pytest.mark.parametrize("seed", [*range(15), *(pytest.param(k, marks=pytest.mark.nightly) for k in range(15, 100))])
def test_an_error_just_above_the_resolution_does_not_pass(seed):
    assert verdict_just_above(seed) != "pass"


@pytest.mark.nightly
def test_nearly_all_errors_just_above_the_resolution_are_found():
    found = [verdict_just_above(seed) for seed in range(100)]
    assert found.count("fail") >= 85 and found.count(None) <= 5
