"""Estimated slopes of all kinds of functions: right within the stated error, which is usefully small."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.numeric.chain import WIDE, Chain
from gradcli.numeric.estimate import (
    Estimate,
    estimate,
    estimate_from,
    estimate_sides,
    limit_from_side,
    slope_to_the_right,
)

from .lines import fit_of, line_of, sampler_of


def noisy(f, size):
    """Return a function with noise that depends only on the point."""
    return lambda x: f(x) + size * np.random.default_rng(abs(hash(x)) % 2**32).normal()


def bisected(a):
    """Solve y^3 + y = a to within 1e-9 by bisection, which is a staircase of tiny steps."""
    low, high = -10.0, 10.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if middle**3 + middle < a else (low, middle)
    return (low + high) / 2


def newton(a):
    """Solve the same equation to full precision."""
    y = a
    for _ in range(60):
        y = y - (y**3 + y - a) / (3 * y * y + 1)
    return y


def dented(width):
    """Return a line of slope 0.2 with a dent at 0, where the slope is 0.6."""
    return lambda x: 0.2 * x + 0.4 * x * math.exp(-((x / width) ** 2))


GRID = np.linspace(0, 10, 1001)
CELL = (math.sin(2.35) - math.sin(2.34)) / 0.01
ROOT_SLOPE = 1 / (3 * newton(1.9) ** 2 + 1)
DAY = 2 * math.pi / 86400
# function, point, slope, kind, largest relative error (absolute if the slope is 0)
FUNCTIONS = {
    "sine": (math.sin, 0.7, math.cos(0.7), "smooth", 1e-9),
    "steep exponential": (lambda x: math.exp(30 * x), 1.0, 30 * math.exp(30), "smooth", 1e-7),
    "fast sine": (lambda x: math.sin(1000 * x), 0.123, 1000 * math.cos(123), "smooth", 1e-6),
    "very fast sine": (lambda x: math.sin(1e6 * x), 13.71, 1e6 * math.cos(13.71e6), "smooth", 1e-4),
    "high power": (lambda x: x**20, 1.3, 20 * 1.3**19, "smooth", 1e-9),
    "logarithm at a tiny point": (math.log, 1e-9, 1e9, "smooth", 1e-7),
    "root at a tiny point": (math.sqrt, 1e-12, 5e5, "smooth", 1e-7),
    "huge scale": (lambda x: 1e200 * x * x, 1e50, 2e250, "smooth", 1e-9),
    "tiny scale": (lambda x: 1e-100 * x * x, 1e-100, 2e-200, "smooth", 1e-9),
    "safe norm at 0": (lambda x: math.sqrt(x * x + 1e-12), 0.0, 0.0, "smooth", 1e-6),
    "rounded corner": (lambda x: abs(x) ** 1.5, 0.0, 0.0, "smooth", 1e-3),
    "constant": (lambda x: 5.0, 1.0, 0.0, "smooth", 1e-13),
    "saturated": (lambda x: math.tanh(1000 * x), 0.3, 0.0, "smooth", 1e-10),
    "next to a large offset": (lambda x: 1e5 + math.sin(x), 0.7, math.cos(0.7), "smooth", 1e-6),
    "dent of 0.01": (dented(1e-2), 0.0, 0.6, "smooth", 1e-6),
    "dent of 1e-4": (dented(1e-4), 0.0, 0.6, "smooth", 1e-6),
    "dent of 1e-6": (dented(1e-6), 0.0, 0.6, "smooth", 1e-6),
    "dent away from 0": (lambda x: dented(1e-2)(x - 5) + 1, 5.0, 0.6, "smooth", 1e-6),
    "trend and wave": (lambda t: 3 * t + 0.01 * math.sin(50 * t + 1), 130.0, 3 + 0.5 * math.cos(6501), "smooth", 1e-6),
    "daily wave at a Unix time": (lambda t: math.sin(DAY * t), 1.7e9, DAY * math.cos(DAY * 1.7e9), "smooth", 1e-6),
    "jump 2e-9 away": (lambda x: 3 + 5 * x if x > 0 else -3.0, 2e-9, 5.0, "smooth", 1e-4),
    "kink 1e-7 away": (lambda x: abs(x - 1e-7) + x, 0.0, 0.0, "smooth", 1e-6),
    "kink at the point": (lambda x: 3 * max(x, 0) + x, 0.0, (1.0, 4.0), "kink", 1e-9),
    "one-sided domain": (lambda x: math.sqrt(x) ** 3 + 2 * x if x >= 0 else math.nan, 0.0, 2.0, "edge", 1e-2),
    "one-sided root": (lambda x: math.sqrt(x) if x >= 0 else math.nan, 0.0, math.inf, "edge", 0.0),
    "staircase of thousandths": (lambda x: round(x * 1e3) / 1e3, 1.23456, 0.0, "smooth", 1e-6),
    "slopes on a staircase": (lambda x: round(x, 3) * x, 13.71, 13.71, "smooth", 1e-6),
    "teeth": (lambda x: (50 * x) % 1 * x, 13.71, 50 * 13.71 + (50 * 13.71) % 1, "smooth", 1e-6),
    "table": (lambda x: float(np.interp(x, GRID, np.sin(GRID))), 2.3456, CELL, "smooth", 1e-6),
    "noise of 1e-9": (noisy(lambda x: x**3, 1e-9), 1.3, 3 * 1.69, "smooth", 1e-6),
    "noise of 1e-5": (noisy(lambda x: x * x, 4e-5), 2.0, 4.0, "smooth", 1e-2),
    "converged iteration": (newton, 1.9, ROOT_SLOPE, "smooth", 1e-7),
}
# computed in steps: function, point, the slope over many steps, and whether NumPy's long double shows that they are
# rounding
IN_STEPS = {
    "bisection to 1e-9": (bisected, 1.9, ROOT_SLOPE, False),
    "float32 inside": (lambda x: np.float64(np.float32(np.sin(x))), 0.7, math.cos(0.7), False),
    "cancellation": (lambda x: 1 - np.cos(x), 1e-7, 1e-7, True),
    "absorbed by an offset": (lambda x: (1e6 + x) - 1e6, 1e-10, 1.0, True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_slope_is_within_its_error(name):
    f, x, slope, kind, most = FUNCTIONS[name]
    sampler = sampler_of(f, x)
    with np.errstate(all="ignore"):
        found = estimate(sampler.element(0))
    scale = float(sampler.flat.scales[0])
    value, error, left, right = (float(x[0]) / scale for x in (found.value, found.error, found.left, found.right))
    assert found.kind[0] == kind
    if kind == "kink":
        assert (left, right) == pytest.approx(slope, rel=most)
    elif math.isinf(slope):
        assert value == slope
    else:
        assert abs(value - slope) <= error * (1 + 1e-9) + 1e-300
        assert error <= most * (abs(slope) or 1.0)


@pytest.mark.parametrize("name", IN_STEPS)
def test_values_in_steps_are_known_as_such_until_their_rounding_is_measured(name):
    f, x, slope, rounding = IN_STEPS[name]
    line = sampler_of(f, x).element(0)
    found = estimate(line)
    assert found.lost[0] and found.limit[0] < math.inf
    line.measure_rounding()
    found, scale = estimate(line), line.scale
    assert (found.value[0] / scale == pytest.approx(slope, rel=1e-4)) == rounding


@pytest.mark.parametrize("name, calls", [("sine", 16), ("steep exponential", 32), ("kink at the point", 40)])
def test_easy_slopes_are_cheap(name, calls):
    sampler = sampler_of(*FUNCTIONS[name][:2])
    estimate(sampler.element(0))
    assert sampler.calls <= calls


def test_a_jump_at_the_point_is_classified_as_a_jump():
    assert estimate(sampler_of(lambda x: 1.0 if x > 0 else 0.0, 0.0).element(0)).kind[0] == "jump"


def test_each_output_has_its_own_estimate():
    sampler = sampler_of(lambda x: np.array([x**2, abs(x), 1e5 + x, 3.0]), 0.0)
    found = estimate(sampler.element(0))
    assert found.kind.tolist() == ["smooth", "kink", "smooth", "smooth"]
    assert found.value[[0, 2, 3]] == pytest.approx([0, 1, 0], abs=1e-5)
    found = estimate(sampler.element(0, np.array([[1.0, 0, 2, 0]])))
    assert found.value == pytest.approx([2], abs=1e-5)


def test_a_wide_fit_that_misses_what_narrower_ones_saw_is_dropped():
    """Noise of 1e-13 hides the slope of a bump's tail; a fit over 100 units misses both bump and slope."""
    drawn = np.random.default_rng(4)
    line = sampler_of(lambda x: 1e-8 * np.exp(-x * x) + 1e-13 * drawn.standard_normal(), -3.0).element(0)
    found = estimate(line)
    slope = 3.0 * 6e-8 * np.exp(-9)
    assert abs(found.value[0] - slope) <= found.error[0]


