"""What an adapter computes of a loss that is declared for a training step, and how it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

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


def first_that_works(step: Any, ways: Iterable[tuple[Any, bool]], evaluate: Callable[[], Declared]) -> Declared:
    """Evaluate the loss of a step with the first model and form of its batches that it accepts, and keep these.

    ways: models, each with whether the loss gets the batches spread. If none works, the first error is raised, and the
    step has the first way again.
    """
    first: Exception | None = None
    ways = list(ways)
    for step.model, step.spread in ways:
        try:
            found = evaluate()
        except NotDeclaredError:
            raise
        except Exception as error:
            first = first or error
            continue
        step.chosen = True
        return found
    assert first is not None
    step.model, step.spread = ways[0]
    raise first
