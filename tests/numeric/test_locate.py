"""Bisection over elements ends at the wrong one."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.claims.hand_written import HandWritten
from gradcli.numeric.decide import Observation
from gradcli.numeric.directions import Directions
from gradcli.numeric.flat import Flat
from gradcli.numeric.locate import (
    FAIL_CALLS,
    MOST_LOCATED,
    NO_ELEMENT,
    ONE_BY_ONE,
    PASS_CALLS,
    SAMPLE,
    Locator,
    bisect,
    halves,
    locate_output,
)
from gradcli.numeric.rows import ClaimedRows
from gradcli.numeric.sampler import Sampler
from gradcli.numeric.verdict import FAIL, OPEN, PASS, UNDECIDED, Entries

from .lines import entries_of


def test_halves_keep_inputs_together():
    first, second = halves(np.arange(10), [0, 3, 10])
    assert (first.tolist(), second.tolist()) == (list(range(3)), list(range(3, 10)))
    first, second = halves(np.array([4, 6, 8, 9]), [0, 3, 10])
    assert (first.tolist(), second.tolist()) == ([4, 6], [8, 9])


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("place", [0, -1])
def test_bisection_ends_at_the_wrong_element(size, place):
    off = np.zeros(size)
    off[place] = -0.3
    asked = []

    def off_by(elements):
        asked.append(len(elements))
        return off[elements].sum()

    assert bisect(np.arange(size), -0.3, off_by, [0, size]) == np.arange(size)[place]
    assert len(asked) <= math.ceil(math.log2(size))


def test_the_larger_of_two_errors_is_found_first():
    off = np.zeros(100)
    off[[20, 70]] = 1.0, -3.0
    assert bisect(np.arange(100), -2.0, lambda part: off[part].sum(), [0, 100]) == 70


def test_an_unknown_half_follows_from_the_other():
    off = np.zeros(8)
    off[6] = 1.0
    known = lambda part: np.nan if 0 in part else off[part].sum()  # noqa: E731
    assert bisect(np.arange(8), 1.0, known, [0, 8]) == 6
    assert bisect(np.arange(8), 1.0, lambda part: np.nan, [0, 8]) is None


AT, WEIGHTS = np.array([1.0, 2.0, -0.5, 3.0]), np.array([2.0, -1.0, 4.0, 0.5])


def located(claimed):
    """Return a locator for sin(x) @ WEIGHTS, with a direction along which the claim was compared."""
    directions = Directions(entries_of(lambda x: np.sin(x) @ WEIGHTS, AT, lambda x: claimed), 1)
    return Locator(directions), directions.compare(directions.draw("relative"), "relative")


RIGHT = np.cos(AT) * WEIGHTS


@pytest.mark.parametrize(("factor", "slight"), [(1 + 3e-7, True), (1 + 1e-4, False)])
def test_small_errors_of_all_elements_may_add_up_to_a_disagreement(factor, slight):
    _, probed = located(factor * RIGHT)
    assert probed.wrong.all() and probed.exceeds_rounding.all()
    assert (probed.may_be_slight.all(), probed.proves.any()) == (slight, not slight)


@pytest.mark.parametrize(("factor", "common"), [(2.0, 2.0), (-1.0, -1.0), (1 + 1e-3, 1.001), (1.0, None)])
def test_a_common_factor_shows_along_two_directions(factor, common):
    locator, _ = located(factor * RIGHT)
    found = locator.common_factor(None)
    assert found is None if common is None else found == pytest.approx(common, rel=1e-8)
    assert located(RIGHT * [2.0, 1, 1, 1])[0].common_factor(None) is None
    locator.rows.known = False
    assert locator.common_factor(None) is None


def test_a_direction_that_is_more_precise_than_an_element_decides_it():
    locator, probed = located(RIGHT + [0, 0.3, 0, 0])
    entries = locator.entries
    entries.error[0, 1] = 0.5
    array = SimpleNamespace(family="array", may_be_slight=np.array([False]))
    slight = SimpleNamespace(family="relative", may_be_slight=np.array([True]))
    assert not locator.take_from_probe(array, 0, 1, 0.3, 1e-6)
    assert not locator.take_from_probe(slight, 0, 1, 0.3, 1e-6)
    assert not locator.take_from_probe(probed, 0, 1, 0.3, 2.0)
    assert not locator.take_from_probe(probed, 0, 1, 1e-7, 1e-6)
    assert entries.state[0, 1] == OPEN
    assert locator.take_from_probe(probed, 0, 1, 0.3, 1e-6)
    assert entries.state[0, 1] == FAIL and entries.value[0, 1] == pytest.approx(RIGHT[1], abs=1e-12)
    assert entries.error[0, 1] <= 1e-6
    locator.explained(probed, [1])
    assert entries.state[0].tolist() == [PASS, FAIL, PASS, PASS]


def test_other_elements_stay_open_if_one_does_not_explain_all():
    locator, probed = located(RIGHT + [0, 0.3, 0.1, 0])
    entries = locator.entries
    entries.value[0, 1], entries.error[0, 1], entries.state[0, 1] = RIGHT[1], 1e-12, FAIL
    locator.explained(probed, [1])
    assert entries.state[0].tolist() == [OPEN, FAIL, OPEN, OPEN]


def test_an_element_is_compared_by_few_points_if_they_decide():
    locator, probed = located(RIGHT * [1, 1, 1.5, 1])
    locator.entries.proven = True
    for i, state in enumerate([PASS, PASS, FAIL, PASS]):
        before = locator.sampler.calls
        locator.compare_quickly(i, probed)
        assert locator.entries.state[0, i] == state
        assert locator.sampler.calls - before < 10
        assert locator.entries.value[0, i] == pytest.approx(RIGHT[i], rel=1e-6)


def test_the_element_with_a_kink_is_located():
    """The function has a kink at the second element, and is a straight line along the others."""
    locator = Locator(Directions(entries_of(lambda x: np.abs(x - [0.3, 2.0, 1.0, 1.0]).sum(), AT), 1))
    assert locator.locate_rough(np.ones(4)) == locator.locate_rough(np.array([0.0, 1, 1, 1])) == 1
    assert locator.locate_rough(np.zeros(4)) is None
    edge = Locator(Directions(entries_of(lambda x: np.sqrt(x - [0, 2.0, -1, 0]).sum(), AT), 1))
    with np.errstate(invalid="ignore"):
        assert edge.locate_rough(np.ones(4)) == 1


@pytest.mark.parametrize(("words", "count"), [(("smooth", "kink"), 12), (("noise",), ONE_BY_ONE)])
def test_few_elements_are_compared_alone_unless_they_may_have_kinks(words, count):
    sizes = np.arange(1.0, 13)
    entries = entries_of(lambda x: x @ sizes, np.ones(12), lambda x: sizes)
    locator, compared = Locator(Directions(entries, 1)), []
    entries.compare_element = lambda i: compared.append(i) or entries.state.__setitem__((0, i), PASS)
    locator.directions.compare(locator.directions.draw("relative"), "relative")
    found = SimpleNamespace(words=words, reason=lambda j: Observation("noise", "why"))
    locator.compare_all_or_some(SimpleNamespace(found=found, agrees=np.zeros(1, bool), wrong=np.zeros(1, bool)))
    assert sorted(compared) == list(range(12 - count, 12))  # those with the largest effects


def searching(claimed=RIGHT, off=1.0, tolerance=0.1, family="relative", exceeds=True, proves=True, size=4):
    """Return a locator without a common factor, and a direction of ones along which it disagrees."""
    at = np.linspace(0.5, 1.5, size)
    locator = Locator(Directions(entries_of(np.sum, at, lambda x: np.resize(np.asarray(claimed, float), size)), 1))
    locator.common_factor = lambda probed: None
    seen = {"off": np.array([off]), "tolerance": np.array([tolerance]), "excess": np.array([abs(off / tolerance)])}
    flags = {"exceeds_rounding": np.array([exceeds]), "proves": np.array([proves]), "may_be_slight": np.array([False])}
    return locator, SimpleNamespace(family=family, line=SimpleNamespace(direction=np.ones(size)), **seen, **flags)


@pytest.mark.parametrize(
    ("family", "exceeds", "proves", "ends", "proven", "undecided"),
    [
        ("relative", True, True, True, True, False),
        ("relative", True, False, False, False, True),
        ("relative", False, False, False, False, False),
        ("array", True, True, False, False, False),
    ],
)
def test_a_disagreement_that_no_element_explains(family, exceeds, proves, ends, proven, undecided):
    locator, probed = searching(family=family, exceeds=exceeds, proves=proves)
    locator.locate = lambda *_: None
    assert locator.search(probed) is ends and (locator.proven is probed) is proven
    assert set(locator.entries.state[0].tolist()) == {UNDECIDED if undecided else OPEN}
    assert {why.text for why in locator.entries.reasons.values()} == ({NO_ELEMENT} if undecided else set())


def finding(locator, order, wrong):
    """Let a search find elements in this order, of which some are off by as much as given."""
    asked, filled = [], []
    locator.rows.fill_column = filled.append

    def compare(i):
        asked.append(i)
        entries = locator.entries
        assert filled == asked
        entries.value[0, i], entries.error[0, i] = entries.claimed[0, i] - wrong.get(i, 0.0), 1e-3
        entries.state[0, i] = FAIL if i in wrong else PASS

    locator.entries.compare_element, remaining = compare, iter(order)
    locator.locate = lambda probed, row, off, known: next(remaining, None)
    locator.compare_sample = lambda probed, found: False
    return asked


@pytest.mark.parametrize(
    ("order", "wrong", "asked", "explained"),
    [
        ([1, 2, 3], {1: 1.0}, [1], True),
        ([1, 2, 3], {1: 0.95}, [1], True),
        ([1, 2, 3], {1: 0.5, 2: 0.5}, [1, 2], True),
        ([1, 1, 3], {1: 0.5}, [1], False),
        ([1], {1: 0.5}, [1], False),
        ([3, 1], {1: 1.0}, [3], False),
    ],
)
def test_wrong_elements_are_located_until_they_explain_the_disagreement(order, wrong, asked, explained):
    """It is 1, and 0.1 may be rounding. An element that is right by itself ends the search."""
    locator, probed = searching()
    seen, sets = finding(locator, order, wrong), []
    locator.explained = lambda probed, found: sets.append(found)
    assert locator.search(probed) and seen == asked
    assert sets == ([asked] if explained else [])
    assert (locator.proven is probed) is (seen == [3])


def test_a_sample_may_end_the_search():
    locator, probed = searching()
    asked = finding(locator, [1, 2, 3], {1: 0.5, 2: 0.5})
    locator.compare_sample = lambda probed, found: True
    assert locator.search(probed) and asked == [1]


def test_at_most_ten_wrong_elements_are_located():
    locator, probed = searching(off=100.0, size=20)
    asked = finding(locator, range(20), dict.fromkeys(range(20), 1.0))
    assert locator.search(probed) and len(asked) == MOST_LOCATED


@pytest.mark.parametrize(("proves", "slight", "ends"), [(False, 1, True), (True, 1, False), (False, 2, False)])
def test_an_element_that_differs_slightly_ends_a_search_that_proves_nothing(proves, slight, ends):
    locator, probed = searching(proves=proves)
    finding(locator, [1], {1: 1.0})
    locator.entries.slight = {slight: 1e-7}
    locator.explained = lambda probed, found: None
    assert locator.search(probed) is (not ends) and locator.proven is None


def test_what_is_left_of_a_disagreement_may_be_due_to_an_element_that_seems_right():
    """Along the direction, the element moves by 2, so it is off by a half of the disagreement."""
    locator, probed = searching()
    probed.line.direction = np.full(4, 2.0)
    asked, taken = finding(locator, [1, 2], {}), []
    locator.take_from_probe = lambda probed, row, i, off, error: taken.append((row, i, off, error))
    locator.search(probed)
    assert asked == [1] and taken == [(0, 1, 0.5, 0.05)]


@pytest.mark.parametrize(
    ("size", "wrong", "enough"), [(12, [], True), (12, [3], True), (200, [], False), (200, [7], True)]
)
def test_a_sample_of_elements_is_enough_if_one_is_wrong_or_all_are_in_it(size, wrong, enough):
    locator, probed = searching(size=size)
    locator.sample = lambda live, count: live[:count]

    def compare_quickly(i, probed):
        locator.entries.state[0, i] = FAIL if i in wrong else PASS

    locator.compare_quickly = compare_quickly
    assert locator.compare_sample(probed, [5]) is enough
    assert locator.entries.sampled.tolist() == list(range(min(size, SAMPLE - 1)))


@pytest.mark.parametrize(("proven", "calls", "alone"), [(True, 0, []), (False, 0, [1]), (False, 10_000, [])])
def test_an_element_that_few_points_do_not_decide_is_compared_if_there_are_calls(proven, calls, alone):
    """A claim that is clearly wrong is not accused by few points alone unless another one is proven wrong."""
    locator, probed = located(RIGHT * [1, 1.5, 1, 1])
    asked = []
    locator.entries.compare_element, locator.entries.proven, locator.sampler.calls = asked.append, proven, calls
    locator.compare_quickly(1, probed)
    assert asked == alone and locator.entries.state[0, 1] == (FAIL if proven else OPEN)


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_an_element_is_located_by_fits_if_differences_do_not_see_the_disagreement(factor):
    locator, probed = located(RIGHT + [0, 0, 0.3, 0])
    assert locator.locate(probed, 0, factor * float(probed.off[0]), []) == 2
    assert locator.locate(probed, 0, factor * float(probed.off[0]), [2]) != 2


@pytest.mark.parametrize(
    ("state", "agrees", "after"), [(OPEN, False, UNDECIDED), (FAIL, False, OPEN), (OPEN, True, UNDECIDED)]
)
def test_elements_that_are_left_open_are_undecided_for_the_reason_of_the_direction(state, agrees, after):
    locator, _ = searching(size=4)
    entries, why = locator.entries, Observation("noise", "why")
    entries.compare_element = lambda i: entries.state.__setitem__((0, 0), state)
    locator.directions.settle = lambda: None
    found = SimpleNamespace(words=("noise",), reason=lambda j: why)
    locator.compare_all_or_some(SimpleNamespace(found=found, agrees=np.array([agrees]), wrong=np.zeros(1, bool)))
    assert entries.state[0, 1:].tolist() == [after] * 3
    texts = {reason.text for reason in entries.reasons.values()}
    assert len(entries.reasons) == (4 if after == UNDECIDED else 0) and (texts == {"why"}) is (
        after == UNDECIDED and not agrees
    )


def test_a_single_element_needs_as_many_calls_as_two():
    locator, _ = searching(size=1)
    locator.directions.probed = []
    assert locator.calls_needed == PASS_CALLS + 20


def test_elements_of_a_function_in_steps_are_undecided():
    locator, probed = searching()
    finding(locator, [1], {})
    why = Observation("staircase", "steps")
    locator.entries.in_steps = lambda row, i: why if (row, i) == (0, 1) else None
    assert locator.search(probed) is False
    assert locator.entries.state[0].tolist() == [UNDECIDED, PASS, UNDECIDED, UNDECIDED]
    assert set(locator.entries.reasons.values()) == {why}


@pytest.mark.parametrize("open_", [(), (6,), range(0, 20, 2)])
def test_claims_that_are_not_finite_are_wrong_if_the_first_ones_are(open_):
    """Of twelve, ten are compared. If the function may be infinite at one of these, it may be at the others."""
    locator, probed = searching([np.nan, 1.0], size=24)
    entries, asked = locator.entries, []

    def compare(bad):
        asked.extend(bad.tolist())
        entries.state[0, bad] = [UNDECIDED if i in open_ else FAIL for i in bad]

    entries.compare_elements = compare
    assert locator.search(probed) is (len(open_) < 10) and asked == list(range(0, 20, 2))
    states = [FAIL, OPEN] * 12
    for i in open_:
        states[i] = UNDECIDED
    if len(open_):
        states[20] = states[22] = OPEN
    assert entries.state[0].tolist() == states


@pytest.mark.parametrize(
    ("factor", "strict", "slight"), [(1 + 1e-7, False, True), (1 + 1e-7, True, False), (2.0, False, False)]
)
def test_a_common_factor_decides_all_elements(factor, strict, slight):
    locator, probed = searching(proves=False, exceeds=False)
    locator.common_factor, locator.entries.strict = lambda probed: factor, strict
    locator.locate, asked = lambda *_: None, []

    def compare_quickly(i, probed):
        asked.append(i)
        locator.entries.state[0, i] = FAIL

    locator.compare_quickly = compare_quickly
    assert locator.search(probed) is (not slight)
    assert asked == ([] if slight else [0, 1, 2, 3])
    assert locator.entries.slight == (dict.fromkeys(range(4), pytest.approx(1e-7)) if slight else {})
    assert (locator.entries.sampled is None) is slight


def test_a_kink_is_located_relative_to_the_size_of_its_output():
    """The first output has the larger kink, along element 0, but that is the smaller part of its size."""
    f = lambda x: np.array([1e3 + 1e-2 * abs(x[0] - 1), 1e-3 + 1e-4 * abs(x[1] - 2)])  # noqa: E731
    locator = Locator(Directions(entries_of(f, [1.0, 2.0], lambda x: np.zeros((2, 2))), 1))
    assert locator.locate_rough(np.ones(2)) == 1


def test_the_calls_that_a_check_needs_depend_on_whether_a_direction_disagrees():
    """20 more are needed for each doubling of the size: 40 for 4 elements."""
    locator, probed = searching()
    locator.directions.probed = [SimpleNamespace(wrong=np.array([False]))]
    assert locator.calls_needed == PASS_CALLS + 40
    locator.sampler.calls = PASS_CALLS + 30
    assert locator.has_calls(10) and not locator.has_calls(11)
    locator.directions.probed = [SimpleNamespace(wrong=np.array([False, True]))]
    assert locator.calls_needed == FAIL_CALLS + 40
    locator.directions.probed, locator.proven = [], probed
    assert locator.calls_needed == FAIL_CALLS + 40
    locator.sampler.calls = FAIL_CALLS + 30
    assert locator.has_calls(10) and not locator.has_calls(11)
    locator.flat.claim.budget.allowed = FAIL_CALLS + 40
    assert locator.calls_needed is None


def test_a_sample_has_elements_of_all_inputs():
    locator, _ = searching(size=100)
    assert locator.sample(np.arange(SAMPLE)).tolist() == list(range(SAMPLE))
    locator.flat.edges = np.array([0, 2, 40, 40, 100])
    found = locator.sample(np.arange(1, 100), 30)
    assert found.tolist() == sorted(set(found.tolist())) and set(found.tolist()) <= set(range(1, 100))
    counts = [((found >= a) & (found < b)).sum() for a, b in ((0, 2), (2, 40), (40, 100))]
    assert counts == [1, 10, 10]


def test_elements_are_divided_between_the_inputs_closest_to_the_middle():
    first, second = halves(np.arange(10), [0, 2, 6, 10])
    assert (len(first), len(second)) == (6, 4)
    first, second = halves(np.arange(2, 10), [0, 2, 9, 10])
    assert (first[-1], second[0]) == (8, 9)


MANY_ROWS = np.random.default_rng(0).normal(size=(70, 3))


@pytest.mark.parametrize("way", ["vjp", "jvp"])
def test_the_output_of_a_combination_that_is_furthest_off_is_located(way):
    """Output 50 is claimed to change 0.5 more along element 2 than it does, and output 3 by 0.1 more."""
    wrong = MANY_ROWS.copy()
    wrong[50, 2] += 0.5
    wrong[3, 2] += 0.1
    claim = {"vjp": lambda g, x: wrong.T @ g, "jvp": lambda t, x: wrong @ t[0]}[way]
    flat = Flat(HandWritten(lambda x: MANY_ROWS @ x, {"x": np.array([1.0, 2, 4])}, **{way: claim}))
    weights = None if way == "vjp" else np.ones((2, 70))
    entries = Entries(flat, Sampler(flat), ClaimedRows(flat, np.random.default_rng(1), weights=weights))
    j, claimed, numeric, error = locate_output(entries, 0, 2)
    assert (j, claimed, numeric) == (50, pytest.approx(wrong[50, 2]), pytest.approx(MANY_ROWS[50, 2]))
    assert error < 1e-9
    entries.rows.weights = None
    assert locate_output(entries, 0, 2) is None


@pytest.mark.parametrize(("strict", "state"), [(False, OPEN), (True, FAIL)])
def test_few_points_decide_a_slight_difference_only_if_it_counts(strict, state):
    """The fit of a few points to a parabola is exact, and the claim is off by 3e-7 of the slope."""
    directions = Directions(
        entries_of(lambda x: x**2 @ WEIGHTS, AT, lambda x: 2 * x * WEIGHTS * [1, 1 + 3e-7, 1, 1]), 1
    )
    locator, entries = Locator(directions), directions.entries
    probed, entries.strict, entries.proven = directions.compare(directions.draw("relative"), "relative"), strict, True
    entries.compare_element = lambda i: None
    locator.compare_quickly(1, probed)
    assert entries.state[0, 1] == state