def test_the_error_covers_noise_that_a_narrow_fit_happens_to_miss():
    """Slopes of 1000 sines with arguments of about 1e3, whose rounding shows in only a few coefficients.

    About 2 of 10,000 errors are too small; which ones depends on the processor. Without rises_of_noise, 30 are.
    """
    rng = np.random.default_rng(0)
    weights, scales, x = rng.normal(size=(1000, 8)) / 3, 10.0 ** rng.uniform(-6, 6, 1000), 1e3 * rng.normal(size=8)
    sampler = sampler_of(lambda x: scales * np.sin(weights @ x), x)
    slopes = (scales * np.cos(weights @ x))[:, None] * weights * np.abs(x)
    found = [estimate(sampler.element(i)) for i in range(8)]
    off = np.abs([e.value - slope for e, slope in zip(found, slopes.T, strict=True)])
    covered = off <= 3 * np.array([e.error for e in found]) + 1e-9 * np.abs(slopes.T)
    assert np.count_nonzero(~covered) <= 8


@pytest.mark.parametrize(
    ("f", "x", "constant"),
    [
        (lambda x: 5.0, 1e-3, True),
        (lambda x: 5.0 + (x > 0.2), 1e-3, False),
        (lambda x: 5.0 + (x < -0.2), 1e-3, False),
        (lambda x: 5.0 + (x > 900), 1e-3, True),
        (lambda x: 5.0 + (x > 1200), 1000.0, False),
        (lambda x: 5.0 + x, 1e-3, False),
    ],
)
def test_a_function_is_constant_only_if_it_is_so_out_to_1_or_to_the_scale_of_x(f, x, constant):
    chain = Chain(sampler_of(f, x).element(0), 0).run()
    assert chain.constant().tolist() == [constant]


