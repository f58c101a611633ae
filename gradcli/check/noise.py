"""How far claims scatter about a smooth curve: rounding, seen at points close by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..program.claim import CallError, Claim

if TYPE_CHECKING:
    from .rows import ClaimedRows

NEIGHBOURS = 3  # points a few rounding units away at which a derivative is asked again to see its own rounding
ON_LINE = np.arange(-4, 5)  # the places of close points on a line, in units of their spacing


def noise_differences(values: np.ndarray, order: int, axis: int = 0) -> np.ndarray:
    """Return the sizes of differences of an order along an axis, each as large as noise that makes it.

    They are divided by the root of the sum of their squared weights: then they are equal for noise whatever their
    order, and fall for a smooth curve (More and Wild, SIAM J. Sci. Comput. 33, 2011, equation 1.4).
    """
    return np.abs(np.diff(values, n=order, axis=axis)) / math.sqrt(math.comb(2 * order, order))


def neighbours(
    claim: Claim, count: int = NEIGHBOURS, rng: np.random.Generator | None = None
) -> Iterator[dict[str, np.ndarray]]:
    rng = np.random.default_rng(1) if rng is None else rng
    for _ in range(count):
        moves = {}
        for name in claim.wrt:
            x = claim.at[name]
            unit = max(np.finfo(x.dtype).eps, 2 * (claim.capabilities.claim_unit or 0))
            moves[name] = unit * rng.integers(-2, 3, x.shape)
        yield move_by(claim, moves)


def points_on_line(claim: Claim, spacing: float, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield nine close points along a line of random signs; spacing: relative to the inputs."""
    rng = np.random.default_rng(seed)
    signs = {name: rng.choice([-1.0, 1.0], claim.at[name].shape) for name in claim.wrt}
    for k in ON_LINE:
        yield move_by(claim, {name: spacing * k * sign for name, sign in signs.items()})


def move_by(claim: Claim, moves: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    at = claim.at
    return {**at, **{name: (at[name] * (1 + move)).astype(at[name].dtype) for name, move in moves.items()}}


def claim_at(rows: ClaimedRows, arrays: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Return the claimed rows at another point: (R, n); None if the claim raises."""
    try:
        return rows.at(arrays)
    except CallError:
        return None


def scatter_of_claim(rows: ClaimedRows) -> np.ndarray:
    """Return how much the claimed rows change a few rounding units away from the point: (R, n)."""
    most = np.zeros_like(rows.claimed)
    for near in neighbours(rows.flat.claim):
        moved = claim_at(rows, near)
        if moved is not None:
            with np.errstate(invalid="ignore"):
                most = np.fmax(most, np.abs(moved - rows.claimed))
    return np.where(np.isfinite(most), most, 0.0)


def roughness(rows: ClaimedRows) -> np.ndarray:
    """Return how far the claim scatters about a smooth curve: the lower quartile, which an edge nearby leaves alone."""
    most = np.zeros_like(rows.claimed)
    for spacing in (3e-9, 3e-11):
        stack = []
        for near in points_on_line(rows.flat.claim, spacing, seed=1):
            row = claim_at(rows, near)
            if row is None:
                return np.zeros_like(most)
            stack.append(row)
        most = np.fmax(most, np.quantile(noise_differences(np.stack(stack), 3), 0.25, axis=0))
    return np.where(np.isfinite(most), most, 0.0)
