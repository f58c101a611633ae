"""Verdicts on single elements, from the estimate with its error and the claim's own rounding."""

import itertools
import zlib

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.check.input_checks import block_of, worst_element
from gradcli.numeric.compare import MARGIN, Comparison, Limits, allowed
from gradcli.numeric.directions import Directions
from gradcli.numeric.integral import Claimed
from gradcli.numeric.rows import ClaimedRows
from gradcli.numeric.verdict import (
    FAIL,
    NEGLIGIBLE,
    OPEN,
    PASS,
    UNDECIDED,
    Entries,
    compare_by_tolerances,
    digits_of,
    least_accused,
)

from .lines import sampler_of


def judged(f, x, grad):
    """Judge each element of a function of one array separately."""
    sampler = sampler_of(f, x, lambda x: np.asarray(grad, float))
    entries = Entries(sampler.flat, sampler, ClaimedRows(sampler.flat, np.random.default_rng(0)))
    with np.errstate(all="ignore"):
        entries.compare_elements(range(sampler.flat.size))
    return entries


ROOT = np.sqrt(2)
ENTRIES = {
    "right": (np.sin, 1.0, np.cos(1.0), PASS),
    "off by 2e-6": (np.sin, 1.0, np.cos(1.0) * (1 + 2e-6), FAIL),
    "off by 5e-7": (np.sin, 1.0, np.cos(1.0) * (1 + 5e-7), PASS),
    "off in the last digits": (np.sin, 1.0, np.cos(1.0) * (1 + 1e-14), PASS),
    "nan": (np.sin, 1.0, np.nan, FAIL),
    "infinite": (np.sin, 1.0, np.inf, FAIL),
    "zero for a constant": (lambda x: 3.0 + 0 * x, 1.0, 0.0, PASS),
    "nonzero for a constant": (lambda x: 3.0 + 0 * x, 1.0, 1e-3, FAIL),
    "zero at a minimum": (lambda x: (x - 1) ** 2 + 1, 1.0, 0.0, PASS),
    "zero next to a minimum": (lambda x: (x - 1) ** 2 + 1, 1.001, 0.0, FAIL),
    "inside a kink": (abs, 0.0, 0.3, PASS),
    "the edge of a kink": (abs, 0.0, -1.0, PASS),
    "outside a kink": (abs, 0.0, 1.01, FAIL),
    "a jump": (lambda x: float(x > 1), 1.0, 0.0, UNDECIDED),
    "below rounding": (lambda x: 1.0 + 1e-17 * x, 1.0, 1e-17, NEGLIGIBLE),
    "a step of a staircase": (lambda x: np.floor(1000 * x) / 1000, 1.2345, 0.0, PASS),
    "the trend of a staircase": (lambda x: np.floor(1000 * x) / 1000, 1.2345, 1.0, UNDECIDED),
    "another slope of a staircase": (lambda x: np.floor(1000 * x) / 1000, 1.2345, 0.5, FAIL),
    "a step of a slope with a staircase": (lambda x: np.floor(1e7 * x) / 1e7 + 0.5 * x, 0.123456789, 0.5, UNDECIDED),
    "a tooth of a saw": (lambda x: 0.5 * x + 1e-10 * (1.2e6 * x % 1), -2.3, 0.50012, UNDECIDED),
    "steps of rounding close to 0": (lambda x: np.round(np.sin(x), 6), 1e-3, 1.0, UNDECIDED),
    "half the slope of rounding close to 0": (lambda x: np.round(np.sin(x), 6), 1e-3, 0.5, FAIL),
    "a narrow peak close to the point": (
        lambda x: np.sin(x) + 1e-9 * np.exp(-(((x + 2.3) / 2.7e-7 - 3) ** 2)),
        -2.3,
        np.cos(2.3),
        UNDECIDED,
    ),
    "infinite and right": (np.cbrt, 0.0, np.inf, UNDECIDED),
    "infinite, but finite claimed": (np.cbrt, 0.0, 1.0, FAIL),
    "the end of a domain": (np.sqrt, 2.0, 0.5 / ROOT, PASS),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_an_element_is_classified_by_its_own_estimate(name):
    f, x, claimed, state = ENTRIES[name]
    entries = judged(lambda x: np.asarray(f(x)), x, claimed)
    assert entries.state[0, 0] == state, entries.reasons
    assert (state == UNDECIDED) == ((0, 0) in entries.reasons)


REASONS = {
    "a jump": "jump",
    "the trend of a staircase": "staircase",
    "infinite and right": "infinite slope",
    "no values next to the point": "no slope",
}


@pytest.mark.parametrize("name", REASONS)
def test_reasons_are_named_after_their_pages(name):
    more = {"no values next to the point": (lambda x: 1.0 if x == 1 else np.nan, 1.0, 0.0)}
    f, x, claimed, *_ = {**ENTRIES, **more}[name]
    assert judged(lambda x: np.asarray(f(x)), x, claimed).reason().kind == REASONS[name]


def test_the_reason_for_a_staircase_gives_both_slopes():
    entries = judged(lambda x: np.floor(1000 * x) / 1000, 1.2345, 1.0)
    assert entries.reason().text.startswith("a staircase: the slope is 0 on the step here and 1")


def hashed(x):
    """Return noise from -1 to 1 that depends on the point only."""
    return zlib.crc32(np.float64(x).tobytes()) / 2**31 - 1


@pytest.mark.parametrize(
    ("f", "noise", "state"),
    [(np.sqrt, 1e-2, UNDECIDED), (np.cbrt, 1e-3, UNDECIDED), (np.sin, 1e-2, FAIL), (np.ones_like, 1e-2, FAIL)],
)
def test_an_infinite_claim_may_be_right_if_noise_hides_how_steep_the_function_is(f, noise, state):
    """Over a distance of 1, sin and a constant change too little for the slopes that noise would hide."""
    assert judged(lambda x: f(x) + noise * hashed(x), 0.0, np.inf).state[0, 0] == state


def test_a_small_element_that_agrees_is_negligible_next_to_a_large_one():
    noise = np.random.default_rng(0)
    f = lambda x: np.sum(x * [1e6, 1e-3]) + 1e-4 * noise.uniform(-1, 1)  # noqa: E731
    assert judged(f, np.ones(2), [1e6, 1e-3]).state.tolist() == [[PASS, NEGLIGIBLE]]


def test_one_wrong_element_decides_the_verdict():
    f = lambda x: np.sum(x**2)  # noqa: E731
    right = judged(f, np.arange(1.0, 4), [2.0, 4, 6])
    wrong = judged(f, np.arange(1.0, 4), [2.0, 4, 5])
    assert (right.word, wrong.word) == ("right", "wrong")
    assert wrong.state.tolist() == [[PASS, PASS, FAIL]]


@pytest.mark.parametrize("noise, state", [(1e-9, FAIL), (1e-6, PASS)])
def test_scatter_of_a_claim_excuses_only_errors_of_its_size(noise, state):
    """The noise depends on the point only, and the claim is off by 2e-6 besides."""

    def grad(x):
        return np.cos(x) * (1 + 2e-6 + noise * np.sin(1e17 * x))

    sampler = sampler_of(np.sin, 1.0, grad)
    entries = Entries(sampler.flat, sampler, ClaimedRows(sampler.flat, np.random.default_rng(0)))
    entries.compare_elements([0])
    assert entries.state[0, 0] == state


@pytest.mark.parametrize("strict, state", [(False, PASS), (True, FAIL)])
def test_a_slight_difference_passes_unless_asked_to_be_strict(strict, state):
    sampler = sampler_of(np.sin, 1.0, lambda x: np.cos(x) * (1 + 3e-7))
    entries = Entries(sampler.flat, sampler, ClaimedRows(sampler.flat, np.random.default_rng(0)), strict=strict)
    entries.compare_elements([0])
    assert entries.state[0, 0] == state
    assert bool(entries.slight) != strict


@pytest.mark.parametrize("relative, digits", [(0.0, 15.95), (1e-3, 3), (0.5, 0.30103), (10, 0)])
def test_digits_follow_from_the_relative_difference(relative, digits):
    assert digits_of(relative) == pytest.approx(digits)


def test_room_grows_with_the_error_and_has_a_floor_for_rough_estimates():
    assert allowed(1e-3, 0, 0) == pytest.approx(2.5e-3)
    assert allowed(0.0, 1e-9, 1.0) == 1e-9
    assert allowed(1e-12, 0, 1e-6) == pytest.approx(2.5e-12 + 1e-9)


def test_dtypes_with_fewer_digits_have_a_larger_floor():
    assert least_accused(2.0**-53) < least_accused(2.0**-24) < least_accused(2.0**-11)


@pytest.mark.parametrize("off, state", [(0.9, PASS), (1.1, FAIL)])
def test_fixed_tolerances_are_used_as_given(off, state):
    rtol, atol = 1e-3, 1e-5
    claimed = 2 + off * (atol + rtol * 2)
    sampler = sampler_of(lambda x: x**2, 1.0, lambda x: np.asarray(claimed))
    entries = Entries(sampler.flat, sampler, ClaimedRows(sampler.flat, np.random.default_rng(0)))
    compare_by_tolerances(entries, (1e-6, atol, rtol))
    assert entries.state[0, 0] == state


def test_the_named_element_has_the_largest_error_whatever_the_rounding():
    matrix = np.array([[-6.0, -1.5], [-1.5, -4.8]])
    for noise in (0.0, 1e-13, -1e-13):
        numeric = np.array([[-9.1, -5.6 + noise], [-5.6 - noise, -9.0 - noise]])
        entries = judged(lambda x, a=numeric: a @ x, [0.2, 0.5], matrix)
        worst = worst_element(entries, block_of(entries, slice(0, 2)))
        assert (worst.output, worst.place) == ((0,), (1,))
    entries = judged(lambda x: x**2, [1.0, 2.0], np.diag([2.02, 4.04]))
    worst = worst_element(entries, block_of(entries, slice(0, 2)))
    assert worst.place == (1,)  # the relative errors are equal, so the larger absolute error counts


@pytest.mark.parametrize("x", [257.295724, 300.1, 411.7])
def test_a_claim_that_scatters_by_a_thousandth_between_neighbours_does_not_pass(x):
    """Off by up to 1 %, which ten times its scatter between close points would allow."""
    rough = check_gradient(np.log, lambda x: (1 + 0.01 * np.sin(1e12 * x + 1)) / x, at={"x": x})
    assert rough.verdict != "pass"
    assert check_gradient(np.log, lambda x: 1 / x, at={"x": x}).verdict == "pass"


def wavy(x):
    """A sine with noise of 1e-8, which is another for each number."""
    return np.sin(x) + 1e-8 * np.sin(1e18 * x)


def test_the_bound_of_a_claim_includes_what_the_estimate_could_hide():
    line = sampler_of(wavy, 1.0).element(0)
    slope = np.cos(1.0)
    none = np.zeros(1)
    found = Comparison(
        line, Claimed(lambda t, _: np.cos(1 + t)[:, None], np.array([slope]), none), lambda *_: NO_LIMITS
    )
    assert found.verdicts == ["pass"]
    assert found.bound[0] >= MARGIN * found.slopes.error[0] > 1e-9


NO_LIMITS = Limits(*np.zeros((4, 1)))


def test_noise_between_calls_of_a_claim_counts_as_its_rounding():
    noise = itertools.cycle([1e-9, -1e-9])
    sampler = sampler_of(np.sin, np.ones(2), lambda x: np.diag(np.cos(x)) + next(noise))
    entries = Entries(sampler.flat, sampler, ClaimedRows(sampler.flat, np.random.default_rng(0)))
    assert (entries.own_rounding >= 2e-9).all() and (entries.own_rounding < 1e-7).all()


def test_a_bound_settles_an_element_only_if_it_is_tight():
    x = np.linspace(0.5, 1.5, 60)
    sampler = sampler_of(lambda x: np.sin(x).sum(), x, np.cos)
    entries = Entries(sampler.flat, sampler, ClaimedRows(sampler.flat, np.random.default_rng(0)))
    directions = Directions(entries, 0)
    directions.bound_by(directions.compare(directions.draw("relative"), "relative"))
    entries.bound[0, 7], entries.bound[0, 8] = 0.03 * np.cos(x[7]), np.inf  # the limit is 2 %
    assert not directions.settle()
    assert np.flatnonzero(entries.state[0] != PASS).tolist() == [7, 8]


def test_equal_numbers_agree_to_all_digits_that_are_counted():
    with np.errstate(all="raise"):
        assert digits_of(0.0) == digits_of(1e-30) == pytest.approx(53 * np.log10(2), abs=0.01)
        assert digits_of(np.inf) == digits_of(7.0) == 0


def test_an_entry_at_a_kink_is_undecided_if_its_sides_are_hardly_known():
    entries = judged(abs, 0.0, 0.3)
    assert entries.sides[0, 0] == pytest.approx((-1, 1)) and entries.kinks == {0: [0]}
    assert entries.at_kink(0, 0, 0.5) == UNDECIDED
    assert "known only to within" in entries.reasons[0, 0].text
    entries.claimed[0, 0] = 1.3
    assert entries.at_kink(0, 0, 1e-9) == FAIL


def test_values_at_a_kink_are_settled_together():
    def three():
        entries = judged(lambda x: np.abs(x).sum(), np.zeros(3), [0.3, 0.2, 0.1])
        entries.kinks.clear()
        return entries

    for inside, state in ((True, PASS), (False, FAIL), (None, UNDECIDED)):
        entries = three()
        entries.settle_kinks({(0, 2): inside}, 0)
        assert entries.state[0].tolist() == [state, PASS, state]
        assert len(entries.notes) == (inside is False)
    entries = three()
    entries.state[0, 0] = FAIL
    entries.settle_kinks({(0, 2): True}, 0)
    assert len(entries.notes) == 1


@pytest.mark.parametrize("bound", [1e-9, np.inf])
def test_open_entries_near_a_kink_are_accepted_if_they_have_bounds(bound):
    entries = judged(lambda x: np.abs(x).sum(), np.zeros(3), [0.3, 0.2, 0.1])
    entries.state[:], entries.bound[:] = OPEN, bound
    entries.kinks.clear()
    entries.accept_near_kink(np.ones(1, bool), np.array([[True, False, True]]))
    assert entries.kinks == {0: [0, 2]}
    assert set(entries.state[0].tolist()) == {PASS if np.isfinite(bound) else OPEN}


@pytest.mark.parametrize("distance", [1e-12, 1e-13])
@pytest.mark.parametrize("name", ["reciprocal", "cube root", "tangent"])
def test_a_claim_next_to_a_singularity_is_not_accused(name, distance):
    f, slope, x = {
        "reciprocal": (lambda x: 1 / (x - 1), lambda x: -1 / (x - 1) ** 2, 1 + distance),
        "cube root": (lambda x: np.cbrt(x - 1), lambda x: 1 / 3 / np.cbrt(x - 1) ** 2, 1 + distance),
        "tangent": (np.tan, lambda x: 1 / np.cos(x) ** 2, np.pi / 2 - distance),
    }[name]
    assert check_gradient(f, slope, at={"x": x}).verdict == "inconclusive"
    assert check_gradient(f, lambda x: 1.5 * slope(x), at={"x": x}).verdict != "pass"
