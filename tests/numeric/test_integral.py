"""The integral test: what is left over of the values once the claim is integrated."""

import numpy as np
import pytest

from gradcli.numeric.integral import (
    DEGREE,
    GAPS,
    LIKE,
    SIGMAS,
    Claimed,
    conclude,
    has_gap,
    integral_of,
    is_bent,
    is_rough,
    look,
    operators,
    window_points,
    without_gaps,
)

from .lines import line_of, sampler_of, window

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
    series = made.series @ (points**7 + points**4 - 2 * points**2)
    integral = points**8 / 8 + points**5 / 5 - 2 * points**3 / 3
    np.testing.assert_allclose(made.integrals @ series, integral, atol=1e-14)
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
    line = line_of(np.sin, 0.7)
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
    assert (answer.low, answer.high) == (-np.inf, np.inf)


E = 2.0**-20  # added and subtracted without rounding
# windows; options of conclude; what they say; the interval of the slope left over; the reach
CONCLUSIONS = {
    "two agree": ([window(0.02, 0.5, 0.125), window(0.6, 0.625, 0.125)], {}, "disagrees", (0.5, 0.625), None),
    "in any order": ([window(0.6, 0.625, 0.125), window(0.02, 0.5, 0.125)], {}, "disagrees", (0.5, 0.625), None),
    "two meet": ([window(0.02, 0.5, 0.125), window(0.6, 0.75, 0.125)], {}, "disagrees", (0.625, 0.625), None),
    "two meet below": ([window(0.02, 0.75, 0.125), window(0.6, 0.5, 0.125)], {}, "disagrees", (0.625, 0.625), None),
    "one only": ([window(0.02, 0.5, 0.125)], {}, "unclear", (0.375, 0.625), None),
    "one of two within the limit": (
        [window(0.02, 0.5, 0.125), window(0.6, 0.5, 0.125)], {"limit": 0.1}, "unclear", (0.375, 0.625), None,
    ),
    "two at the limit": (
        [window(0.02, 0.5, 0.125), window(0.6, 0.5, 0.125)], {"limit": 0.6}, "disagrees", (0.375, 0.625), None,
    ),
    "none within the limit": ([window(0.02, 0.5)], {"limit": 0.01}, "unclear", (-np.inf, np.inf), None),
    "one of two shows it": ([window(0.02, 0.5, 0.125), window(0.6, 0.5, 0.5)], {}, "unclear", (0.375, 0.625), None),
    "a kink at the point": (
        [window(0.02, 0.5, 0.125, bend=0.5), window(0.6, 0.5, 0.125, bend=0.5)], {}, "unclear", (0.375, 0.625), None,
    ),
    "right in a wide one": (
        [window(0.02, 0.5, E), window(0.6, 0.0, E)], {}, "right in wide windows", (0.5 - E, 0.5 + E), 0.6,
    ),
    "right in two wide ones": (
        [window(0.02, 0.5, E), window(0.1, 0.0, E), window(0.6, 0.0, E)], {}, "right in wide windows",
        (0.5 - E, 0.5 + E), 0.1,
    ),
    "the wide one is precise enough": (
        [window(0.02, 0.5, E), window(0.6, 0.0, 0.25)], {}, "right in wide windows", (0.5 - E, 0.5 + E), 0.6,
    ),
    "the wide one is not": (
        [window(0.02, 0.5, E), window(0.6, 0.0, 0.3)], {}, "unclear", (0.5 - E, 0.5 + E), None,
    ),
    "wrong in the wide one, too": (
        [window(0.02, 0.5, E), window(0.6, 0.1, E)], {}, "unclear", (0.5 - E, 0.5 + E), None,
    ),
    "right in one of two wide ones": (
        [window(0.02, 0.5, E), window(0.1, 0.0, E), window(0.6, 0.2, E)], {}, "unclear", (0.5 - E, 0.5 + E), None,
    ),
    "right in narrow ones": (
        [window(1e-3, 0.0, E), window(0.02, 0.5, E), window(0.6, 0.5, E)], {}, "right in narrow windows", (-E, E), 0.02,
    ),
    "hardly wrong in wide ones": (
        [window(1e-3, 0.0, E), window(0.02, 0.5, 0.25), window(0.6, 0.5, 0.25)], {}, "right in narrow windows", (-E, E),
        0.02,
    ),
    "not clearly wrong in wide ones": (
        [window(1e-3, 0.0, E), window(0.02, 0.5, 0.3), window(0.6, 0.5, 0.3)], {}, "agrees", None, None,
    ),
    "wrong in one wide one only": ([window(0.02, 0.0, E), window(0.6, 0.5, E)], {}, "agrees", None, None),
    "right, with a gap below its error": (
        [
            window(0.02, 0.0, 2.0**-9, gap=2.0**-11, gap_error=2.0**-10),
            window(0.6, 0.0, 2.0**-8, gap=0.0, gap_error=2.0**-20),
        ],
        {}, "agrees", (-7 * 2.0**-11, 7 * 2.0**-11), None,
    ),  # 2**-9 + 2**-11 + 2**-10: the error, the gap of the narrower one, and its error
    "too wide an interval": ([window(0.02, 0.0, 0.02), window(0.6, 0.0, 0.02)], {}, "unclear", (-0.02, 0.02), None),
    "narrow compared with the terms": (
        [window(0.02, 0.0, 0.02), window(0.6, 0.0, 0.02)], {"size": 8.0}, "agrees", None, None,
    ),
    "wrong at the point": ([window(0.02, gap=1.0), window(0.6, gap=1.0)], {}, "wrong at the point", None, None),
    "nearly the same gap": (
        [window(0.02, gap=0.5), window(0.6, gap=0.5 * (1 + LIKE / 2))], {}, "wrong at the point", None, None,
    ),
    "another gap in each": ([window(0.02, gap=0.5), window(0.6, gap=0.75)], {}, "unclear", None, None),
    "not the same gap by the narrower one": (
        [window(0.02, gap=1.0), window(0.6, gap=1 + 1.1 * LIKE)], {}, "unclear", None, None,
    ),
    "a gap in one of two": ([window(0.02, gap=0.5), window(0.6)], {}, "unclear", None, None),
    "a gap at a kink": ([window(0.02, gap=0.5, bend=0.2), window(0.6, gap=0.5, bend=0.2)], {}, "unclear", None, None),
    "a gap and little bend": (
        [window(0.02, gap=0.5, bend=0.1), window(0.6, gap=0.5, bend=0.1)], {}, "wrong at the point", None, None,
    ),
    "not followed to the point": (
        [window(0.02, gap_error=0.01), window(0.6, gap_error=0.01)], {}, "unclear", None, None,
    ),
    "followed compared with the terms": (
        [window(0.02, gap_error=0.01), window(0.6, gap_error=0.01)], {"size": 8.0}, "agrees", None, None,
    ),
    "a gap in a third": ([window(1e-3), window(0.02), window(0.6, gap=1.0)], {}, "agrees", None, None),
}  # fmt: skip


