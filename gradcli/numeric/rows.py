"""The claimed Jacobian as rows of numbers: all rows if they are few, else random combinations.

Also measures the rounding of a claim: how far it scatters about a smooth curve at nearby points.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ..claims.claim import Arrays, CallError, Claim
from .flat import Flat, median_of
from .sampler import Line

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

    def __init__(
        self,
        flat: Flat,
        rng: np.random.Generator,
        sizes: Callable[[], np.ndarray] | None = None,
        weights: np.ndarray | None = None,
    ):
        """sizes: returns how much each output changes, for the weights of combinations. weights: to use these instead.

        Without both, the weights are random signs.
        """
        self.flat, claim, m = flat, flat.claim, len(flat.f0)
        pull, push = claim.capabilities.pull, claim.capabilities.push
        self.weights = weights
        self.again: np.ndarray | None = None
        self.forward = push and not pull
        by_column = push and flat.size <= MOST_FORWARD and (self.forward or not claim.capabilities.pulls_first)
        if weights is None and (not (pull or push) or (pull and m <= MOST_ROWS) or by_column):
            self.claimed = flat.matrix()
            self.again = None if pull or push else flat.matrix()
        else:
            some = combinations(rng, np.zeros(m) if sizes is None else sizes()) if weights is None else weights
            self.weights, claim.claims = some, "jvp" if self.forward else "vjp"
            self.claimed = np.full((len(some), flat.size), np.nan) if self.forward else flat.pull(some)
        self.claimed[:, flat.fixed] = 0.0
        if self.again is not None:
            self.again[:, flat.fixed] = 0.0
        self.known = not np.isnan(self.claimed).all() or not self.forward

    @property
    def between_calls(self) -> np.ndarray:
        """How much two calls of the claim at x differ: (R, n). 0 where that was not measured."""
        if self.again is None:
            return np.zeros_like(self.claimed)
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(np.abs(self.again - self.claimed), posinf=0.0)

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

    def draw(self, rng: np.random.Generator, count: int, sizes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield random points, each element off by plus or minus its size, and the claims there, if all are finite."""
        for _ in range(count):
            x = self.flat.x + draw_signs(rng, self.flat.size) * sizes
            claim = self.try_at({**self.flat.claim.at, **self.flat.arrays_at(x)})
            if claim is not None and np.isfinite(claim).all():
                yield x, claim

    def try_at(self, arrays: Arrays, i: int | None = None) -> np.ndarray | None:
        """Return the claimed rows at another point; None if the claim raises."""
        try:
            return self.at(arrays, i)
        except CallError:
            return None

    def measure_scatter(self) -> np.ndarray:
        """Return how much the claimed rows differ between points a few rounding units away from x: (R, n).

        They are compared with each other, not with the claim at x, which may be special. 0 where it is not measured.
        """
        claim, none = self.flat.claim, np.zeros_like(self.claimed)
        if not self.known or self.claimed.size > SCATTER_LIMIT or claim.capabilities.costly:
            return none
        moved = [rows for near in neighbours(claim) if (rows := self.try_at(near)) is not None]
        with np.errstate(invalid="ignore"):
            spread = np.ptp(moved, axis=0) if len(moved) > 1 else none
        return np.where(np.isfinite(spread), spread, 0.0)

    def measure_rounding(self) -> np.ndarray:
        """Return how far the claimed rows are off by rounding of a derivative that gradcli computes; 0 for others."""
        claim = self.flat.claim
        wide = claim.whole_wider() if self.single and self.claimed.size <= SCATTER_LIMIT else None
        off = np.abs(self.claimed - self.flat.as_rows(wide)) if wide is not None else np.zeros_like(self.claimed)
        return np.where(np.isfinite(off), off, 0.0)

    def slopes_at(self, line: Line, offsets: np.ndarray, chosen: Sequence[int]) -> np.ndarray:
        """Return the claimed slopes of some rows along a line, (points, chosen); nan where the claim raises."""
        flat, direction = self.flat, np.where(self.flat.fixed, 0.0, line.direction)
        start = flat.x if line.origin is None else line.origin
        slopes = np.full((len(offsets), len(chosen)), np.nan)
        for k, t in enumerate(offsets):
            with contextlib.suppress(CallError):
                at = {**flat.claim.at, **flat.arrays_at(start + t * direction)}
                slopes[k] = self.products_at(at, direction, chosen)
        return slopes

    def products_at(self, at: Arrays, direction: np.ndarray, chosen: Sequence[int]) -> np.ndarray:
        """Return the claimed products of some rows with a direction at a point: (chosen,)."""
        flat, claim = self.flat, self.flat.claim
        whole = claim.whole(at) if self.single else None
        if whole is not None:
            return np.where(direction != 0, flat.as_rows(whole)[chosen], 0.0) @ direction
        if self.forward or (claim.claims == "jvp" and claim.capabilities.push):
            return self.combine(flat.push([direction], at))[0][chosen]
        weights = np.eye(len(flat.f0)) if self.weights is None else self.weights
        return np.where(direction != 0, flat.pull(weights[chosen], at), 0.0) @ direction

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
        return np.maximum(np.abs(claimed), norms(self.claimed * direction))

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
    return weights / (sizes + 1e-3 * median_of(sizes[sizes > 0])) if sizes.any() else weights


def norms(rows: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm of each row, without overflow of the squares: nan counts as 0."""
    largest = np.nanmax(np.abs(rows), axis=1, initial=0.0)
    by = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
    return by * np.sqrt(np.nansum((rows / by[:, None]) ** 2, axis=1))


def draw_signs(rng: np.random.Generator, shape: tuple[int, ...] | int) -> np.ndarray:
    """Return numbers of random sign and of size 1/2 to 3/2, so that no factor is too small to show an error."""
    return rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 1.5, shape)


def noise_differences(values: np.ndarray, order: int, axis: int = 0) -> np.ndarray:
    """Return the sizes of differences of a given order along an axis, scaled to the size of noise in the values.

    They are divided by the root of the sum of their squared weights. For noise they are then equal at every order; for
    a smooth curve they fall (Moré and Wild, SIAM J. Sci. Comput. 33, 2011, equation 1.4).
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
            unit = max(np.finfo(x.dtype).eps, 2 * (claim.capabilities.claim_unit or 0), claim.spread)
            moves[name] = unit * rng.choice([-2, -1, 1, 2], x.shape)
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
