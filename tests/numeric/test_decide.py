"""The tables of decisions: every row can decide, and what must never decide alone does not."""

import itertools

import pytest

from gradcli.numeric.decide import CHECK, ELEMENT, ERROR, FAIL, OPEN, PASS, decide, worst

VALUES = ("agrees", "differs slightly", "negligible", "disagrees", "contradicts", "unknown", "")
INTEGRAL = (
    "agrees", "disagrees", "wrong at the point", "right over many steps", "right on one step",
    "right but for a tolerance", "unclear", "",
)  # fmt: skip


@pytest.mark.parametrize("table", [CHECK, ELEMENT], ids=["check", "element"])
def test_every_row_can_decide(table):
    for row in table:
        some = {source: next((word for word in words if word), "") for source, words in row.seen.items()}
        assert decide(some) is row or not row.seen, row


def test_no_single_test_fails_a_claim_unless_it_is_smooth_at_several_scales():
    for values, integral in itertools.product(VALUES, INTEGRAL):
        verdict = decide({"values": values, "integral": integral}).verdict
        if verdict == FAIL:
            assert values == "contradicts" or integral in ("disagrees", "wrong at the point")
        if verdict == PASS:
            assert values in ("agrees", "differs slightly", "negligible") or integral == "agrees"


@pytest.mark.parametrize("values", ["disagrees", "contradicts", "unknown"])
@pytest.mark.parametrize("integral", ["right over many steps", "right on one step"])
def test_steps_never_decide(values, integral):
    assert decide({"values": values, "integral": integral}).verdict == OPEN


def test_nothing_that_was_seen_leaves_a_claim_open():
    assert decide({}).verdict == OPEN


def test_a_wrong_element_is_wrong_whatever_else_is_seen():
    for more in ({"budget": "is used up"}, {"repeat": "differs"}, {"exact": "proves"}):
        assert decide({"elements": "wrong", **more}).verdict == FAIL


def test_no_observation_decides_on_a_random_claim():
    for more in ({"law": "is broken"}, {"call": "differs"}, {"elements": "wrong"}, {"elements": "right"}):
        assert decide({"claim": "is random", **more}).verdict == OPEN


def test_the_worst_verdict_is_that_of_the_whole():
    assert worst([PASS, OPEN, PASS]) == OPEN
    assert worst([OPEN, FAIL]) == FAIL
    assert worst([FAIL, ERROR]) == ERROR
    assert worst([]) == PASS
