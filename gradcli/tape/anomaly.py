"""Finding the operation behind a NaN: nodes remember where they were made, backward stops at the first NaN."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import quick, record
from .modes import state
from .node import Node


class AnomalyError(RuntimeError):
    """Backward met a NaN. `node` is the node that made it."""

    def __init__(self, message: str, node: Any):
        super().__init__(message)
        self.node = node


class TracedNode(Node):
    """A node that knows the file and line it was made at."""

    __slots__ = ("made_at",)

    def __init__(self) -> None:
        self.made_at = caller()


def caller() -> tuple[str, int] | None:
    """Return file and line of the nearest frame outside this package."""
    frame = calling_frame()
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def calling_frame() -> Any:
    """Return the nearest frame outside this package, None if there is none."""
    frame: Any = sys._getframe(2)
    package = __name__.split(".")[0]
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == package:
        frame = frame.f_back
    return frame


class detect_anomaly:  # noqa: N801 - PyTorch's name
    """A context in which backward raises RuntimeError at the first NaN, naming the operation and its line."""

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan

    def __enter__(self) -> None:
        self.previous = state.anomaly, record.Node
        state.anomaly = self.check_nan
        record.Node = quick.Node = TracedNode  # type: ignore[misc]

    def __exit__(self, *_: Any) -> None:
        state.anomaly, node = self.previous
        record.Node = quick.Node = node  # type: ignore[misc]


def check_gradients(node: Node, grads: tuple) -> None:
    """Raise AnomalyError when a node hands on a NaN."""
    for i, g in enumerate(grads):
        raw = getattr(g, "_data", g)
        if isinstance(raw, np.ndarray | np.generic) and raw.dtype.kind in "fc" and bool(np.isnan(raw).any()):
            made_at = getattr(node, "made_at", None)
            place = f", made at {made_at[0]}:{made_at[1]}" if made_at else ""
            raise AnomalyError(f"Function '{node.name()}' returned nan values in its {i}th output{place}.", node)
