"""A single fit: exact for polynomials, with an error that covers noise and truncation of the series."""

import numpy as np
import pytest

from gradcli.numeric.fit import ABOVE_NOISE, TAILS, chebyshev_matrix, fit, nodes

from .lines import line_of, sampler_of


@pytest.mark.parametrize("degree", [4, 8, 16])
def test_a_fit_of_a_polynomial_is_exact(degree):
    line = sampler_of(lambda x: 1 + 2 * x + 3 * x**3, 0.0).element(0)
    found = fit(line, 0.5, degree)
    assert found.value[0] == pytest.approx(2, abs=1e-12)
    assert found.change(np.array([0.1]))[0, 0] == pytest.approx(0.2 + 3 * 0.001, abs=1e-13)
    right = fit(line, 0.5, degree, side=1)
    assert right.value[0] == pytest.approx(2, abs=1e-10)
    assert right.change(np.array([0.1]))[0, 0] == pytest.approx(0.2 + 3 * 0.001, abs=1e-13)
    assert fit(line, 0.5, degree, start=0.25).value[0] == pytest.approx(2 + 9 * 0.0625, abs=1e-11)


def test_chebyshev_polynomials_match_numpy():
    points = nodes(8).points
    np.testing.assert_allclose(chebyshev_matrix(points), np.polynomial.chebyshev.chebvander(points, 8), atol=1e-14)


@pytest.mark.parametrize("f, slope", [(np.exp, 1.0), (np.sin, 1.0), (lambda x: 1 / (1 - x), 1.0)])
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-5])
def test_the_error_covers_noise_and_truncation(f, slope, noise):
    drawn = np.random.default_rng(0)
    for width in (0.01, 0.1, 0.3):
        line = sampler_of(lambda x: f(x) + noise * drawn.standard_normal(), 0.0).element(0)
        found = fit(line, width, 8)
        assert abs(found.value[0] - slope) <= found.error[0], (width, found.value, found.error)
        assert found.error[0] <= 0.01 + 200 * noise / width


@pytest.mark.parametrize("f", [np.tanh, np.sin, np.arctan, lambda x: x / np.sqrt(1 + x**2)])
@pytest.mark.parametrize("side", [0, 1, -1])
def test_the_error_of_a_quick_fit_covers_odd_functions(f, side):
    """Their slope at 0 is 1, and the even coefficients of a fit around 0 show no noise."""
    found = fit(sampler_of(f, 0.0).element(0), 0.02, 4, side)
    assert abs(found.value[0] - 1) <= found.error[0] < 1e-3


def test_only_coefficients_above_the_noise_count():
    """With x = u / 2: 1 + 2 x + 3 x^3 = 1 + u + 3 u^3 / 8, and u^3 = (3 T1 + T3) / 4."""
    found = fit(line_of(lambda x: 1 + 2 * x + 3 * x**3), 0.5, 16)
    assert found.series[:4, 0] == pytest.approx([1, 1 + 9 / 32, 0, 3 / 32], abs=1e-14)
    assert not found.series[4:].any()
    assert found.error[0] < 1e-12


@pytest.mark.parametrize("degree", [8, 16])
def test_noise_is_the_root_mean_square_of_the_last_coefficients(degree):
    """The function is a Chebyshev series whose last coefficients are 1, 2, 2, and so on, in units of 1e-3."""
    last = np.resize([1.0, 2.0, 2.0], TAILS[degree])
    series = np.zeros(degree + 1)
    series[-len(last) :] = 1e-3 * last
    found = fit(line_of(np.polynomial.Chebyshev(series)), 1.0, degree)
    assert found.noise[0] == pytest.approx(1e-3 * np.sqrt((last**2).mean()))
    assert found.error[0] >= 2e-3 > 2e-3 / ABOVE_NOISE


@pytest.mark.parametrize("side", [0, 1, -1])
@pytest.mark.parametrize("degree", [4, 8])
def test_points_that_rounding_moves_are_fitted_where_they_are(side, degree):
    """At 1, with a half-width of 100 numbers, points move by up to a hundredth, but x - 1 is exact."""
    found = fit(line_of(lambda x: 3 * (x - 1), 1.0), 100 * 2.0**-52, degree, side)
    assert found.value[0] == pytest.approx(3, rel=1e-9)


def test_a_fit_needs_as_many_different_points_as_coefficients():
    """At 1, numbers are 2**-52 apart, or 2**-53 below: of 5 points, cos(pi k / 4) 2**-52, the two above are equal."""
    line = line_of(np.sin, 1.0)
    assert len(set(line.representable(nodes(4).points * 2.0**-52).tolist())) == 4
    assert fit(line, 2.0**-52, 4) is None
    assert fit(line, 2.0**-50, 4) is not None


@pytest.mark.parametrize("side", [0, 1, -1])
def test_changes_end_at_the_ends_of_the_interval(side):
    found, end = fit(line_of(np.sin), 0.5, 16, side), side or 1
    at_end, beyond = found.change(np.array([0.5 * end, np.nextafter(0.5, 1) * end]))[:, 0]
    assert at_end == beyond == pytest.approx(end * np.sin(0.5), rel=1e-9)
    if side == 0:
        assert found.change(np.array([-np.nextafter(0.5, 1)]))[0, 0] == pytest.approx(-np.sin(0.5), rel=1e-9)


def test_values_that_are_not_finite_leave_an_infinite_error():
    found = fit(line_of(lambda x: np.array([np.sqrt(x), 2 * x, 3.0 if x else 2.0, 3.0])), 0.1, 8)
    assert np.isfinite(found.error).tolist() == [False, True, True, True]
    assert found.value[1] == pytest.approx(2) and found.constant.tolist() == [False, False, False, True]
