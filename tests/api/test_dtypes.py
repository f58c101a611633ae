"""Types of results, and special values."""

import numpy as np
import pytest

import gradcli as gc
from gradcli import tensor

inf, nan = float("inf"), float("nan")
SINGLE, HALF = {"dtype": gc.float32}, {"dtype": gc.float16}
SMALL, BYTE = {"dtype": gc.int32}, {"dtype": gc.uint8}


def test_a_default_type_decides_for_integers():
    gc.set_default_dtype(gc.float32)
    try:
        assert gc.add(2.5, tensor(2)).dtype == gc.float32
    finally:
        gc.set_default_dtype(gc.float64)


SPECIAL = {
    "prod_0d": (lambda x: x.prod(), inf, 1.0),
    "softmax": (lambda x: x.softmax(0)[0], [1.0, inf], [nan, nan]),
    "log_softmax": (lambda x: x.log_softmax(0)[0], [1.0, inf], [nan, nan]),
    "log_softmax_finite": (lambda x: x.log_softmax(0)[0], [1.0, -inf], [0.0, 0.0]),
    "logsumexp": (lambda x: x.logsumexp(0), [inf, 1.0], [nan, 0.0]),
    "sqrt": (lambda x: (x**0.5).sum(), [-0.0, 0.0, inf, -inf], [-inf, inf, 0.0, nan]),
    "sqrt_0d": (lambda x: x**0.5, -0.0, -inf),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("call", "at", "expected"), SPECIAL.values(), ids=SPECIAL)
def test_slopes_at_special_values(call, at, expected):
    x = tensor(at, requires_grad=True)
    call(x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_beside_infinity(name):
    assert np.isnan(getattr(tensor([1.0, inf]), name)(0).numpy()).all()
