"""The verdict: from the reference's interval, never from a tolerance that fits all scales."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .flat import Flat
from .jacobian import ENOUGH, MARGIN, OTHER_REACHES, SURE, Reference
from .line import STAIR

CAP = 15.95  # the digits that float64 has


AT_KINK = "a kink: the claimed value lies between the one-sided derivatives"


def differ_by(relative: float) -> str:
    return f"non-deterministic: two calls at the same point differ by {relative:.2g} relative"


def digits_of(relative: float) -> float:
    """Return to how many digits numbers agree that differ by so much, relative to their size: 0 to CAP."""
    return float(np.clip(-np.log10(max(relative, 10**-CAP)), 0, CAP)) + 0.0


ROUNDING = 32  # how many rounding units of itself an analytic value may be off, ...
HALF_COARSE = 0.01  # ... but in float16, where they are 2 %, so much of itself
FLOOR = {8: 2e-9, 4: 4e-6, 2: 8e-3}
"""Relative differences that no derivative is accused of, by the size of its type in bytes: its own rounding ..."""
LEEWAY = 1000.0  # ... unless the reference is known so many times better
OWN_NOISE = 10.0
"""How many times the scatter of the claimed derivative (a lower quartile) it may be off without being wrong."""
COARSE = 0.02  # a relative error beyond which the reference says nothing about an element
SMALL_EFFECT = 0.01
"""Elements with less than this part of the largest effect on an output do not matter beside the others."""
NO_EFFECT = 1e-12
"""The part of its largest effect on an output that an element may change another one by without mattering."""
UNCHANGED_UNITS = 1000.0  # so many rounding units of the function's value are no change, when a zero is claimed
UNDERFLOW = 1e-290
OVERFLOWING = 1e100
"""Slopes of this size that a reference does not know beside its own error are near the end of all numbers."""
CONTRADICTION = 10.0  # how many of its errors a second candidate must be away from the first to be one
HIDDEN_UNITS = 4.0
"""How many rounding units of the function's values a change over the scale of x (or 1) may be without being seen."""

MANY_ENTRIES = 20_000  # entries from which on small ones that rounding hides are not looked at closely

PASS, FAIL, UNSURE, HIDDEN = 0, 1, 2, 3
STAIR_WIDTHS = (1e-8, 1e-2)
"""The widths beside the scale of an element at which a function that stands still is on a step."""


def room(error: Any, slack: Any, floor: Any, margin: float = MARGIN) -> Any:
    """Return how far a claim may be from a reference with such an error: what is beyond is wrong.

    slack: what the claim's own rounding leaves. floor: a difference that only a much better reference holds against it.
    """
    return margin * error + slack + np.minimum(floor, LEEWAY * error)


def floor_of(unit: float) -> float:
    return FLOOR[8 if unit < 1e-12 else 4 if unit < 1e-5 else 2]


