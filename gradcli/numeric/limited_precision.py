"""Detect functions and claims with fewer digits: float32 inside, a rough claim, or a solver that stops at a tolerance.

Values computed in float32 are constant between two float32 numbers. A rough claim and a tolerance show in how the
claim and the slopes of the values change from start to start along one element.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
from collections.abc import Iterator
from textwrap import shorten

import numpy as np

from ..claims.claim import Claim
from ..user.frameworks import reachable_from
from ..user.tracebacks import users_path
from .sampler import TINY, rounding_of
from .verdict import FAIL, Judgement

SINGLE = 2.0**-24  # float32's rounding unit
CAST = re.compile(r"float32|complex64|np\.single|\.float\(\)|torch\.float\b")
SEEN_MOVES = 2.0**-15 * np.arange(-2, 3)  # relative changes of an input that float32 resolves (unit: 2**-24)
UNSEEN_MOVE = 2.0**-30  # a further change, at each of SEEN_MOVES, that float32 mostly does not resolve
SEEN_UNITS = 8.0  # float64 units that UNSEEN_MOVE must change f by, else a sum may hide it, not float32: a choice
LEAST_UNCHANGED = 0.7  # least fraction of values that UNSEEN_MOVE does not change if f is in float32: a choice
MOST_OF_TOLERANCE = 0.03  # relative differences above this are never blamed on a tolerance (calibrated)
STARTS = np.cos(np.pi * (np.arange(8) + 0.5) / 8)  # Chebyshev points: a parabola fitted there is nearly the best one
REACHES = (0.8, 0.4, 0.1, 0.01)  # distances of the starts; the first with a simple derivative counts (calibrated)
PARABOLA, ERRATIC = 0.02, 0.15  # relative deviation from a parabola: simple is less, erratic is more (calibrated)
NO_DIFFERENCE = 1e-4  # a difference below this part of the largest is zero: a right formula, not a solver (a choice)
MOST_TESTED = 3  # maximum number of wrong entries to test: a choice
START_STEP = 1e-3  # step of central differences, in units of the reach: a choice
CLOSE_REACHES = (0.01, 1e-3)  # reaches over which a smooth derivative follows a parabola
SMOOTH_FALL = 0.01  # a smooth one's deviation falls by 10**3 from the first to the second; a fall below 10**2 is rough
ROUGH_CLAIM = 5.0  # a claim this many times rougher than the slopes of the values is itself rough (calibrated)


def computes_in_float32(judgement: Judgement) -> bool:
    """Return whether values at several points change with an element only if float32 resolves the change.

    Tests the element with the largest effect, among the wrong ones if there are any.
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
    """Return a note that a function computes in float32, with the first line of its code that shows it."""
    note = "the function computes in float32, which has 7.2 digits"
    for x in itertools.chain.from_iterable(map(reachable_from, claim.functions)):
        with contextlib.suppress(OSError, TypeError):
            lines, start = inspect.getsourcelines(x.__code__) if hasattr(x, "__code__") else ([], 0)
            for number, line in enumerate(lines, start):
                if CAST.search(line):
                    return f"{note} ({users_path(x.__code__.co_filename)}:{number}: {shorten(line, 60)})"
    return note


class WrongEntry:
    """Entry (j, i) of a Jacobian whose claim and values disagree. Computes both at starts moved along element i."""

    def __init__(self, judgement: Judgement, j: int, i: int):
        self.flat, self.j, self.i = judgement.flat, j, i
        self.line, _ = judgement.estimates[i]
        self.scale, self.rows = float(self.flat.scales[i]), judgement.rows
        self.claimed_here = float(judgement.claimed[j, i])
        self.gap = abs(self.claimed_here - float(judgement.value[j, i]))

    def claimed(self, starts: np.ndarray) -> np.ndarray | None:
        """Return the claimed values at starts along the element; None if the claim raises at one of them."""
        flat, claims = self.flat, []
        for start in starts:
            moved = flat.x + start * self.line.direction
            claim = self.rows.try_at({**flat.claim.at, **flat.arrays_at(moved)}, self.i)
            if claim is None:
                return None
            claims.append(claim[self.j, self.i])
        return np.array(claims)

    def slopes(self, starts: np.ndarray, width: float) -> np.ndarray:
        """Return central differences of the values at starts; their error changes smoothly from start to start."""
        t, values = self.line.values(np.concatenate([starts + width, starts - width]))
        (up, down), (above, below) = np.split(values[:, self.j], 2), np.split(t, 2)
        with np.errstate(invalid="ignore"):
            return (up - down) / (above - below) / self.scale

    def bend(self, reach: float) -> float:
        """Return how far the claim deviates from a parabola over a reach; 0 if the claim is not known there."""
        claimed = self.claimed(reach * STARTS)
        if claimed is None or not np.isfinite(claimed).all():
            return 0.0
        return off_parabola(claimed) * float(np.abs(claimed).max())

    def is_rougher(self, own: float) -> bool:
        """Return whether the claim is rough over close points, but the slope of the values is not.

        own: scatter of the claim between points that are rounding units apart.
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
        """Return the relative size of the difference between claim and values if it is erratic, else None.

        It must be erratic at the first reach where the derivative itself is simple: from start to start, or between
        the starts and the point. scatter: that of the claim itself.
        """
        for reach in REACHES:
            starts, width = reach * STARTS, START_STEP * min(reach, 0.1)
            claimed = self.claimed(starts)
            if claimed is None:
                return None
            if not np.isfinite(claimed).all() or off_parabola(claimed) > 2 * PARABOLA:
                continue  # decided without a call of the function
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
    """Return the middle value of a parabola fitted to values at the starts."""
    return float(np.polynomial.polynomial.polyfit(STARTS, values, 2)[0])


def off_parabola(values: np.ndarray) -> float:
    """Return the relative deviation of values at the starts from a parabola."""
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
    """Return a note if a tolerance inside the function may explain all mismatches, else None.

    An iteration that stops at a tolerance computes a different smooth function around each point, off by about that
    tolerance. From start to start, the difference between claim and values is then small and erratic; with a wrong
    formula, it changes smoothly. scatter: that of the claim between points that are rounding units apart.
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
        f"the function may contain a solver with tolerance about {10.0 ** np.ceil(np.log10(largest)):.0e}: claim and "
        "values differ by about that much, erratically from point to point"
    )


def is_rough(judgement: Judgement, own: np.ndarray) -> bool:
    """Return whether a claim jumps about between close points although the function's slope is smooth.

    Claims in float16 or float32, from a table, or from an iteration that stops early do so. own: scatter of the claim
    between points that are rounding units apart, which comes from rounding alone.
    """
    dear = judgement.flat.claim.budget.claim_calls > 0  # a claim that calls the function each time
    entries = itertools.islice(
        wrong_entries(judgement, np.abs(judgement.claimed - judgement.value)), 1 if dear else None
    )
    return any(entry.is_rougher(float(own[entry.j, entry.i])) for entry in entries)
