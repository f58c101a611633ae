"""Finding the operation behind a NaN: nodes remember where they were made, backward stops at the first NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kinds import change
from .modes import state
from .node import Node


class AnomalyError(RuntimeError):
    """Backward met a NaN. `node` is the node that made it."""

    def __init__(self, message: str, node: Any):
        super().__init__(message)
        self.node = node


class detect_anomaly:  # noqa: N801 - PyTorch's name
    """A context in which backward raises RuntimeError at the first NaN, naming the operation and its line."""

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan

    def __enter__(self) -> None:
        self.previous = state.anomaly
        state.anomaly = self.check_nan
        change(traced=1)

    def __exit__(self, *_: Any) -> None:
        state.anomaly = self.previous
        change(traced=-1)


def check_gradients(node: Node, grads: tuple) -> None:
    """Raise AnomalyError when a node hands on a NaN."""
    for i, g in enumerate(grads):
        raw = getattr(g, "_data", g)
        if isinstance(raw, np.ndarray | np.generic) and raw.dtype.kind in "fc" and bool(np.isnan(raw).any()):
            made_at = getattr(node, "made_at", None)
            place = f", made at {made_at[0]}:{made_at[1]}" if made_at else ""
            raise AnomalyError(f"Function '{node.name()}' returned nan values in its {i}th output{place}.", node)