class Judgement:
    """What was decided about every entry of a Jacobian.

    value, error: the numeric derivative that an entry is held against, and its error: the reference's, but where the
    entry passes by another candidate. state: PASS, FAIL, UNSURE, or HIDDEN (below the function's own rounding, and
    small beside the others: neither right nor wrong). reasons: why entries are unsure. kinks: columns with a kink, by
    row. slack: the rounding that an entry is seen to have; floor: differences that need a reference much better to
    be held against it; excusable: what the entry's own scatter may excuse. margin: how many errors an entry may be off.

    Agreement with an interval that says nothing is no pass: see `states`.
    """

    margin = MARGIN
    rough = False  # whether the claim alone jumps about between close points

    def __init__(self, analytic: np.ndarray, reference: Reference, slack: np.ndarray, floor: np.ndarray):
        self.analytic, self.reference, self.slack, self.floor = analytic, reference, slack, floor
        self.flat = reference.flat
        self.value, self.error = reference.value.copy(), reference.error.copy()
        self.excusable = np.zeros(analytic.shape)
        self.other = np.zeros(analytic.shape, bool)
        self.state = np.full(analytic.shape, UNSURE)
        self.notes: list[str] = []
        self.reasons: dict[tuple[int, int], str] = {}
        self.kinks: dict[int, list[int]] = {}
        self.closely = 0

    def take_in(self, where: Any = ...) -> None:
        """Take over what the reference knows by now, but for entries that pass by another candidate."""
        other, reference = self.other[where], self.reference
        self.value[where] = np.where(other, self.value[where], reference.value[where])
        self.error[where] = np.where(other, self.error[where], reference.error[where])

    def pass_by_other(self, where: Any, value: Any, error: Any) -> int:
        """Let entries pass by another candidate than the reference's; return PASS."""
        self.value[where], self.error[where], self.other[where], self.state[where] = value, error, True, PASS
        return PASS

    def room(self, error: Any, where: Any = ...) -> Any:
        """Return how far entries may be from a reference with such errors: what is beyond is wrong."""
        return room(error, self.slack[where], self.floor[where], self.margin)

    def states(self, where: Any = ...) -> Any:
        """Return what entries are by their reference: PASS or UNSURE.

        Those that agree with a reference that knows them pass. Zeros also pass where what could hide is rounding of
        the function's value, or changes it by less than a hundredth of what it changes beside the point.
        """
        ref = self.reference
        a, value, error = self.analytic[where], self.value[where], self.error[where]
        scale = np.broadcast_to(self.flat.scales, self.state.shape)[where]
        changes = np.maximum(SMALL_EFFECT * ref.changes, UNCHANGED_UNITS * self.flat.unit * np.abs(self.flat.f0))
        change = np.broadcast_to(changes[:, None], self.state.shape)[where]
        room = self.room(error, where)
        agrees = np.isfinite(a) & np.isfinite(error) & (np.abs(a - value) <= room)
        known = room <= COARSE * np.fmax(np.abs(a), np.abs(value))
        zero = (a == 0) & (room * scale <= change + UNDERFLOW)
        return np.where(agrees & (known | zero), PASS, UNSURE)

    def confirm(self, where: np.ndarray) -> None:
        """Decide open entries by their reference, where that is enough."""
        places = np.nonzero(where & (self.state == UNSURE))
        self.state[places] = self.states(places)

    def hide(self, where: Any = True) -> None:
        """Take open entries as HIDDEN that agree with their reference and are small beside what is known of others.

        Whatever they are within their interval: over the scale of its element such an entry changes the output by
        less than a hundredth of what another one does that passed, or by nothing beside what it changes another one.
        """
        a, effects = self.analytic, self.known_effects()
        room = self.room(self.error)
        agrees = (self.state == UNSURE) & np.isfinite(self.error) & (np.abs(a - self.value) <= room)
        effect = (np.abs(a) + self.margin * self.error) * self.flat.scales
        small = effect <= SMALL_EFFECT * effects.max(axis=1, initial=0.0)[:, None]
        nothing = effect <= NO_EFFECT * effects.max(axis=0, initial=0.0)
        self.state[where & agrees & (small | nothing)] = HIDDEN

    def known_effects(self) -> np.ndarray:
        """Return by how much elements that passed change outputs over their scale, at least; 0 for others."""
        passed = (self.state == PASS) & np.isfinite(self.error)
        return np.where(passed, np.abs(self.value) - self.margin * self.error, 0.0) * self.flat.scales

    def settle(self) -> None:
        """Decide the entries that the cheap look settles: right ones, and zeros of functions that stand still."""
        ref = self.reference
        self.take_in()
        self.confirm(ref.settled)
        still = (self.state == UNSURE) & ref.same & (self.analytic == 0)
        self.pass_by_other(still, 0.0, ref.hidden_by_rounding()[still])
        if self.analytic.size >= MANY_ENTRIES:
            self.hide(ref.limited)

    def open_columns(self) -> np.ndarray:
        """Return the columns with open entries, the most suspicious first."""
        a = self.analytic
        off = np.abs(a - self.value) / (self.error + self.slack + np.finfo(float).tiny)
        off = np.where(np.isfinite(off), off, 1.0)
        off = np.where(np.isfinite(a), off, np.inf)
        off = np.where(self.state == UNSURE, off, -1.0)
        worst = off.max(axis=0, initial=-1.0)
        columns = np.argsort(-worst, kind="stable")
        return columns[worst[columns] >= 0]

    def run(self) -> None:
        """Take the cheap look at all columns, then look closely at open ones until the verdict is clear."""
        self.reference.look()
        self.settle()
        self.tell_wrong()
        for reach in OTHER_REACHES:
            columns = self.open_columns()
            columns = columns[~self.surely_wrong()[:, columns].any(axis=0)]
            if len(columns):
                self.reference.look(columns, reach)
                self.settle()
        wrong = 0
        columns = self.open_columns()
        for count, i in enumerate(columns):
            self.flat.claim.progress.report_progress("element", count, len(columns))
            if wrong >= ENOUGH and count >= ENOUGH:
                self.state[self.surely_wrong()] = FAIL  # enough are confirmed: the cheap look decides the rest
                self.confirm(self.state == UNSURE)
                break
            rows = np.flatnonzero(self.state[:, i] == UNSURE)
            estimate = self.reference.look_closely(int(i), rows)
            self.take_in((rows, i))
            self.closely += len(rows)
            for k, j in enumerate(rows):
                self.state[j, i] = self.entry(int(j), int(i), estimate.entry(k))
            wrong += int((self.state[rows, i] == FAIL).any())
            self.tell_wrong()
        self.hide()

    def tell_wrong(self) -> None:
        claim, wrong = self.flat.claim, ((self.state == FAIL) | self.surely_wrong()).any(axis=0)
        names = [name for k, name in enumerate(claim.wrt) if wrong[self.flat.columns(k)].any()]
        if names:
            claim.progress.report_partial(f"elements wrong so far in {' and '.join(names)}")

    def surely_wrong(self) -> np.ndarray:
        """Return which open entries need no close look: far off, or not finite where the derivative is known."""
        finite = np.isfinite(self.analytic)
        off = np.where(finite, np.abs(self.analytic - self.value), np.inf)
        known = finite | (self.error <= COARSE * np.abs(self.value))
        return (self.state == UNSURE) & known & (off > SURE * self.error + self.slack + self.floor)

    def settle_kinks(self, answers: Mapping[tuple[int, ...], bool | None], j: int) -> None:
        """Take in whether the values of row j at columns that share kinks lie in the generalized gradient."""
        for columns, inside in answers.items():
            places = list(columns)
            if inside is None:
                unknown = "whether the claimed values lie in its generalized gradient cannot be told"
                for i in places:
                    self.state[j, i] = self.unsure(j, i, f"{len(places)} elements meet at a kink, and {unknown}")
            elif inside:
                if (self.state[j, places] == FAIL).any():
                    self.notes.append("kinks meet here: the claimed values lie in the generalized gradient")
                self.state[j, places] = PASS
            else:
                self.state[j, places] = FAIL
                self.notes.append("at this kink the values together lie outside the generalized gradient")

    def excuse(self, scatter: np.ndarray) -> None:
        """Take back what was held against entries that are off by no more than they are seen to scatter."""
        off = np.abs(self.analytic - self.value)
        own = (self.state == FAIL) & (off <= OWN_NOISE * scatter)
        effect = (off + scatter) * self.flat.scales
        small = effect <= SMALL_EFFECT**3 * self.reference.changes[:, None]
        small |= effect <= NO_EFFECT * self.known_effects().max(axis=0, initial=0.0)
        known = off + scatter <= COARSE * np.abs(self.value)
        for j, i in np.argwhere(own):
            size = max(abs(self.analytic[j, i]), abs(self.value[j, i]))
            seen = f"between close points it scatters by about {scatter[j, i] / size:.1g} relative"
            reason = f"rounding hides the claimed derivative: {seen}"
            settled = PASS if known[j, i] else HIDDEN
            self.state[j, i] = settled if small[j, i] else self.unsure(j, i, reason)
        self.excusable = np.where(own, np.fmax(self.excusable, OWN_NOISE * scatter), self.excusable)

    def entry(self, j: int, i: int, fit: Any) -> int:
        """Return what is to be said about entry (j, i). fit: its estimate, see `Estimate.entry`."""
        a, kind, value, error = float(self.analytic[j, i]), fit.kind, fit.value, fit.error
        if kind == "jump":
            return self.unsure(j, i, "the function jumps at this point")
        if kind == "none":
            trouble = self.flat.claim.trouble
            why = f"beside the point {trouble}" if trouble else "nan, infinities or a singularity in reach"
            return self.unsure(j, i, f"no numeric derivative can be had here: {why}")
        if np.isinf(value) and (kind != "kink" or a == value):
            return self.unsure(j, i, "the derivative is infinite at this point") if a == value else FAIL
        if np.isinf(a) and self.margin * error > COARSE * abs(value) and abs(value) + error > OVERFLOWING:
            return self.unsure(j, i, "the derivative is larger than any number, or its size is not known")
        if not np.isfinite(a):
            return FAIL
        if kind == "kink":
            return self.entry_at_kink(j, i, fit)
        scale, other, other_error = float(self.flat.scales[i]), fit.other, fit.other_error
        informed = np.isfinite(other) and self.room(other_error, (j, i)) <= COARSE * abs(other)
        contradicts = informed and abs(other - value) > CONTRADICTION * other_error
        close = contradicts and abs(other - value) <= COARSE * abs(value)
        apart = 2 * abs(other - value) / self.margin if close else 0.0
        if abs(a - value) <= self.room(error, (j, i)):
            reason = "the function is too noisy" if kind == "noise" else "rounding hides the derivative"
            if abs(value) <= error and STAIR_WIDTHS[0] < fit.width / scale < STAIR_WIDTHS[1]:
                reason = f"the function stands still over ±{fit.width:.1g} alone, too little"
            state = self.entry_within(j, i, reason)
            hidden = self.margin * other_error * scale
            still = abs(other) <= self.room(other_error, (j, i)) and hidden <= SMALL_EFFECT * self.reference.changes[j]
            if state == UNSURE and a == 0 and still:
                return self.pass_by_other((j, i), 0.0, other_error)  # it stands still between edges close by
            self.error[j, i] = max(self.error[j, i], apart)  # what a curve and the pieces it is made of differ by
            return state
        if contradicts and abs(a - other) <= self.room(other_error, (j, i)):
            return self.pass_by_other((j, i), other, max(other_error, apart))
        if max(abs(a), abs(value)) * max(scale, 1.0) <= HIDDEN_UNITS * self.reference.rounding_at(j, i):
            return HIDDEN
        noise = float(self.reference.scatter[:, j].min())
        stair = STAIR * noise / fit.width
        if noise > STAIR * fit.noise and abs(a - value) <= self.room(stair, (j, i)):
            self.error[j, i] = stair
            return self.entry_within(j, i, "rounding hides the derivative")
        return FAIL

    def entry_at_kink(self, j: int, i: int, fit: Any) -> int:
        low, high = sorted((fit.left, fit.right))
        room = float(self.room(max(fit.left_error, fit.right_error), (j, i)))
        if not low - room <= self.analytic[j, i] <= high + room:
            return FAIL
        if room > COARSE * (high - low):
            return self.unsure(j, i, f"the one-sided derivatives at this kink are known to within {room:.2g} only")
        self.kinks.setdefault(j, []).append(i)
        return PASS

    def entry_within(self, j: int, i: int, reason: str) -> int:
        """Return what is to be said about an entry within the reference's interval: enough only if that is narrow."""
        state = int(self.states((j, i)))
        if state != UNSURE:
            return state
        value, error, trouble = self.value[j, i], self.error[j, i], self.flat.claim.trouble
        beside = f"; beside the point {trouble}" if trouble else ""
        return self.unsure(j, i, f"{reason} to say more than {value:.3g} ± {self.margin * error:.2g}{beside}")

    def unsure(self, j: int, i: int, reason: str) -> int:
        """Note why an entry is open; return UNSURE."""
        self.reasons[j, i] = reason
        return UNSURE

    def reason(self) -> str:
        reasons = Counter(reason for place, reason in self.reasons.items() if self.state[place] == UNSURE)
        return reasons.most_common(1)[0][0] if reasons else "not all elements could be looked at"

    @property
    def verdict(self) -> str:
        """The verdict on the whole: hidden entries neither fail nor, where nothing else was seen, pass."""
        if (self.state == FAIL).any():
            return "fail"
        return "inconclusive" if (self.state == UNSURE).any() else "pass"


