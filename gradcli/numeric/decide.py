"""Decide: turn what was seen into a verdict. No other code does.

Everything that a check sees is a pair of words: where it was seen (the source) and what that says. What was seen of one
element or direction belongs together, and so does what was seen of the whole check. The first row of TABLE that matches
gives the verdict. The verdict on several elements or points is the worst of theirs.
"""

from __future__ import annotations

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
    row(ACCEPTED, "the project accepts all findings", project="accepts them"),
    row(OPEN, "the claimed derivative is random, so no single call shows whether it is right", claim="is random"),
    row(FAIL, "products with a derivative are linear, fresh in each call, and adjoint", law="is broken"),
    row(FAIL, "programs call the rule in this way", call="differs"),
    row(FAIL, "exact arithmetic or a formula contradicts the claim", exact="contradicts"),
    row(FAIL, "a derivative has the shape and the type that its inputs and outputs demand", shape="is wrong"),
    row(ERROR, "the function or the derivative raises, or cannot be called", run="raises"),
    row(OPEN, "the command was interrupted while the check ran", run="is interrupted"),
    row(OPEN, "a derivative that a command used could not be checked afterwards", run="is not repeated"),
    row(FAIL, "an element is wrong", elements="wrong"),
    row(FAIL, "a direction contradicts the claim beyond rounding, whichever element is wrong", direction="contradicts"),
    row(OPEN, "nothing is known at this point", point="is not finite | is not that of the call"),
    row(OPEN, "several conventions for tangents agree at this point", point="several conventions agree"),
    row(OPEN, "two calls of the function, or of the derivative, at the same point differ", repeat="differs"),
    row(OPEN, "the call budget (--calls) or the time ended the check", budget="is used up"),
    row(PASS, "the claim and the derivative are equal as formulas", exact="proves"),
    row(OPEN, "the effect of every element is below the function's own rounding", elements="below rounding"),
    row(OPEN, "an element is undecided", elements="undecided"),
    row(PASS, "no element is wrong", elements="right"),
)
"""The decisions on a check, in the order in which they apply."""

ELEMENT = (
    row(FAIL, "fixed tolerances (--rtol, --atol) decide alone", tolerances="exceeded"),
    row(PASS, "fixed tolerances (--rtol, --atol) decide alone", tolerances="kept"),
    row(FAIL, "a claimed value at a kink must lie in the generalized gradient", kink="outside"),
    row(PASS, "a claimed value at a kink must lie in the generalized gradient", kink="inside"),
    row(OPEN, "it is not known whether the claimed value lies in the generalized gradient", kink="unknown"),
    row(PASS, "directions bound its error, to the stated resolution", bound="is tight"),
    row(PASS, "the effect of the element is small compared with those of others", bound="is small"),
    row(OPEN, "the bound of directions is too wide, and nothing else is known", bound="is wide"),
    row(FAIL, "the integral of the claim does not follow the values", values="agrees", integral="disagrees"),
    row(OPEN, "the function is computed in short steps here, and the claim is right on one of them only",
        values="agrees", integral="right on one step"),
    row(PASS, "the numeric derivative agrees, to the stated resolution", values="agrees"),
    row(PASS, "a difference below 1e-6 of the element; --strict makes it a fail", values="differs slightly"),
    row(PASS, "the effect of the element is below the function's own rounding", values="negligible"),
    row(
        FAIL, "the numeric derivative and the integral of the claim both disagree with it",
        values="disagrees | contradicts", integral="disagrees | disagrees here",
    ),
    row(FAIL, "the numeric derivative is smooth at several scales and beyond rounding", values="contradicts",
        integral="unclear | "),
    row(OPEN, "the function is computed in steps here: its slope on the step is not that over many steps",
        values="disagrees | contradicts | unknown", integral="right over many steps | right on one step"),
    row(OPEN, "the difference may come from a tolerance inside the function", values="disagrees | contradicts",
        integral="right but for a tolerance"),
    row(PASS, "the integral of the claim follows the values, to the stated resolution",
        values="disagrees | contradicts | unknown", integral="agrees"),
    row(FAIL, "the integral of the claim does not follow the values", values="unknown", integral="disagrees"),
    row(OPEN, "neither the numeric derivative nor the integral of the claim decides"),
)  # fmt: skip
"""The decisions on an element or a direction, in the order in which they apply."""


def decide(seen: Mapping[str, str]) -> Row:
    """Return the row of the tables for what was seen of one element, direction or check, by source."""
    return next(row for row in (*CHECK, *ELEMENT) if row.matches(seen))


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst of some verdicts; a pass if there are none."""
    return min(verdicts, key=WORST_FIRST.index, default=PASS)
