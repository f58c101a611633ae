"""What is said of a claim that disagrees along a direction: its wrong elements, found by halves as in group testing.

Of a part of the direction that disagrees one half disagrees, too; after log2(n) rounds it is a single element. What
that is off by is taken out, and the rest is searched again while something is left to explain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from ..program.claim import OutOfCallsError
from ..show.check_results import ElementCounts, Finding, InputCheck
from .directions import DRIFT, PLAN, TINY, Directions, Outcome, is_cheap, short_of_calls, too_few, too_noisy
from .flat import Flat
from .jacobian import MARGIN, PAIRS, REACH, SURE, SampledLine, Slope
from .line import Fits
from .symmetric import restrict_to_symmetric
from .verdict import AT_KINK, COARSE, FAIL, PASS, UNSURE, differ_by, digits_of

MOST_WRONG = 4
STEPS = PAIRS * REACH
NO_SIDES = "values beside it tell no slope of either side: a kink, noise or a singularity in reach"


class Compared(NamedTuple):
    """A claimed and a numeric derivative, of an element or along part of a direction, and the numeric error.

    state: as in `verdict`. sides: the left and the right derivative at a kink; the numeric one is their mean.
    """

    claimed: float
    value: float
    error: float
    state: int = UNSURE
    reason: str = ""
    sides: tuple[float, float] | None = None


class WrongElements:
    """The search for wrong elements in one combination of outputs: the row that is furthest off.

    order: the directions, those furthest off first. elements: those looked at. parts: of directions, by number, begin
    and end.
    """

    def __init__(self, look: Directions):
        self.look, self.flat, self.claimed = look, look.flat, look.claimed
        excess = np.array([look.excess(k) for k in range(len(look.lines))])
        self.row = int(np.argmax(excess.max(axis=0)))
        self.order = np.argsort(-excess[:, self.row], kind="stable").tolist()
        self.weights = self.claimed.weights[self.row : self.row + 1]
        self.elements: dict[int, Compared] = {}
        self.lines: dict[int, SampledLine] = {}
        self.parts: dict[tuple[int, int, int], Compared] = {}
        for k, slope in enumerate(look.slopes):
            claimed = float(look.along[k][self.row])
            part = Compared(claimed, float(slope.value[self.row]), float(slope.error[self.row]))
            self.parts[k, 0, self.flat.size] = part
            if look.axes and is_certain(look, k)[self.row]:
                claimed, value, error = (x / float(self.flat.scales[k]) for x in part[:3])
                self.elements[k] = Compared(claimed, value, error, FAIL)

    def search(self) -> bool:
        """Look at elements until what is off is explained; return whether it is. Raises OutOfCallsError."""
        for k in self.order:
            while self.is_off(k, 0, self.flat.size):
                place = self.descend(k) if self.elements else self.choose_first()
                if place is None or place in self.elements or len(self.wrong) >= MOST_WRONG:
                    return False
                self.elements[place] = self.look_at(place)
                if self.common is not None:
                    return False
        return True

    @property
    def common(self) -> float | None:
        """The factor by which all is off: the products along all directions, and the elements that were looked at."""
        parts = [self.parts[k, 0, self.flat.size] for k in range(len(self.look.lines))]
        return self.factor([*parts, *self.elements.values()]) if len(parts) > 1 else None

    @property
    def wrong(self) -> list[int]:
        return [i for i, element in self.elements.items() if element.state == FAIL]

    def choose_first(self) -> int | None:
        """Return the element to look at first: the largest one where all products are off by one factor."""
        if self.claimed.rows is not None and self.common is not None:
            return int(np.argmax(self.claimed.effects(np.zeros(0))[self.row]))
        return self.descend(self.order[0])

    def factor(self, parts: list[Compared]) -> float | None:
        """Return c where all claimed products are c times the numeric ones; None where they are not, or c is 1."""
        best = max(parts, key=lambda part: abs(part.value) / max(part.error, 1e-300))
        if abs(best.value) <= 10 * MARGIN * best.error:
            return None
        c = best.claimed / best.value
        spread = MARGIN * abs(c) * best.error / abs(best.value)
        for part in parts:
            room = MARGIN * (abs(c) + 1) * part.error + (spread + 1e-7 * abs(c)) * abs(part.value)
            if not abs(part.claimed - c * part.value) <= room:
                return None
        return c

    def gap(self, k: int, begin: int, end: int) -> float:
        """Return how far part of direction k is off, beside what elements that were looked at explain."""
        part, direction = self.parts[k, begin, end], self.look.lines[k].direction
        known = sum((x.claimed - x.value) * direction[i] for i, x in self.elements.items() if begin <= i < end)
        return part.claimed - part.value - known

    def is_off(self, k: int, begin: int, end: int) -> bool:
        part, direction = self.parts[k, begin, end], self.only(k, begin, end)
        known = sum(x.error * abs(direction[i]) for i, x in self.elements.items() if begin <= i < end)
        return not abs(self.gap(k, begin, end)) <= self.room(direction, part.claimed, part.error + known)

    def room(self, direction: np.ndarray, claimed: float, error: float) -> float:
        every = np.full(len(self.claimed.weights), claimed)
        noise = min(self.look.noise(), 1e-6)
        return float(self.claimed.room(direction, every, np.full(len(every), error), noise)[self.row])

    def only(self, k: int, begin: int, end: int) -> np.ndarray:
        direction = np.zeros(self.flat.size)
        direction[begin:end] = self.look.lines[k].direction[begin:end]
        return direction

    def descend(self, k: int) -> int | None:
        """Return the element that halving leads to; None where no half disagrees. Raises OutOfCallsError."""
        begin, end = 0, self.flat.size
        if self.claimed.rows is not None and not np.isfinite(self.claimed.rows[self.row]).all():
            return int(np.argmin(np.isfinite(self.claimed.rows[self.row])))
        while end - begin > 1:
            middle = self.middle(begin, end)
            halves = [(k, begin, middle), (k, middle, end)]
            self.measure(*halves[0])
            if halves[1] not in self.parts:
                whole, first = self.parts[k, begin, end], self.parts[halves[0]]
                rest = Compared(whole.claimed - first.claimed, whole.value - first.value, whole.error + first.error)
                self.parts[halves[1]] = rest
            if not any(self.is_off(*half) for half in halves):
                del self.parts[halves[1]]
                self.measure(*halves[1])
                for half in halves:
                    self.measure(*half, closely=True)
                if not any(self.is_off(*half) for half in halves):
                    return None
            _, begin, end = max(halves, key=lambda half: abs(self.gap(*half)))
            self.look.report_partial(begin, end)
        return begin

    def middle(self, begin: int, end: int) -> int:
        """Return where to divide a range: between two inputs where it has several, else in its middle."""
        edges = [int(edge) for edge in self.flat.edges if begin < edge < end]
        return min(edges, key=lambda edge: abs(2 * edge - begin - end)) if edges else (begin + end) // 2

    def measure(self, k: int, begin: int, end: int, closely: bool = False) -> None:
        """Find claimed and numeric product with part of a direction. Raises OutOfCallsError."""
        if (k, begin, end) in self.parts and not closely:
            return
        direction = self.only(k, begin, end)
        line = SampledLine(self.flat, direction, self.weights, self.look.drift)
        slope = line.search(np.zeros(1)) if closely else line.romberg(STEPS)
        claimed = float(self.claimed.along(direction)[self.row])
        self.parts[k, begin, end] = Compared(claimed, float(slope.value[0]), float(slope.error[0]))

    def look_at(self, i: int) -> Compared:
        scale = float(self.flat.scales[i])
        line, claimed = self.line_of(i), float(self.claimed.along(self.unit(i))[self.row]) / scale
        first = line.romberg(STEPS)
        slope = line.search(np.abs(claimed * scale - first.value) / (4 * SURE))
        gap = np.abs(claimed * scale - slope.value)
        kinked = (first.kinked & ~line.is_straight()) | line.sides_confirm(claimed * scale, gap)
        if slope.resolved[0] and not kinked[0]:
            return self.compare(i, claimed, float(slope.value[0]) / scale, float(slope.error[0]) / scale)
        if self.flat.claim.budget.allowed is not None:
            (left, right), errors = (x[:, 0] / scale for x in line.one_sided())
            return at_kink(claimed, left, right, MARGIN * errors.max())
        return self.look_closely(i, claimed)

    def look_closely(self, i: int, claimed: float) -> Compared:
        """Return what is to be said about an element at which no symmetric fit is to be trusted."""
        slope = Fits(self.flat, i, lambda values: values @ self.weights.T).result()
        value, error, kind = float(slope.value[0]), float(slope.error[0]), slope.kind[0]
        if kind in ("jump", "none"):
            return Compared(claimed, claimed, np.inf, UNSURE, "no numeric derivative can be had here")
        if kind == "kink":
            room = MARGIN * float(max(slope.left_error[0], slope.right_error[0]))
            return at_kink(claimed, float(slope.left[0]), float(slope.right[0]), room)
        return self.compare(i, claimed, value, error)

    def compare(self, i: int, claimed: float, value: float, error: float) -> Compared:
        scale = float(self.flat.scales[i])
        wrong = not abs(claimed - value) * scale <= self.room(self.unit(i), claimed * scale, error * scale)
        return Compared(claimed, value, error, FAIL if wrong else PASS)

    def unit(self, i: int) -> np.ndarray:
        direction = np.zeros(self.flat.size)
        direction[i] = self.flat.scales[i]
        return direction

    def line_of(self, i: int) -> SampledLine:
        if i not in self.lines:
            self.lines[i] = SampledLine(self.flat, self.unit(i), self.weights, self.look.drift)
        return self.lines[i]

    def output_of(self, i: int) -> tuple[int, Compared]:
        """Return the output off most for a wrong element, found by halves of combinations, and that derivative."""
        element, scale = self.elements[i], float(self.flat.scales[i])
        if self.claimed.single:
            return self.row, element
        whole, places = self.claimed.column(i), np.arange(len(self.flat.f0))
        if whole is not None:
            numeric = self.along_outputs(i, np.eye(len(places)))
            off = np.abs(whole * scale - numeric.value) / np.maximum(numeric.error, 1e-300)
            places = np.array([int(np.argmax(off))])
        while len(places) > 1:
            halves = np.array_split(places, 2)
            weights = np.zeros((2, len(self.flat.f0)))
            for weight, half in zip(weights, halves, strict=True):
                weight[half] = self.weights[0, half]
            gaps = np.abs(self.flat.pull(weights)[:, i] * scale - self.along_outputs(i, weights).value)
            places = halves[int(np.argmax(gaps))]
        j = int(places[0])
        weight = np.eye(1, len(self.flat.f0), j)
        claimed = float(whole[j]) if whole is not None else float(self.flat.pull(weight)[0, i])
        slope = self.along_outputs(i, weight)
        value, error = float(slope.value[0]) / scale, float(slope.error[0]) / scale
        return j, element._replace(claimed=claimed, value=value, error=error)

    def along_outputs(self, i: int, weights: np.ndarray) -> Slope:
        """Return slopes of combinations of outputs along an element that was looked at, from values that are kept."""
        line = SampledLine(self.flat, self.unit(i), weights, self.look.drift)
        line.kept = self.line_of(i).kept
        return line.romberg(STEPS)

    def outcome(self) -> Outcome:
        look, short = self.look, False
        try:
            explained = self.search()
        except OutOfCallsError:
            explained, short = False, True
        if self.wrong:
            return self.report_fail(explained, short)
        if explained:
            return self.report_pass()
        claimed, value, error = max(look.products(), key=lambda p: abs(p[0] - p[1]) / max(p[2], 1e-300))
        products = f"the claimed product is {claimed:.9g}, the numeric one {value:.9g} ± {error:.2g}"
        text = f"along a random direction {products}"
        needed = look.calls_for_search() if short else None
        if certain(look, all if short and not self.factors() else any):
            more = f"; {needed} calls (--calls) would name the element" if short else "; no single element shows it"
            return look.outcome("fail", text + more, needed)._replace(findings=self.factors())
        if short and needed is not None:
            return short_of_calls(look)
        reasons = {element.reason for element in self.elements.values() if element.state == UNSURE}
        return look.outcome("inconclusive", ", ".join(sorted(reasons)) or f"{text}; no single element shows it")

    def report_pass(self) -> Outcome:
        """Return that what disagreed lies within the one-sided derivatives at kinks, or within the noise."""
        look = self.look
        unsure = {x.reason: self.flat.label(i) for i, x in self.elements.items() if x.state == UNSURE}
        if unsure:
            texts = [f"{name}{list(index) or ''}: {reason}" for reason, (name, index, _) in unsure.items()]
            return look.outcome("inconclusive", "; ".join(texts))
        self.correct()
        if look.settled:
            kinks = any(element.reason == "a kink" for element in self.elements.values())
            return look.outcome("pass")._replace(notes=(AT_KINK,) * kinks, closely=len(self.elements))
        return look.outcome("inconclusive", "not all of what disagrees along a direction could be explained")

    def correct(self) -> None:
        """Take what elements are off by out of what the directions say of the others."""
        for k, (line, slope) in enumerate(zip(self.look.lines, self.look.slopes, strict=True)):
            value, error = slope.value.copy(), slope.error.copy()
            value[self.row] += sum((x.claimed - x.value) * line.direction[i] for i, x in self.elements.items())
            error[self.row] += sum(x.error * abs(line.direction[i]) for i, x in self.elements.items())
            self.look.slopes[k] = slope._replace(value=value, error=error, kinked=np.zeros(len(value), bool))

    def report_fail(self, explained: bool, short: bool) -> Outcome:
        look, flat = self.look, self.flat
        worst = max(self.wrong, key=lambda i: abs(self.elements[i].claimed - self.elements[i].value) * flat.scales[i])
        try:
            output, element = self.output_of(worst)
        except OutOfCallsError:
            output, element = int(np.argmax(np.abs(self.weights[0]))), self.elements[worst]
        products = look.products()
        if explained:
            self.correct()
        inputs = look.inputs("pass" if explained else "inconclusive")
        checks = []
        for item in inputs:
            mine = [i for i in self.wrong if flat.label(i)[0] == item.name]
            if not mine:
                checks.append(item)
                continue
            place = worst if worst in mine else mine[0]
            shown = element if place == worst else self.elements[place]
            gap = abs(shown.claimed - shown.value)
            relative = gap / abs(shown.value) if abs(shown.value) > MARGIN * shown.error else 0.0
            where = flat.worst(output, place, shown.claimed, shown.value, MARGIN * shown.error, shown.sides)
            every = explained and len(flat.f0) == 1  # of several outputs a combination was looked at
            counts = ElementCounts(len(mine), 0, math.prod(item.shape)) if every else None
            digits = digits_of(relative)
            checks.append(InputCheck(item.name, item.shape, "fail", gap, relative, digits, None, where, counts=counts))
        findings = self.factors()
        if not findings and explained:
            cases = self.cases(output, element, worst)
            known = self.claimed.rows is not None
            from .diagnose import diagnose, place_in

            findings = diagnose(cases) if known else place_in(cases)  # type: ignore[arg-type]
        notes = ("the budget of calls (--calls) ended the search for more wrong elements",) if short else ()
        findings = findings if explained else findings or self.count()
        return Outcome("fail", tuple(checks), products, "", findings, notes, len(self.elements))

    def cases(self, output: int, worst: Compared, place: int) -> SimpleNamespace:
        """Return what is known as a judgement on one row: elements that agree along the directions are as claimed."""
        row = self.claimed.row(output)
        a = np.full((1, self.flat.size), np.nan) if row is None else row[None].copy()
        value, error = a.copy(), abs(worst.error / worst.value if worst.value else 0.0) * np.abs(a)
        state = np.full(a.shape, PASS)
        for i in self.wrong if self.claimed.single else [place]:
            element = worst if i == place else self.elements[i]
            a[0, i], value[0, i], error[0, i], state[0, i] = element[:4]
            value[0, i] = np.nan if element.sides else element.value
        return SimpleNamespace(flat=self.flat, analytic=a, value=value, error=error, state=state)

    def factors(self) -> tuple[Finding, ...]:
        """Return by which factor all of an input is off, where every part of it that was looked at is off by that."""
        findings, flat, common = [], self.flat, self.common
        for k, name in enumerate(flat.claim.wrt):
            begin, end = flat.columns(k).start, flat.columns(k).stop
            parts = [part for (_, b, e), part in self.parts.items() if begin <= b and e <= end]
            parts += [element for i, element in self.elements.items() if begin <= i < end]
            c = common or (self.factor(parts) if len(parts) >= 3 else None)
            if c is not None and abs(c - 1) > 1e-7 and abs(c) > 1e-9:
                from .diagnose import ratio_name

                known = [abs(p.error / p.value) for p in parts or self.parts.values() if p.value]
                named = ratio_name(flat, max(known, default=0.0), c)
                kind, text = named or ("factor", f"constant factor {c:.6g} on all elements")
                findings.append(Finding(kind, f"{name}: {text}", name))
        return tuple(findings)

    def count(self) -> tuple[Finding, ...]:
        """Return that some elements are wrong, where not all of them were looked for."""
        names = [self.flat.label(i)[0] for i in self.wrong]
        texts = [(n, names.count(n), self.flat.arrays[self.flat.claim.wrt.index(n)].size) for n in dict.fromkeys(names)]
        return tuple(
            Finding("some elements", f"{n}: at least {count} of {size} elements are wrong; no more were looked for", n)
            for n, count, size in texts
        )


def at_kink(claimed: float, left: float, right: float, room: float) -> Compared:
    """Return what is to be said about an element between one-sided derivatives that are known to within `room`."""
    value, half = (left + right) / 2, abs(right - left) / 2
    if not room <= COARSE * 2 * half:
        return Compared(claimed, value, half + room, UNSURE, NO_SIDES)
    state = PASS if abs(claimed - value) <= half + room else FAIL
    return Compared(claimed, value, room / MARGIN, state, "a kink", (left, right))


def certain(look: Directions, enough: Callable = any) -> bool:
    """Return whether the derivative is wrong beyond doubt along any direction, or along all of them."""
    lines = range(len(look.lines))
    return enough(is_certain(look, k).any() or not np.isfinite(look.compare(k)[0]).all() for k in lines)


def is_certain(look: Directions, k: int) -> np.ndarray:
    """Return which products along direction k are wrong beyond doubt: by fits, or by far more than steps differ."""
    slope, (claimed, gap, room) = look.slopes[k], look.compare(k)
    beyond = (slope.resolved & (gap > SURE / MARGIN * room)) | (gap > SURE * MARGIN * slope.rough)
    return ~slope.kinked & (gap > room) & beyond & ~look.lines[k].sides_confirm(claimed, gap)


def judge_along(look: Directions) -> Outcome | None:
    """Return what directions tell of a claim, and of elements where they disagree; None to look at each."""
    flat = look.flat
    try:
        look.first_look()
    except OutOfCallsError:
        return Outcome("inconclusive", message=too_few(flat, look.plan), needed=look.plan)
    if look.settled:
        return look.outcome("pass")
    look.report_partial(0, flat.size)
    drift = look.drift / np.maximum(np.abs(flat.f0), TINY)
    if (drift > DRIFT).any():
        return look.outcome("inconclusive", differ_by(drift.max()))
    try:
        narrower = None if look.agree else restrict_to_symmetric(flat)
    except OutOfCallsError:
        needed = look.plan + PLAN + 1
        return look.outcome("inconclusive", too_few(flat, needed), needed)
    if narrower is not None:
        look.begin(Flat(narrower))
        return judge_along(look)
    if flat.claim.budget.allowed is None and not drift.any() and is_cheap(flat):
        return None
    try:
        look.look_longer()
    except OutOfCallsError:
        if not certain(look):
            return short_of_calls(look)
    if look.settled:
        return look.outcome("pass")
    if look.agree:
        return too_noisy(look)
    return WrongElements(look).outcome()
