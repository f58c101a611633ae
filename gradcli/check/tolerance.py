"""Mismatches with a cause other than a wrong formula: a rough claim, and an iteration that stops at a tolerance.

Both show in how the claim and the slopes of the values change from start to start along one element.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from .sampler import TINY
from .verdict import FAIL, Judgement

MOST_OF_TOLERANCE = 0.03  # relative differences above this are never blamed on a tolerance
STARTS = np.cos(np.pi * (np.arange(8) + 0.5) / 8)
REACHES = (0.8, 0.4, 0.1, 0.01)
"""How far starts are moved, in units of the scale: the first at which the derivative is simple counts."""
PARABOLA, ERRATIC = 0.02, 0.15
"""The part of a derivative, and of a difference, that does not follow a parabola between starts."""
NO_DIFFERENCE = 1e-4
"""Differences below this part of the largest count as zero: a formula wrong in places has such, a solver has not."""
MOST_TESTED = 3  # wrong entries that are tested
START_STEP = 1e-3  # of central differences, in units of the reach
CLOSE_REACHES = (0.01, 1e-3)  # reaches over which a smooth derivative follows a parabola
SMOOTH_FALL = 0.01  # the part to which what a smooth claim is off that parabola falls from the first to the second
ROUGH_CLAIM = 5.0  # how many times rougher than the slopes of the values a claim is that is rough by itself


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
