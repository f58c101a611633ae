"""Differences that are no wrong formula: of a claim that is rough, and of a solver that stops at a tolerance.

Both are told by how claim and slopes of the values change from start to start along one element.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..program.detect_framework import calls_solver
from .noise import claim_at
from .verdict import FAIL, Judgement

SOLVERS_OWN = 0.03  # relative differences from which on no solver's tolerance is made responsible
STARTS = np.cos(np.pi * (np.arange(9) + 0.5) / 9)
REACHES = (0.4, 0.1, 0.01, 1e-3)
"""How far starts are moved, in units of the scale: the first at which the derivative is simple counts."""
SIMPLE, ERRATIC = 0.02, 0.2
"""The part of a derivative, and of a difference, that does not follow a parabola between starts."""
NO_DIFFERENCE = 1e-3
"""A difference so small beside the largest is none: a formula that is wrong in places has such, a solver has not."""
TOLERANCE = 1e-4  # but below this part of the derivative one that converges fast may have, where it is called by name
LOOKED_AT = 3
STEP = 1e-3
FINE = 1e-9  # a step, in units of the scale, that float32 does not see ...
COARSE_UNITS = 100.0  # ... and over which a claim in float64 changes by so many of its rounding units
CLOSE_REACHES = (0.01, 1e-3)  # reaches over which a smooth derivative follows a parabola
ROUGHER = 5.0  # how many times rougher than the slopes of the values a claim is that is rough by itself


class WrongEntry:
    """Entry (j, i) of a Jacobian, claim and values being apart: what both say at starts moved along element i."""

    def __init__(self, judgement: Judgement, j: int, i: int):
        self.flat, self.j, self.i = judgement.flat, j, i
        self.scale = float(self.flat.scales[i])
        self.gap = abs(float(judgement.analytic[j, i] - judgement.value[j, i]))

    def starts(self, reach: float) -> np.ndarray:
        """Return points moved by up to `reach` of the element's scale, one a row."""
        starts = np.repeat(self.flat.x[None], len(STARTS), axis=0)
        starts[:, self.i] += reach * self.scale * STARTS
        return starts

    def claimed(self, starts: np.ndarray) -> np.ndarray | None:
        """Return what is claimed at points; None where there is no claim at one of them."""
        flat = self.flat
        claims = [claim_at(flat, {**flat.claim.at, **flat.arrays_at(start)}) for start in starts]
        known = [claim[self.j, self.i] for claim in claims if claim is not None]
        return np.array(known) if len(known) == len(claims) else None

    def slopes(self, starts: np.ndarray, step: float) -> np.ndarray:
        """Return central slopes of fourth order at points."""
        points = np.repeat(starts, 4, axis=0)
        points[:, self.i] += np.tile(np.array([-2.0, -1.0, 1.0, 2.0]) * step, len(starts))
        values = self.flat.points(points)[:, self.j].reshape((len(starts), 4))
        return (np.array([1.0, -8.0, 8.0, -1.0]) / (12 * step) * values).sum(axis=1)

    def is_rougher(self, reach: float, own: float) -> bool:
        """Return whether the claim is rough over a reach, and the slope of the values is not.

        own: how much the claim scatters between points that are rounding units apart.
        """
        starts = self.starts(reach)
        claimed = self.claimed(starts)
        if claimed is None:
            return False
        numeric = self.slopes(starts, STEP * reach * self.scale)
        if not (np.isfinite(claimed).all() and np.isfinite(numeric).all()):
            return False
        rough, smooth = (off_parabola(values) * np.abs(values).max() for values in (claimed, numeric))
        return bool(rough > max(ROUGHER * smooth, ROUGHER * own, ERRATIC * self.gap))

    def difference_of_solver(self, noise: float, scatter: float) -> float | None:
        """Return the size of the difference between claim and values, relative; None if it is no solver's.

        It is one where the difference is erratic, at any reach at which the derivative is simple; or where the
        function calls a solver by name and the difference is no constant part of the derivative. noise: of the
        values; a difference that is not clearly more than it makes is none. scatter: of the claim by itself, which is
        none either.
        """
        flat = self.flat
        for reach in REACHES:
            starts = self.starts(reach)
            step = STEP * min(reach, 0.1) / 0.1 * self.scale
            numeric = self.slopes(starts, step)
            if not np.isfinite(numeric).all() or off_parabola(numeric) > SIMPLE:
                continue
            claimed = self.claimed(starts)
            if claimed is None:
                return None
            difference = claimed - numeric
            size = np.abs(difference)
            seen = 30 * max(noise, flat.unit * abs(float(flat.f0[self.j]))) / step
            ratio, part = difference / numeric, float(size.max() / np.abs(numeric).max())
            named = np.ptp(ratio) > ERRATIC * np.abs(ratio).max() and calls_solver(getattr(flat.claim, "f", None))
            in_places = size.min() < NO_DIFFERENCE * size.max() and not (named and part < TOLERANCE)
            if in_places or not size.max() > seen or self.is_coarse(np.ptp(claimed) / reach):
                return None
            again = self.slopes(starts, 2 * step)
            if np.median(np.abs(again - numeric)) > ERRATIC * np.median(size):  # the values scatter
                return None
            if named or off_parabola(difference) > max(ERRATIC, ROUGHER * scatter / size.max()):
                return part
        return None

    def is_coarse(self, change: float) -> bool:
        """Return whether a claim stands still, in float32, where f moves. change: of the claim over the scale."""
        flat, moved = self.flat, self.flat.x.copy()
        moved[self.i] += FINE * self.scale
        claimed = self.claimed(np.stack([flat.x, moved]))
        if claimed is None or claimed[0] != claimed[1] or flat.points(moved[None])[0, self.j] == flat.f0[self.j]:
            return False
        return bool(FINE * change > COARSE_UNITS * np.finfo(float).eps * abs(claimed[0]))


