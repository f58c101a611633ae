"""Turn the states of elements into the result for each input, and the directions into evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..numeric.flat import Flat
from ..numeric.locate import locate_output
from ..numeric.probe import Probe
from ..numeric.sampler import TINY
from ..numeric.verdict import (
    BEYOND_DOUBT,
    CAP,
    FAIL,
    MARGIN,
    NEGLIGIBLE,
    OPEN,
    PASS,
    UNDECIDED,
    VERDICTS,
    Entries,
    digits_of,
    entries_that_count,
)
from ..results.checks import Direction, Evidence
from ..results.inputs import Element, ElementCounts, Elements, InputCheck, LineValues


def element_of(
    flat: Flat, j: int | None, i: int, claimed: Any, numeric: Any, error: float, sides: Any = None
) -> Element:
    """Return entry (j, i) as an `Element` of a report; j is None if rows are combinations."""
    output, output_part = ((), "") if j is None else flat.row(j)
    _, place, part = flat.label(i)
    return Element(output, place, claimed, numeric, error, sides, output_part, part)


class Block(NamedTuple):
    """The entries of one input: claimed, numeric (nan if not estimated), its error, and masks, all (R, columns).

    gap, relative: difference of claimed and numeric. off: the largest difference that would have passed. alone: entries
    that were estimated. known: those whose numeric value is not 0; at_kink: those at a kink.
    """

    columns: slice
    claimed: np.ndarray
    value: np.ndarray
    error: np.ndarray
    wrong: np.ndarray
    negligible: np.ndarray
    undecided: np.ndarray
    alone: np.ndarray
    known: np.ndarray
    at_kink: np.ndarray
    gap: np.ndarray
    relative: np.ndarray
    off: np.ndarray

    @property
    def verdict(self) -> str:
        return "fail" if self.wrong.any() else "inconclusive" if self.undecided.any() else "pass"


def block_of(entries: Entries, columns: slice) -> Block:
    state = entries.state[:, columns]
    a, value, error = (x[:, columns] for x in (entries.claimed, entries.value, entries.error))
    at_kink = np.zeros(state.shape, bool)
    for row, places in entries.kinks.items():
        at_kink[row, [c - columns.start for c in places if columns.start <= c < columns.stop]] = True
    negligible, alone = state == NEGLIGIBLE, ~np.isnan(value)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(np.isfinite(a) | ~np.isfinite(value), np.abs(a - value), np.inf)
        relative = gap / np.abs(value)
        tolerance = entries.tolerance((slice(None), columns))
        off = tolerance + np.where((state == PASS) & ~at_kink & (gap > tolerance), gap, 0.0)
        known = alone & np.isfinite(gap) & (np.abs(value) > MARGIN * error) & ~negligible & ~at_kink
    undecided = (state == UNDECIDED) | (state == OPEN)
    return Block(
        columns, a, value, error, state == FAIL, negligible, undecided, alone, known, at_kink, gap, relative, off
    )


def input_check(entries: Entries, probe: Probe, k: int) -> InputCheck:
    """Return the result for input k, from the estimates of single entries and the bounds of the others."""
    flat, columns = entries.flat, entries.flat.columns(k)
    name, shape = flat.claim.wrt[k], flat.arrays[k].shape
    block = block_of(entries, columns)
    if not block.claimed.size:
        return InputCheck(name, shape, "pass", 0.0, 0.0, CAP, None, None)
    counted = block.known | (block.wrong & block.alone & ~np.isnan(block.gap))
    most = float(block.relative[counted].max()) if counted.any() else 0.0
    resolution, largest = resolutions(entries, block)
    below, negligible = 0.0, block.negligible
    if negligible.any():
        bound = np.where(block.alone, block.off, entries.bound[:, columns])
        below = float((np.abs(np.nan_to_num(block.value)) + bound)[negligible].max())
    item = InputCheck(
        name,
        shape,
        block.verdict,
        float(block.gap[counted].max()) if counted.any() else 0.0,
        most,
        digits_of(most),
        resolution,
        worst_element(entries, block),
        negligible=int(negligible.sum()),
        negligible_below=below,
        of_largest=largest,
        counts=count(block, entries.rows.single),
        is_tangent=name in flat.claim.manifolds,
    )
    wrong = np.flatnonzero(block.wrong.any(axis=0)) // (2 if flat.arrays[k].dtype.kind == "c" else 1)
    if len(wrong) > 1:
        from .places import wrong_places

        complete = bool(block.alone.any(axis=0).all())
        item = replace(item, places=wrong_places(wrong, shape, complete))
    return limit_digits(probe, item, k)


def worst_element(entries: Entries, block: Block) -> Element | None:
    """Return the wrong entry beyond doubt with the largest error; without one, the entry next to its limit."""
    wrong, off_by = block.wrong, (block.relative, block.gap)
    decided = block.undecided | np.isfinite(MARGIN * block.error)
    if not (wrong.any() or (block.alone & decided).any()):
        return None
    own = entries.own_rounding[:, block.columns]
    with np.errstate(invalid="ignore"):
        excess = np.where(block.negligible, -0.5, block.gap / (block.error + own + TINY))
    if wrong.any():
        no_value = np.isnan(block.value) & np.isfinite(block.claimed)  # others can be compared with a number
        excess = np.where(wrong, np.where(no_value, 0.0, np.where(np.isnan(excess), np.inf, excess)), -1.0)
        most_wrong = excess >= min(excess.max(), BEYOND_DOUBT) if np.isfinite(excess.max()) else np.isinf(excess)
        for error in off_by:  # as float32, so that rounding does not decide between equal errors
            with np.errstate(over="ignore"):
                error = np.where(np.isnan(error), np.inf, error).astype(np.float32)
            most_wrong &= error == error[most_wrong].max()
        excess = np.where(most_wrong, 1.0, -1.0)
    j, i = np.unravel_index(int(np.argmax(np.where(np.isnan(excess), -1.0, excess))), wrong.shape)
    column, output = block.columns.start + int(i), int(j) if entries.rows.single else None
    numbers = block.claimed[j, i], block.value[j, i], float(MARGIN * block.error[j, i])
    return element_of(entries.flat, output, column, *numbers, entries.sides.get((int(j), column)))


def count(block: Block, single: bool) -> ElementCounts:
    """Count the entries, only the diagonal's for an elementwise function; elements, if rows are combinations."""
    some, masks = entries_that_count(block.claimed, block.wrong | block.undecided), (block.wrong, block.undecided)
    of, *numbers = (int((mask & some).sum()) for mask in (some, *masks, block.alone))
    if not single:
        of, *numbers = some.shape[1], *(int(mask.any(axis=0).sum()) for mask in (*masks, block.alone))
    return ElementCounts(numbers[0], numbers[1], of, numbers[2])


