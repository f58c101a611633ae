"""Locate: find, by bisection, the element that makes a direction disagree, or its slope unknown.

The error of one half gives that of the other, so a level costs four calls. The half with the larger error is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .chain import FEW, FIRST, MANY
from .compare import MARGIN, SLIGHT, allowed
from .decide import Observation
from .directions import Directions, Probed
from .estimate import PER_ESTIMATE
from .fit import QUICK, fit
from .sampler import TINY, Line
from .verdict import FAIL, OPEN, Entries, state_by

ONE_BY_ONE = 8  # maximum number of elements to estimate one by one: 8 PER_ESTIMATE are 120 calls, less than PASS_CALLS
SOME = 64  # the same if directions do not decide: a choice, as this takes about a thousand calls
SAMPLE = 64  # elements estimated to explain a fail: if 5 % are wrong, these include one in 1 - 0.95**64 = 96 %
PASS_CALLS, FAIL_CALLS = 200, 600  # calls after which nothing optional begins, without and with a disagreement: choices
PER_DOUBT = 100  # calls to compare a doubtful element: an estimate, its rounding, and windows of the integral
MOST_LOCATED = 10  # maximum number of wrong elements to locate: a choice
NARROWER = 4.0  # times narrower than the most precise fit: the truncation of fourth-order differences falls by 4**4
BLUR = 0.1  # error allowed in differences, relative to the disagreement: a choice, as fits replace worse ones
TWO_STEPS = np.array([1.0, 0.5])
ROMBERG = np.array([-1.0, 4.0]) / 3  # Richardson's weights for two steps: central differences become 4th order
NO_ELEMENT = "claim and values differ slightly along a random direction, but no element is known to be wrong"
CLOSE = 1e-6  # distance from the point at which kinks are looked for, in units of the scale: a choice


def halves(elements: np.ndarray, edges: np.ndarray | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Divide elements between two inputs if they belong to several, else in the middle."""
    inside = [int(edge) for edge in edges if elements[0] < edge <= elements[-1]]
    middle = (elements[0] + elements[-1]) / 2
    if inside:
        place = int(np.searchsorted(elements, min(inside, key=lambda edge: abs(edge - middle))))
    else:
        place = len(elements) // 2
    return elements[:place], elements[place:]


