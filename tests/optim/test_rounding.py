"""Steps in float32 are rounded once per sum, as exact arithmetic rounded at the end is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gradcli.optim.rounding import add_product, plus_product


def rounded(value: Fraction) -> np.float32:
    """Return the nearest float32 (by way of float64, which is exact enough for these)."""
    return np.float32(float(value))


def exactly(x: np.float32) -> Fraction:
    return Fraction(float(x))


def test_a_sum_with_a_product_is_rounded_once():
    rng = np.random.default_rng(0)
    a, b, c = rng.random((3, 500)).astype(np.float32)
    scale = 1 - 0.99
    single = [rounded(exactly(x) + exactly(np.float32(scale)) * exactly(y)) for x, y in zip(a, b, strict=True)]
    assert plus_product(a, scale, b).tolist() == [float(v) for v in single]
    scaled = np.float32(scale) * b
    double = [rounded(exactly(x) + exactly(y) * exactly(z)) for x, y, z in zip(a, scaled, c, strict=True)]
    target = a.copy()
    add_product(target, scale, b, c)
    assert target.tolist() == [float(v) for v in double]
    assert target.dtype == np.float32


def test_other_types_are_added_to_plainly():
    a = np.array([1.0, 2.0])
    add_product(a, 0.5, np.array([2.0, 4.0]))
    assert a.tolist() == [2.0, 4.0]
    assert plus_product(a, 2.0, a, a).tolist() == [10.0, 36.0]
