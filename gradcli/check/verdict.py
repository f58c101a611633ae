"""The verdict: from the reference's interval, never from a tolerance that fits all scales."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..results.checks import InputCheck, WorstElement
from .digits import CAP, digits_of
from .estimate import Estimate
from .flat import Flat
from .measure import ENOUGH, MARGIN, OTHER_REACHES, SURE, Reference

ROUNDING = 32
"""How many rounding units of itself an analytic value may be off."""
OTHERS = 64
"""How many rounding units of the largest entry in its row it may be off: what sums leave of terms that cancel."""
FLOOR = {8: 2e-9, 4: 4e-6}
"""Relative differences that no derivative is accused of, by the size of its type in bytes: its own rounding ..."""
LEEWAY = 1000.0
"""... unless the reference is known so many times better."""
OWN_NOISE = 10.0
"""How many times the scatter of the claimed derivative (a lower quartile) it may be off without being wrong."""
COARSE = 0.02
"""A relative error beyond which the reference says nothing about an element."""

LARGE = 20_000
"""Entries from which on small ones that rounding hides are taken as right when they agree as far as it allows."""

PASS, FAIL, UNSURE = 0, 1, 2


class Judgement:
    """What was decided about every entry of a Jacobian.

    state: PASS, FAIL or UNSURE per entry. reasons: why columns are unsure. kinks: columns with a kink, by row.
    slack: the rounding that an entry may have; floor: the differences that need a reference much better to be
    held against it. margin: the errors of the reference that an entry may be off.
    """

    margin = MARGIN

    def __init__(self, analytic: np.ndarray, reference: Reference, slack: np.ndarray, floor: np.ndarray):
        self.analytic, self.reference, self.slack, self.floor = analytic, reference, slack, floor
        self.state = np.full(analytic.shape, UNSURE)
        self.notes: list[str] = []
        self.reasons: dict[str, int] = {}
        self.kinks: dict[int, list[int]] = {}

    def room(self, error: Any, where: Any = ...) -> Any:
        """Return how far entries may be from a reference with such errors: what is beyond is wrong."""
        return self.margin * error + self.slack[where] + np.minimum(self.floor[where], LEEWAY * error)

    def cheap(self) -> None:
        """Decide the entries that the cheap look settles: right ones, and zeros of functions that stand still."""
        ref, a = self.reference, self.analytic
        with np.errstate(all="ignore"):
            near = np.abs(a - ref.value) <= self.room(ref.error)
        self.state[ref.settled & near & np.isfinite(a)] = PASS
        self.state[ref.same & (a == 0)] = PASS
        if a.size >= LARGE:
            self.state[ref.limited & near & (np.abs(a) <= 1e-3 * self.largest)] = PASS

    def order(self) -> np.ndarray:
        """Return the columns that are still open, the most suspicious first."""
        a, ref = self.analytic, self.reference
        with np.errstate(all="ignore"):
            off = np.abs(a - ref.value) / (ref.error + self.slack + np.finfo(float).tiny)
        off = np.where(np.isfinite(off), off, 1.0)
        off = np.where(np.isfinite(a), off, np.inf)
        off = np.where(self.state == UNSURE, off, -1.0)
        worst = off.max(axis=0, initial=-1.0)
        columns = np.argsort(-worst, kind="stable")
        return columns[worst[columns] >= 0]

    def run(self, hull: Callable[[dict[int, list[int]]], dict[int, bool]] | None = None) -> None:
        """Look closely at open columns until the verdict is clear."""
        self.cheap()
        for reach in OTHER_REACHES:
            columns = self.order()
            if len(columns):
                self.reference.look(columns, reach)
                self.cheap()
        wrong = 0
        for count, i in enumerate(self.order()):
            if wrong >= ENOUGH and count >= ENOUGH:
                self.accuse_cheaply()
                break
            rows = np.flatnonzero(self.state[:, i] == UNSURE)
            found = self.reference.look_closely(int(i), rows)
            wrong += self.decide(int(i), rows, found)
        if self.kinks and hull is not None and not (self.state == FAIL).any():
            for j, inside in hull(self.kinks).items():
                if not inside:
                    self.state[j, self.kinks[j]] = FAIL
                    self.notes.append("at this kink the values together lie outside the generalized gradient")

    def accuse_cheaply(self) -> None:
        """Decide the rest by the cheap look, once enough wrong elements are confirmed."""
        a, ref = self.analytic, self.reference
        open_ = self.state == UNSURE
        with np.errstate(all="ignore"):
            off = np.abs(a - ref.value)
            self.state[open_ & (off > SURE * ref.error + self.slack + self.floor)] = FAIL
            self.state[open_ & (off <= self.room(ref.error))] = PASS

    def wrong(self) -> dict[int, list[int]]:
        """Return the columns of wrong entries, by row."""
        rows = np.flatnonzero((self.state == FAIL).any(axis=1))
        return {int(j): np.flatnonzero(self.state[j] == FAIL).tolist() for j in rows}

    def accept(self, rows: list[int]) -> None:
        """Take back what was held against rows whose values lie in the generalized gradient."""
        for j in rows:
            self.state[j] = PASS
        if rows:
            self.notes.append("kinks meet here: the claimed values lie in the generalized gradient")

    def doubt(self, scatter: np.ndarray) -> None:
        """Take back what was held against entries that are off by no more than they scatter about a smooth curve."""
        with np.errstate(all="ignore"):
            off = np.abs(self.analytic - self.reference.value)
            own = (self.state == FAIL) & (off <= OWN_NOISE * scatter)
        for j, i in np.argwhere(own):
            size = max(abs(self.analytic[j, i]), abs(self.reference.value[j, i]))
            self.state[j, i] = self.unsure(
                "rounding hides the claimed derivative: between close points it scatters by about "
                f"{scatter[j, i] / size:.1g} relative"
            )

    def decide(self, i: int, rows: np.ndarray, found: Estimate) -> int:
        """Decide rows of a column by their close look; return 1 if an entry is wrong."""
        wrong = 0
        for k, j in enumerate(rows):
            self.state[j, i] = self.entry(int(j), i, k, found)
            wrong = wrong or int(self.state[j, i] == FAIL)
        return wrong

    def entry(self, j: int, i: int, k: int, found: Estimate) -> int:
        """Return what is to be said about entry (j, i), whose estimate is the k-th."""
        a, kind = float(self.analytic[j, i]), found.kind[k]
        value, error = float(found.value[k]), float(found.error[k])
        if kind == "jump":
            return self.unsure("the function jumps at this point")
        if kind == "none":
            return self.unsure("no numeric derivative can be had here: nan, infinities or a singularity in reach")
        if np.isinf(value):
            return self.unsure("the derivative is infinite at this point") if a == value else FAIL
        if not np.isfinite(a):
            return FAIL
        if kind == "kink":
            low, high = sorted((float(found.left[k]), float(found.right[k])))
            room = float(self.room(max(float(found.left_error[k]), float(found.right_error[k])), (j, i)))
            if low - room <= a <= high + room:
                self.kinks.setdefault(j, []).append(i)
                return PASS
            return FAIL
        if abs(a - value) <= self.room(error, (j, i)):
            if (
                error * MARGIN > COARSE * max(abs(a), abs(value))
                and (a != 0 or kind == "noise")
                and self.significant(j, i)
            ):
                reason = "the function is too noisy" if kind == "noise" else "rounding hides the derivative"
                return self.unsure(f"{reason} to say more than {value:.3g} ± {MARGIN * error:.2g}")
            return PASS
        other, other_error = float(found.other[k]), float(found.other_error[k])
        if np.isfinite(other) and abs(a - other) <= self.room(other_error, (j, i)):
            self.reference.value[j, i], self.reference.error[j, i] = other, other_error
            return PASS
        return FAIL

    @functools.cached_property
    def largest(self) -> float:
        """The largest claimed derivative."""
        size = np.abs(self.analytic)
        return float(size[np.isfinite(size)].max(initial=0.0))

    def significant(self, j: int, i: int) -> bool:
        """Return whether an element is not small beside the largest."""
        return abs(float(self.analytic[j, i])) >= 0.01 * self.largest

    def unsure(self, reason: str) -> int:
        """Count a reason; return UNSURE."""
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
        return UNSURE

    @property
    def verdict(self) -> str:
        """The verdict on the whole."""
        if (self.state == FAIL).any():
            return "fail"
        return "inconclusive" if (self.state == UNSURE).any() else "pass"


def rounding_slack(analytic: np.ndarray, scatter: np.ndarray, itemsize: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how far an analytic value may be off by its own rounding, and its floor.

    scatter: how much it changes at neighbouring points, a few rounding units away.
    """
    size = np.where(np.isfinite(analytic), np.abs(analytic), 0.0)
    unit = 2.0**-53 if itemsize == 8 else 2.0**-24
    largest = size.max(axis=1, keepdims=True, initial=0.0)
    noisy = np.minimum(5 * scatter, 1e-7 * size + 1e3 * unit * largest)
    return noisy + ROUNDING * unit * size + OTHERS * unit * largest, FLOOR[8 if itemsize >= 8 else 4] * size


