"""What is claimed of a derivative, as products with directions, from as few calls as will do."""

from __future__ import annotations

import numpy as np

from ..judgement.verdict import FLOOR, LEEWAY, ROUNDING
from ..reference.jacobian import MARGIN
from ..subjects.flatten import Flat

MOST_ROWS = 8
"""Outputs up to which every row is asked for; of more, random combinations."""
COMBINATIONS = 2


class Claim:
    """Rows of a claimed Jacobian, or combinations of them.

    weights: (R, m), the combinations of outputs; single: they are the outputs. rows: (R, n), what is claimed for
    them, None where only products with tangents are given. whole, again: the Jacobian, and what a second call gave,
    where there is no backward pass whose linearity tells.
    """

    def __init__(self, flat: Flat, rng: np.random.Generator, sizes: np.ndarray):
        """Ask for rows. sizes: how much each output changes along a direction."""
        self.flat, subject, m = flat, flat.subject, len(flat.f0)
        self.unit = max(float(np.finfo(part.dtype).eps) / 2 for part in flat.parts)
        self.unit = max(self.unit, subject.claim_unit or 0.0)
        self.rows: np.ndarray | None = None
        self.whole: np.ndarray | None = None
        self.again: np.ndarray | None = None
        self.single = m <= MOST_ROWS
        self.weights = np.eye(m) if self.single else combinations(rng, sizes)
        if subject.has_pull:
            subject.claims = "vjp"
            self.rows = flat.pull(self.weights)
        elif subject.has_push:
            subject.claims = "jvp"
        else:
            self.whole, self.again = (flat.jacobian(subject.jacobian(subject.at)) for _ in range(2))
            self.rows = self.weights @ self.whole

    def column(self, i: int) -> np.ndarray | None:
        """Return what is claimed for all outputs along element i; None where only rows are given."""
        if self.whole is not None:
            return self.whole[:, i]
        unit = np.zeros(self.flat.size)
        unit[i] = 1.0
        return self.flat.push([unit])[0] if self.rows is None else None

    def row(self, j: int) -> np.ndarray | None:
        """Return what is claimed for output j; None where only products with tangents are given."""
        if self.rows is None or self.single:
            return None if self.rows is None else self.rows[j]
        return self.whole[j] if self.whole is not None else self.flat.pull(np.eye(1, len(self.flat.f0), j))[0]

    def along(self, direction: np.ndarray) -> np.ndarray:
        """Return the claimed products with a direction: (R,)."""
        if self.rows is not None:
            return self.rows @ direction
        return self.weights @ self.flat.push([direction])[0]

    def size(self, direction: np.ndarray, claimed: np.ndarray) -> np.ndarray:
        """Return how large the sum of so many parts is that may have any sign: (R,)."""
        if self.rows is None:
            return np.abs(claimed)
        return np.maximum(np.abs(claimed), 3 * np.sqrt(((self.rows * direction) ** 2).sum(axis=1)))

    def room(self, direction: np.ndarray, claimed: np.ndarray, error: np.ndarray, noise: float) -> np.ndarray:
        """Return how far products may be from numeric ones with such errors: what is beyond is wrong.

        noise: of the function's values, relative; what computes the claim may well have as much.
        """
        size = self.size(direction, claimed)
        floor = FLOOR[8 if self.unit < 1e-12 else 4 if self.unit < 1e-5 else 2] * size
        return MARGIN * error + ROUNDING * max(self.unit, noise) * size + np.minimum(floor, LEEWAY * error)

    def effects(self, claimed: np.ndarray) -> np.ndarray:
        """Return how much each element changes each combination over its scale: (R, n), or (R, 1) where only a
        typical size is known.
        """
        if self.rows is None:
            return np.abs(claimed)[:, None] / np.sqrt(self.flat.size)
        return np.abs(self.rows * self.flat.scales)


def combinations(rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Return random weights of outputs, to which each output contributes about as much: no weight is small."""
    weights = draw_signs(rng, (COMBINATIONS, len(sizes)))
    return weights / (sizes + 1e-9 * sizes.max(initial=0.0) + np.finfo(float).tiny)


def draw_signs(rng: np.random.Generator, shape: tuple[int, ...] | int) -> np.ndarray:
    """Return numbers of random sign and of a size between 1/2 and 3/2: nothing hides behind a small one."""
    return rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 1.5, shape)
