"""Fits of growing width: the interval that they agree on, and what values at close points say of it."""

import numpy as np
import pytest

from gradcli.numeric.chain import FIRST, PAIRS, RATIO, WANTED, WIDE, Chain
from gradcli.numeric.fit import fit

from .lines import fit_of, line_of, sampler_of

INF, NAN = np.inf, np.nan


def chain_of(f=np.sin, x=0.0, fits=(), side=0, enough=0.0, **known):
    """Return the chain of some fits of a function of a number, along that number in units of 1."""
    chain = Chain(line_of(f, x), side, enough)
    chain.fits = list(fits)
    for name, number in known.items():
        setattr(chain, name, np.array([number]))
    return chain


# fits (value and error) from narrow to wide; the interval; the fit that contradicts, -1 if none does
INTERVALS = {
    "one": ([(2.0, 1.0)], (1.0, 3.0), -1),
    "two that overlap": ([(2.0, 1.0), (2.5, 1.0)], (1.5, 3.0), -1),
    "one within the other": ([(2.0, 1.0), (2.25, 0.25)], (2.0, 2.5), -1),
    "two that meet": ([(0.0, 1.0), (1.125, 0.125)], (1.0, 1.0), -1),
    "a tighter one, apart by little": ([(0.0, 1.0), (1.25, 0.125)], (1.125, 1.375), -1),
    "a wider one, apart by little": ([(1.25, 0.125), (0.0, 1.0)], (1.125, 1.375), -1),
    "a tighter one, apart by little, below": ([(0.0, 1.0), (-1.25, 0.125)], (-1.375, -1.125), -1),
    "apart by both their half-widths": ([(0.0, 1.0), (3.0, 0.5)], (2.5, 3.5), -1),
    "apart by more": ([(0.0, 1.0), (3.25, 0.5)], (-1.0, 1.0), 1),
    "apart by more, below": ([(0.0, 1.0), (-3.25, 0.5)], (-1.0, 1.0), 1),
    "one after a contradiction": ([(0.0, 1.0), (3.25, 0.5), (0.0, 0.5)], (-1.0, 1.0), 1),
    "none": ([(NAN, INF)], (-INF, INF), -1),
    "one of two": ([(NAN, INF), (2.0, 1.0)], (1.0, 3.0), -1),
    "the other of two": ([(2.0, 1.0), (7.0, INF)], (1.0, 3.0), -1),
}


@pytest.mark.parametrize("name", INTERVALS)
def test_the_interval_is_what_fits_agree_on_up_to_the_first_that_contradicts(name):
    numbers, interval, against = INTERVALS[name]
    chain = chain_of(fits=[fit_of(10.0**k, *pair) for k, pair in enumerate(numbers)])
    chain.intersect()
    assert (chain.low[0], chain.high[0]) == interval
    assert chain.against[0] == against
    low, high = interval
    assert chain.error[0] == (INF if high == INF else (high - low) / 2)
    assert high == INF or chain.value[0] == (low + high) / 2


def test_the_width_and_the_noise_are_those_of_the_most_precise_fit():
    chain = chain_of(fits=[fit_of(1.0, 2.0, 1.0, 0.5), fit_of(2.0, 2.0, 0.25, 0.5), fit_of(4.0, 2.0, 0.5, 0.75)])
    chain.intersect()
    assert (chain.width[0], chain.noise[0]) == (2.0, 0.5)


def test_rounding_of_large_values_limits_narrow_fits():
    """Values change by 2**53 over the scale, so their rounding is about 1, and over a width of 1/4 the slope's is 4."""
    chain = chain_of(fits=[fit_of(0.25, 2.0, 1e-9), fit_of(1e9, 2.0, 1.0)], change=2.0**53)
    chain.intersect()
    assert chain.error[0] == 1.0
    chain.fits.pop()
    chain.intersect()
    assert chain.error[0] >= 4.0


