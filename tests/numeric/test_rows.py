"""Rows of a claimed Jacobian, all of them or random combinations, and their scatter at nearby points."""

import numpy as np
import pytest

from gradcli.claims.hand_written import claim_by_hand
from gradcli.numeric.flat import Flat
from gradcli.numeric.rows import (
    COMBINATIONS,
    MOST_FORWARD,
    MOST_ROWS,
    ClaimedRows,
    combinations,
    draw_signs,
    neighbours,
    noise_differences,
    points_on_line,
)

from .lines import sampler_of

MATRIX = np.arange(6.0).reshape(2, 3) + 1


def rows_of(matrix, **claim):
    given = {"x": np.linspace(1, 2, matrix.shape[1])}
    claim = claim or {"vjp": lambda g, x: matrix.T @ g}
    return ClaimedRows(Flat(claim_by_hand(lambda x: matrix @ x, given, claim, None, False)), np.random.default_rng(0))


@pytest.mark.parametrize(
    "claim",
    [{"vjp": lambda g, x: MATRIX.T @ g}, {"jvp": lambda t, x: MATRIX @ t[0]}, {"grad": lambda x: MATRIX}],
    ids=lambda claim: next(iter(claim)),
)
def test_few_rows_are_all_computed(claim):
    rows = rows_of(MATRIX, **claim)
    assert rows.single and rows.known
    assert np.array_equal(rows.claimed, MATRIX)
    assert np.allclose(rows.along(np.array([1.0, 0, -2])), MATRIX @ [1, 0, -2])


def test_many_rows_are_combined():
    matrix = np.random.default_rng(1).normal(size=(MOST_ROWS + 1, 3))
    rows = rows_of(matrix)
    assert not rows.single and rows.claimed.shape == (COMBINATIONS, 3)
    assert np.allclose(rows.claimed, rows.weights @ matrix)
    assert np.allclose(rows.combine(matrix.T), matrix.T @ rows.weights.T)


def test_a_forward_derivative_of_many_elements_is_used_through_products():
    matrix = np.random.default_rng(1).normal(size=(2, MOST_FORWARD + 1))
    rows = rows_of(matrix, jvp=lambda t, x: matrix @ t[0])
    direction = draw_signs(np.random.default_rng(2), MOST_FORWARD + 1)
    assert not rows.known
    assert np.allclose(rows.along(direction), rows.weights @ matrix @ direction)
    rows.fill_column(5)
    assert np.allclose(rows.claimed[:, 5], rows.weights @ matrix[:, 5])
    assert np.isnan(np.delete(rows.claimed, 5, axis=1)).all()


def test_weights_of_outputs_suit_their_sizes():
    sizes = 10.0 ** np.arange(-1, 3)
    parts = np.abs(combinations(np.random.default_rng(3), sizes)) * sizes
    assert parts.shape == (COMBINATIONS, 4)
    assert (parts <= 1.5).all() and (parts > 0.25).all()


def test_outputs_that_are_0_do_not_make_combinations_infinite():
    weights = combinations(np.random.default_rng(3), np.array([0.0, 0.0, 0.0, 2.0]))
    assert np.isfinite(weights).all() and (np.abs(weights[:, 3]) <= 0.75).all()


def test_no_element_of_a_random_direction_is_small():
    drawn = np.abs(draw_signs(np.random.default_rng(4), 10_000))
    assert drawn.min() >= 0.5 and drawn.max() <= 1.5


X = np.array([0.3, -1.7, 25.0])


def rows_near(grad, x=X):
    return ClaimedRows(sampler_of(np.sum, x, grad).flat, np.random.default_rng(0))


@pytest.mark.parametrize("order", [2, 3, 4, 6])
def test_differences_of_noise_are_as_large_as_the_noise(order):
    noise = np.random.default_rng(order).normal(size=20_000)
    assert np.sqrt((noise_differences(noise, order) ** 2).mean()) == pytest.approx(1, rel=0.05)


def test_differences_of_a_smooth_curve_are_small():
    curve = np.sin(np.linspace(0, 0.01, 9))
    assert noise_differences(curve, 3).max() < 1e-9


def test_neighbours_are_a_few_rounding_units_away():
    claim = rows_near(np.ones_like).flat.claim
    for near in neighbours(claim):
        assert (np.abs(near["x"] - X) <= 3 * np.spacing(np.abs(X))).all()


def test_points_on_a_line_are_equally_spaced():
    claim = rows_near(np.ones_like).flat.claim
    points = np.array([near["x"] / X - 1 for near in points_on_line(claim, 1e-6, seed=0)])
    assert points.shape == (9, 3)
    assert np.abs(np.diff(points, axis=0)) == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize(
    "grad, low, high",
    [
        (np.cos, 0, 1e-9),
        (lambda x: 1 + 1e-6 * np.sin(1e19 * x), 1e-8, 1e-5),
        (lambda x: np.cos(x.astype(np.float32)), 0, 2e-6),
    ],
    ids=["float64", "erratic", "float32"],
)
def test_the_scatter_of_a_claim_is_its_rounding(grad, low, high):
    assert low <= rows_near(grad).measure_scatter().max() <= high


def test_a_claim_that_raises_at_a_nearby_point_has_no_scatter():
    def grad(x):
        if not np.array_equal(x, X):
            raise ValueError("elsewhere")
        return np.ones(3)

    rows = rows_near(grad)
    assert rows.try_at({"x": X + 1}) is None
    assert (rows.measure_scatter() == 0).all()
