"""Say why a check is undecided, and what else a reader of its report must know: reasons and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ..errors import count_of
from ..numeric.flat import Flat
from ..numeric.sampler import TINY
from ..numeric.verdict import FAIL, Entries, differ_by
from ..results.checks import Finding, InputCheck

FEW_DIGITS = 2.0**-25  # half of float32's rounding unit; above it, a check may be undecided for lack of digits
UNCONVERGED = 1e-4  # relative differences up to this may be those of an iteration that stops early: a choice
TRIVIAL = "it has no effect on the output at this point, so a wrong factor would go unnoticed: check "
WEIGHTED, OTHER_POINT = "a weighted sum of the outputs, such as sum(w * y)", "another point, too"


ROUGH = Finding(
    "rough",
    "the claim is rough: it jumps between nearby points, where the function's slope varies smoothly; possible causes "
    "are float16 or float32, a table, and an iteration that stops early",
)


def too_few(allowed: int, needed: int | None) -> Finding:
    """Return the finding that the allowed calls did not decide. needed: how many usually decide, if these are more."""
    calls = "1 call" if allowed == 1 else f"{allowed} calls"
    again = "rerun without --calls" if needed is None else f"rerun with --calls {needed}"
    return Finding("out of calls", f"undecided after {calls}; {again}")


def reason_of(entries: Entries, seen: Mapping[str, str]) -> Finding:
    if seen["elements"] == "below rounding":
        text = "no element is decidable: each one changes the output by less than the output's rounding error"
        return Finding("below rounding", text)
    if seen.get("repeat") == "differs":
        relative = entries.rows.between_calls / np.maximum(np.abs(entries.claimed), TINY)
        return Finding("non-deterministic", f"the claimed derivative is {differ_by(float(relative.max()))}")
    reason = entries.reason()
    text = (text_of_jump(entries) if reason.kind == "jump" else "") or reason.text
    return Finding(reason.kind, text + few_digits(entries.flat))


def text_of_jump(entries: Entries) -> str:
    """Describe where the function jumps near the point, and by how much; "" if only directions have shown that."""
    jumps = (place for place, reason in entries.reasons.items() if reason.kind == "jump")
    j, i = next((place for place in jumps if place[1] in entries.estimates), (0, None))
    if i is None:
        return ""
    line, _ = entries.estimates[i]
    near = np.geomspace(1e-12, 1e-2, 21)
    t, values = line.values(np.concatenate([-near[::-1], [0.0], near]))
    k = int(np.nanargmax(np.abs(np.diff(values[:, j]))[10:31])) + 10  # only steps close to the point
    name, index, _ = entries.flat.label(i)
    place = float(entries.flat.coordinate(i)) + float(t[k + 1]) * float(entries.flat.scales[i])
    by = abs(values[k + 1, j] - values[k, j])
    what = f"{name}{list(index) or ''}"
    return (
        f"the function jumps by {by:.2g} near {what} = {place:.9g}, so it has no derivative there: move the point away"
    )


def undecided_notes(inputs: Iterable[InputCheck]) -> Iterator[str]:
    for item in inputs:
        if item.negligible:
            verb, whose = ("is", "its") if item.negligible == 1 else ("are", "their")
            count = f"{count_of(item.negligible, 'element')} {verb} not decidable"
            limit = f"{item.negligible_below:.2g}"
            alike = f"any claim from -{limit} to {limit} would pass there"
            yield f"{item.counted_name}: {count}, because rounding hides {whose} effect on the output; {alike}"


def trivial_notes(entries: Entries, inputs: Iterable[InputCheck]) -> Iterator[str]:
    """Yield a note for each input that passes with a derivative of 0 everywhere. At kinks, it is not 0 to all sides."""
    flat, kinked = entries.flat, [i for columns in entries.kinks.values() for i in columns]
    for k, item in enumerate(inputs):
        part, at_kink = flat.columns(k), item.worst is not None and bool(item.worst.sides)
        at_kink |= any(part.start <= i < part.stop for i in kinked)
        if item.verdict == "pass" and item.resolution is None and flat.arrays[k].size and not item.negligible | at_kink:
            yield f"{item.name}: {TRIVIAL}{WEIGHTED if flat.out_shape else OTHER_POINT}"


def slight_notes(entries: Entries) -> Iterator[str]:
    """Yield a note for each input with elements that pass although they differ by more than rounding."""
    flat = entries.flat
    for k, name in enumerate(flat.claim.wrt):
        part = flat.columns(k)
        off = max((relative for i, relative in entries.slight.items() if part.start <= i < part.stop), default=0.0)
        if off:
            yield f"{name}: differs by {off:.1g}, more than rounding; {WHY_SLIGHT}; with --strict, this is a fail"


def tolerance_notes(entries: Entries) -> Iterator[str]:
    """Yield a note for each input whose wrong elements are all off by so little that a tolerance may explain it."""
    flat = entries.flat
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.where(entries.state == FAIL, np.abs(entries.claimed / entries.value - 1), 0.0)
    for k, name in enumerate(flat.claim.wrt):
        off = float(relative[:, flat.columns(k)].max(initial=0.0))
        if 0 < off <= UNCONVERGED:
            yield f"{name}: differs by {off:.1g} at most, perhaps because an iteration stops too early; {ITERATION}"


ITERATION = "if f iterates, check again with a smaller tolerance"
WHY_SLIGHT = "possible causes are a solver's tolerance, float32, and a rounded constant such as 3.14159"


def few_digits(flat: Flat) -> str:
    """Return advice for a function or derivative that is computed in few digits, else ""."""
    unit = max(flat.unit, flat.claim_unit)
    advice = "to compare with the derivative of a plain function, pass --reference NAME"
    return f"; the function computes with {-np.log10(unit):.1f} digits: {advice}" if unit > FEW_DIGITS else ""


def fixed_notes(flat: Flat) -> Iterator[str]:
    for k, name in enumerate(flat.claim.wrt):
        if count := int(flat.fixed[flat.columns(k)].sum()):
            elements = "1 element is" if count == 1 else f"{count} elements are"
            yield f"{name}: {elements} nan or infinite, and kept constant"
