"""How far claims scatter: seen at close points, and not mistaken for a slope."""

import numpy as np
import pytest

from gradcli.check.noise import claim_at, neighbours, noise_differences, points_on_line, roughness, scatter_of_claim
from gradcli.check.rows import ClaimedRows

from .lines import sampler_of

X = np.array([0.3, -1.7, 25.0])


def rows_of(grad, x=X):
    return ClaimedRows(sampler_of(np.sum, x, grad).flat, np.random.default_rng(0))


@pytest.mark.parametrize("order", [2, 3, 4, 6])
def test_differences_of_noise_are_as_large_as_the_noise(order):
    noise = np.random.default_rng(order).normal(size=20_000)
    assert np.sqrt((noise_differences(noise, order) ** 2).mean()) == pytest.approx(1, rel=0.05)


def test_differences_of_a_smooth_curve_are_small():
    curve = np.sin(np.linspace(0, 0.01, 9))
    assert noise_differences(curve, 3).max() < 1e-9


def test_neighbours_are_a_few_rounding_units_away():
    claim = rows_of(np.ones_like).flat.claim
    for near in neighbours(claim):
        assert (np.abs(near["x"] - X) <= 3 * np.spacing(np.abs(X))).all()


def test_points_on_a_line_are_equally_spaced():
    claim = rows_of(np.ones_like).flat.claim
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
def test_scatter_and_roughness_are_those_of_the_claim(grad, low, high):
    rows = rows_of(grad)
    assert low <= scatter_of_claim(rows).max() <= high
    assert roughness(rows).max() <= high


def test_a_claim_that_raises_at_a_close_point_has_no_roughness():
    def grad(x):
        if not np.array_equal(x, X):
            raise ValueError("elsewhere")
        return np.ones(3)

    rows = rows_of(grad)
    assert claim_at(rows, {"x": X + 1}) is None
    assert (roughness(rows) == 0).all() and (scatter_of_claim(rows) == 0).all()