class Locator:
    """Locates the elements that explain a disagreement. proven: a direction that disagrees beyond doubt."""

    def __init__(self, directions: Directions):
        self.directions, self.entries, self.flat = directions, directions.entries, directions.flat
        self.sampler, self.rows = directions.sampler, directions.rows
        self.proven: Probed | None = None

    def search(self, probed: Probed) -> bool:
        entries = self.entries
        row = int(np.argmax(probed.excess))
        if not np.isfinite(entries.claimed[row]).all() and self.rows.known:
            bad = np.flatnonzero(~np.isfinite(entries.claimed).all(axis=0))
            entries.compare_elements(bad[:MOST_LOCATED])
            if (entries.state[row, bad[:MOST_LOCATED]] == FAIL).all():
                entries.state[~np.isfinite(entries.claimed)] = state_by(values="contradicts")
            return bool((entries.state == FAIL).any())
        found: list[int] = []
        factor = self.common_factor(probed)
        if factor is not None and abs(factor - 1) < SLIGHT and not entries.strict:
            moved = np.flatnonzero(probed.line.direction).tolist()
            entries.slight.update(dict.fromkeys(moved, abs(factor - 1)))
            return False
        if factor is not None:
            sample = self.sample(np.flatnonzero(~self.flat.fixed), ONE_BY_ONE)
            sample = np.unique([int(np.argmax(entries.effects[row])), *sample])
            for i in sample:
                self.compare_quickly(int(i), probed)
            if (entries.state == FAIL).any():
                entries.sampled = sample
                return True
        left, tolerance_left = float(probed.off[row]), float(probed.tolerance[row])
        while abs(left) > tolerance_left and len(found) < MOST_LOCATED:
            i = self.locate(probed, row, left, found)
            if i is None or i in found:
                break
            self.rows.fill_column(i)
            entries.compare_element(i)
            entries.report_partial()
            found.append(i)
            if i in entries.slight and not probed.proves.any():
                return False
            if (reason := entries.in_steps(row, i)) is not None:  # so are the other elements
                self.directions.leave_open(reason)
                return False
            d = probed.line.direction[i]
            if entries.state[row, i] != FAIL and not self.take_from_probe(
                probed, row, i, left / d, tolerance_left / abs(d)
            ):
                break
            left -= float(entries.claimed[row, i] - entries.value[row, i]) * d
            tolerance_left += float(entries.error[row, i]) * abs(d)
            if len(found) == 1 and abs(left) > tolerance_left and self.compare_sample(probed, found):
                break
        if found and (entries.state == FAIL).any():
            if abs(left) <= tolerance_left and entries.sampled is None:
                self.explained(probed, found)
            return True
        if probed.family != "relative" or not probed.exceeds_rounding.any():
            return False
        if not probed.proves.any():
            self.directions.leave_open(Observation("undecided", NO_ELEMENT))
            return False
        self.proven = probed
        return True

    def common_factor(self, probed: Probed) -> float | None:
        """Return c if all claimed products are c times the numeric ones; None if they are not, or unknown."""
        if not self.rows.known or (len(self.directions.probed) < 2 and not self.has_calls(PER_ESTIMATE)):
            return None
        if len(self.directions.probed) < 2:
            self.directions.compare(self.directions.draw("relative"), "relative")
        claimed, numeric, rooms = (
            np.concatenate([getattr(p, name) if name != "value" else p.slopes.value for p in self.directions.probed])
            for name in ("claimed", "value", "tolerance")
        )
        known = np.concatenate([p.slopes.known for p in self.directions.probed])
        if not known.all():
            return None
        best = int(np.argmax(np.abs(numeric) / np.maximum(rooms, TINY)))
        c = float(claimed[best] / numeric[best]) if numeric[best] else np.nan
        spread = rooms[best] / abs(numeric[best]) if numeric[best] else np.inf
        near = np.abs(claimed - c * numeric) <= rooms * (1 + abs(c)) + spread * np.abs(claimed)
        return c if near.all() and abs(c - 1) > 2 * spread else None

    def take_from_probe(self, probed: Probed, row: int, i: int, off: float, error: float) -> bool:
        """Mark the element that bisection found as wrong if the direction is more precise; return whether it was.

        If all elements may differ slightly, the disagreement is not that of one element.
        """
        entries = self.entries
        if probed.family != "relative" or not error < MARGIN * entries.error[row, i] or probed.may_be_slight[row]:
            return False
        if not abs(off) > error + entries.own_rounding[row, i] + entries.least_accused[row, i]:
            return False
        entries.value[row, i] = entries.claimed[row, i] - off
        entries.error[row, i], entries.state[row, i] = error / MARGIN, state_by(values="contradicts")
        return True

    def explained(self, probed: Probed, found: list[int]) -> None:
        """Accept the elements that agree along the direction once the wrong ones are removed."""
        entries, others = self.entries, np.ones(self.flat.size, bool)
        others[found] = False
        direction = np.where(others, probed.line.direction, 0.0)
        taken = entries.claimed[:, found] - entries.value[:, found]
        left = np.abs(probed.off - taken @ probed.line.direction[found])
        more = probed.tolerance + entries.error[:, found] @ np.abs(probed.line.direction[found])
        moved = direction != 0
        most = np.where(left <= more, left + more, np.inf)
        entries.bound[:, moved] = np.minimum(entries.bound[:, moved], most[:, None] / np.abs(direction[moved]))
        self.directions.settle()

    def compare_sample(self, probed: Probed, found: list[int]) -> bool:
        """Estimate a sample of elements quickly; return whether the search for more wrong ones can end."""
        entries = self.entries
        live = np.flatnonzero(~self.flat.fixed)
        sample = [int(i) for i in self.sample(live, SAMPLE - len(found)) if i not in found]
        for i in sample:
            self.rows.fill_column(i)
            self.compare_quickly(i, probed)
        entries.sampled = np.array(sorted({*sample, *found}))
        return bool((entries.state[:, sample] == FAIL).any()) or len(sample) + len(found) == len(live)

    def compare_quickly(self, i: int, probed: Probed) -> None:
        """Check an element by a fit of low degree; if that does not decide, by a full estimate."""
        entries, line = self.entries, self.sampler.element(i, self.rows.weights)
        widths = probed.slopes.width[probed.slopes.known & np.isfinite(probed.slopes.width)]
        quick = fit(line, float(np.min(widths, initial=FIRST)), QUICK)
        scale = float(self.flat.scales[i])
        if quick is not None and np.isfinite(quick.error).all():
            value, error = quick.value / scale, quick.error / scale
            a, size = entries.claimed[:, i], np.maximum(np.abs(entries.claimed[:, i]), np.abs(value))
            near = np.abs(a - value) <= allowed(error, entries.own_rounding[:, i], entries.least_accused[:, i])
            least = 0.0 if entries.strict else SLIGHT * np.abs(value)
            clear = np.abs(a - value) > np.maximum(12 * error + entries.own_rounding[:, i], least)
            clear &= entries.proven
            decides = (near & (error <= 1e-3 * size + TINY)) | clear
            if decides.all():
                entries.value[:, i], entries.error[:, i] = value, error
                entries.state[:, i] = np.where(near, state_by(values="agrees"), state_by(values="contradicts"))
                return
        if self.has_calls(PER_DOUBT):
            entries.compare_element(i)

    def locate(self, probed: Probed, row: int, off: float, known: Sequence[int]) -> int | None:
        """Return the element that bisection of a wrong direction ends at. known: wrong elements found before."""
        direction = probed.line.direction
        h = float(probed.slopes.width[row]) / NARROWER
        steps = h * TWO_STEPS
        weights = None if self.rows.weights is None else self.rows.weights[row : row + 1]
        column = row if weights is None else 0
        elements = np.setdiff1d(np.flatnonzero(direction), np.array(known, int))

        def differences(line: Line) -> float:
            _, values = line.values(np.concatenate([steps, -steps]))
            up, down = np.split(values[:, column], 2)
            return float(ROMBERG @ ((up - down) / (2 * steps)))

        def fitted(line: Line) -> float:
            found = fit(line, NARROWER * h, MANY)
            return float(found.value[column]) if found is not None else np.nan

        def off_by(places: np.ndarray, slope: Callable[[Line], float]) -> float:
            part = np.zeros_like(direction)
            part[places] = direction[places]
            return float(self.rows.along(part)[row]) - slope(self.sampler.line(part, weights))

        close = abs(off_by(elements, differences) - off) <= BLUR * abs(off)
        slope = differences if close else fitted
        return bisect(elements, off, lambda places: off_by(places, slope), self.flat.edges)

    def locate_rough(self, direction: np.ndarray) -> int | None:
        """Return the element that contributes most to a kink, a jump, or an edge of the domain along a direction."""
        flat, steps = self.flat, CLOSE * TWO_STEPS[:1]

        def roughness(places: np.ndarray) -> float:
            part = np.zeros_like(direction)
            part[places] = direction[places]
            _, values = self.sampler.line(part).values(np.concatenate([steps, -steps]))
            if not np.isfinite(values).all():
                return np.inf
            size = np.abs(flat.f0) + 1e-300
            return float((np.abs(values.sum(axis=0) - 2 * flat.f0) / size).max())

        elements = np.flatnonzero(direction)
        if not len(elements):
            return None
        whole = roughness(elements)
        while len(elements) > 1:
            first, second = halves(elements, flat.edges)
            one = roughness(first)
            other = roughness(second) if not np.isfinite(whole) or one < whole / 2 else 0.0
            elements, whole = (first, one) if one >= other else (second, other)
        return int(elements[0]) if whole > 0 else None

    @property
    def calls_needed(self) -> int | None:
        """Number of calls that usually decides a check of this size; None if as many were allowed.

        If a direction disagrees, this includes the search for the elements.
        """
        directions = self.directions.probed
        disagrees = self.proven is not None or any(probed.wrong.any() for probed in directions)
        needed = int(self.calls_of_check(disagrees))
        return needed if needed > (self.flat.claim.budget.allowed or 0) else None

    def calls_of_check(self, disagrees: bool) -> float:
        """Return the number of calls after which a check of this size begins nothing optional."""
        return (FAIL_CALLS if disagrees else PASS_CALLS) + 20 * np.log2(max(self.flat.size, 2))

    def has_calls(self, count: int) -> bool:
        """Return whether a check may make `count` more calls."""
        return self.sampler.calls + count <= self.calls_of_check(self.proven is not None)

    def compare_all_or_some(self, probed: Probed) -> None:
        """Compare single elements if a direction decides nothing: those with the largest effects, or all at a kink.

        The others are undecided for the direction's reason.
        """
        entries = self.entries
        live = np.flatnonzero(~self.flat.fixed & (entries.state == OPEN).any(axis=0))
        kinked = "kink" in probed.found.words
        if len(live) > (SOME if kinked else ONE_BY_ONE):
            live = live[np.argsort(-entries.effects.max(axis=0)[live], kind="stable")[:ONE_BY_ONE]]
        for i in live.tolist():
            if self.has_calls(PER_DOUBT):
                self.rows.fill_column(i)
                entries.compare_element(i)
        entries.mark_negligible()
        if (entries.state == OPEN).any() and not (entries.state == FAIL).any():
            self.directions.settle()
            reasons = [probed.found.reason(int(j)) for j in np.flatnonzero(~probed.agrees & ~probed.wrong)]
            self.directions.leave_open(reasons[0] if reasons else None)

    def sample(self, elements: np.ndarray, count: int = SAMPLE) -> np.ndarray:
        """Return elements spread over all inputs."""
        if len(elements) <= count:
            return elements
        chosen: set[int] = set()
        inputs = [
            elements[(elements >= a) & (elements < b)]
            for a, b in zip(self.flat.edges, self.flat.edges[1:], strict=False)
        ]
        inputs = [part for part in inputs if len(part)]
        for part in inputs:
            chosen.update(
                self.directions.rng.choice(part, min(len(part), max(1, count // len(inputs))), replace=False).tolist()
            )
        return np.array(sorted(chosen))


def bisect(elements: np.ndarray, off: float, off_by: Callable, edges: np.ndarray | Sequence[int]) -> int | None:
    while len(elements) > 1:
        first, second = halves(elements, edges)
        mine = off_by(first)
        if not np.isfinite(mine):
            mine = off - off_by(second)
            if not np.isfinite(mine):
                return None
        elements, off = (first, mine) if abs(mine) >= abs(off - mine) else (second, off - mine)
    return int(elements[0]) if len(elements) else None


def locate_output(entries: Entries, row: int, i: int) -> tuple[int, float, float, float] | None:
    """Return the output of a combination that is furthest off along element i: index, claimed, numeric, and error.

    The values of all outputs are kept, so this takes only products of the claim. Returns None if there is no estimate.
    """
    flat, rows, scale = entries.flat, entries.rows, float(entries.flat.scales[i])
    line, _ = entries.estimates.get(i) or (entries.sampler.element(i, rows.weights), None)
    found = fit(line.with_weights(None), FIRST, FEW)
    if found is None or rows.weights is None:
        return None
    numeric, column, places = found.value / scale, rows.column(i), np.arange(len(flat.f0))
    if column is not None:
        j = int(np.argmax(np.abs(column - numeric)))
        return j, float(column[j]), float(numeric[j]), float(found.error[j] / scale)
    while len(places) > 1:
        parts = np.array_split(places, 2)
        weights = np.zeros((2, len(flat.f0)))
        for weight, part in zip(weights, parts, strict=True):
            weight[part] = rows.weights[row, part]
        gaps = np.abs(flat.pull(weights)[:, i] - weights @ numeric)
        places = parts[int(np.argmax(np.nan_to_num(gaps, nan=np.inf)))]
    j = int(places[0])
    claimed = float(flat.pull(np.eye(1, len(flat.f0), j))[0, i])
    return j, claimed, float(numeric[j]), float(found.error[j] / scale)