@pytest.mark.parametrize("name", CONCLUSIONS)
def test_windows_are_summed_up_in_a_word_and_an_interval(name):
    seen, options, says, interval, reach = CONCLUSIONS[name]
    answer = conclude(seen, 0, **{"size": 1.0, **options})
    assert answer.says == says
    assert interval is None or (answer.low, answer.high) == interval
    assert answer.reach == (np.inf if reach is None else reach)
    assert answer.bound == max(-answer.low, answer.high)


def test_a_conclusion_is_final_if_no_window_contradicts_it():
    seen = [window(0.01, 0.5), window(0.02, 0.5)]
    assert conclude(seen, 0, 1.0).final
    answer = conclude([*seen, window(0.6, 0.2)], 0, 1.0)
    assert (answer.says, answer.final) == ("disagrees", False)
    assert not conclude([window(0.01), window(0.02)], 0, 1.0).final


def test_windows_with_a_gap_do_not_count_if_a_narrower_one_follows_the_claim_without():
    narrow, gap, wide = window(0.01), window(0.02, gap=1.0), window(0.6)
    assert has_gap(gap, 0) and not has_gap(narrow, 0) and not has_gap(window(0.02, gap=GAPS, gap_error=1.0), 0)
    assert without_gaps([narrow, gap, wide], 0) == [narrow, wide]
    assert without_gaps([gap, wide], 0) == [gap, wide]
    assert without_gaps([window(0.01, gap_error=1.5), gap], 0)[1:] == [gap]
    assert without_gaps([window(0.01, gap_error=1.0), gap], 0)[1:] == []


