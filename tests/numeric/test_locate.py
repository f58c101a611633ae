"""Bisection over elements ends at the wrong one."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.numeric.decide import Observation
from gradcli.numeric.directions import Directions
from gradcli.numeric.locate import ONE_BY_ONE, Locator, bisect, halves
from gradcli.numeric.verdict import FAIL, OPEN, PASS

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
