"""What is known about a step whose gradient is wrong, and what a cause says about it.

`StepEvidence` gives the declared gradients of single batches and terms, which are computed when a hypothesis first
needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from .step_fit import ColumnFit, GradientComparison, join_vectors

NumberSequence = Sequence[float] | np.ndarray
MOST_NAMED = 3
SMALL_WEIGHT = 1e-4  # weights below this share of the largest one count as zero
ROUND_NORMS = (0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 5.0, 10.0, 20.0, 25.0, 50.0, 100.0)
"""Limits that programs clip to, for clipping that is not PyTorch's own and was not noted."""


class OptimizerStep(Protocol):
    """What is known about a step; an adapter for each framework computes it."""

    names: Any
    unused: Sequence[str]
    before: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] | None
    parameters: dict[str, np.ndarray]
    batches: Sequence[Any]
    ranks: Sequence[int]
    loss_scale: float | None
    clips: Sequence[tuple[str, float, float | None]]
    windows_before: Sequence[int]
    counts: Sequence[tuple[str, float]]
    has_moved: bool

    def declared_with_stale_casts(self) -> Any: ...

    def declared(self, some: Sequence[int] | None = None, **how: Any) -> Any: ...


class Named(NamedTuple):
    """A cause: its rule, the evidence in one line, and the weights of batches or terms next to the declared ones.

    sum: the gradient that it predicts.
    """

    rule: str
    text: str
    weights: tuple[tuple[str, float, float], ...] = ()
    sum: np.ndarray | None = None


class StepEvidence:
    """A step with the comparison of its gradient. terms: the declared gradients by term."""

    def __init__(self, step: OptimizerStep, compared: GradientComparison, terms: dict[str, dict[str, np.ndarray]]):
        self.step, self.compared = step, compared
        self.names = list(step.names)
        self.terms = {term: join_vectors(gradients, self.names) for term, gradients in terms.items()}
        self.count = len(step.batches)

    @property
    def observed(self) -> np.ndarray:
        return self.compared.observed

    @property
    def exact(self) -> np.ndarray:
        return self.compared.exact

    @property
    def single(self) -> bool:
        """Whether the gradient is a single number, which any factor and any limit fits."""
        return len(self.observed) < 2

    @cached_property
    def parts(self) -> list[dict[str, np.ndarray]]:
        """The declared gradients of each batch alone, by term."""
        found = [self.step.declared([k]).gradients for k in range(self.count)]
        return [{term: join_vectors(x, self.names) for term, x in gradients.items()} for gradients in found]

    @cached_property
    def batches(self) -> list[np.ndarray]:
        return [sum(terms.values(), start=np.zeros_like(self.exact)) for terms in self.parts]

    @cached_property
    def wanted(self) -> ColumnFit | None:
        """The weights with which the batches make up the declared gradient, if they do."""
        if self.count < 2 or self.compared.numbers <= self.count:
            return None
        fit = self.compared.fit(self.batches, self.exact)
        off = self.compared.norms(fit.sum - self.exact) > self.compared.tolerances
        return None if fit.dependent or off.any() else fit

    def one(self, column: np.ndarray) -> tuple[float, bool]:
        """Return the factor of a column that is closest to the observed gradient, and whether they agree."""
        size = column @ column
        if not size:
            return 0.0, False
        factor = float(column @ self.observed / size)
        return factor, not self.compared.differing(factor * column)

    def near(self, x: float, y: float) -> bool:
        """Report whether two factors agree within the resolution of the comparison."""
        return y != 0 and abs(x / y - 1) < max(2 * self.compared.resolution, 1e-5)


def short_number(x: float) -> str:
    return f"{x:.5g}"


def list_of_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def weights_of(values: NumberSequence, wanted: NumberSequence, names: Sequence[str]) -> tuple:
    return tuple((name, float(x), float(y)) for name, x, y in zip(names, values, wanted, strict=True))


def batch_names(count: int) -> list[str]:
    return [f"batch {k + 1}" for k in range(count)]


def vector_text(values: NumberSequence) -> str:
    shown = ", ".join(f"{x:.4g}" for x in values[:8])
    return f"{shown}, …" if len(values) > 8 else shown


def limits_of(e: StepEvidence) -> list[float]:
    return list(dict.fromkeys(limit for kind, limit, _ in e.step.clips if kind == "norm"))