@pytest.mark.parametrize(
    ("bends", "slopes", "bent"),
    [
        ((1.0, 1.0), (0.5, 0.5), True),
        ((3.0, 6.0), (0.0, 0.0), True),
        ((-6.0, -3.0), (0.0, 0.0), True),
        ((0.9, 3.0), (0.0, 0.0), True),
        ((3.0, 0.9), (0.0, 0.0), True),
        ((1.0, 16.0), (0.0, 0.0), False),  # a curve, which bends less the narrower the window
        ((16.0, 1.0), (0.0, 0.0), False),  # noise
        ((1.0, 1.0), (0.5, 2.0), False),
        ((1.0, 1.0), (-2.0, 0.5), False),
        ((3.0, 3.0), (2.0, 2.0), True),
    ],
)
def test_a_kink_bends_a_function_by_as_much_in_both_windows(bends, slopes, bent):
    """The wider window is 16 times as wide: what bends alike differs by less than the root of that, 4."""
    pair = zip((0.01, 0.16), slopes, bends, strict=True)
    assert is_bent([window(width, slope, bend=bend) for width, slope, bend in pair], 0) == bent


@pytest.mark.parametrize(
    ("narrow", "wide", "gap", "rough"),
    [
        ({"tail": 0.01}, {"tail": 0.01}, 0.01, True),
        ({"tail": 0.01, "gap_error": 0.02}, {"tail": 0.01, "gap_error": 0.02}, 0.01, True),
        ({"tail": 1e-7}, {"tail": 0.01}, 0.0, False),  # smooth
        ({"tail": 0.01}, {"tail": 0.01, "width": 0.2}, 0.01, False),  # hardly wider
        ({"tail": 0.5}, {"tail": 0.5}, 0.5, False),  # as large as the claim: a singularity
        ({"tail": 1.0, "size": 4.0}, {"tail": 1.0, "size": 4.0}, 1.0, True),
        ({"tail": 0.01}, {"tail": 0.01}, 1.0, False),  # jumps are not the reason
        ({"tail": 0.01, "gap_error": 0.025}, {"tail": 0.01, "gap_error": 0.025}, 0.0, False),  # rounding
        ({"tail": 0.01, "gap_error": 1.0}, {"tail": 0.01}, 0.0, False),
    ],
)
def test_a_claim_is_rough_if_its_series_ends_as_late_in_a_narrow_window(narrow, wide, gap, rough):
    seen = [window(0.01, **{"gap_error": 0.01, **narrow}), window(**{"width": 0.6, "gap_error": 0.01, **wide})]
    assert is_rough(seen, 0, gap) == is_rough(seen[::-1], 0, gap) == rough


def test_roughness_is_relative_to_the_widest_window():
    middle = window(0.1, tail=2.0, size=10.0)
    assert is_rough([window(0.01, tail=0.01), middle, window(0.6, tail=0.01)], 0, 0.0)


def seen_in(f, at, width=1e-2, x=0.0, size=0.0, left_out=0.0, noise=0.0):
    """Return the window on a function along the sum of its inputs, with a claim of slopes at offsets."""
    direction = np.ones(np.size(x))
    line = sampler_of(f, x).line(direction)
    here = np.asarray(at(np.zeros(1)))
    claim = Claimed(lambda t, _: np.asarray(at(t))[:, None], here, np.array([size]), np.array([left_out]))
    return look(line, width, claim, np.array([noise]), [0])