def test_the_limit_of_an_estimate_is_the_width_of_the_first_fit_that_contradicts_it():
    one = np.ones(3)
    fits = [SimpleNamespace(width=0.1), SimpleNamespace(width=0.5)]
    numbers = dict.fromkeys(("value", "error", "change", "noise", "width"), one)
    chain = SimpleNamespace(count=3, fits=fits, against=np.array([-1, 0, 1]), **numbers)
    assert estimate_from(chain).limit.tolist() == [math.inf, 0.1, 0.5]


@pytest.mark.parametrize(
    ("fit", "own", "margin", "lost", "count"),
    [
        (fit_of(0.1, 2.0, 0.25), 0.0, 1.0, False, 1),
        (fit_of(0.1, 2.5, 0.25), 0.0, 1.0, False, 1),  # its interval meets that of the estimate
        (fit_of(0.1, 3.0, 0.25), 0.0, 1.0, False, 0),  # it contradicts the estimate
        (fit_of(0.1, 1.0, 0.25), 0.0, 1.0, False, 0),
        (fit_of(0.5, 2.0, 0.25), 0.0, 1.0, False, 0),  # as wide as the one that contradicts
        (fit_of(0.1, 2.0, 0.25), 0.75, 4.0, False, 1),
        (fit_of(0.1, 2.0, 0.25), 1.0, 4.0, False, 0),
        (fit_of(0.1, 2.0, 0.25, constant=True), 0.0, 1.0, False, 1),
        (fit_of(0.1, 2.0, 0.25, constant=True), 0.0, 1.0, True, 0),
        (fit_of(0.1, 2.0, 0.25), 0.0, 1.0, True, 1),
    ],
)
def test_a_fit_excludes_a_slope_by_itself_if_it_agrees_with_the_estimate(fit, own, margin, lost, count):
    """The estimate is 2 with an error of 1/4, up to a width of 1/2; the slope is 4."""
    known = {"value": 2.0, "error": 0.25, "limit": 0.5, "lost": lost}
    found = dataclasses.replace(Estimate.unknown(1), **{key: np.array([x]) for key, x in known.items()})
    slope = np.array([4.0])
    found.fits = (fit,)
    assert found.excluded_by(slope, np.array([own]), margin).tolist() == [count]
    found.side_fits = (fit,)
    assert found.excluded_by(slope, np.array([own]), margin).tolist() == [2 * count]


