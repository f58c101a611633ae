"""Arithmetic of mixed types."""

import pytest

import gradcli
from gradcli import float32, float64, int64, tensor


@pytest.fixture
def single():
    """Make float32 the default type."""
    gradcli.set_default_dtype(float32)
    yield
    gradcli.set_default_dtype(float64)


CHOICES = [  # two choices, and the type that PyTorch gives their mixture
    (tensor([1.0, 2.0], dtype=float32), tensor([3.0, 4.0], dtype=float64), float64),
    (tensor([1.0, 2.0], dtype=float32), tensor(3.0, dtype=float64), float32),  # a 0-d tensor is weaker
    (tensor([1.0, 2.0], dtype=float32), 3.0, float32),
    (tensor([1, 2]), tensor([3.0, 4.0], dtype=float32), float32),
    (tensor([1, 2]), 3.0, float32),
    (tensor([1, 2]), 3, int64),
]


@pytest.mark.parametrize(("x", "y", "dtype"), CHOICES, ids=range(len(CHOICES)))
def test_where_mixes_both_choices(single, x, y, dtype):
    chosen = tensor([True, False])
    for pair in ((x, y), (y, x)):
        assert gradcli.where(chosen, *pair).dtype == dtype
