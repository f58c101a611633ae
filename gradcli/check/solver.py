"""Differences that are no wrong formula: of a claim that is rough, and of a solver that stops at a tolerance.

Both are told by how claim and slopes of the values change from start to start along one element.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ..program.detect_framework import calls_solver
from .flat import Flat
from .noise import claim_at
from .verdict import FAIL, Judgement

SOLVERS_OWN = 0.03  # relative differences from which on no solver's tolerance is made responsible
STARTS = np.cos(np.pi * (np.arange(9) + 0.5) / 9)
REACHES = (0.4, 0.1, 0.01, 1e-3)
"""How far the starts of lines are moved, in units of the scale: the first at which the derivative is simple
counts."""
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


def wrong_entries(judgement: Judgement, size: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield rows and columns of a few wrong elements, the largest `size` first."""
    wrong = judgement.state == FAIL
    for place in np.argsort(np.where(wrong, size, -1.0), axis=None)[::-1][: min(LOOKED_AT, int(wrong.sum()))]:
        j, i = np.unravel_index(place, wrong.shape)
        yield int(j), int(i)


def solver_tolerance(flat: Flat, judgement: Judgement, scatter: np.ndarray) -> str | None:
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
    for j, i in wrong_entries(judgement, relative):
        noise = float(judgement.reference.noise[j])
        difference = difference_of_solver(flat, j, i, noise, float(scatter[j, i]))
        if difference is None:
            return None
        largest = max(largest, difference)
    return (
        f"the function may contain a solver with tolerance about {10.0 ** np.ceil(np.log10(largest)):.0e}: seen from "
        "points close by, claim and values differ by about as much, and erratically"
    )


def is_rough(flat: Flat, judgement: Judgement, own: np.ndarray) -> bool:
    """Return whether a claim jumps about between close points where the function's slope is smooth.

    A claim in float16 or float32, from a table, or of an iteration that stops early does; one that rounding alone
    makes rough jumps as much between points that are rounding units apart: own.
    """
    gap = np.abs(judgement.analytic - judgement.value)
    places = itertools.product(wrong_entries(judgement, gap), CLOSE_REACHES)
    return any(rougher(flat, j, i, reach, float(own[j, i]), float(gap[j, i])) for (j, i), reach in places)


def rougher(flat: Flat, j: int, i: int, reach: float, own: float, gap: float) -> bool:
    """Return whether the claim for an element is rough over a reach, and the slope of the values is not.

    own: how much the claim scatters between points that are rounding units apart. gap: what it is off by.
    """
    starts = starts_of_lines(flat, i, reach)
    claimed = claimed_at_starts(flat, starts, j, i)
    if claimed is None:
        return False
    numeric = slopes_at(flat, starts, i, STEP * reach * float(flat.scales[i]))[:, j]
    if not (np.isfinite(claimed).all() and np.isfinite(numeric).all()):
        return False
    rough, smooth = (off_parabola(values) * np.abs(values).max() for values in (claimed, numeric))
    return bool(rough > max(ROUGHER * smooth, ROUGHER * own, ERRATIC * gap))


def difference_of_solver(flat: Flat, j: int, i: int, noise: float, scatter: float) -> float | None:
    """Return the size of the difference between claim and values around element i, relative; None if it is no
    solver's.

    It is one where the difference is erratic, at any reach at which the derivative is simple; or where the function
    calls a solver by name and the difference is no constant part of the derivative. noise: of the values; a
    difference that is not clearly more than it makes is none. scatter: of the claim by itself, which is none either.
    """
    for reach in REACHES:
        starts = starts_of_lines(flat, i, reach)
        step = STEP * min(reach, 0.1) / 0.1 * float(flat.scales[i])
        numeric = slopes_at(flat, starts, i, step)[:, j]
        if not np.isfinite(numeric).all() or off_parabola(numeric) > SIMPLE:
            continue
        claimed = claimed_at_starts(flat, starts, j, i)
        if claimed is None:
            return None
        difference = claimed - numeric
        size = np.abs(difference)
        seen = 30 * max(noise, flat.unit * abs(float(flat.f0[j]))) / step
        ratio, part = difference / numeric, float(size.max() / np.abs(numeric).max())
        named = np.ptp(ratio) > ERRATIC * np.abs(ratio).max() and calls_solver(getattr(flat.claim, "f", None))
        in_places = size.min() < NO_DIFFERENCE * size.max() and not (named and part < TOLERANCE)
        if in_places or not size.max() > seen:
            return None
        if is_coarse(flat, j, i, np.ptp(claimed) / reach):
            return None
        again = slopes_at(flat, starts, i, 2 * step)[:, j]
        if np.median(np.abs(again - numeric)) > ERRATIC * np.median(size):  # scatter of the values, no other function
            return None
        if named or off_parabola(difference) > max(ERRATIC, ROUGHER * scatter / size.max()):
            return part
    return None


def starts_of_lines(flat: Flat, i: int, reach: float) -> np.ndarray:
    """Return points moved along element i by up to `reach` of its scale, one a row."""
    starts = np.repeat(flat.x[None], len(STARTS), axis=0)
    starts[:, i] += reach * float(flat.scales[i]) * STARTS
    return starts


def claimed_at_starts(flat: Flat, starts: np.ndarray, j: int, i: int) -> np.ndarray | None:
    """Return what is claimed for entry (j, i) at points; None where there is no claim at one of them."""
    claims = [claim_at(flat, {**flat.claim.at, **flat.arrays_at(start)}) for start in starts]
    known = [claim[j, i] for claim in claims if claim is not None]
    return np.array(known) if len(known) == len(claims) else None


def is_coarse(flat: Flat, j: int, i: int, change: float) -> bool:
    """Return whether a claim stands still, in float32, where f moves. change: of the claim over the scale."""
    moved = flat.x.copy()
    moved[i] += FINE * float(flat.scales[i])
    claimed = claimed_at_starts(flat, np.stack([flat.x, moved]), j, i)
    if claimed is None or claimed[0] != claimed[1] or flat.points(moved[None])[0, j] == flat.f0[j]:
        return False
    return bool(FINE * change > COARSE_UNITS * np.finfo(float).eps * abs(claimed[0]))


def slopes_at(flat: Flat, starts: np.ndarray, i: int, step: float) -> np.ndarray:
    """Return central slopes of fourth order along element i at points: shape (points, m)."""
    moves = np.array([-2.0, -1.0, 1.0, 2.0]) * step
    points = np.repeat(starts, 4, axis=0)
    points[:, i] += np.tile(moves, len(starts))
    values = flat.points(points).reshape((len(starts), 4, -1))
    weights = np.array([1.0, -8.0, 8.0, -1.0])[:, None] / (12 * step)
    return (weights * values).sum(axis=1)


def off_parabola(values: np.ndarray) -> float:
    """Return the part of values at the starts that does not follow a parabola."""
    parabola = np.polynomial.polynomial.polyval(STARTS, np.polynomial.polynomial.polyfit(STARTS, values, 2))
    return float(np.abs(values - parabola).max() / max(np.abs(values).max(), np.finfo(float).tiny))
