"""Which elements are wrong where a claim disagrees along a direction: by halves, as in group testing.

Of a part of the direction that disagrees one half disagrees, too; after log2(n) rounds it is a single element. What
that is off by is taken out, and the rest is searched again while something is left to explain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..judgement.verdict import COARSE, FAIL, PASS, UNSURE
from ..reference.differences import PAIRS, REACH, SampledLine
from ..reference.jacobian import MARGIN, SURE
from ..reference.line import estimate
from .look import Directions, excess

MOST = 4
"""Wrong elements that are looked for."""
STEPS = PAIRS * REACH
HIDDEN_SLOPES = "values beside it tell no slope of either side: a kink, noise or a singularity in reach"


class Part(NamedTuple):
    """A claimed and a numeric product with part of a direction, and the numeric error."""

    claimed: float
    value: float
    error: float


class ElementFinding(NamedTuple):
    """What is found of one element: claimed and numeric derivative with its error, and a state as in `verdict`.

    sides: the left and the right derivative at a kink; the numeric one is their mean.
    """

    claimed: float
    value: float
    error: float
    state: int
    reason: str = ""
    sides: tuple[float, float] | None = None


class GroupTesting:
    """The search for wrong elements in one combination of outputs, along all directions.

    elements: what was found of single elements, by their place. parts: what was found of parts of directions, by
    number, begin and end.
    """

    def __init__(self, look: Directions):
        self.look, self.flat, self.claim = look, look.flat, look.claim
        self.row = int(np.argmax(np.max([excess(look, k) for k in range(len(look.lines))], axis=0)))
        self.weights = self.claim.weights[self.row : self.row + 1]
        self.elements: dict[int, ElementFinding] = {}
        self.lines: dict[int, SampledLine] = {}
        self.parts: dict[tuple[int, int, int], Part] = {}
        for k, slope in enumerate(look.slopes):
            claimed = float(look.compare(k)[0][self.row])
            part = Part(claimed, float(slope.value[self.row]), float(slope.error[self.row]))
            self.parts[k, 0, self.flat.size] = part
            if look.axes and is_certain(look, k)[self.row]:
                claimed, value, error = (x / float(self.flat.scales[k]) for x in part)
                self.elements[k] = ElementFinding(claimed, value, error, FAIL)

    def search(self) -> bool:
        """Look at elements until what is off is explained; return whether it is. Raises OutOfCallsError."""
        for k in sorted(range(len(self.look.lines)), key=lambda k: -excess(self.look, k)[self.row]):
            while self.is_off(k, 0, self.flat.size):
                place = self.choose_by_factor() if not self.elements else self.descend(k)
                if place is None or place in self.elements or len(self.wrong) >= MOST:
                    return False
                self.elements[place] = self.look_at(place)
                if self.common is not None:
                    return False
        return True

    @property
    def common(self) -> float | None:
        """The factor by which all is off: the products along all directions, and the elements that were looked at."""
        parts = [self.parts[k, 0, self.flat.size] for k in range(len(self.look.lines))]
        return (
            self.factor([*parts, *(Part(*element[:3]) for element in self.elements.values())])
            if len(parts) > 1
            else None
        )

    @property
    def wrong(self) -> list[int]:
        """The elements that were found wrong."""
        return [i for i, element in self.elements.items() if element.state == FAIL]

    def choose_by_factor(self) -> int | None:
        """Return the element to look at first: the largest one where all products are off by one factor."""
        if self.claim.rows is not None and self.common is not None:
            return int(np.argmax(self.claim.effects(np.zeros(0))[self.row]))
        return self.descend(int(np.argmax([excess(self.look, k)[self.row] for k in range(len(self.look.lines))])))

    def factor(self, parts: list[Part]) -> float | None:
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
        """Return whether part of direction k disagrees."""
        part, direction = self.parts[k, begin, end], self.only(k, begin, end)
        known = sum(x.error * abs(direction[i]) for i, x in self.elements.items() if begin <= i < end)
        return not abs(self.gap(k, begin, end)) <= self.room(direction, part.claimed, part.error + known)

    def room(self, direction: np.ndarray, claimed: float, error: float) -> float:
        """Return how far a product with a direction may be off."""
        every = np.full(len(self.claim.weights), claimed)
        noise = min(self.look.noise(), 1e-6)
        return float(self.claim.room(direction, every, np.full(len(every), error), noise)[self.row])

    def only(self, k: int, begin: int, end: int) -> np.ndarray:
        """Return part of direction k, zeros elsewhere."""
        direction = np.zeros(self.flat.size)
        direction[begin:end] = self.look.lines[k].direction[begin:end]
        return direction

    def descend(self, k: int) -> int | None:
        """Return the element that halving leads to; None where no half disagrees. Raises OutOfCallsError."""
        begin, end = 0, self.flat.size
        if self.claim.rows is not None and not np.isfinite(self.claim.rows[self.row]).all():
            return int(np.argmin(np.isfinite(self.claim.rows[self.row])))
        while end - begin > 1:
            middle = self.middle(begin, end)
            halves = [(k, begin, middle), (k, middle, end)]
            self.measure(*halves[0])
            if halves[1] not in self.parts:
                whole, first = self.parts[k, begin, end], self.parts[halves[0]]
                rest = Part(whole.claimed - first.claimed, whole.value - first.value, whole.error + first.error)
                self.parts[halves[1]] = rest
            if not any(self.is_off(*half) for half in halves):
                del self.parts[halves[1]]
                self.measure(*halves[1])
                for half in halves:
                    self.measure(*half, closely=True)
                if not any(self.is_off(*half) for half in halves):
                    return None
            _, begin, end = max(halves, key=lambda half: abs(self.gap(*half)))
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
        claimed = float(self.claim.along(direction)[self.row])
        self.parts[k, begin, end] = Part(claimed, float(slope.value[0]), float(slope.error[0]))

    def look_at(self, i: int) -> ElementFinding:
        """Return what is to be said about one element. Raises OutOfCallsError."""
        scale = float(self.flat.scales[i])
        line, claimed = self.line_of(i), float(self.claim.along(self.unit(i))[self.row]) / scale
        first = line.romberg(STEPS)
        gap = abs(claimed * scale - float(first.value[0]))
        slope = line.search(np.array([gap / (4 * SURE)]))
        if slope.resolved[0] and not (first.bent[0] and not line.is_straight()[0]):
            value, error = float(slope.value[0]) / scale, float(slope.error[0]) / scale
            wrong = not abs(claimed - value) * scale <= self.room(self.unit(i), claimed * scale, error * scale)
            return ElementFinding(claimed, value, error, FAIL if wrong else PASS)
        if self.flat.subject.most_calls is not None:
            (left, right), errors = (x[:, 0] / scale for x in line.one_sided())
            return at_kink(claimed, left, right, MARGIN * errors.max())
        return self.look_closely(i, claimed)

    def look_closely(self, i: int, claimed: float) -> ElementFinding:
        """Return what is to be said about an element at which no symmetric fit is to be trusted."""

        def along(offsets: np.ndarray) -> np.ndarray:
            return self.flat.along(np.full(len(offsets), i), offsets) @ self.weights.T

        f0 = self.weights @ self.flat.f0
        slope = estimate(along, self.flat.coordinate(i), float(self.flat.scales[i]), f0, self.flat.unit)
        value, error, kind = float(slope.value[0]), float(slope.error[0]), slope.kind[0]
        if kind in ("jump", "none"):
            return ElementFinding(claimed, claimed, np.inf, UNSURE, "no numeric derivative can be had here")
        if kind == "kink":
            room = MARGIN * max(float(slope.left_error[0]), float(slope.right_error[0]))
            return at_kink(claimed, float(slope.left[0]), float(slope.right[0]), room)
        scale = float(self.flat.scales[i])
        wrong = not abs(claimed - value) * scale <= self.room(self.unit(i), claimed * scale, error * scale)
        return ElementFinding(claimed, value, error, FAIL if wrong else PASS)

    def unit(self, i: int) -> np.ndarray:
        """Return a direction along one element, as long as its scale."""
        direction = np.zeros(self.flat.size)
        direction[i] = self.flat.scales[i]
        return direction

    def line_of(self, i: int) -> SampledLine:
        """Return the line along one element; its values are kept for other combinations of outputs."""
        if i not in self.lines:
            self.lines[i] = SampledLine(self.flat, self.unit(i), self.weights, self.look.drift)
        return self.lines[i]


def at_kink(claimed: float, left: float, right: float, room: float) -> ElementFinding:
    """Return what is to be said about an element between one-sided derivatives that are known to within `room`."""
    value, half = (left + right) / 2, abs(right - left) / 2
    if not room <= COARSE * 2 * half:
        return ElementFinding(claimed, value, half + room, UNSURE, HIDDEN_SLOPES)
    state = PASS if abs(claimed - value) <= half + room else FAIL
    return ElementFinding(claimed, value, room / MARGIN, state, "a kink", (left, right))


def certain(look: Directions) -> bool:
    """Return whether the derivative is wrong beyond doubt along a direction."""
    return any(is_certain(look, k).any() or not np.isfinite(look.compare(k)[0]).all() for k in range(len(look.lines)))


def is_certain(look: Directions, k: int) -> np.ndarray:
    """Return which products along direction k are wrong beyond doubt: by fits, or by far more than steps differ."""
    slope, (_, gap, room) = look.slopes[k], look.compare(k)
    return (
        ~slope.bent
        & (gap > room)
        & ((slope.resolved & (gap > SURE / MARGIN * room)) | (gap > SURE * MARGIN * slope.rough))
    )