def resolutions(entries: Entries, block: Block) -> tuple[float | None, float | None]:
    """Return the least relative error that would have been seen in any entry, and that relative to the largest.

    If any entries are known only from directions, both are relative to the largest.
    """
    a, value, known, off, columns = block.claimed, block.value, block.known, block.off, block.columns
    bound, state = entries.bound[:, columns], entries.state[:, columns]
    largest = float(np.abs(np.where(np.isfinite(a), a, 0.0)).max())
    by_bound = np.isnan(value) & (state == PASS) & np.isfinite(bound) & (largest > 0) & ~block.at_kink
    if by_bound.any():
        unseen = (bound + entries.own_rounding[:, columns] + entries.least_accused[:, columns])[by_bound]
        of_largest = max(float(unseen.max()), float(off[known].max(initial=0.0))) / largest
        return of_largest, of_largest
    if not known.any():
        return None, None
    own = float((off[known] / np.abs(value[known])).max())
    return own, float(off[known].max() / np.abs(value[known]).max())


def limit_digits(probe: Probe, item: InputCheck, k: int) -> InputCheck:
    """Return the result for input k, with no more digits than the directions agree to.

    If outputs are combined, the worst element gets the output that is furthest off.
    """
    flat, rows, entries, columns = probe.flat, probe.rows, probe.entries, probe.flat.columns(k)
    if item.verdict == "fail" and item.worst is not None and not rows.single:
        item = with_output(entries, item, columns)
    known = [p for p in probe.directions.probed if p.agrees.all() and p.line.direction[columns].any()]
    if not known or not np.isnan(entries.value[:, columns]).any():
        return item
    p = min(known, key=lambda p: float(np.max(p.tolerance)))
    size = np.maximum(rows.size(p.line.direction, p.claimed), TINY)
    digits = digits_of(float((np.abs(p.off) / size).max()))
    if not rows.known:
        effect = np.abs(p.claimed) / np.sqrt(np.count_nonzero(p.line.direction))
        unseen = (entries.bound[:, columns] * flat.scales[columns]).max(axis=1)
        item = replace(item, resolution=float((unseen / np.maximum(effect, TINY)).max()))
    if item.verdict != "pass":
        return item
    most = max(item.max_abs_error, float(np.abs(p.off).max()))
    return replace(item, digits=min(item.digits, digits), max_abs_error=most)


