"""Differences that may be noise, the function's or the claim's; PyTorch's rule for who asks for tolerances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..program.claim import CallError, Claim
from ..program.detect_framework import calls_solver
from .flat import Flat
from .jacobian import Reference
from .verdict import FAIL, PASS, Judgement

NEIGHBOURS = 3
"""Points a few rounding units away at which a derivative is asked again to see its own rounding."""


def scatter_of_claim(claim: Claim, flat: Flat, analytic: np.ndarray) -> np.ndarray:
    """Return how much the claimed derivative changes a few rounding units away from the point."""
    most = np.zeros_like(analytic)
    for near in neighbours(claim):
        moved = claim_at(flat, near, analytic.shape)
        if moved is not None:
            most = np.fmax(most, np.abs(moved - analytic))
    return np.where(np.isfinite(most), most, 0.0)


def neighbours(claim: Claim) -> Iterator[dict[str, np.ndarray]]:
    """Yield points a few rounding units away."""
    rng = np.random.default_rng(1)
    for _ in range(NEIGHBOURS):
        moves = {}
        for name in claim.wrt:
            x = claim.at[name]
            unit = max(np.finfo(x.dtype).eps, 2 * (claim.claim_unit or 0))
            moves[name] = unit * rng.integers(-2, 3, x.shape)
        yield move_by(claim, moves)


def move_by(claim: Claim, moves: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    at = claim.at
    return {**at, **{name: (at[name] * (1 + move)).astype(at[name].dtype) for name, move in moves.items()}}


def roughness(claim: Claim, flat: Flat, analytic: np.ndarray) -> np.ndarray:
    """Return how far the claimed derivative scatters about a smooth curve through close points.

    Third differences along a line of random signs (as in More and Wild, 2011), of which the lower quartile counts: an
    edge raises only those beside it.
    """
    rng = np.random.default_rng(1)
    signs = {name: rng.choice([-1.0, 1.0], claim.at[name].shape) for name in claim.wrt}
    most = np.zeros_like(analytic)
    for spacing in (3e-9, 3e-11):
        rows = []
        for k in range(-4, 5):
            moves = {name: spacing * k * sign for name, sign in signs.items()}
            row = claim_at(flat, move_by(claim, moves), analytic.shape)
            if row is None:
                return np.zeros_like(analytic)
            rows.append(row)
        third = np.abs(np.diff(np.stack(rows), n=3, axis=0)) / np.sqrt(20)
        most = np.fmax(most, np.quantile(third, 0.25, axis=0))
    return np.where(np.isfinite(most), most, 0.0)


SMALL = 0.03
"""Relative differences from which on no solver's tolerance is made responsible."""
STARTS = np.cos(np.pi * (np.arange(9) + 0.5) / 9)
REACHES = (0.4, 0.1, 0.01, 1e-3)
"""How far the starts of lines are moved, in units of the scale: the first at which the derivative is simple
counts."""
SIMPLE, ERRATIC = 0.02, 0.2
"""The part of a derivative, and of a difference, that does not follow a parabola between starts."""
NOTHING = 1e-3
"""A difference so small beside the largest is none: a formula that is wrong in places has such, a solver has not."""
MOST = 3
"""Elements that are looked at."""
STEP = 1e-3
FINE = 1e-9
"""A step, in units of the scale, that float32 does not see ..."""
COARSE_UNITS = 100.0
"""... and over which a claim in float64 changes by so many of its rounding units."""


