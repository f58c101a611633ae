"""Explain an observed gradient by least squares: arrays in, weights with errors and a residual out.

A gradient is one vector with a block for each parameter. The declared gradient is known twice: exactly, and as the run
computes it. Their difference in a block is the rounding there, and each comparison allows MARGIN times as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

ROUNDING_MARGIN = 4.0
"""How many times the measured rounding a gradient may be off. Blocks of the right samples reach 1.6 (500 steps)."""
SMALLEST_ROUNDING = 4 * np.finfo(np.float32).eps
"""Smallest rounding that is assumed for a block, relative to its norm: sums in another order differ by that much."""
DENSITY = 2.5e-7
"""The same relative to the whole gradient, for blocks whose terms cancel: few numbers measure rounding badly."""
DEPENDENT_SHARE = 1e-9
"""Columns whose singular values are smaller than this share of the largest one are dependent."""


def join_vectors(gradients: Mapping[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    return np.concatenate([gradients[name] for name in names]) if names else np.zeros(0)


def vector_length(x: np.ndarray) -> float:
    return float(np.linalg.norm(x))


def clipped_norms(size: float, limit: float) -> tuple[float, float]:
    """Return the norms that a gradient may have after clipping to a limit; torch.nn.utils adds 1e-6 to its norm."""
    return limit, limit * size / (size + 1e-6)


@dataclass(frozen=True)
class ColumnFit:
    """A sum of columns close to the observed gradient.

    weights, errors: of the columns, with standard errors. sum: the weighted sum. wrong: the blocks in which it differs
    from the observed gradient by more than rounding. dependent: whether other weights give the same sum.
    """

    weights: np.ndarray
    errors: np.ndarray
    sum: np.ndarray
    wrong: tuple[int, ...]
    dependent: bool = False

    @property
    def holds(self) -> bool:
        return not self.wrong


@dataclass(frozen=True, eq=False)
class GradientComparison:
    """An observed gradient and a declared one, as vectors with blocks.

    exact, computed: the declared gradient in float64, and as the run computes it. sizes: of the blocks.
    """

    observed: np.ndarray
    exact: np.ndarray
    computed: np.ndarray
    sizes: tuple[int, ...]

    @cached_property
    def blocks(self) -> list[slice]:
        ends = np.cumsum((0, *self.sizes))
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def norms(self, x: np.ndarray) -> np.ndarray:
        return np.array([vector_length(x[block]) for block in self.blocks])

    @cached_property
    def rounding(self) -> np.ndarray:
        """The rounding of each block: measured, but not below what its size and that of the whole make likely."""
        measured, sizes, whole = (
            self.norms(self.computed - self.exact),
            self.norms(self.exact),
            vector_length(self.exact),
        )
        typical = vector_length(self.computed - self.exact) / whole if whole else 0.0
        return np.maximum.reduce([measured, typical * sizes, self.least])

    @cached_property
    def least(self) -> np.ndarray:
        """The rounding of each block if it is computed in float32 or better, and its terms do not cancel."""
        share = np.sqrt(np.array(self.sizes) / max(sum(self.sizes), 1))
        return np.maximum(SMALLEST_ROUNDING * self.norms(self.exact), DENSITY * vector_length(self.exact) * share)

    @cached_property
    def tolerances(self) -> np.ndarray:
        """The largest difference that rounding explains, by block."""
        return ROUNDING_MARGIN * self.rounding

    @cached_property
    def resolution(self) -> float:
        """The smallest error, relative to the gradient, that would have been seen.

        It is smaller than the rounding if the run rounds exactly as the declared loss does when it is computed again.
        """
        whole = vector_length(self.exact)
        repeated = ROUNDING_MARGIN * vector_length(np.maximum(self.norms(self.observed - self.computed), self.least))
        return min(vector_length(self.tolerances), repeated) / whole if whole else 0.0

    def misfit(self, prediction: np.ndarray) -> float:
        """Return the mean square difference from the observed gradient, in units of the rounding."""
        grown = max(
            vector_length(prediction) / max(vector_length(self.exact), np.finfo(float).tiny), np.finfo(float).tiny
        )
        unit = grown * np.maximum(self.rounding, np.finfo(float).tiny)
        return float(np.mean((self.norms(self.observed - prediction) / unit) ** 2))

    @cached_property
    def negligible(self) -> tuple[int, ...]:
        """Blocks whose gradient is below their own rounding: neither right nor wrong values would be noticed."""
        return tuple(np.flatnonzero(self.norms(self.exact) <= self.tolerances).tolist())

    @cached_property
    def wrong(self) -> tuple[int, ...]:
        """The blocks in which the observed gradient differs from the declared one."""
        near = np.minimum(self.norms(self.observed - self.exact), self.norms(self.observed - self.computed))
        return tuple(np.flatnonzero(~(near <= self.tolerances)).tolist())

    def differing(self, prediction: np.ndarray) -> tuple[int, ...]:
        """Return the blocks in which a prediction differs from the observed gradient; rounding grows with its size."""
        mine, own, whole = self.norms(prediction), self.norms(self.exact), vector_length(self.exact)
        grown = np.divide(mine, own, out=np.zeros_like(mine), where=own > self.tolerances)
        grown = np.maximum(grown, vector_length(prediction) / whole if whole else 1.0)
        tolerance = self.tolerances * np.maximum(grown, np.finfo(float).tiny)
        return tuple(np.flatnonzero(~(self.norms(self.observed - prediction) <= tolerance)).tolist())

    def fit(self, columns: Sequence[np.ndarray], target: np.ndarray | None = None) -> ColumnFit:
        """Return the sum of columns that is closest to the observed gradient (or to another one)."""
        y = self.observed if target is None else target
        unit = np.repeat(self.rounding / np.sqrt(np.maximum(self.sizes, 1)), self.sizes)
        unit[unit == 0] = 1.0
        matrix = np.stack(columns, 1) / unit[:, None]
        sizes = np.linalg.norm(matrix, axis=0)
        sizes[sizes == 0] = 1.0
        u, s, vt = np.linalg.svd(matrix / sizes, full_matrices=False)
        kept = s > DEPENDENT_SHARE * max(s.max(initial=0.0), np.finfo(float).tiny)
        inverse = np.where(kept, 1 / np.where(kept, s, 1.0), 0.0)
        weights = vt.T @ (inverse * (u.T @ (y / unit))) / sizes
        errors = np.sqrt(((vt.T * inverse) ** 2).sum(1)) / sizes
        whole = np.stack(columns, 1) @ weights
        wrong = self.differing(whole) if target is None else ()
        return ColumnFit(weights, errors, whole, wrong, not kept.all())

    def determines(self, count: int) -> bool:
        """Report whether there are enough numbers to say something about `count` free weights."""
        return self.numbers >= 3 * count

    @property
    def numbers(self) -> int:
        return int((np.abs(self.exact) > 0).sum())

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the factor of the declared gradient that fits each block, and whether the fit is within rounding.

        The factor is nan where the declared gradient is negligible.
        """
        factors = np.full(len(self.sizes), np.nan)
        fits = np.zeros(len(self.sizes), bool)
        for k, block in enumerate(self.blocks):
            g, h = self.observed[block], self.exact[block]
            if vector_length(h) <= self.tolerances[k]:
                fits[k] = vector_length(g - h) <= self.tolerances[k]
                continue
            factors[k] = g @ h / (h @ h)
            fits[k] = vector_length(g - factors[k] * h) <= self.tolerances[k] * max(1.0, abs(factors[k]))
        return factors, fits