def input_checks(flat: Flat, judgement: Judgement) -> tuple[InputCheck, ...]:
    """Return what was found, input by input."""
    return tuple(one_input(flat, judgement, k) for k in range(len(flat.subject.wrt)))


def one_input(flat: Flat, judgement: Judgement, k: int) -> InputCheck:
    """Return what was found for one input."""
    columns = slice(int(flat.edges[k]), int(flat.edges[k + 1]))
    name, shape = flat.subject.wrt[k], flat.arrays[k].shape
    state, a = judgement.state[:, columns], judgement.analytic[:, columns]
    value, error = judgement.reference.value[:, columns], judgement.reference.error[:, columns]
    if not a.size:
        return InputCheck(name, shape, "pass", 0.0, 0.0, CAP, None, None)
    wrong = state == FAIL
    verdict = "fail" if wrong.any() else "inconclusive" if (state == UNSURE).any() else "pass"
    with np.errstate(all="ignore"):
        gap = np.where(np.isfinite(a) | ~np.isfinite(value), np.abs(a - value), np.inf)
        relative = gap / np.abs(value)
        room = judgement.room(error, (slice(None), columns))
        known = np.isfinite(gap) & (np.abs(value) > judgement.margin * error)
        excess = gap / (error + judgement.slack[:, columns] + np.finfo(float).tiny)
    if wrong.any():
        excess = np.where(wrong, np.where(np.isnan(excess), np.inf, excess), -1.0)
        ties = np.isclose(excess, excess.max()) if np.isfinite(excess.max()) else np.isinf(excess)
        excess = np.where(ties, np.where(np.isnan(relative), np.inf, relative), -1.0)
    j, i = np.unravel_index(int(np.argmax(np.where(np.isnan(excess), -1.0, excess))), a.shape)
    counted = known | (wrong & ~np.isnan(gap))
    most = float(relative[counted].max()) if counted.any() else 0.0
    column = int(flat.edges[k]) + int(i)
    worst = WorstElement(
        flat.row(int(j)),
        flat.label(column)[1],
        a[j, i],
        value[j, i],
        float(judgement.margin * error[j, i]),
        judgement.reference.sides(int(j), column),
    )
    return InputCheck(
        name,
        shape,
        verdict,
        float(gap[counted].max()) if counted.any() else 0.0,
        most,
        digits_of(most),
        float((room[known] / np.abs(value[known])).max()) if known.any() else None,
        worst,
    )