def solver_tolerance(flat: Flat, judgement: Judgement, scatter: np.ndarray) -> str | None:
    """Return that a solver inside the function may explain what was held against a claim; None where it does not.

    An iteration that stops at a tolerance computes another smooth function beside each point, off by about that
    tolerance. Seen from other starts, the difference between claim and values is small and jumps about; that of a
    wrong formula changes smoothly. scatter: of the claim between points that are rounding units apart.
    """
    a, value, wrong = judgement.analytic, judgement.value, judgement.state == FAIL
    with np.errstate(all="ignore"):
        relative = np.abs(a - value) / np.fmax(np.abs(a), np.abs(value))
    if not (relative[wrong] <= SMALL).all():
        return None
    largest = 0.0
    for place in np.argsort(np.where(wrong, relative, -1.0), axis=None)[::-1][: min(MOST, int(wrong.sum()))]:
        j, i = (int(k) for k in np.unravel_index(place, a.shape))
        difference = difference_of_solver(
            flat, a.shape, j, i, float(judgement.reference.noise[j]), float(scatter[j, i])
        )
        if difference is None:
            return None
        largest = max(largest, difference)
    return (
        f"the function may contain a solver with tolerance about {10.0 ** np.ceil(np.log10(largest)):.0e}: seen from "
        "points close by, claim and values differ by about as much, and erratically"
    )


CLOSE = (0.01, 1e-3)  # reaches over which a smooth derivative follows a parabola
ROUGHER = 5.0  # how many times rougher than the slopes of the values a claim is that is rough by itself


def is_rough(flat: Flat, judgement: Judgement, own: np.ndarray) -> bool:
    """Return whether a claim jumps about between close points where the function's slope is smooth.

    A claim in float16 or float32, from a table, or of an iteration that stops early does; one that rounding alone
    makes rough jumps as much between points that are rounding units apart: own.
    """
    a, wrong = judgement.analytic, judgement.state == FAIL
    gap = np.where(wrong, np.abs(a - judgement.value), -1.0)
    for place in np.argsort(gap, axis=None)[::-1][: min(MOST, int(wrong.sum()))]:
        j, i = (int(k) for k in np.unravel_index(place, a.shape))
        if any(rougher(flat, a.shape, j, i, reach, float(own[j, i]), float(gap[j, i])) for reach in CLOSE):
            return True
    return False


def rougher(flat: Flat, shape: tuple, j: int, i: int, reach: float, own: float, gap: float) -> bool:
    """Return whether the claim for an element is rough over a reach, and the slope of the values is not.

    own: how much the claim scatters between points that are rounding units apart. gap: what it is off by.
    """
    scale = float(flat.scales[i])
    starts = np.repeat(flat.x[None], len(STARTS), axis=0)
    starts[:, i] += reach * scale * STARTS
    claims = [claim_at(flat, {**flat.claim.at, **flat.arrays_at(start)}, shape) for start in starts]
    if any(claim is None for claim in claims):
        return False
    claimed = np.array([claim[j, i] for claim in claims if claim is not None])
    numeric = slopes_at(flat, starts, i, STEP * reach * scale)[:, j]
    if not (np.isfinite(claimed).all() and np.isfinite(numeric).all()):
        return False
    rough, smooth = (roughness_of(values) * np.abs(values).max() for values in (claimed, numeric))
    return bool(rough > max(ROUGHER * smooth, ROUGHER * own, ERRATIC * gap))


def difference_of_solver(flat: Flat, shape: tuple, j: int, i: int, noise: float, scatter: float) -> float | None:
    """Return the size of the difference between claim and values around element i, relative; None if it is no
    solver's.

    It is one where the difference is erratic, at any reach at which the derivative is simple; or where the function
    calls a solver by name and the difference is no constant part of the derivative. noise: of the values; a
    difference that is not clearly more than it makes is none. scatter: of the claim by itself, which is none either.
    """
    x = flat.x
    scale = float(flat.scales[i])
    for reach in REACHES:
        starts = np.repeat(x[None], len(STARTS), axis=0)
        starts[:, i] += reach * scale * STARTS
        step = STEP * min(reach, 0.1) / 0.1 * scale
        numeric = slopes_at(flat, starts, i, step)[:, j]
        if not np.isfinite(numeric).all() or roughness_of(numeric) > SIMPLE:
            continue
        claimed = [claim_at(flat, {**flat.claim.at, **flat.arrays_at(start)}, shape) for start in starts]
        if any(c is None for c in claimed):
            return None
        difference = np.array([c[j, i] for c in claimed if c is not None]) - numeric
        size = np.abs(difference)
        seen = 30 * max(noise, flat.unit * abs(float(flat.f0[j]))) / step
        if not size.max() > seen or size.min() < NOTHING * size.max():
            return None
        ratio = difference / numeric
        if is_coarse(flat, shape, j, i, np.ptp([c[j, i] for c in claimed if c is not None]) / reach):
            return None
        named = np.ptp(ratio) > ERRATIC * np.abs(ratio).max() and calls_solver(getattr(flat.claim, "f", None))
        if named or roughness_of(difference) > max(ERRATIC, ROUGHER * scatter / size.max()):
            return float(size.max() / np.abs(numeric).max())
    return None