def test_a_wide_fit_that_misses_the_noise_of_narrower_ones_is_not_more_precise_for_it():
    narrow = fit_of(1.0, 2.0, 1e-3, 1e-3)
    for noise, least, most in ((1e-3, 0.0, 1e-6), (1e-6, 1e-5, 1e-3)):
        chain = chain_of(fits=[narrow, fit_of(2.0, 2.0, 1e-6, noise)])
        chain.intersect()
        assert least <= chain.error[0] <= 1.001 * most


@pytest.mark.parametrize(
    ("noises", "rises"),
    [
        ([1.0], [1]),
        ([1.0, 1.0, 1.0], [1, 1, 1]),
        ([0.25, 1.0], [4, 1]),
        ([0.25, 1.0, 1.0], [4, 1, 1]),
        ([1 / 64, 1.0, 1.0], [64, 1, 1]),  # missed by chance, as noise stays the same
        ([1 / 64, 1.0], [1, 1]),  # may be structure
        ([1 / 64, 1.0, 900.0], [1, 1, 1]),  # structure grows with the width
        ([1 / 64, 1.0, 4.0], [256, 4, 1]),
        ([1.0, 0.5], [1, 1]),
        ([1.0, 0.5, 0.25], [1, 1, 1]),
        ([1e-9, 1.0, 1.0], [1, 1, 1]),  # far more than a fit can miss
    ],
)
def test_noise_that_a_narrow_fit_misses_is_that_of_wider_ones(noises, rises):
    chain = chain_of(fits=[fit_of(RATIO**k, noise=noise) for k, noise in enumerate(noises)])
    assert [x[0] for x in chain.rises_of_noise()] == pytest.approx(rises)


def test_a_narrow_fit_has_the_error_of_the_noise_that_it_misses():
    chain = chain_of(fits=[fit_of(1.0, 2.0, 0.25, 0.25), fit_of(30.0, 2.0, 4.0, 1.0)])
    chain.intersect()
    assert chain.error[0] == 1.0  # noise is 4 times as large as the narrow fit sees


@pytest.mark.parametrize(
    ("fits", "change"),
    [
        ([], 0.0),
        ([fit_of(FIRST, series=(5.0, 0.5, -0.25))], 0.75 / FIRST),
        ([fit_of(FIRST, series=(5.0, 0.5)), fit_of(WIDE, series=(5.0, 0.5))], 0.5 / FIRST),
        ([fit_of(FIRST, series=(5.0, 0.5)), fit_of(WIDE, series=(5.0, 60.0))], 60 / WIDE),
        ([fit_of(FIRST, series=(5.0, 0.5), noise=0.5), fit_of(WIDE, series=(5.0, 0.5))], 0.5 / WIDE),
        ([fit_of(FIRST, series=(5.0, 1e3), noise=0.1)], 1e3 / FIRST),
        ([fit_of(FIRST, series=(5.0, 0.5), error=INF)], 0.0),
        ([fit_of(2 * WIDE, series=(5.0, 0.5))], 0.0),
        ([fit_of(1e-4, series=(5.0, 0.5)), fit_of(1e-3, series=(5.0, 0.5))], 0.5 / 1e-3),
        ([fit_of(1e-3, series=(5.0, 0.5)), fit_of(FIRST, series=(5.0, 0.5), noise=0.5)], 0.5 / 1e-3),
        ([fit_of(1e-3, series=(5.0, 0.5)), fit_of(FIRST, series=(5.0, 0.5))], 0.5 / FIRST),
    ],
)
def test_the_change_of_a_function_is_that_of_fits_that_resolve_it(fits, change):
    assert chain_of(fits=fits).change_of_resolved()[0] == pytest.approx(change)


