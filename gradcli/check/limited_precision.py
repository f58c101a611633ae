"""Functions and claims computed to fewer digits: in float32 inside, roughly, or by a solver that stops at a tolerance.

Values in float32 are constant between two of its numbers. A rough claim and a tolerance show in how the claim and the
slopes of the values change from start to start along one element.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
from collections.abc import Iterator
from textwrap import shorten

import numpy as np

from ..program.claim import Claim
from ..program.detect_framework import reachable_from
from ..program.user_code import users_path
from .sampler import TINY, rounding_of
from .verdict import FAIL, Judgement

SINGLE = 2.0**-24  # float32's rounding unit
CAST = re.compile(r"float32|complex64|np\.single|\.float\(\)|torch\.float\b")
SEEN_MOVES = 2.0**-15 * np.arange(-2, 3)  # relative changes of an input that float32, with its 2**-24, sees, ...
UNSEEN_MOVE = 2.0**-30  # ... and one more, at each of them, that it mostly does not see
SEEN_UNITS = 8.0  # units of float64 that the smaller change must be worth, else the sum hides it, not float32: a choice
LEAST_UNCHANGED = 0.7  # part of the values that do not change between float32 numbers if f computes in it: a choice
MOST_OF_TOLERANCE = 0.03  # relative differences above this are never blamed on a tolerance (calibrated)
STARTS = np.cos(np.pi * (np.arange(8) + 0.5) / 8)  # Chebyshev points, through which a parabola is nearly the best one
REACHES = (0.8, 0.4, 0.1, 0.01)  # how far starts are moved; the first with a simple derivative counts (calibrated)
PARABOLA, ERRATIC = 0.02, 0.15  # part of a derivative, and of a difference, that is off a parabola (calibrated)
NO_DIFFERENCE = 1e-4  # part of the largest difference that is zero, as where a formula is right, no solver: a choice
MOST_TESTED = 3  # wrong entries that are tested: a choice
START_STEP = 1e-3  # of central differences, in units of the reach: a choice
CLOSE_REACHES = (0.01, 1e-3)  # reaches over which a smooth derivative follows a parabola, ...
SMOOTH_FALL = 0.01  # ... what it is off falling by 10**3 to the second: ten times more is not smooth
ROUGH_CLAIM = 5.0  # times rougher than the slopes of the values a claim is that is rough by itself (calibrated)


def computes_in_float32(judgement: Judgement) -> bool:
    """Return whether values at several points do not change with an element before a change that float32 can hold.

    Asked is the element with the largest effect, of the wrong ones if there are any.
    """
    wrong, flat = (judgement.state == FAIL).any(axis=0), judgement.flat
    effects = judgement.effects.max(axis=0)
    line = judgement.sampler.element(int(np.where(wrong, effects, -1.0).argmax() if wrong.any() else effects.argmax()))
    at, near = (line.values(offsets)[1] for offsets in (SEEN_MOVES, SEEN_MOVES + UNSEEN_MOVE))
    with np.errstate(invalid="ignore"):
        change = np.abs(np.diff(at, axis=0)).min(axis=0) * (UNSEEN_MOVE / SEEN_MOVES[-1] * 2)
        seen = change > SEEN_UNITS * rounding_of(np.abs(flat.f0), float(np.finfo(float).eps))
    return bool(seen.any()) and bool((at == near)[:, seen].mean() > LEAST_UNCHANGED)


def note_on_float32(claim: Claim) -> str:
    """Return that a function computes in float32, with the first line of its code that says so."""
    note = "the function computes in float32, of 7.2 digits"
    for x in itertools.chain.from_iterable(map(reachable_from, claim.functions)):
        with contextlib.suppress(OSError, TypeError):
            lines, start = inspect.getsourcelines(x.__code__) if hasattr(x, "__code__") else ([], 0)
            for number, line in enumerate(lines, start):
                if CAST.search(line):
                    return f"{note} ({users_path(x.__code__.co_filename)}:{number}: {shorten(line, 60)})"
    return note


class WrongEntry:
    """Entry (j, i) of a Jacobian whose claim and values disagree: what both say at starts moved along element i."""

    def __init__(self, judgement: Judgement, j: int, i: int):
        self.flat, self.j, self.i = judgement.flat, j, i
        self.line, _ = judgement.estimates[i]
        self.scale, self.rows = float(self.flat.scales[i]), judgement.rows
        self.claimed_here = float(judgement.claimed[j, i])
        self.gap = abs(self.claimed_here - float(judgement.value[j, i]))

    def claimed(self, starts: np.ndarray) -> np.ndarray | None:
        """Return what is claimed at starts along the element; None if the claim fails at one of them."""
        flat, claims = self.flat, []
        for start in starts:
            moved = flat.x + start * self.line.direction
            claim = self.rows.try_at({**flat.claim.at, **flat.arrays_at(moved)}, self.i)
            if claim is None:
                return None
            claims.append(claim[self.j, self.i])
        return np.array(claims)

    def slopes(self, starts: np.ndarray, width: float) -> np.ndarray:
        """Return central differences of the values at starts: their error is smooth from start to start."""
        t, values = self.line.values(np.concatenate([starts + width, starts - width]))
        (up, down), (above, below) = np.split(values[:, self.j], 2), np.split(t, 2)
        with np.errstate(invalid="ignore"):
            return (up - down) / (above - below) / self.scale

    def bend(self, reach: float) -> float:
        """Return how far the claim is off a parabola over a reach; 0 if it is not known there."""
        claimed = self.claimed(reach * STARTS)
        if claimed is None or not np.isfinite(claimed).all():
            return 0.0
        return off_parabola(claimed) * float(np.abs(claimed).max())

    def is_rougher(self, own: float) -> bool:
        """Return whether the claim is rough over close points, and the slope of the values is not.

        own: how much the claim scatters between points that are rounding units apart.
        """
        wide, least = self.bend(CLOSE_REACHES[0]), max(ROUGH_CLAIM * own, ERRATIC * self.gap)
        close = self.bend(CLOSE_REACHES[1]) if wide > least else 0.0
        if close <= SMOOTH_FALL * wide:
            return False
        for reach, rough in zip(CLOSE_REACHES, (wide, close), strict=True):
            if rough > least:
                numeric = self.slopes(reach * STARTS, START_STEP * reach)
                if np.isfinite(numeric).all() and rough > ROUGH_CLAIM * off_parabola(numeric) * np.abs(numeric).max():
                    return True
        return False

    def difference_of_tolerance(self, scatter: float) -> float | None:
        """Return the relative size of the difference between claim and values where it is erratic; None elsewhere.

        It is erratic at any reach at which the derivative itself is simple: from start to start, or between these and
        the point. scatter: of the claim by itself.
        """
        for reach in REACHES:
            starts, width = reach * STARTS, START_STEP * min(reach, 0.1)
            claimed = self.claimed(starts)
            if claimed is None:
                return None
            if not np.isfinite(claimed).all() or off_parabola(claimed) > 2 * PARABOLA:
                continue  # which needs no call of the function
            slopes = self.slopes(np.append(starts, 0.0), width)
            numeric, here = slopes[:-1], float(slopes[-1])
            if not np.isfinite(numeric).all() or off_parabola(numeric) > PARABOLA:
                continue
            difference = claimed - numeric
            size = np.abs(difference)
            seen = 30 * self.flat.unit * abs(float(self.line.base[self.j])) / (width * self.scale)
            if size.min() < NO_DIFFERENCE * size.max() or not size.max() > seen:
                return None
            aside = abs(self.claimed_here - here - parabola_at_0(difference)) / size.max()
            erratic = max(off_parabola(difference), min(aside, 1.0))
            return (
                float(size.max() / np.abs(numeric).max())
                if erratic > max(ERRATIC, ROUGH_CLAIM * scatter / size.max())
                else None
            )
        return None


def parabola_at_0(values: np.ndarray) -> float:
    """Return where a parabola through values at the starts is in the middle."""
    return float(np.polynomial.polynomial.polyfit(STARTS, values, 2)[0])


def off_parabola(values: np.ndarray) -> float:
    """Return the part of values at the starts that does not follow a parabola."""
    parabola = np.polynomial.polynomial.polyval(STARTS, np.polynomial.polynomial.polyfit(STARTS, values, 2))
    return float(np.abs(values - parabola).max() / max(np.abs(values).max(), TINY))


def wrong_entries(judgement: Judgement, size: np.ndarray) -> Iterator[WrongEntry]:
    """Yield a few wrong entries that were estimated by themselves, those with the largest `size` first."""
    wrong = (judgement.state == FAIL) & np.isfinite(judgement.value) & np.isfinite(judgement.claimed)
    wrong &= np.isin(np.arange(wrong.shape[1]), list(judgement.estimates))
    for place in np.argsort(np.where(wrong, size, -1.0), axis=None)[::-1][: min(MOST_TESTED, int(wrong.sum()))]:
        j, i = np.unravel_index(place, wrong.shape)
        yield WrongEntry(judgement, int(j), int(i))


def tolerance_inside(judgement: Judgement, scatter: np.ndarray) -> str | None:
    """Return that a tolerance inside the function may explain all mismatches; None where it does not.

    An iteration that stops at a tolerance computes another smooth function around each point, off by about that
    tolerance. From start to start, the difference between claim and values is small and erratic; that of a wrong
    formula changes smoothly. scatter: of the claim between points that are rounding units apart.
    """
    a, value = judgement.claimed, judgement.value
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.abs(a - value) / np.fmax(np.abs(a), np.abs(value))
    if not (relative[judgement.state == FAIL] <= MOST_OF_TOLERANCE).all():
        return None
    largest = 0.0
    for entry in wrong_entries(judgement, relative):
        difference = entry.difference_of_tolerance(float(scatter[entry.j, entry.i]))
        if difference is None:
            return None
        largest = max(largest, difference)
    if not largest:
        return None
    return (
        f"the function may contain a solver with tolerance about {10.0 ** np.ceil(np.log10(largest)):.0e}: from point "
        "to point, claim and values differ by about as much, and erratically"
    )


def is_rough(judgement: Judgement, own: np.ndarray) -> bool:
    """Return whether a claim jumps about between close points where the function's slope is smooth.

    A claim in float16 or float32, from a table, or of an iteration that stops early does. own: how far it scatters
    between points that are rounding units apart, as rounding alone makes it do.
    """
    dear = judgement.flat.claim.budget.claim_calls > 0  # a claim that calls the function each time
    entries = itertools.islice(
        wrong_entries(judgement, np.abs(judgement.claimed - judgement.value)), 1 if dear else None
    )
    return any(entry.is_rougher(float(own[entry.j, entry.i])) for entry in entries)