def is_coarse(flat: Flat, shape: tuple, j: int, i: int, change: float) -> bool:
    """Return whether a claim stands still over a step over which the function moves: it is computed in float32.

    change: how much the claim changes over the scale of element i.
    """
    moved = flat.x.copy()
    moved[i] += FINE * float(flat.scales[i])
    here, there = (claim_at(flat, {**flat.claim.at, **flat.arrays_at(x)}, shape) for x in (flat.x, moved))
    if here is None or there is None or here[j, i] != there[j, i] or flat.points(moved[None])[0, j] == flat.f0[j]:
        return False
    return bool(FINE * change > COARSE_UNITS * np.finfo(float).eps * abs(here[j, i]))


def slopes_at(flat: Flat, starts: np.ndarray, i: int, step: float) -> np.ndarray:
    """Return central slopes of fourth order along element i at points: shape (points, m)."""
    moves = np.array([-2.0, -1.0, 1.0, 2.0]) * step
    points = np.repeat(starts, 4, axis=0)
    points[:, i] += np.tile(moves, len(starts))
    values = flat.points(points).reshape((len(starts), 4, -1))
    weights = np.array([1.0, -8.0, 8.0, -1.0])[:, None] / (12 * step)
    return (weights * values).sum(axis=1)


def roughness_of(values: np.ndarray) -> float:
    parabola = np.polynomial.polynomial.polyval(STARTS, np.polynomial.polynomial.polyfit(STARTS, values, 2))
    return float(np.abs(values - parabola).max() / max(np.abs(values).max(), np.finfo(float).tiny))


def claim_at(flat: Flat, arrays: Mapping[str, np.ndarray], shape: tuple) -> np.ndarray | None:
    """Return the claimed derivative at inputs by name; None where it has none."""
    try:
        claimed = flat.matrix(arrays)
    except CallError:
        return None
    return claimed if claimed.shape == shape else None


EPS, ATOL, RTOL = 1e-6, 1e-5, 1e-3


class CentralDifferences(Reference):
    """A reference of central differences with one step; their error is the tolerance."""

    def __init__(self, flat: Flat, eps: float, atol: float, rtol: float):
        super().__init__(flat)
        self.value = central(flat, np.arange(flat.size), eps)
        self.error = atol + rtol * np.abs(self.value)


class FixedJudgement(Judgement):
    """What tolerances decide about every entry."""

    margin = 1.0

    def __init__(self, flat: Flat, analytic: np.ndarray, tolerances: Sequence[float | None]):
        """Decide. tolerances: eps, atol, rtol, None for the usual."""
        chosen = (d if x is None else x for x, d in zip(tolerances, (EPS, ATOL, RTOL), strict=True))
        none = np.zeros(analytic.shape)
        super().__init__(analytic, CentralDifferences(flat, *chosen), none, none)
        with np.errstate(all="ignore"):
            self.state = np.where(np.abs(analytic - self.value) <= self.error, PASS, FAIL)


def central(flat: Flat, elements: np.ndarray, eps: float) -> np.ndarray:
    """Return central differences of all outputs with one step along some elements: shape (m, elements)."""
    n = len(elements)
    values = flat.along(np.repeat(elements, 2), np.tile([eps, -eps], n)).reshape((n, 2, len(flat.f0)))
    return ((values[:, 0] - values[:, 1]) / (2 * eps)).T
