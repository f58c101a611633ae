"""What an adapter computes of a loss that is declared for a training step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class NotDeclaredError(Exception):
    """The loss says nothing about this step: it returned None."""


class Declared(NamedTuple):
    """A declared loss on some batches: the value of each term, and its gradients by parameter, as float64 vectors.

    replayed: whether the calls of the model gave the outputs of the run; None if none could be compared. narrow: the
    functions that were computed in float32.
    """

    values: dict[str, float]
    gradients: dict[str, dict[str, np.ndarray]]
    replayed: bool | None = None
    narrow: tuple[str, ...] = ()

    @property
    def total(self) -> dict[str, np.ndarray]:
        first, *others = self.gradients.values()
        return {name: sum((term[name] for term in others), start=x) for name, x in first.items()}
