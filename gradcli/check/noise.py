"""How far values, and claims, scatter about a smooth curve: rounding, seen at points close by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from ..program.claim import CallError, Claim
from .flat import Flat

NEIGHBOURS = 3  # points a few rounding units away at which a derivative is asked again to see its own rounding
ON_LINE = np.arange(-4, 5)  # the places of close points on a line, in units of their spacing


def noise_differences(values: np.ndarray, order: int, axis: int = 0) -> np.ndarray:
    """Return the sizes of differences of an order along an axis, each as large as noise that makes it.

    They are divided by the root of the sum of their squared weights: then they are equal for noise whatever their
    order, and fall for a smooth curve (More and Wild, SIAM J. Sci. Comput. 33, 2011, equation 1.4).
    """
    return np.abs(np.diff(values, n=order, axis=axis)) / math.sqrt(math.comb(2 * order, order))


def scatter_of_values(flat: Flat) -> np.ndarray:
    """Return the noise of each output at three spacings along a random direction: shape (3, m)."""
    rng = np.random.default_rng(5)
    direction = rng.choice([-1.0, 1.0], flat.size) * flat.scales
    spacings = (64 * flat.input_unit, 4096 * flat.input_unit, 2.0**20 * flat.input_unit)
    offsets = np.concatenate([ON_LINE * spacing for spacing in spacings])
    values = flat.points(flat.x + offsets[:, None] * direction).reshape((len(spacings), len(ON_LINE), -1))
    noise = np.sqrt((noise_differences(values, 4, axis=1) ** 2).mean(axis=1))
    return np.where(np.isfinite(noise), noise, 0.0)


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


def claim_at(flat: Flat, arrays: Mapping[str, np.ndarray]) -> np.ndarray | None:
    try:
        return flat.matrix(arrays)
    except CallError:
        return None


def scatter_of_claim(flat: Flat, analytic: np.ndarray) -> np.ndarray:
    """Return how much the claimed derivative changes a few rounding units away from the point."""
    most = np.zeros_like(analytic)
    for near in neighbours(flat.claim):
        moved = claim_at(flat, near)
        if moved is not None:
            most = np.fmax(most, np.abs(moved - analytic))
    return np.where(np.isfinite(most), most, 0.0)


def roughness(flat: Flat, analytic: np.ndarray) -> np.ndarray:
    """Return how far the claim scatters about a smooth curve: the lower quartile, which an edge beside leaves alone."""
    most = np.zeros_like(analytic)
    for spacing in (3e-9, 3e-11):
        rows = []
        for near in points_on_line(flat.claim, spacing, seed=1):
            row = claim_at(flat, near)
            if row is None:
                return np.zeros_like(analytic)
            rows.append(row)
        most = np.fmax(most, np.quantile(noise_differences(np.stack(rows), 3), 0.25, axis=0))
    return np.where(np.isfinite(most), most, 0.0)
