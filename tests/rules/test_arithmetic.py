"""Arithmetic of integers and of mixed types."""

import numpy as np
import pytest

import gradcli
from gradcli import float32, float64, int64, tensor


@pytest.fixture
def single():
    """Make float32 the default type."""
    gradcli.set_default_dtype(float32)
    yield
    gradcli.set_default_dtype(float64)


CHOICES = [  # two operands, and the type of where(condition, x, y) in PyTorch
    (tensor([1.0, 2.0], dtype=float32), tensor([3.0, 4.0], dtype=float64), float64),
    (tensor([1.0, 2.0], dtype=float32), tensor(3.0, dtype=float64), float32),  # 0-d tensors do not widen
    (tensor([1.0, 2.0], dtype=float32), 3.0, float32),
    (tensor([1, 2]), tensor([3.0, 4.0], dtype=float32), float32),
    (tensor([1, 2]), 3.0, float32),
    (tensor([1, 2]), 3, int64),
]


@pytest.mark.parametrize(("x", "y", "dtype"), CHOICES, ids=range(len(CHOICES)))
def test_where_promotes_its_operands(single, x, y, dtype):
    chosen = tensor([True, False])
    for pair in ((x, y), (y, x)):
        assert gradcli.where(chosen, *pair).dtype == dtype


@pytest.mark.parametrize("dtype", [int64, float64])
def test_quotients_are_rounded_towards_zero(dtype):
    x, y = np.arange(-7, 8)[:, None], np.array([-3, -2, -1, 1, 2, 3])
    quotients = gradcli.div(tensor(x, dtype=dtype), tensor(y, dtype=dtype), rounding_mode="trunc")
    assert quotients.dtype == dtype
    np.testing.assert_array_equal(quotients.numpy(), np.sign(x) * np.sign(y) * (abs(x) // abs(y)))
