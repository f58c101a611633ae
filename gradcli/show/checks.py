"""Checks in words, as every format has them."""

from __future__ import annotations

import math

from .check_results import COUNTED, CheckReport, CheckSummary, InputCheck, Taylor
from .results import label

DIGITS = 12  # the digits that matter in a comparison
LEVELS = {"fail": "error", "error": "error", "inconclusive": "warning"}
"""How bad a verdict is that is no pass, in the words of GitHub and of SARIF."""


PARTS = {"": "", "re": "real part of ", "im": "imaginary part of "}


def label_part(name: str, index: tuple[int | str, ...], part: str) -> str:
    return PARTS[part] + label(name, index)


def details(check: CheckReport) -> list[str]:
    """Return what only -v wants: how well each input agrees, and what that rests on."""
    lines = [f"{check.name}: {basis(check)}"] if basis(check) else []
    for item in check.inputs:
        seen = "" if item.resolution is None else f", errors above {item.resolution:.1g} relative are seen"
        lines.append(f"{check.name}: {item.name} {item.verdict}, {item.digits:.1f} digits agree{seen}")
    return [*lines, f"{check.name}: {check.seconds:.3g} s"]


def worst_text(item: InputCheck, precision: int | None = None) -> str:
    """Return the worst element of an input: where, claimed, reference and its error."""
    worst = item.worst
    if worst is None:
        return ""
    place = label_part(item.name, worst.place, worst.part)
    if worst.output or worst.output_part:
        out = f"out{list(worst.output)}" if worst.output else "out"
        place = f"d {PARTS[worst.output_part]}{out}/d {place}"
    digits = precision or DIGITS
    claimed = f"{place}: claimed {float(worst.analytic):.{digits}g}"
    if worst.sides is not None:
        low, high = sorted(worst.sides)
        return f"{claimed}; at this kink it must lie in [{low:.7g}, {high:.7g}]"
    word = "numeric" if item.accuracy is None else "reference"
    return f"{claimed}, {word} {float(worst.numeric):.{digits}g} ± {worst.numeric_error:.2g}"


def input_lines(check: CheckReport) -> list[str]:
    """Return a line per input of a fail: right, or how many of its elements are wrong; none where one says it all."""
    items = check.inputs
    elements = sum(math.prod(item.shape) if item.counts is None else item.counts.of for item in items)
    if elements < 2 or all(item.verdict != "fail" for item in items):
        return []
    lines = {}
    for item in items:
        text = {"fail": "wrong", "pass": "right"}.get(item.verdict, "not decided")
        if item.verdict == "fail" and item.counts is not None and item.counts.of != 1:
            undecided = f", {item.counts.undecided} not decided" if item.counts.undecided else ""
            text = f"{item.counts.wrong} of {item.counts.of} elements wrong{undecided}"
            if item.counts.wrong > 1 and item.counts.sampled < item.counts.of:
                text = f"at least {item.counts.wrong} of {item.counts.of} elements wrong"
        lines[item.name] = f"{item.name}: {text}"
    along = check.evidence is not None and check.evidence.directions
    listed = check.replay and not along and items[0].accuracy is None
    if listed and sum(item.counts.wrong for item in items if item.counts is not None) > 1:
        lines[next(item.name for item in items if item.verdict == "fail")] += " (--show all lists them)"
    return list(lines.values())


def basis(check: CheckReport) -> str:
    """Return what a verdict rests on."""
    evidence = check.evidence
    if evidence is None or not evidence.elements:
        return ""
    elements = "1 element" if evidence.elements == 1 else f"{evidence.elements} elements"
    alone = f", {evidence.closely} of them alone" if 0 < evidence.closely < evidence.elements else ""
    if count := len(evidence.directions):
        elements += f" along {count} direction{'s' * (count > 1)}"
    return f"{elements}{alone}, by values at {evidence.points} points"


UNEQUAL = 10.0
"""How many times more an error of the smallest element must be, relative, to be told beside that of the largest."""