@pytest.mark.parametrize(
    ("low", "high", "known", "good"),
    [
        (1 - 1e-8, 1 + 1e-8, {}, True),
        (-1 - 1e-8, -1 + 1e-8, {}, True),
        (1 - 1e-4, 1 + 1e-4, {}, False),
        (1 - 1e-4, 1 + 1e-4, {"enough": 2e-4}, True),
        (1.0, 1.0, {}, True),
        (-1e-9, 1e-9, {"change": 1.0}, True),
        (-1e-9, 1e-9, {"change": 1e-6}, False),
        (1e-9, 2e-9, {"change": 1.0}, False),  # 3 errors away from 0
        (-2e-9, -1e-9, {"change": 1.0}, False),
        (-INF, INF, {"change": 1.0}, False),
        (-INF, INF, {"enough": INF}, False),
    ],
)
def test_an_interval_is_good_relative_to_the_slope_or_next_to_0_to_the_change(low, high, known, good):
    assert WANTED < 1e-5
    assert chain_of(low=low, high=high, **known).good().tolist() == [good]


def test_close_points_are_those_on_both_sides():
    """Of x^2 + x at 1, values differ by 6 w; half the distance of the points is w."""
    chain = chain_of(lambda x: x**2 + x, 1.0)
    up, down, half, rounding = chain.differences((1e-2, 1e-4))
    assert half == pytest.approx([1e-2, 1e-4], rel=1e-10)
    np.testing.assert_allclose(up - down, 6 * half[:, None], rtol=1e-10)
    np.testing.assert_allclose(up + down, 4 + 2 * half[:, None] ** 2, rtol=1e-14)
    assert rounding[0] >= 2 * 2.0**-53
    assert chain.differences((1e-30,))[2] == pytest.approx([chain.least], rel=1e-3)
    assert len(chain.differences((1e-2, 1e-30))[2]) == 1


@pytest.mark.parametrize(
    ("f", "steepens"),
    [
        (lambda x: np.sign(x) * np.sqrt(abs(x)), True),
        (lambda x: 5 - np.sign(x) * abs(x) ** 0.8, True),
        (lambda x: np.sign(x) * abs(x) ** 0.9, False),  # 100 times closer, the slope is only 1.6 times larger
        (np.sign, True),
        (np.sin, False),
        (np.abs, False),
        (lambda x: 0 * x, False),
        (lambda x: np.sqrt(x) if x >= 0 else np.nan, False),
        (lambda x: 1 + 1e-17 * np.sign(x), False),
        (lambda x: 1 + 3e-14 * np.sign(x), False),  # some rounding units
    ],
)
def test_slopes_grow_towards_a_point_where_they_are_infinite(f, steepens):
    with np.errstate(invalid="ignore"):
        chain = chain_of(f).run()
        assert chain.steepens().tolist() == [steepens]


@pytest.mark.parametrize(
    ("f", "x", "kink"),
    [
        (np.abs, 0.0, True),
        (lambda x: 3 * x - 0.125 * abs(x), 0.0, True),
        (lambda x: 5 + abs(x), 0.0, True),
        (lambda x: x + x**2, 0.0, False),
        (np.sin, 0.0, False),
        (lambda x: abs(x) ** 1.5, 0.0, False),
        (lambda x: np.sqrt(abs(x)), 0.0, False),
        (lambda x: abs(x) + np.sign(x) * np.sqrt(abs(x)), 0.0, False),  # no slope on either side
        (lambda x: abs(x) if x >= 0 else np.nan, 0.0, False),
        (lambda x: 1e-10 * abs(x) + 1, 0.0, False),  # below rounding at the closest points
        (lambda x: abs(x - 1e12), 1e12, False),  # no point is that close
        (lambda x: 0 * x, 0.0, False),
    ],
)
def test_a_kink_shows_as_the_same_bend_between_all_close_points(f, x, kink):
    assert chain_of(f, x).shows_kink().tolist() == [kink]


