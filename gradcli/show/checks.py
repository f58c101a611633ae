"""Checks in words, for all formats."""

from __future__ import annotations

import math

from ..errors import count_of
from ..results.base import label_slices
from ..results.checks import COUNTED_VERDICTS, CheckReport, CheckSummary, Taylor
from ..results.inputs import InputCheck

SEVERITIES = {"fail": "error", "error": "error", "inconclusive": "warning"}
"""The severity of a verdict other than a pass, in the words of GitHub and SARIF."""


def details(check: CheckReport) -> list[str]:
    """Return the lines of -v: the evidence for the verdict, and how well each input agrees."""
    lines = [f"{check.name}: {basis_line(check)}"] if basis_line(check) else []
    for item in check.inputs:
        seen = "" if item.resolution is None else f"; a relative error above {item.resolution:.1g} would have been seen"
        digits = f"; {item.digits:.1f} digits agree" if seen or item.verdict != "pass" else ""  # zeros have no digits
        lines.append(f"{check.name}: input {item.name}: {item.verdict}{digits}{seen}")
    return [*lines, f"{check.name}: {check.seconds:.3g} s"]


def input_lines(check: CheckReport) -> list[str]:
    """Return a line per input of a failed check: right, or how many elements are wrong. Empty for one element."""
    items = check.inputs
    elements = sum(math.prod(item.shape) if item.counts is None else item.counts.of for item in items)
    if elements < 2 or all(item.verdict != "fail" for item in items):
        return []
    lines = {}
    for item in items:
        name, text = item.name, {"fail": "wrong", "pass": "right"}.get(item.verdict, "undecided")
        if item.verdict == "fail" and item.counts is not None and item.counts.of != 1:
            counts = item.counts
            undecided = f", {counts.undecided} undecided" if counts.undecided else ""
            text = f"{counts.wrong} of {counts.of} elements wrong{undecided}"
            if counts.undecided and counts.sampled < counts.of:
                text = f"at least {counts.wrong} of {counts.of} elements wrong"
            text += places_text(item)
            name = item.counted_name
        lines[item.name] = f"{name}: {text}"
    along = check.evidence is not None and check.evidence.directions
    listed = check.replay and not along and items[0].accuracy is None
    arrays = [item for item in items if item.verdict == "fail" and item.counts is not None and item.counts.of != 1]
    if (
        listed
        and arrays
        and not all(map(lists_wrong, arrays))
        and sum(item.counts.wrong for item in items if item.counts is not None) > 1
    ):
        lines[arrays[0].name] += " (--show all lists them)"
    return list(lines.values())


def places_text(item: InputCheck) -> str:
    """Say where the wrong elements of an input are: x[0:3]; "" if nothing is known."""
    if (places := item.places) is None:
        return ""
    before = ":" if lists_wrong(item) else ", all in" if places.complete else "; those found are in"
    return f"{before} {label_slices(item.array_name, places.axes)}"


def lists_wrong(item: InputCheck) -> bool:
    """Report whether the places of an input have wrong elements only."""
    places, counts = item.places, item.counts
    if places is None or counts is None or not places.complete or item.counted_name != item.name:
        return False
    lengths = (sum(j - i + 1 for i, j in ranges) or n for ranges, n in zip(places.axes, places.shape, strict=True))
    return math.prod(lengths) == counts.wrong


def basis_line(check: CheckReport) -> str:
    """Describe the evidence for a verdict."""
    evidence = check.evidence
    if evidence is None or not evidence.elements:
        return ""
    elements = "1 element" if evidence.elements == 1 else f"{evidence.elements} elements"
    estimated = f", {evidence.estimated} of them one by one" if 0 < evidence.estimated < evidence.elements else ""
    if count := len(evidence.directions):
        elements += f" along {count_of(count, 'direction')}"
    return f"checked {elements}{estimated}, with {evidence.points} calls of the function"


def reasons(check: CheckReport, precision: int | None = None) -> list[str]:
    """Return the reason for a verdict, and each finding with its name in brackets."""
    reason, named = check.headline(precision), {finding.text: finding.named for finding in check.diagnosis}
    first = named.get(reason, f"{reason} [{check.rule}]" if check.verdict == "fail" and not named else reason)
    return list(dict.fromkeys([first, *named.values()]))


def taylor_lines(taylor: Taylor) -> list[str]:
    lines = [f"{'step':>11}  {'remainder':>11}  rate"]
    for row in taylor.rows:
        rate = "rounding" if row.spoilt else "" if row.rate is None else f"{row.rate:.2f}"
        lines.append(f"{row.step:11.4g}  {row.remainder:11.4g}  {rate}".rstrip())
    rate = "hidden by rounding"
    if taylor.rate is not None:
        rate = f"{taylor.rate:.2f} (2 if right, 1 if wrong)"
    mode = f" of the {taylor.mode}" if taylor.mode else ""
    return [*lines, f"rate of the Taylor remainder{mode}: {rate}"]


NOTICED = 1.0  # seconds: longer imports are reported


def summary_line(result: CheckSummary) -> str:
    parts = [
        f"{count} {'error' if (count, word) == (1, 'errors') else word}"
        for word, verdict in COUNTED_VERDICTS.items()
        if (count := result.count(verdict)) or word == "passed"
    ]
    whole = f" ({result.whole:.2f} s with imports)" if result.whole > result.seconds + NOTICED else ""
    return f"{', '.join(parts)} in {result.seconds:.2f} s{whole}"