def test_the_slope_left_over_and_its_error_are_those_of_a_regression():
    """NumPy's polyfit gives the variance by textbook, with the residuals over the points less two."""
    points, width = window_points(), 0.25
    noise = dict(zip((width * points).tolist(), 2.0 ** np.array([-3, -5, -4, -6, -4, -3, -7, -5]), strict=True))
    noise[0.0] = 0.0
    found = seen_in(lambda x: noise[float(x)], np.zeros_like, width)
    (slope, _), variance = np.polyfit(
        points, np.array([noise[t] for t in (width * points).tolist()]) / width, 1, cov=True
    )
    assert found.slope[0] == pytest.approx(slope, rel=1e-12)
    assert found.error[0] == pytest.approx(SIGMAS * np.sqrt(variance[0, 0]), rel=1e-9)


def test_a_kink_bends_what_is_left_over():
    """Of |x|, a claim of 1/2 leaves over 1/2 to the right and -3/2 to the left: in the mean, -1/2, and half of 2."""
    found = seen_in(np.abs, lambda t: np.full(len(t), 0.5))
    assert (found.slope[0], found.bend[0]) == pytest.approx((-0.5, 1.0))


def test_terms_that_a_claim_leaves_out_are_part_of_the_error():
    least, most = (seen_in(np.sin, np.cos, left_out=part) for part in (0.0, 0.25))
    assert most.error[0] - least.error[0] == pytest.approx(0.25)
    assert most.gap_error[0] - least.gap_error[0] == pytest.approx(0.25)


@pytest.mark.parametrize("size", [1.0, 1e9])
def test_the_rounding_of_large_terms_of_a_claim_is_part_of_the_error(size):
    least, most = (seen_in(np.sin, np.cos, size=part) for part in (0.0, size))
    assert most.error[0] - least.error[0] >= size * 2.0**-53


def test_what_a_series_does_not_follow_is_part_of_the_error():
    """The claim has a Chebyshev polynomial of degree 7, the last that the points resolve."""
    width = 0.25
    at = lambda t: 1 + 0.01 * np.cos(7 * np.arccos(np.clip(t / width, -1, 1)))  # noqa: E731
    found = seen_in(lambda x: x, at, width)
    assert found.tail[0] >= 0.01 and found.error[0] >= found.tail[0] and found.gap_error[0] >= found.tail[0]


def test_the_rounding_of_large_values_is_part_of_the_error():
    found = seen_in(lambda x: 1e8 + 0 * x, np.zeros_like)
    assert found.error[0] >= 1e8 * 2.0**-53 / 1e-2


def test_a_move_of_several_elements_is_rounded_in_each():
    """At 1e8, x + t is rounded by up to 1e8 * 2**-53; for a single element, t is what the sum moves by."""
    limit = 1e8 * 2.0**-53 / 1e-2
    both = seen_in(lambda x: 0.0, np.zeros_like, x=np.array([1e8, 1e8]), size=1.0)
    one = seen_in(lambda x: 0.0, np.zeros_like, x=1e8, size=1.0)
    assert both.error[0] >= limit > one.error[0]


def test_a_window_needs_as_many_points_as_its_degree():
    """At 1, two numbers are 2**-52 apart, or 2**-53 below it."""
    assert seen_in(np.sin, np.cos, 2.0**-52, x=1.0) is None
    assert seen_in(np.sin, lambda t: np.cos(1 + t), DEGREE * 2.0**-48, x=1.0) is not None


def test_points_that_rounding_moves_are_integrated_where_they_are():
    """At 1, with a half-width of 100 numbers, points move by up to a hundredth, but x - 1 is exact."""
    found = seen_in(lambda x: 3 * (x - 1), lambda t: np.full(len(t), 3.0), 100 * 2.0**-52, x=1.0)
    assert abs(found.slope[0]) < 1e-9