def off_parabola(values: np.ndarray) -> float:
    """Return the part of values at the starts that does not follow a parabola."""
    parabola = np.polynomial.polynomial.polyval(STARTS, np.polynomial.polynomial.polyfit(STARTS, values, 2))
    return float(np.abs(values - parabola).max() / max(np.abs(values).max(), np.finfo(float).tiny))


def wrong_entries(judgement: Judgement, size: np.ndarray) -> Iterator[WrongEntry]:
    """Yield a few wrong entries, those with the largest `size` first."""
    wrong = judgement.state == FAIL
    for place in np.argsort(np.where(wrong, size, -1.0), axis=None)[::-1][: min(LOOKED_AT, int(wrong.sum()))]:
        j, i = np.unravel_index(place, wrong.shape)
        yield WrongEntry(judgement, int(j), int(i))


def solver_tolerance(judgement: Judgement, scatter: np.ndarray) -> str | None:
    """Return that a solver inside the function may explain what was held against a claim; None where it does not.

    An iteration that stops at a tolerance computes another smooth function beside each point, off by about that
    tolerance. Seen from other starts, the difference between claim and values is small and jumps about; that of a
    wrong formula changes smoothly. scatter: of the claim between points that are rounding units apart.
    """
    a, value = judgement.analytic, judgement.value
    relative = np.abs(a - value) / np.fmax(np.abs(a), np.abs(value))
    if not (relative[judgement.state == FAIL] <= SOLVERS_OWN).all():
        return None
    largest = 0.0
    for entry in wrong_entries(judgement, relative):
        noise = float(judgement.reference.noise[entry.j])
        difference = entry.difference_of_solver(noise, float(scatter[entry.j, entry.i]))
        if difference is None:
            return None
        largest = max(largest, difference)
    return (
        f"the function may contain a solver with tolerance about {10.0 ** np.ceil(np.log10(largest)):.0e}: seen from "
        "points close by, claim and values differ by about as much, and erratically"
    )


def is_rough(judgement: Judgement, own: np.ndarray) -> bool:
    """Return whether a claim jumps about between close points where the function's slope is smooth.

    A claim in float16 or float32, from a table, or of an iteration that stops early does; one that rounding alone
    makes rough jumps as much between points that are rounding units apart: own.
    """
    entries = wrong_entries(judgement, np.abs(judgement.analytic - judgement.value))
    return any(e.is_rougher(reach, float(own[e.j, e.i])) for e in entries for reach in CLOSE_REACHES)
