"""Rounding of PyTorch's and JAX's functions, measured in float32, and verdicts where it hides the derivative."""

import numpy as np
import pytest

from gradcli.check.declare import check_gradient
from gradcli.claims.adapters.framework import framework_call

UNIT = 2.0**-53


@pytest.fixture(params=["torch", "jax"])
def engine(request):
    pytest.importorskip(request.param)
    return request.param


def lifted(engine, f, name="f"):
    """Return f as a function of an engine, which recognises its arrays only."""
    return framework_call(engine, f, {"x": np.array([1.3, 0.7])}, name)


@pytest.mark.parametrize("large", [1e2, 1e3, 1e4])
def test_rounding_is_that_of_float32_less_its_ratio(engine, large):
    call = lifted(engine, lambda x: (x + large) - large)
    values = np.array([call.value(call.at)] * 8)
    before = call.budget.made
    off = call.rounding([call.at] * 8, values)
    assert off.shape == (8, 2) and call.budget.made >= before + 16
    assert UNIT * large / 8 < off.max() < 2 * UNIT * large


def test_what_float32_loses_altogether_tells_nothing(engine):
    call = lifted(engine, lambda x: (x + 1e9) - 1e9)
    assert call.rounding([call.at] * 8, np.array([call.value(call.at)] * 8)) is None


def function_of_torch(factor):
    torch = pytest.importorskip("torch")

    class Log(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.log(1 - torch.sigmoid(x))

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return -factor * g * torch.sigmoid(x)

    return Log.apply


@pytest.mark.parametrize("x", [10.0, 20.0, 25.0, 30.0, 34.0])
def test_a_staircase_of_rounding_passes_no_wrong_rule_and_fails_no_right_one(x):
    found = {c: check_gradient(function_of_torch(c), at={"x": np.array(x)}).verdict for c in (1.0, 0.5, 0.0)}
    assert found[1.0] != "fail" and "pass" not in (found[0.5], found[0.0])
    if x <= 25:  # three digits are left
        assert found == {1.0: "pass", 0.5: "fail", 0.0: "fail"}
