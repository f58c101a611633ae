"""The claimed Jacobian as rows of numbers: all rows if they are few, else random combinations.

Also measures the rounding of a claim: how far it scatters about a smooth curve at nearby points.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from ..claims.claim import Arrays, CallError, Claim
from .flat import Flat

MOST_ROWS = 64  # maximum number of outputs for which a backward pass computes every row: a choice
MOST_FORWARD = 256  # maximum number of inputs for which a forward derivative computes every column: a choice
COMBINATIONS = 2  # random combinations of outputs, if these are too many: one wrong output shows in each
SCATTER_LIMIT = 200_000  # maximum number of entries of a claim that is called again to measure its rounding: a choice
NEIGHBOURS = 3  # points a few rounding units away at which a claim is called to measure its rounding (calibrated)
ON_LINE = np.arange(-4, 5)  # offsets of close points on a line, in units of their spacing


class ClaimedRows:
    """Rows of a claimed Jacobian, or combinations of them.

    weights: (R, m), the combinations of outputs; None if each row is one output (`single`). claimed: (R, n); nan if
    the claim gives only products with tangents. again: the result of a second call if the claim is a whole Jacobian.
    """

    def __init__(self, flat: Flat, rng: np.random.Generator, sizes: np.ndarray | None = None):
        """sizes: how much each output changes, for the weights of the combinations."""
        self.flat, claim, m = flat, flat.claim, len(flat.f0)
        pull, push = claim.capabilities.pull, claim.capabilities.push
        self.weights: np.ndarray | None = None
        self.again: np.ndarray | None = None
        self.forward = push and not pull
        by_column = push and flat.size <= MOST_FORWARD and (self.forward or not claim.capabilities.pulls_first)
        if not (pull or push) or (pull and m <= MOST_ROWS) or by_column:
            self.claimed = flat.matrix()
            self.again = None if pull or push else flat.matrix()
        else:
            self.weights = combinations(rng, np.abs(flat.f0) if sizes is None else sizes)
            claim.claims = "jvp" if self.forward else "vjp"
            self.claimed = np.full((COMBINATIONS, flat.size), np.nan) if self.forward else flat.pull(self.weights)
        self.claimed[:, flat.held] = 0.0
        if self.again is not None:
            self.again[:, flat.held] = 0.0
        self.known = not np.isnan(self.claimed).all() or not self.forward

    def at(self, arrays: Arrays, i: int | None = None) -> np.ndarray:
        """Return the claimed rows at another point: (R, n).

        If each column takes a product with a tangent, compute only column i, or those computed before; others are nan.
        """
        if self.weights is None or not self.forward:
            return self.flat.matrix(arrays) if self.weights is None else self.flat.pull(self.weights, arrays)
        rows, asked = np.full_like(self.claimed, np.nan), np.flatnonzero(~np.isnan(self.claimed).all(axis=0))
        for k in asked if i is None else [i]:
            rows[:, k] = self.combine(self.push_unit(int(k), arrays))[0]
        return rows

    def try_at(self, arrays: Arrays, i: int | None = None) -> np.ndarray | None:
        """Return the claimed rows at another point; None if the claim raises."""
        try:
            return self.at(arrays, i)
        except CallError:
            return None

    def measure_scatter(self) -> np.ndarray:
        """Return how much the claimed rows change a few rounding units away from the point: (R, n)."""
        most = np.zeros_like(self.claimed)
        for near in neighbours(self.flat.claim):
            moved = self.try_at(near)
            if moved is not None:
                with np.errstate(invalid="ignore"):
                    most = np.fmax(most, np.abs(moved - self.claimed))
        return np.where(np.isfinite(most), most, 0.0)

    def roughness(self) -> np.ndarray:
        """Return how far the claim is from a smooth curve: the lower quartile, which a nearby edge does not affect."""
        most = np.zeros_like(self.claimed)
        for spacing in (3e-9, 3e-11):
            stack = []
            for near in points_on_line(self.flat.claim, spacing, seed=1):
                row = self.try_at(near)
                if row is None:
                    return np.zeros_like(most)
                stack.append(row)
            most = np.fmax(most, np.quantile(noise_differences(np.stack(stack), 3), 0.25, axis=0))
        return np.where(np.isfinite(most), most, 0.0)

    @functools.cached_property
    def scatter(self) -> np.ndarray:
        """Change of the claimed rows between points that are a few rounding units apart; 0 if it is not measured."""
        claim = self.flat.claim
        asked = self.known and self.claimed.size <= SCATTER_LIMIT and not claim.budget.claim_calls
        asked = asked and not (claim.capabilities.traced or claim.capabilities.costly)
        return self.measure_scatter() if asked and self.again is not None else np.zeros_like(self.claimed)

    @property
    def single(self) -> bool:
        return self.weights is None

    def combine(self, values: np.ndarray) -> np.ndarray:
        return values if self.weights is None else values @ self.weights.T

    def along(self, direction: np.ndarray) -> np.ndarray:
        """Return the claimed products with a direction: (R,)."""
        if self.known:
            moved = direction != 0
            return self.claimed[:, moved] @ direction[moved]
        return self.combine(self.flat.push([direction]))[0]

    def size(self, direction: np.ndarray, claimed: np.ndarray) -> np.ndarray:
        """Return the expected size of the claimed sum if its terms had random signs, at least its own size: (R,)."""
        if not self.known:
            return np.abs(claimed)
        return np.maximum(np.abs(claimed), np.sqrt(((self.claimed * direction) ** 2).sum(axis=1)))

    def fill_column(self, i: int) -> None:
        """Compute the claimed column of element i if the claim gives only products with tangents."""
        if not self.known and np.isnan(self.claimed[:, i]).all():
            self.claimed[:, i] = self.combine(self.push_unit(i))[0]

    def column(self, i: int) -> np.ndarray | None:
        """Return the claim for all outputs along element i; None if that would take a product for each output."""
        if self.single:
            return self.claimed[:, i]
        return self.push_unit(i)[0] if self.flat.claim.capabilities.push else None

    def push_unit(self, i: int, arrays: Arrays | None = None) -> np.ndarray:
        """Return the claim for all outputs along element i, here or at another point: (1, m)."""
        return self.flat.push(np.eye(1, self.flat.size, i), arrays)


def combinations(rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Return random weights of outputs, such that each output contributes about equally: none is small."""
    weights = draw_signs(rng, (COMBINATIONS, len(sizes)))
    return weights / (sizes + 1e-3 * sizes.mean()) if sizes.any() else weights


def draw_signs(rng: np.random.Generator, shape: tuple[int, ...] | int) -> np.ndarray:
    """Return numbers of random sign and of size 1/2 to 3/2, so that no factor is too small to show an error."""
    return rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 1.5, shape)


def noise_differences(values: np.ndarray, order: int, axis: int = 0) -> np.ndarray:
    """Return the sizes of differences of a given order along an axis, scaled to the size of noise in the values.

    They are divided by the root of the sum of their squared weights. For noise they are then equal at every order; for
    a smooth curve they fall (More and Wild, SIAM J. Sci. Comput. 33, 2011, equation 1.4).
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
