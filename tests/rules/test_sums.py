"""Sums in PyTorch's order: the expected bits were printed by PyTorch 2.13, the values are checked against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.rules.sums import LANES, SHARED, order, total

SHAPES = [(1,), (5,), (11,), (16,), (37,), (2000,), (1, 7), (9, 40, 1), (7, 33), (70, 31), (50, 100), (3, 4, 50)]


@pytest.fixture
def as_in_pytorch():
    order.pytorch = True
    yield
    order.pytorch = False


def thirds(count: int) -> np.ndarray:
    """Numbers whose sums depend on their order."""
    return ((np.arange(count, dtype=np.float32) * np.float32(7919) % np.float32(1000)) / np.float32(3)).astype(
        np.float32
    )


def one_after_another(parts):
    found = np.float32(0)
    for part in parts:
        found = np.float32(found + part)
    return found


@pytest.mark.parametrize(
    "count, bits",
    [(11, 0x44E70AAD), (100, 0x467F7801), (1000, 0x48229900), (2000, 0x48A298FF), (30000, 0x4A978F77)],
)
def test_sums_have_the_bits_of_pytorch(as_in_pytorch, count, bits):
    assert total(thirds(count), (-1,)).view(np.uint32) == bits


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_are_right_whatever_the_axes(as_in_pytorch, shape, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    exact = x.astype(np.longdouble)
    for count in range(1, x.ndim + 1):
        for axis in (tuple(range(-count, 0)), tuple(range(-x.ndim, count - x.ndim))):
            for keepdims in (False, True):
                found = total(x, axis, keepdims)
                wanted = exact.sum(axis=axis, keepdims=keepdims)
                assert (found.shape, found.dtype) == (wanted.shape, x.dtype)
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 if dtype == "float32" else 1e-12)


def test_few_numbers_are_four_sums_side_by_side(as_in_pytorch):
    x = thirds(LANES["f"] - 1)
    sides = [x[0], x[1], x[2], x[3]]
    for i in range(4, len(x)):
        sides[0] = np.float32(sides[0] + x[i])
    assert total(x, (-1,)) == one_after_another(sides)


def test_other_orders_are_left_to_numpy(as_in_pytorch):
    x = thirds(24).reshape(2, 3, 4)
    assert total(x, (-2,)).tolist() == x.sum(-2).tolist()
    assert total(x.T, (-1,)).tolist() == x.T.sum(-1).tolist()
    assert total(np.arange(6), (-1,)) == 15
    many = thirds(SHARED)
    assert total(many, (-1,)) == many.sum()
    assert total(np.zeros((0, 3), np.float32), (-2,)).tolist() == [0, 0, 0]