def with_output(entries: Entries, item: InputCheck, columns: slice) -> InputCheck:
    """Return the result for an input, with the output that is furthest off."""
    flat, worst = entries.flat, item.worst
    wrong = np.argwhere(entries.state[:, columns] == FAIL).tolist()
    places = [(j, i) for j, i in wrong if worst and flat.label(columns.start + i)[1] == worst.place]
    if not places:
        return item
    row, place = places[0]
    found = locate_output(entries, row, columns.start + place)
    if found is None:
        return item
    j, claimed, numeric, error = found
    return replace(item, worst=element_of(flat, j, columns.start + place, claimed, numeric, MARGIN * error))


def text_of_disagreement(probe: Probe) -> str:
    """Describe how claimed and numeric products differ along the direction where they differ most."""
    wrong = (p for p in probe.directions.probed if p.wrong.any())
    probed = max(wrong, key=lambda p: float(p.excess.max()), default=None)
    if probed is None:
        return ""
    j = int(np.argmax(probed.excess))
    claimed, value = f"along a random direction the claimed product is {probed.claimed[j]:.9g}", probed.slopes.value[j]
    if np.isnan(value):
        return f"{claimed}, but the integral of the claim does not follow the values of the function"
    return f"{claimed}, the numeric one {value:.9g} ± {probed.slopes.error[j]:.2g}"


def evidence(probe: Probe, verdict: str) -> Evidence:
    """Return what a verdict rests on: for each direction, the products of its worst row."""
    flat, entries, rows = probe.flat, probe.entries, []
    for p in probe.directions.probed:
        j = int(np.argmax(p.excess))
        rows.append(Direction(float(p.claimed[j]), float(p.slopes.value[j]), float(p.slopes.error[j])))
    needed = probe.locator.calls_needed if verdict == "inconclusive" and probe.out_of_calls else None
    estimated = len(entries.estimates) * len(flat.f0)
    return Evidence(len(flat.f0) * flat.size, estimated, flat.claim.budget.made, tuple(rows), needed)


LINE = 81  # points of the function along the worst element: a choice


def with_elements(entries: Entries, item: InputCheck, k: int) -> InputCheck:
    """Add to the result for input k all of its elements, and the function along the worst one."""
    flat, columns = entries.flat, entries.flat.columns(k)
    if not entries.rows.single:
        return item
    elements = Elements(
        tuple(flat.row(j) for j in range(len(flat.f0))),
        tuple(flat.label(i)[1:] for i in range(columns.start, columns.stop)),
        entries.claimed[:, columns],
        entries.value[:, columns],
        MARGIN * entries.error[:, columns],
        VERDICTS[entries.state[:, columns]],
    )
    line = None
    if item.worst is not None:
        row = elements.rows.index((item.worst.output, item.worst.output_part))
        i = columns.start + elements.columns.index((item.worst.place, item.worst.part))
        offsets = np.linspace(-1, 1, LINE)
        _, values = entries.sampler.element(i).values(offsets)
        x = float(flat.coordinate(i))
        line = LineValues(x + offsets * float(flat.scales[i]), values[:, row], (x, float(flat.f0[row])))
    return replace(item, elements=elements, point=np.array(flat.arrays[k]), line=line)
