"""Least squares on gradients with blocks: factors, weights, tolerances and the resolution."""

import numpy as np
import pytest

from gradcli.guard.step_fit import ROUNDING_MARGIN, GradientComparison, join_vectors

SIZES = (12, 30, 1)


def compared(observed, exact, rounding=1e-7, sizes=SIZES):
    """Return a comparison in which the run rounds each number by a relative amount."""
    noise = np.random.default_rng(9).normal(size=exact.size) * rounding
    return GradientComparison(observed, exact, exact * (1 + noise), sizes)


@pytest.fixture
def exact():
    return np.random.default_rng(1).normal(size=sum(SIZES))


def test_join_follows_the_order_of_the_names():
    assert join_vectors({"b": np.array([2.0]), "a": np.array([1.0, 3.0])}, ["a", "b"]).tolist() == [1, 3, 2]
    assert join_vectors({}, []).size == 0


def test_rounding_is_no_difference_and_an_error_above_the_resolution_is_one(exact):
    """The stated resolution is tested: an error just above it in one block fails, wherever it is."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        rounded = exact * (1 + 1e-7 * rng.normal(size=exact.size))
        found = compared(rounded, exact)
        assert found.wrong == () and found.resolution < 1e-5
        error = rng.normal(size=exact.size)
        error *= 1.5 * (found.resolution + 1e-6) * np.linalg.norm(exact) / np.linalg.norm(error)
        assert compared(rounded + error, exact).wrong != ()


def test_a_block_with_a_small_gradient_keeps_its_own_scale(exact):
    exact[:12] *= 1e-4
    observed = exact.copy()
    observed[:12] *= 1.1
    assert compared(observed, exact).wrong == (0,)


def test_a_block_below_the_rounding_is_negligible(exact):
    exact[-1] = 0.0
    found = compared(exact + np.r_[np.zeros(42), 1e-9], exact)
    assert found.negligible == (2,) and found.wrong == ()


def test_a_coarser_run_has_a_coarser_resolution(exact):
    rounded = exact * (1 + 4e-3 * np.random.default_rng(2).normal(size=exact.size))
    found = compared(rounded, exact, rounding=4e-3)
    assert found.wrong == () and 1e-3 < found.resolution < ROUNDING_MARGIN * 0.01


def test_weights_are_found_with_their_errors():
    rng = np.random.default_rng(3)
    columns = [rng.normal(size=43) for _ in range(4)]
    weights = [0.1, 0.4, 0.0, -2.0]
    whole = sum(columns)
    observed = sum(w * c for w, c in zip(weights, columns, strict=True)) + 1e-8 * rng.normal(size=43)
    fit = compared(observed, whole).fit(columns)
    assert fit.holds and not fit.dependent
    assert np.all(np.abs(fit.weights - weights) < 5 * fit.errors + 1e-7)


def test_dependent_columns_are_reported(exact):
    assert compared(2 * exact, exact).fit([exact, 3 * exact]).dependent


def test_a_sum_that_misses_a_block_does_not_hold(exact):
    observed = exact.copy()
    observed[12:42] *= 2
    assert compared(observed, exact).fit([exact]).wrong == (0, 1, 2)


def test_factors_of_blocks(exact):
    exact[-1] = 0.0
    observed = exact * np.r_[np.full(12, 3.0), np.ones(31)]
    factors, fits = compared(observed, exact).factors()
    assert np.allclose(factors[:2], [3, 1]) and np.isnan(factors[2]) and fits.all()


def test_a_few_numbers_determine_few_weights():
    few = compared(np.ones(5), np.ones(5), sizes=(5,))
    assert few.determines(1) and not few.determines(2)