def rounding_slack(
    analytic: np.ndarray, scatter: np.ndarray, unit: float, coarse: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far a value may be off by its rounding, and its floor.

    scatter: its change at neighbouring points; coarse: the part of it that is not certain.
    """
    size = np.where(np.isfinite(analytic), np.abs(analytic), 0.0)
    largest = size.max(axis=1, keepdims=True, initial=0.0)
    noisy = np.minimum(5 * scatter, 1e-7 * size + 1e3 * unit * largest)
    slack = noisy + ROUNDING * unit * size
    if unit > 1e-5:
        slack = np.minimum(slack, HALF_COARSE * size)
    return slack + coarse * size, floor_of(unit) * size


EPS, ATOL, RTOL = 1e-6, 1e-5, 1e-3


def judge_by_tolerances(flat: Flat, analytic: np.ndarray, tolerances: Sequence[float | None]) -> Judgement:
    """Decide by PyTorch's rule. tolerances: eps, atol, rtol, None for the usual."""
    eps, atol, rtol = (d if x is None else x for x, d in zip(tolerances, (EPS, ATOL, RTOL), strict=True))
    reference, none, n = Reference(flat), np.zeros(analytic.shape), flat.size
    values = flat.along(np.repeat(np.arange(n), 2), np.tile([eps, -eps], n)).reshape((n, 2, -1))
    reference.value = ((values[:, 0] - values[:, 1]) / (2 * eps)).T
    reference.error = atol + rtol * np.abs(reference.value)
    judgement = Judgement(analytic, reference, none, none)
    judgement.margin = 1.0
    judgement.state = np.where(np.abs(analytic - judgement.value) <= judgement.error, PASS, FAIL)
    return judgement
