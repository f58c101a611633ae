"""The integral test: what is left over of the values once the claim is integrated."""

import numpy as np
import pytest

from gradcli.numeric.integral import Claimed, conclude, integral_of, is_bent, is_rough, look, operators

from .lines import sampler_of

WIDTHS = (2e-2, 2e-2 / 30, 2e-2 / 900, 2e-2 / 27e3)
NO_NOISE = np.zeros(1)


def windows(f, slope, x, widths=WIDTHS, noise=NO_NOISE):
    """Return the windows for a function of a number, along that number in units of 1."""
    sampler = sampler_of(f, x)
    line = sampler.line(np.ones(1))
    at = lambda t, chosen: np.array([[slope(x + s)] for s in t])  # noqa: E731
    here = np.array([float(slope(x))])
    found = (look(line, width, Claimed(at, here, np.abs(here)), noise, [0]) for width in widths)
    return [w for w in found if w is not None]


def says(f, slope, x, **options):
    return conclude(windows(f, slope, x, **options), 0, abs(float(slope(x)))).says


@pytest.mark.parametrize("k", range(9))
def test_integrals_of_chebyshev_polynomials_are_those_of_numpy(k):
    x = np.linspace(-1, 1, 7)
    expected = np.polynomial.Chebyshev.basis(k).integ()
    np.testing.assert_allclose(integral_of(k, x) - integral_of(k, np.zeros(1)), expected(x) - expected(0), atol=1e-15)


def test_operators_integrate_a_polynomial_exactly():
    points = np.array([-1, -0.8, -0.5, -0.2, 0.2, 0.5, 0.8, 1.0])
    made = operators(points)
    series = made.series @ (points**7 - 2 * points**2)
    np.testing.assert_allclose(made.integrals @ series, points**8 / 8 - 2 * points**3 / 3, atol=1e-14)
    assert abs(made.at_zero @ series) < 1e-14


@pytest.mark.parametrize("x", [0.3, 1.0, -2.5])
def test_a_right_claim_agrees_and_one_that_is_off_by_a_thousandth_does_not(x):
    assert says(np.sin, np.cos, x) == "agrees"
    assert says(np.sin, lambda x: 1.001 * np.cos(x), x) == "disagrees"


@pytest.mark.parametrize("seed", range(10))
def test_noise_makes_the_interval_wider_and_not_wrong(seed):
    """With noise of 1e-4, the widest window resolves a slope to 1e-4 / 0.02; half of the slope is seen."""
    rng = np.random.default_rng(seed)

    def f(x):
        return np.sin(x) + 1e-4 * rng.normal()

    assert says(f, np.cos, 0.7) in ("agrees", "unclear")
    assert says(f, lambda x: 1.5 * np.cos(x), 0.7, widths=(0.6, 2e-2, 2e-2 / 30)) in ("disagrees", "unclear")
    (wide,) = windows(f, np.cos, 0.7, widths=(2e-2,))
    assert abs(wide.slope[0]) <= wide.error[0] < 0.2


def test_noise_between_calls_is_part_of_the_error():
    line = sampler_of(np.sin, 0.7).line(np.ones(1))
    claimed = Claimed(lambda t, chosen: np.cos(0.7 + t)[:, None], np.cos([0.7]), np.cos([0.7]))
    quiet, noisy = (look(line, 1e-2, claimed, np.array([noise]), [0]) for noise in (0.0, 1e-6))
    assert quiet.error[0] < 1e-9 and 1e-4 < noisy.error[0] < 1e-2


def test_a_claim_that_is_wrong_at_the_point_only_is_seen():
    assert says(np.sin, lambda x: 2.0 if x == 0.7 else np.cos(x), 0.7) == "wrong at the point"


def test_a_window_that_misses_a_peak_of_the_claim_does_not_count():
    """At half-width 18, the points miss exp(-x^2) altogether, but the claim at x shows that there is something."""
    f, slope = (lambda x: np.exp(-(x**2))), (lambda x: -2 * x * np.exp(-(x**2)))
    (wide,) = windows(f, slope, 1.0, widths=(18.0,))
    assert abs(wide.gap[0]) > 0.5
    answer = conclude(windows(f, slope, 1.0, widths=(18.0, 2e-2, 2e-2 / 30)), 0, 0.74)
    assert answer.says == "agrees" and answer.bound < 1e-6


def test_a_staircase_is_right_in_wide_windows_or_in_narrow_ones():
    def stairs(x):
        return np.floor(1e4 * x) / 1e4

    assert says(stairs, lambda x: 1.0, 0.12345) == "right in wide windows"
    assert says(stairs, lambda x: 0.0, 0.12345) == "right in narrow windows"
    assert says(stairs, lambda x: 0.5, 0.12345) not in ("agrees", "right in wide windows", "right in narrow windows")


def test_a_kink_is_forgiven_only_between_the_slopes_of_its_sides():
    def seen(claimed):
        return windows(np.abs, lambda x: claimed, 0.0)

    assert is_bent(seen(0.9)[1::-1], 0)
    assert not is_bent(seen(1.5)[1::-1], 0)
    assert not is_bent(windows(np.sin, lambda x: 0.5, 0.7)[1::-1], 0)


def test_a_claim_that_jumps_from_point_to_point_is_rough():
    def rough(x):
        return np.cos(x) * (1 + 1e-3 * np.sin(1e12 * x))

    assert is_rough(windows(np.sin, rough, 0.7), 0, 1e-3)
    assert not is_rough(windows(np.sin, np.cos, 0.7), 0, 1e-3)
    assert not is_rough(windows(np.cbrt, lambda x: np.cbrt(np.abs(x) + 1e-300) ** -2 / 3, 1e-300), 0, 1e-3)


def test_jumps_that_are_small_compared_with_an_error_are_not_its_reason():
    def wrong(x):
        return 1.5 * np.cos(x) * (1 + 1e-12 * np.sin(1e12 * x))

    assert not is_rough(windows(np.sin, wrong, 0.7), 0, 0.5 * np.cos(0.7))
    assert is_rough(windows(np.sin, wrong, 0.7), 0, 1e-12)


def test_a_window_without_values_is_left_out():
    assert windows(np.log, lambda x: 1 / x, 0.01, widths=(2e-2,)) == []
    assert len(windows(np.log, lambda x: 1 / x, 0.01, widths=(2e-3,))) == 1


def test_nothing_is_concluded_from_no_windows():
    answer = conclude([], 0, 1.0)
    assert (answer.says, answer.bound) == ("unclear", np.inf)
