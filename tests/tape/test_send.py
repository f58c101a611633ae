"""Passing cotangents on: products with constants, and with factors whose memory may be used."""

import numpy as np

from gradcli.tape.send import LARGE, scale_by_constant, times_factor


def test_a_constant_slope_of_zero_stays_zero():
    g = np.array([np.nan, np.inf, 1.0])
    assert scale_by_constant(g, 0).tolist() == [0, 0, 0]
    assert scale_by_constant(g, 1) is g
    np.testing.assert_array_equal(scale_by_constant(g, -1), -g)
    np.testing.assert_array_equal(scale_by_constant(g, 2.5), 2.5 * g)


def test_large_products_reuse_memory_that_nothing_else_uses():
    def product(g, factor, saved=()):
        expected = np.asarray(g) * factor
        found = times_factor(g, factor, saved)
        np.testing.assert_array_equal(found, expected)
        return found

    one, ramp = np.broadcast_to(1.0, (LARGE,)), np.linspace(1, 2, LARGE)
    factor = ramp + 1
    assert product(one, factor) is factor  # times 1: the factor itself
    factor = ramp + 1
    assert product(ramp, factor) is factor  # the result uses its memory
    saved = ramp + 1
    before = saved.copy()
    assert not np.shares_memory(product(ramp, saved, (saved,)), saved)
    assert product(one, saved, (saved,)) is not saved
    view = (ramp + 1)[:]
    product(ramp, view)
    np.testing.assert_array_equal(saved, before)
    small = np.ones(3)
    assert product(np.full(3, 2.0), small) is not small and small.tolist() == [1, 1, 1]
