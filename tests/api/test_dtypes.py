"""Types of results, and special values."""

import numpy as np
import pytest

import gradcli as gc
from gradcli import tensor

inf, nan = float("inf"), float("nan")
SINGLE, HALF = {"dtype": gc.float32}, {"dtype": gc.float16}
SMALL, BYTE = {"dtype": gc.int32}, {"dtype": gc.uint8}


TYPES = {
    "add": (lambda: gc.add(2.5, tensor(2.0, **SINGLE)), "float32"),
    "sub": (lambda: gc.sub(2.5, tensor([2.0], **SINGLE)), "float32"),
    "true_divide": (lambda: gc.true_divide(2.5, tensor(2.0, **SINGLE)), "float32"),
    "floor_div": (lambda: gc.div(5, tensor(2.0, **SINGLE), rounding_mode="floor"), "float32"),
    "pow": (lambda: gc.pow(2, tensor(2.0, **SINGLE)), "float32"),
    "add_int": (lambda: gc.add(2, tensor(2, **SMALL)), "int32"),
    "add_default": (lambda: gc.add(2.5, tensor(2)), "float64"),
    "and": (lambda: tensor(2) & tensor([1, 2], **SMALL), "int32"),
    "or": (lambda: tensor(2) | tensor([1, 2], **BYTE), "uint8"),
    "xor": (lambda: tensor([1, 2], **SMALL) ^ tensor(2), "int32"),
    "xor_bool": (lambda: tensor([True]) ^ tensor([1]), "int64"),
    "shift": (lambda: tensor([1, 2], **SMALL) << 2, "int32"),
    "shift_0d": (lambda: tensor([1, 2], **SMALL) >> tensor(1), "int32"),
    "pow_bool": (lambda: tensor(True) ** True, "bool"),
    "square_bool": (lambda: tensor([True]).square(), "int64"),
    "sign_bool": (lambda: tensor([True]).sign(), "bool"),
    "erf": (lambda: tensor([1.0], **HALF).erf(), "float16"),
    "lgamma": (lambda: tensor([1.0], **HALF).lgamma(), "float16"),
    "digamma": (lambda: tensor([1.0], **HALF).digamma(), "float16"),
    "erf_int": (lambda: tensor([1]).erf(), "float64"),
    "exp_bool": (lambda: gc.exp(tensor([True])), "float64"),
    "sqrt_byte": (lambda: gc.sqrt(tensor([4], **BYTE)), "float64"),
    "reciprocal_int": (lambda: gc.reciprocal(tensor([4])), "float64"),
    "sigmoid_bool": (lambda: gc.sigmoid(tensor([True])), "float64"),
    "ndtri_byte": (lambda: gc.special.ndtri(tensor([1], **BYTE)), "float64"),
    "round_int": (lambda: gc.round(tensor([4])), "int64"),
    "div_int": (lambda: gc.div(tensor([4]), 3, rounding_mode="trunc"), "int64"),
    "sum_byte": (lambda: gc.sum(tensor([4], **BYTE)), "int64"),
    "cumprod_bool": (lambda: gc.cumprod(tensor([True]), 0), "int64"),
    "xlogy_single": (lambda: gc.xlogy(tensor([4.0], **SINGLE), 2.0), "float32"),
    "logsumexp_int": (lambda: gc.logsumexp(tensor([4]), 0), "float64"),
    "byte": (lambda: tensor([1.5]).byte(), "uint8"),
}


@pytest.mark.parametrize(("call", "expected"), TYPES.values(), ids=TYPES)
def test_types(call, expected):
    assert call().dtype.name == expected


def test_a_default_type_decides_for_integers():
    gc.set_default_dtype(gc.float32)
    try:
        assert gc.add(2.5, tensor(2)).dtype == gc.float32
    finally:
        gc.set_default_dtype(gc.float64)


def test_values():
    assert (4 >> tensor([1, 2])).tolist() == [2, 1]
    assert (tensor([1, 2]) << 2).tolist() == [4, 8]
    assert (tensor(0.1) == tensor([0.1], **SINGLE)).item()


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
