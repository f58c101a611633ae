"""Jumps of a function, or of its slope, next to the point: real steps keep their size between closer points."""

import numpy as np
import pytest

from gradcli.numeric.integral import Claimed
from gradcli.numeric.steps import STARTS, Differences, jumps, keeps_its_size

from .lines import line_of


def step(x):
    return 3 * x + (x > 0.3)


@pytest.mark.parametrize(
    ("f", "slope", "a", "b", "keeps"),
    [
        (step, 3.0, 0.2, 0.5, True),
        (step, 3.0, 0.5, 0.2, True),
        (lambda x: x + 100 * (x > 0.3), 1.0, 0.2, 0.5, True),
        (step, 0.0, 0.2, 0.5, True),  # 1.9 at first, and 1 at the end
        (lambda x: 3 * x - (x > 0.3), 3.0, 0.2, 0.5, True),
        (lambda x: 3 * x + 0.25 * (x > 0.3), 3.0, 0.2, 0.5, True),
        (lambda x: 5 + 0 * x, 0.0, 0.3, np.nextafter(0.3, 1), False),
        (lambda x: 5 + (x > 0.3), 0.0, 0.3, np.nextafter(0.3, 1), True),
        (lambda x: 7 * x + 2.5e-7 * (x > 0.3), 7.0, 0.2, 0.5, True),
        (np.sin, 1.0, 0.0, 0.5, False),
        (lambda x: 3 * x, 0.0, 0.2, 0.5, False),
        (lambda x: abs(x - 0.3), 0.0, 0.1, 0.9, False),
        (lambda x: 1 / (0.3 - x), 0.0, 0.1, 0.7, False),  # a pole grows
        (np.cbrt, 0.0, -0.2, 0.3, False),
        (lambda x: np.where(x > 0.3, np.nan, x), 1.0, 0.2, 0.5, False),
    ],
)
def test_a_jump_keeps_its_size_between_closer_points(f, slope, a, b, keeps):
    assert keeps_its_size(line_of(f), 0, slope, a, b) == keeps


def test_a_jump_is_larger_than_the_rounding_of_the_values():
    """Values of 1e8 are rounded to 2**-27, about 7e-9."""
    small, large = (line_of(lambda x, by=by: 1e8 + by * (x > 0.3), 0.0) for by in (1e-8, 1e-5))
    assert not keeps_its_size(small, 0, 0.0, 0.2, 0.5) and keeps_its_size(large, 0, 0.0, 0.2, 0.5)


@pytest.mark.parametrize(
    ("f", "slope", "samples", "reach", "found"),
    [
        (step, 3.0, [-0.5, 0.2, 0.5], 1.0, True),
        (step, 3.0, [-0.5, 0.2, 0.5], 0.5, True),
        (step, 3.0, [-0.5, 0.2, 0.5], 0.4, False),  # no sample is beyond the jump
        (step, 3.0, [], 1.0, False),
        (np.sin, 1.0, [-0.5, 0.2, 0.5], 1.0, False),
        (lambda x: np.where(x < -0.4, np.nan, step(x)), 3.0, [-0.5, 0.2, 0.5], 1.0, True),
        # a large curve further away, where samples differ most
        (lambda x: 1e-3 * (x > 0.01) + np.maximum(x - 0.1, 0) ** 2, 0.0, [0.02, 0.1, 1.0], 2.0, True),
        (lambda x: 1e-3 * (x < -0.01) + np.maximum(x - 0.1, 0) ** 2, 0.0, [-0.02, 0.1, 1.0], 2.0, True),
        (lambda x: 1e-3 * (x < -0.01) + np.minimum(x + 0.1, 0) ** 2, 0.0, [-0.02, -0.1, -1.0, 0.005], 2.0, True),
    ],
)
def test_jumps_are_found_between_samples_that_differ_most_or_are_closest(f, slope, samples, reach, found):
    line = line_of(f)
    line.values(np.array(samples))
    assert jumps(line, 0, slope, reach) == found


def test_jumps_are_those_of_one_function():
    line = line_of(lambda x: np.array([np.sin(x), step(x)]))
    line.values(np.array([-0.5, 0.2, 0.5]))
    assert not jumps(line, 0, 1.0, 1.0) and jumps(line, 1, 3.0, 1.0)
    assert not keeps_its_size(line, 0, 1.0, 0.2, 0.5) and keeps_its_size(line, 1, 3.0, 0.2, 0.5)


def differences(f, slope, j=0):
    claimed = Claimed(lambda t, chosen: np.stack([slope(t) for _ in chosen], axis=-1), np.zeros(1), np.zeros(1))
    return Differences(line_of(f), claimed, j)


def test_slopes_are_compared_at_places_on_both_sides_of_the_point():
    assert (np.diff(STARTS) > 0).all() and np.array_equal(STARTS, -STARTS[::-1])