def test_a_slope_is_known_if_it_is_a_single_finite_value():
    found = Estimate.unknown(4)
    found.kind[:] = ["smooth", "kink", "edge", "smooth"]
    found.error[:3] = 0.1
    assert found.known.tolist() == [True, False, False, False]


@pytest.mark.parametrize(("scale", "width"), [(1.0, WIDE), (100.0, WIDE), (1e-3, 1e3 / 3)])
def test_the_error_of_a_constant_is_its_rounding_over_the_distance_where_it_is_seen(scale, width):
    """Values are equal out to a distance of about 1, or of the scale of x if that is larger."""
    found = estimate(sampler_of(lambda x: 8.0, scale).element(0))
    assert found.value[0] == 0 and found.error[0] == pytest.approx(2.0**-50 / width, rel=1e-12, abs=0)


INF, NAN = math.inf, math.nan
# function, kind, slope, slopes from the left and from the right; nan if there is none
SIDES = {
    "kink": (lambda x: 3 * max(x, 0) + x, "kink", 2.5, 1.0, 4.0),
    "kink that falls": (lambda x: -3 * abs(x) + x, "kink", 1.0, 4.0, -2.0),
    "infinite to the right": (lambda x: math.sqrt(x) if x > 0 else -x, "kink", INF, -1.0, INF),
    "infinite to the left": (lambda x: math.sqrt(-x) if x < 0 else x, "kink", -INF, -INF, 1.0),
    "cusp": (lambda x: math.sqrt(abs(x)), "kink", NAN, -INF, INF),
    "cube root": (np.cbrt, "smooth", INF, INF, INF),
    "falling cube root": (lambda x: -np.cbrt(x), "smooth", -INF, -INF, -INF),
    "end on the left": (lambda x: math.sqrt(x) ** 4 + 2 * x if x >= 0 else NAN, "edge", 2.0, NAN, 2.0),
    "end on the right": (lambda x: 2 * x if x <= 0 else NAN, "edge", 2.0, 2.0, NAN),
    "jump on the right": (lambda x: 3 * x + (x > 0), "jump", 3.0, 3.0, NAN),
    "jump on the left": (lambda x: 3 * x + (x < 0), "jump", 3.0, NAN, 3.0),
    "alone": (lambda x: 1.0 if x == 0 else NAN, "none", NAN, NAN, NAN),
}


