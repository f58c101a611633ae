"""Checks in words: the sentences that every format shares."""

from __future__ import annotations

from typing import Any

from ..results.checks import CheckReport, CheckSummary, InputCheck
from .numbers import label


def value_text(x: Any) -> str:
    """Return a number with the digits that matter in a comparison."""
    return f"{float(x):.12g}"


def worst_text(item: InputCheck) -> str:
    """Return the worst element of an input: where, claimed, reference and its error."""
    worst = item.worst
    if worst is None:
        return ""
    row = f"d out{list(worst.output)}/" if worst.output else ""
    place = f"{row}{'d ' if row else ''}{label(item.name, worst.place)}"
    numeric = f"{value_text(worst.numeric)} ± {worst.numeric_error:.2g}"
    return f"{place}: claimed {value_text(worst.analytic)}, numeric {numeric}"


def worst_input(check: CheckReport) -> InputCheck | None:
    """Return the input that the verdict rests on."""
    order = {"fail": 0, "inconclusive": 1, "pass": 2}
    items = sorted(check.inputs, key=lambda item: (order.get(item.verdict, 3), -item.max_rel_error))
    return items[0] if items else None


def headline(check: CheckReport) -> str:
    """Return the reason for a verdict in one line."""
    item = worst_input(check)
    if check.verdict == "pass":
        if item is None:
            return "nothing to check"
        seen = f"an error above {max(i.resolution for i in check.inputs):.1g} relative would have been seen"
        return f"{min(i.digits for i in check.inputs):.1f} digits agree; {seen}"
    if check.verdict == "fail" and item is not None:
        return f"{worst_text(item)} (relative error {item.max_rel_error:.3g})"
    return check.message or "no reason was given"


def summary_line(result: CheckSummary) -> str:
    """Return how many checks had which verdict."""
    words = [("passed", "pass"), ("failed", "fail"), ("inconclusive", "inconclusive"), ("errors", "error")]
    parts = [
        f"{result.count(verdict)} {word}" for word, verdict in words if result.count(verdict) or word == "passed"
    ]
    return f"{', '.join(parts)} in {result.seconds:.2f} s"
