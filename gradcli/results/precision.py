"""How many digits of a value and a gradient are right, over a range."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Loss(NamedTuple):
    """The operation that loses the digits of a value or of a gradient at a point.

    of: "value" or the input whose gradient it is. kind: forward, or in backward the local rule of an operation
    (backward) or the sum of what reaches a result along several ways (sum). formula: the operation in the program's
    words; line: of the source, where it has several. before, after: digits of what went in and of what came out.
    parts: the numbers that went in, result: what came out, right: what it should be; without parts where there are
    many. ways: the operations from which the parts of a sum came.
    """

    of: str
    at: float
    kind: str
    formula: str
    line: int | None
    before: float
    after: float
    parts: tuple[float, ...]
    result: float
    right: float
    ways: tuple[str, ...] = ()


class Precision(NamedTuple):
    """Right digits of a value and its gradients along one input.

    x: the points. full: the digits of the type. value, gradients by input: digits at each point, nan where there is
    no value.
    """

    target: str
    name: str
    x: np.ndarray
    full: float
    value: np.ndarray
    gradients: dict[str, np.ndarray]
    losses: tuple[Loss, ...] = ()
    output: str | None = None

    @property
    def columns(self) -> dict[str, np.ndarray]:
        return {"value": self.value, **{f"d/d{name}": x for name, x in self.gradients.items()}}
