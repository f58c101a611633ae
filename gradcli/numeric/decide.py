"""Decide: turn what was seen into a verdict. No other code does.

Everything that a check sees is a pair of words: where it was seen (the source) and what that says. What was seen of one
element or direction belongs together, and so does what was seen of the whole check. The first row of TABLE that matches
gives the verdict. The verdict on several elements or points is the worst of theirs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

PASS, FAIL, OPEN, ERROR, ACCEPTED = "pass", "fail", "inconclusive", "error", "accepted"
WORST_FIRST = (ERROR, FAIL, OPEN, PASS, ACCEPTED)


class Observation(NamedTuple):
    """A fact about a claim. kind: a stable word such as "kink" or "nonlinear"; text: the evidence in one line.

    source, says: where it was seen, and what it says: words of the tables below.
    """

    kind: str
    text: str
    source: str = "law"
    says: str = "is broken"


class Row(NamedTuple):
    """A row of the table. seen: by source, the words that match, of which "" is for nothing seen; why: in words."""

    seen: Mapping[str, tuple[str, ...]]
    verdict: str
    why: str

    def matches(self, seen: Mapping[str, str]) -> bool:
        return all(seen.get(source, "") in words for source, words in self.seen.items())


def row(verdict: str, why: str, **seen: str) -> Row:
    """Return a row. seen: words separated by " | ", by source."""
    return Row({source: tuple(words.split(" | ")) for source, words in seen.items()}, verdict, why)


CHECK = (
    row(ACCEPTED, "the project accepts all findings of this check", project="accepts the findings"),
    row(OPEN, "the claimed derivative is random, so no single call shows whether it is right", claim="is random"),
    row(
        FAIL,
        "vector products must be linear and must not depend on earlier calls, and forward and reverse mode must agree",
        law="is broken",
    ),
    row(
        FAIL,
        "the derivative changes if it is called in a different way, such as with the same values in another layout",
        call="differs",
    ),
    row(FAIL, "exact arithmetic or a formula contradicts the claim", exact="contradicts"),
    row(FAIL, "the derivative has a wrong shape or type", shape="is wrong"),
    row(ERROR, "the function or the derivative raised an error, or could not be called", run="raises"),
    row(OPEN, "the command was interrupted while the check ran", run="is interrupted"),
    row(OPEN, "watch could not check a derivative that the program used", run="is not checked"),
    row(FAIL, "at least one element is wrong", elements="wrong"),
    row(
        FAIL,
        "the claim and the function disagree along a direction, although no wrong element was found",
        direction="contradicts",
    ),
    row(
        OPEN,
        "the values at this point are not finite, or not those that watch saw when the program ran",
        point="is not finite | differs from the recorded call",
    ),
    row(
        OPEN,
        "several conventions for rotations or poses give the same Jacobian at this point, so the claim may follow "
        "any of them",
        point="several conventions agree",
    ),
    row(
        OPEN,
        "two calls of the function, or of the derivative, at the same point differ for an unknown reason",
        repeat="differs",
    ),
    row(
        OPEN,
        "the check needs more calls than --calls allows or, in watch, more time than the time limits of watch allow",
        budget="is used up",
    ),
    row(PASS, "the claim and the derivative are equal as formulas", exact="proves"),
    row(
        OPEN, "the effect of every element is smaller than the rounding error of the output", elements="below rounding"
    ),
    row(OPEN, "at least one element is undecided", elements="undecided"),
    row(PASS, "no element is wrong", elements="right"),
)
"""The decisions on a check, in the order in which they apply."""

ELEMENT = (
    row(FAIL, "the difference exceeds --rtol and --atol, which replace all other tests", tolerances="exceeded"),
    row(PASS, "the difference is within --rtol and --atol, which replace all other tests", tolerances="kept"),
    row(FAIL, "the claimed value lies outside the generalized gradient", kink="outside"),
    row(PASS, "the claimed value lies in the generalized gradient", kink="inside"),
    row(OPEN, "it is not known whether the claimed value lies in the generalized gradient", kink="unknown"),
    row(PASS, "along random directions, an error above the stated resolution would have been seen", bound="is tight"),
    row(PASS, "the effect of the element is small compared with the effects of others", bound="does not matter"),
    row(OPEN, "along random directions, an error of 2 % could not be seen", bound="is wide"),
    row(FAIL, "the integral of the claim does not follow the values of the function", values="agrees",
        integral="disagrees"),
    row(OPEN, "the values form steps, and the claim is right within the step at this point, but not over many steps",
        values="agrees", integral="right on one step"),
    row(PASS, "the numeric derivative agrees, to the stated resolution", values="agrees"),
    row(PASS, "the relative difference is below 1e-6; --strict turns this result off", values="differs slightly"),
    row(PASS, "the effect of the element is smaller than the rounding error of the output", values="negligible"),
    row(
        FAIL,
        "the element differs from the numeric derivative, and the integral of the claim does not follow the values",
        values="disagrees | contradicts", integral="disagrees",
    ),
    row(
        FAIL,
        "the claimed value differs from the numeric derivative, and does not fit the values of the claim nearby",
        values="disagrees | contradicts", integral="wrong at the point",
    ),
    row(FAIL, "several estimates of the derivative agree, and the claim differs by more than rounding explains",
        values="contradicts", integral="unclear | "),
    row(OPEN, "the values form steps, and the slope within a step differs from the slope over many steps",
        values="disagrees | contradicts | unknown", integral="right over many steps | right on one step"),
    row(OPEN, "the claim agrees with the values only within a tiny distance, too close for a numeric derivative",
        values="disagrees | contradicts | unknown", integral="right only very near"),
    row(OPEN, "the function may contain an iteration that stops at a tolerance, which would explain the difference",
        values="disagrees | contradicts", integral="right but for a tolerance"),
    row(PASS, "the integral of the claim follows the values of the function, to the stated resolution",
        values="disagrees | contradicts | unknown", integral="agrees"),
    row(FAIL, "the integral of the claim does not follow the values of the function", values="unknown",
        integral="disagrees"),
    row(OPEN, "neither the numeric derivative nor the integral of the claim decides"),
)  # fmt: skip
"""The decisions on an element or a direction, in the order in which they apply."""


def decide(seen: Mapping[str, str]) -> Row:
    """Return the row of the tables for what was seen of one element, direction or check, by source."""
    return decide_items(frozenset(seen.items()))


@functools.lru_cache(1000)  # the same few things are seen of most elements, and matching takes 20 to 50 microseconds
def decide_items(items: frozenset[tuple[str, str]]) -> Row:
    seen = dict(items)
    return next(row for row in (*CHECK, *ELEMENT) if row.matches(seen))


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst of some verdicts; a pass if there are none."""
    return min(verdicts, key=WORST_FIRST.index, default=PASS)