def test_differences_of_slopes_are_exact_for_polynomials_of_degree_four():
    """Two orders of the error of central differences are removed; rounding of 1 leaves about 2**-53 / 1e-4."""
    found = differences(lambda x: 1 + x**4 + 2 * x, lambda t: t)
    t = np.array([0.1, -0.5, 0.9])
    numeric, claimed = found.at(t)
    np.testing.assert_allclose(numeric, 4 * t**3 + 2, atol=1e-10)
    assert claimed.tolist() == t.tolist()
    np.testing.assert_allclose(found.gaps(t), 4 * t**3 + 2 - t, atol=1e-10)


def test_differences_of_slopes_are_those_of_one_function():
    found = differences(lambda x: np.array([x, 5 * x, x**2]), np.zeros_like, j=1)
    np.testing.assert_allclose(found.at(np.array([0.3]))[0], 5, rtol=1e-10)


def kinked(size, place=0.25):
    """Return a function whose slope is cos(x), plus a jump of this size at a place."""
    return lambda x: np.sin(x) + size * np.maximum(x - place, 0)


@pytest.mark.parametrize(
    ("f", "slope", "off", "jump"),
    [
        (kinked(0.125), lambda t: np.cos(t) - 0.01, 0.01, 0.125),
        (kinked(-0.125), lambda t: np.cos(t) - 0.01, 0.01, 0.125),
        (kinked(0.125, -0.4), lambda t: np.cos(t) - 0.01, 0.125 + 0.01, 0.125),
        (kinked(0.125, -0.05), lambda t: np.cos(t) - 0.01, 0.125 + 0.01, 0.125),
        (kinked(0.125, 0.28), lambda t: np.cos(t) - 5, 5.0, 0.125),
        (lambda x: 100 * x**2 + kinked(0.125)(x), lambda t: 200 * t + np.cos(t) - 0.01, 0.01, 0.125),
        (kinked(0.125), lambda t: np.cos(t) - 0.01, 0.02, 0.0),  # another difference than at x
        (kinked(0.125), lambda t: np.cos(t) - 0.01, -0.01, 0.0),
        (kinked(0.125), lambda t: np.cos(t) - 0.01 + 0.125 * (t > 0.25), 0.01, 0.0),  # the claim jumps, too
        (kinked(0.125), lambda t: np.cos(t) - 0.01 - 0.5 * t, 0.01, 0.125),  # the difference is another elsewhere
        (np.sin, lambda t: np.cos(t) - 0.01, 0.01, 0.0),
        (np.sin, lambda t: np.cos(t) * (1 - 0.01), 0.01, 0.0),
        (np.sin, lambda t: np.cos(t) - 0.01 * np.exp(t), 0.01, 0.0),
        (lambda x: np.where(x > 0.5, np.nan, kinked(0.125)(x)), lambda t: np.cos(t) - 0.01, 0.01, 0.0),
    ],
)
def test_a_slope_jumps_where_the_claim_does_not(f, slope, off, jump):
    """The difference of slope and claim at x itself is 0.01, or 0.135 to the right of a jump at -0.4."""
    assert differences(f, slope).jump(off) == pytest.approx(jump, abs=1e-5)


def test_the_slope_jumps_between_the_points_that_differ():
    found = differences(kinked(0.125), lambda t: np.cos(t) - 0.01)
    gaps = found.gaps(STARTS)
    sizes = [found.jump_between(k, gaps) for k in range(len(STARTS) - 1)]
    places = [k for k in range(len(STARTS) - 1) if STARTS[k] < 0.25 < STARTS[k + 1]]
    assert np.flatnonzero(np.array(sizes) > 1e-6).tolist() == places
    assert sizes[places[0]] == pytest.approx(0.125, abs=1e-5)


@pytest.mark.parametrize(("left", "right"), [(1.0, 1.0), (1.0, 0.0), (-0.5, 1.0)])
def test_the_size_of_a_jump_does_not_include_the_changes_next_to_it(left, right):
    """The slope is left * t before 0.23, and 0.125 more, with another rate of change, from there on."""

    def f(x):
        after = np.maximum(x - 0.23, 0)
        return left * x**2 / 2 + after * (0.125 + (right - left) * after / 2)

    found = differences(f, np.zeros_like)
    k = int(np.flatnonzero(STARTS < 0.23)[-1])
    assert found.jump_between(k, found.gaps(STARTS)) == pytest.approx(0.125, abs=2e-4 * abs(right - left) + 1e-8)


def test_a_jump_of_the_slope_is_larger_than_its_noise():
    rng = np.random.default_rng(0)
    noisy = differences(lambda x: kinked(0.125)(x) + 1e-5 * rng.uniform(-1, 1), lambda t: np.cos(t) - 0.01)
    gaps = np.where(STARTS > 0.25, 0.135, 0.01)
    places = [k for k in range(len(STARTS) - 1) if STARTS[k] < 0.25 < STARTS[k + 1]]
    assert noisy.jump_between(places[0], gaps) == 0.0