@pytest.mark.parametrize("name", SIDES)
def test_slopes_are_found_on_both_sides_of_the_point(name):
    f, kind, value, left, right = SIDES[name]
    line = sampler_of(f, 0.0).element(0)
    with np.errstate(all="ignore"):
        found = estimate(line)
    assert found.kind[0] == kind
    assert found.value[0] == pytest.approx(value, rel=1e-6, nan_ok=True)
    assert [found.left[0], found.right[0]] == pytest.approx([left, right], rel=1e-6, nan_ok=True)
    if kind == "kink" and math.isfinite(value):
        assert found.error[0] == abs(found.right[0] - found.left[0]) / 2 + found.side_error[0]
        assert found.side_error[0] < 1e-6
    if kind == "edge":
        assert found.side_error[0] == found.error[0] < 1e-6 and found.settled[0]


@pytest.mark.parametrize(
    ("f", "side", "limit", "growth"),
    [
        (lambda x: math.sqrt(abs(x)), 1, INF, "infinite"),
        (lambda x: math.sqrt(abs(x)), -1, -INF, "infinite"),
        (lambda x: -math.sqrt(abs(x)), 1, -INF, "infinite"),
        (lambda x: float(x > 0), 1, NAN, "jump"),
        (lambda x: float(x > 0), -1, NAN, ""),
        (lambda x: 5 + x + 1e-7 * (x > 0), 1, NAN, "jump"),
        (lambda x: 5 + x + 1e-7 * (x < 0), -1, NAN, "jump"),
        (lambda x: 100 * x + 8e-8 * (x > 0), 1, NAN, ""),
        (lambda x: abs(x) ** 0.9, 1, INF, "infinite"),
        (lambda x: abs(x) ** 0.03, 1, INF, "infinite"),
        (lambda x: abs(x) ** 0.96, 1, NAN, ""),
        (lambda x: abs(x) ** 0.01, 1, NAN, "jump"),
        (lambda x: x + 1e-5 * math.sqrt(abs(x)), 1, INF, "infinite"),  # closer than 1e-10
        (lambda x: x + 8e-10 * (x > 0), 1, NAN, ""),  # less than a kink that close would change x by
        (lambda x: x, 1, NAN, ""),
        (lambda x: x * x, 1, NAN, ""),
        (lambda x: 3.0, 1, NAN, ""),
        (lambda x: NAN if x else 3.0, 1, NAN, ""),
    ],
)
def test_slopes_on_one_side_may_grow_without_limit(f, side, limit, growth):
    line = line_of(f, 0.0)
    (value, error), found = limit_from_side(line, side, 0, 0.0, 1e-13)
    assert (value == limit or math.isnan(limit)) and found == growth
    assert error == (0.0 if math.isinf(limit) else INF)


@pytest.mark.parametrize(("least", "growth"), [(1e-7, "steep"), (1e-13, ""), (5e-4, "")])
def test_a_singularity_closer_than_the_fits_is_steep(least, growth):
    """sqrt(x + 1e-9) grows like a root further away than 1e-9, and like a line closer to 0.

    Two rates of growth are needed. Between distances of 0.01 and 1e-3 there is only one.
    """
    line = line_of(lambda x: math.sqrt(x + 1e-9) - math.sqrt(1e-9) if x >= 0 else NAN, 0.0)
    assert limit_from_side(line, 1, 0, 0.0, least)[1] == growth


def test_noise_hides_how_slopes_grow():
    line = line_of(lambda x: math.sqrt(abs(x)), 0.0)
    assert limit_from_side(line, 1, 0, 1.0, 1e-13) == ((pytest.approx(NAN, nan_ok=True), INF), "")


