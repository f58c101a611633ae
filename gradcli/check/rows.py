"""The claimed Jacobian as rows of numbers: all of them where they are few, else random combinations."""

from __future__ import annotations

import functools

import numpy as np

from ..program.claim import Arrays
from .flat import Flat

MOST_ROWS = 64  # outputs up to which a backward pass is asked for every row
MOST_COLUMNS = 256  # inputs up to which a forward derivative is asked for every column
COMBINATIONS = 2
SCATTER_LIMIT = 200_000  # entries up to which a claim is called again to see its own rounding


class ClaimedRows:
    """Rows of a claimed Jacobian, or combinations of them.

    weights: (R, m), the combinations of outputs; None where the rows are the outputs (`single`). claimed: (R, n), nan
    where only products with tangents are given. again: what a second call gave, where the claim comes whole.
    """

    def __init__(self, flat: Flat, rng: np.random.Generator, sizes: np.ndarray | None = None):
        """sizes: how much each output changes, by which combinations are weighed."""
        self.flat, claim, m = flat, flat.claim, len(flat.f0)
        pull, push = claim.capabilities.pull, claim.capabilities.push
        self.weights: np.ndarray | None = None
        self.again: np.ndarray | None = None
        self.forward = push and not pull
        by_column = push and flat.size <= MOST_COLUMNS and (self.forward or not claim.capabilities.pulls_first)
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

    def at(self, arrays: Arrays) -> np.ndarray:
        """Return the claimed rows at another point: (R, n)."""
        return self.flat.matrix(arrays) if self.weights is None else self.flat.pull(self.weights, arrays)

    @functools.cached_property
    def scatter(self) -> np.ndarray:
        """How much the claimed rows change between points that are rounding units apart; 0 where that is not asked."""
        from .noise import scatter_of_claim

        claim = self.flat.claim
        asked = self.known and self.claimed.size <= SCATTER_LIMIT and not claim.budget.claim_calls
        asked = asked and not (claim.capabilities.traced or claim.capabilities.costly)
        return scatter_of_claim(self) if asked and self.again is not None else np.zeros_like(self.claimed)

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
        """Return how large a sum of parts of random sign is, at least what it came to: (R,)."""
        if not self.known:
            return np.abs(claimed)
        return np.maximum(np.abs(claimed), np.sqrt(((self.claimed * direction) ** 2).sum(axis=1)))

    def fill_column(self, i: int) -> None:
        """Ask for the claimed column of element i, where only products with tangents are given."""
        if not self.known and np.isnan(self.claimed[:, i]).all():
            self.claimed[:, i] = self.combine(self.flat.push(np.eye(1, self.flat.size, i)))[0]

    def column(self, i: int) -> np.ndarray | None:
        """Return what is claimed for all outputs along element i; None where that takes a product for each output."""
        if self.single:
            return self.claimed[:, i]
        return self.flat.push(np.eye(1, self.flat.size, i))[0] if self.flat.claim.capabilities.push else None


def combinations(rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Return random weights of outputs, to which each output contributes about as much: no weight is small."""
    weights = draw_signs(rng, (COMBINATIONS, len(sizes)))
    return weights / (sizes + 1e-3 * np.abs(sizes).mean() + np.finfo(float).tiny)


def draw_signs(rng: np.random.Generator, shape: tuple[int, ...] | int) -> np.ndarray:
    """Return numbers of random sign and of a size between 1/2 and 3/2: nothing hides behind a small one."""
    return rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 1.5, shape)