@pytest.mark.parametrize(
    ("f", "sides"),
    [
        (np.abs, True),
        (lambda x: x + 0.125 * abs(x), True),
        (lambda x: 5 + abs(x), True),
        (lambda x: 5 + x + x**2, False),
        (lambda x: 1 + 2.0**-51 * (x != 0), False),  # two rounding units
        (lambda x: x + x**2, False),
        (np.sin, False),
        (lambda x: np.sqrt(x) if x >= 0 else np.nan, True),
        (lambda x: np.sqrt(-x) if x <= 0 else np.nan, True),
        (lambda x: 1.0 * (x > 0), True),
        (lambda x: x + 1e-3 * abs(x), False),  # less than a hundredth of the slope
        (lambda x: 100 * x + 0.1 * abs(x), False),
        (lambda x: 1 + 1e-13 * abs(x), False),  # below rounding
        (lambda x: 0 * x, False),
    ],
)
def test_sides_differ_if_the_even_part_falls_no_faster_than_the_distance(f, sides):
    assert chain_of(f).has_sides(PAIRS).tolist() == [sides]


@pytest.mark.parametrize(
    ("side", "where", "agrees"),
    [(0, 1, False), (0, -1, False), (1, 1, False), (1, -1, True), (-1, 1, True), (-1, -1, False)],
)
def test_close_points_on_the_sides_of_a_fit_may_contradict_it(side, where, agrees):
    """A fit of x has points as close as 0.02 * 0.01; the function is 0.001 larger up to there, on one side."""
    chain = chain_of(lambda x: x + 1e-3 * (0 < where * x < 1.5e-4), side=side, low=1 - 1e-9, high=1 + 1e-9)
    chain.fits = [fit(line_of(lambda x: x, 0.0), FIRST, 16, side)]
    chain.width, chain.noise = np.array([FIRST]), np.zeros(1)
    assert chain.agrees_with_close_points().tolist() == [agrees]
    chain.width = np.array([FIRST / 2])  # the interval is that of a narrower fit
    assert chain.agrees_with_close_points().all()


@pytest.mark.parametrize("slope", [1.25, 0.75])
def test_close_points_are_compared_with_the_curve_of_a_fit_and_the_slope_of_the_interval(slope):
    """The function and the interval have slope 1, and the fit has another."""
    chain = chain_of(lambda x: x, low=1 - 1e-9, high=1 + 1e-9, width=FIRST, noise=0.0)
    chain.fits = [fit(line_of(lambda x: slope * x, 0.0), FIRST, 8)]
    assert chain.agrees_with_close_points().all()
    chain.low = chain.high = np.array([slope])
    assert not chain.agrees_with_close_points().any()


@pytest.mark.parametrize(
    ("noise", "off", "agrees"),
    [(1e-16, 2.0**-53, True), (1e-16, 1e-14, False), (1e-14, 1e-14, True), (1e-3, 1e-6, False)],
)
def test_close_points_agree_to_within_noise_but_not_to_within_structure(noise, off, agrees):
    """Values of 1 have rounding of 1e-16; noise of 1e-3 may be structure that a narrower fit resolves."""
    chain = chain_of(lambda x: 1 + x + off * (0 < abs(x) < 1.5e-4), low=1.0, high=1.0, width=FIRST, noise=noise)
    chain.fits = [fit(line_of(lambda x: 1 + x, 0.0), FIRST, 8)]
    assert chain.agrees_with_close_points().tolist() == [agrees]


@pytest.mark.parametrize(("f", "constant"), [(lambda x: 5.0, True), (lambda x: 5.0 + (x > 0.2), False)])
def test_equal_values_in_all_fits_are_compared_with_some_further_away(f, constant):
    """At 0.001, the fit ends at 0.00102."""
    chain = Chain(sampler_of(f, 1e-3).element(0), 0)
    chain.fits = [fit_of(FIRST, constant=True)]
    assert chain.constant().tolist() == [constant] and chain.seems_constant().tolist() == [not constant]