@pytest.mark.parametrize(
    ("f", "enough", "slope", "quick"),
    [
        (lambda x: abs(x) + math.sin(x), 0.0, 2.0, True),
        (lambda x: -abs(x), 0.0, -1.0, True),
        (lambda x: abs(x) + 1e8, 0.0, 1.0, False),  # rounding of 1e8 leaves an error of 1e-2 over 1e-6
        (lambda x: abs(x) + 1e8, 10.0, 1.0, True),
        (lambda x: 1e-8 * abs(x) + 1, 0.0, 1e-8, False),
    ],
)
def test_the_slope_to_the_right_takes_four_calls_if_these_suffice(f, enough, slope, quick):
    line = line_of(f, 0.0)
    before = line.sampler.calls
    value, error = slope_to_the_right(line, np.array([enough]))
    assert abs(value[0] - slope) <= error[0] <= max(enough, 1e-5)
    assert (line.sampler.calls - before == 4) == quick


def test_a_settled_slope_has_no_kink_whatever_other_outputs_have():
    """One-sided slopes of 1 - 1e-8 and 1 + 1e-8 differ by less than a slope has to be known to."""
    found = estimate(sampler_of(lambda x: np.array([x + 1e-8 * abs(x), abs(x)]), 0.0).element(0))
    assert found.settled.tolist() == [True, False] and found.kind.tolist() == ["smooth", "kink"]
    assert found.value[0] == pytest.approx(1, abs=3e-7)


def test_a_root_between_lines_is_steep_at_distances_where_it_dominates():
    """x + 1e-4 sqrt(x + 1e-14) grows like x beyond 1e-8 and within 1e-14."""
    line = line_of(lambda x: x + 1e-4 * (math.sqrt(x + 1e-14) - 1e-7) if x >= 0 else NAN, 0.0)
    assert limit_from_side(line, 1, 0, 0.0, 1e-11)[1] == "steep"


def test_a_step_has_slope_0_to_within_the_rounding_of_its_values_if_that_is_known():
    """At 1.2345, steps of 1/1000 end 0.0005 away: further than a width of 0.02 / 900, and closer than 30 times that."""
    line = line_of(lambda x: np.floor(1000 * x) / 1000, 1.2345)
    before, width = estimate(line), 0.02 / 900
    assert before.lost[0] and before.error[0] >= 1.234 * 2.0**-53 / width
    line.measured = np.array([1e-15])
    found = estimate(line)
    assert found.lost[0] and found.value[0] == 0
    assert found.error[0] == pytest.approx(1e-15 / width, rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("value", "error", "replaced"), [(0.5, 0.5, True), (0.5, 1e-3, False), (5.0, 0.5, False), (math.cos(1), 0.0, False)]
)
def test_sides_that_agree_give_the_slope_if_they_are_more_precise_and_do_not_contradict(value, error, replaced):
    line, result = line_of(lambda x: np.array([np.sin(x), abs(x - 1)]), 1.0), Estimate.unknown(2)
    result.value[:], result.error[:], result.kind[:] = value, error, "smooth"
    estimate_sides(line, result, np.array([True, False]))
    assert result.value[0] == (pytest.approx(math.cos(1), rel=1e-9) if replaced else value)
    assert result.kind.tolist() == ["smooth", "smooth"] and (result.error[0] < error) == replaced
    assert [result.left[0], result.right[0]] == pytest.approx([math.cos(1)] * 2, rel=1e-9)
    assert (result.value[1], result.error[1]) == (value, error) and np.isnan(result.left[1])  # not asked for
    assert {fit.side for fit in result.side_fits} == {-1, 1}


@pytest.mark.parametrize("noisy", [-1, 1])
def test_the_more_precise_of_two_sides_that_agree_is_taken(noisy):
    drawn = np.random.default_rng(0)
    line = line_of(lambda x: np.sin(x) + 1e-6 * (noisy * x > 0) * drawn.uniform(-1, 1), 0.0)
    result = Estimate.unknown(1)
    result.value[:], result.error[:] = 1.0, 0.5
    estimate_sides(line, result, np.ones(1, bool))
    assert result.value[0] == (result.left if noisy > 0 else result.right)[0]
    assert result.error[0] < 1e-6 < result.side_error[0]