def agreement(check: CheckReport) -> str:
    """Return what a pass says: to how many digits a derivative agrees, and which error would have been seen."""
    if check.evidence is not None and check.evidence.directions:
        known = [item for item in check.inputs if item.resolution is not None]
        if not known:
            return "the derivative is zero along random directions"
        digits = min(item.digits for item in known)
        seen = max(item.resolution or 0.0 for item in known)
        return (
            f"{digits:.1f} digits agree along random directions; in any element, an error above {seen:.1g} of the "
            "largest slope would have been seen"
        )
    items = [item for item in check.inputs if item.worst is not None]
    if not items:
        return "nothing to check: there are no elements"
    known = [item for item in items if item.resolution is not None]
    if not known:
        error = max(item.worst.numeric_error for item in items if item.worst is not None)
        return check.notes[0] if check.notes else f"the derivative is zero to within {error:.1g}"
    seen = max(item.resolution for item in known if item.resolution is not None)
    digits = min(item.digits for item in known)
    largest = max(item.of_largest or 0.0 for item in known)
    if seen > UNEQUAL * largest > 0:
        return (
            f"{digits:.1f} digits agree; errors above {largest:.1g} of the largest slope would have been seen, in the "
            f"smallest elements above {seen:.1g} relative"
        )
    return f"{digits:.1f} digits agree; an error above {seen:.1g} relative would have been seen"


AS_CALLED = ("layout", "unused-output", "second-backward", "writes-into")
"""What is wrong with a rule that is called in other ways than a check does."""
WHOLE = ("nonlinear", "unsteady", "accumulated", "modes disagree", "other value", "partial gradients", *AS_CALLED)
"""What is wrong with a derivative as a whole, also where every element agrees with its values."""


def headline(check: CheckReport, precision: int | None = None) -> str:
    """Return the reason for a verdict in one line, numbers with so many digits."""
    order = {"fail": 0, "inconclusive": 1, "pass": 2}
    items = sorted(check.inputs, key=lambda item: (order.get(item.verdict, 3), -item.max_rel_error))
    worst = items[0].worst if items else None
    if items and items[0].accuracy is not None:
        return f"{worst_text(items[0], precision or 4)}; {check.message}" if check.verdict == "fail" else check.message
    if check.verdict == "pass":
        return f"{agreement(check)}; {check.message}" if check.message else agreement(check)
    reason = check.diagnosis[0].kind if check.diagnosis else ""
    if (
        check.verdict not in ("fail", "accepted")
        or worst is None
        or not (items[0].verdict == "fail" or reason not in WHOLE)
    ):
        return check.message or "no reason was given"
    text = worst_text(items[0], precision)
    if worst.sides is not None or not worst.numeric_error < abs(worst.numeric) < float("inf"):
        return text
    return f"{text} (relative error {abs(worst.analytic - worst.numeric) / abs(worst.numeric):.3g})"


def reasons(check: CheckReport, precision: int | None = None) -> list[str]:
    """Return the reason for a verdict, and each finding with its name in brackets."""
    reason, named = headline(check, precision), {finding.text: finding.named for finding in check.diagnosis}
    first = named.get(reason, f"{reason} [{check.rule}]" if check.verdict == "fail" and not named else reason)
    return list(dict.fromkeys([first, *named.values()]))


def taylor_lines(taylor: Taylor) -> list[str]:
    lines = [f"{'step':>11}  {'remainder':>11}  rate"]
    for row in taylor.rows:
        rate = "rounding" if row.spoilt else "" if row.rate is None else f"{row.rate:.2f}"
        lines.append(f"{row.step:11.4g}  {row.remainder:11.4g}  {rate}".rstrip())
    rate = "rounding hides it"
    if taylor.rate is not None:
        rate = f"{taylor.rate:.2f} (2 for a right derivative, 1 for another)"
    return [*lines, f"rate of the Taylor remainder: {rate}"]


NOTICED = 1.0  # seconds that imports may take without being told


def summary_line(result: CheckSummary) -> str:
    parts = [
        f"{count} {'error' if (count, word) == (1, 'errors') else word}"
        for word, verdict in COUNTED.items()
        if (count := result.count(verdict)) or word == "passed"
    ]
    whole = f" ({result.whole:.2f} s with imports)" if result.whole > result.seconds + NOTICED else ""
    return f"{', '.join(parts)} in {result.seconds:.2f} s{whole}"