def test_a_wide_fit_misses_what_is_between_its_points():
    wide = fit(line_of(np.sin, 0.0), 0.5, 8)
    near = np.array([1e-3, -1e-3, 2e-3])
    assert not chain_of(np.sin).misses(wide, near).any()
    assert chain_of(lambda x: np.sin(x) + 1e-3 * (abs(x) < 3e-3) * (x != 0)).misses(wide, near).all()
    assert chain_of(lambda x: np.sin(x) + 1e-3 * (x == 2e-3)).misses(wide, near).all()


def test_a_fit_that_misses_structure_has_an_infinite_error():
    chain = chain_of(lambda x: np.sin(x) + 0.125 * x * np.exp(-((x / 1e-3) ** 2)))
    chain.add_fit(1e-3 / RATIO, 8)
    chain.add_fit(WIDE, 8)
    chain.add_fit(1e-3 / RATIO / 2, 8)
    assert [f.width for f in chain.fits] == sorted(f.width for f in chain.fits)
    assert [bool(np.isfinite(f.error[0])) for f in chain.fits] == [True, True, False]
    chain.add_fit(WIDE, 16)
    assert len(chain.fits) == 3 and len(chain.fits[-1].points) == 17


def test_a_line_that_moves_nothing_has_no_fits():
    """At 1, a move of 1e-20 is rounded to 0."""
    line = sampler_of(np.sin, 1.0).line(np.array([1e-20]))
    chain = Chain(line, 0).run()
    assert chain.fits == [] and not chain.done() and not chain.unresolved()
    assert chain.noise_of_narrowest.tolist() == chain.find_settled().tolist() == chain.limited().tolist() == [0]
    assert chain.agrees_with_close_points().all()


@pytest.mark.parametrize(
    ("noise", "size", "error", "unresolved"),
    [(0.5, 1.0, 1.0, True), (1e-3, 1.0, 1.0, False), (0.5, 1.0, INF, False), (1e-13, 1e-13, 1.0, False)],
)
def test_structure_is_unresolved_if_the_narrowest_fit_has_much_noise(noise, size, error, unresolved):
    """Rounding of 1 is about 1e-16: noise of 1e-13 may be rounding inside the function."""
    first = fit_of(1e-3, 1.0, error, noise, series=(1.0, size, size / 2))
    assert chain_of(np.cos, fits=[first, fit_of(1.0)]).unresolved() == unresolved


@pytest.mark.parametrize(
    ("top", "limited"),
    [
        (fit_of(1.0, 1.0, 0.5, 1e-9), True),
        (fit_of(1.0, -1.0, 0.5, 1e-9), True),
        (fit_of(1.0, 1.0, 1e-9, 1e-9), False),  # precise enough
        (fit_of(1.0, 1.0, 0.5, 1e-3), False),  # limited by its degree
        (fit_of(1.0, 1.0, INF, 1e-9), False),
    ],
)
def test_the_widest_fit_is_limited_by_noise_if_others_have_as_much(top, limited):
    fits = [fit_of(0.1, 1.0, 1.0, 1e-12, constant=True), fit_of(0.2, 1.0, INF, 1e-12), fit_of(0.3, 1.0, 1.0, 1e-9), top]
    assert chain_of(fits=fits).limited().tolist() == [limited]


@pytest.mark.parametrize(
    ("fits", "rounding"),
    [
        ([fit_of(FIRST, 0.0, 1.0, 1e-16)], True),
        ([fit_of(FIRST, 0.0, 1.0, 1e-9)], False),
        ([fit_of(FIRST, 0.0, INF, 1e-16)], False),
        ([fit_of(FIRST, 0.0, 1.0, 1e-16), fit_of(WIDE, 0.0, 1.0, 1e-9)], True),
    ],
)
def test_rounding_limits_fits_without_more_noise(fits, rounding):
    """The function is 1, with rounding of 1e-16."""
    chain = chain_of(lambda x: 1.0 + 0 * x, fits=fits, low=-1.0, high=1.0, width=0.0, noise=0.0)
    assert chain.rounding_limits().tolist() == [rounding]
