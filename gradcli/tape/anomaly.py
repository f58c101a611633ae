"""Record where nodes were made and what they computed, to find the operation behind a NaN or an error."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import add_advice, lines_of_file
from .modes import state
from .node import Node, NodePairs
from .record import Mode, begin, end_mode


class Origin:
    """The file and line where a node was made."""

    def __init__(self) -> None:
        frame = calling_frame()
        self.made_at = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


class RecordedOrigin(Origin):
    """An origin with what the node computed: raw operands, parameters and result, and the scope it was made in."""

    def __init__(self, primitive: Any, operands: tuple, params: dict, result: Any, scope: Any):
        super().__init__()
        self.primitive, self.operands, self.params = primitive, operands, params
        self.result, self.scope = result, scope


class OriginMode(Mode):
    """A mode that records where each node was made."""

    def make_node(self, primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
        node = self.below.make_node(primitive, nodes, out, raws, params)
        if node.origin is None:
            node.origin = Origin()
        return node

    def note(self, node: Node) -> None:
        node.origin = Origin()


class Observed(Mode):
    """A mode that records what each node computed, and in which scope."""

    renames = False

    def __init__(self, scope: Callable[[], Any]):
        self.scope = scope

    def make_node(self, primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
        node = self.below.make_node(primitive, nodes, out, raws, params)
        node.origin = RecordedOrigin(primitive, tuple(raws), params, copy_value(out), self.scope())
        return node


def observation_of(node: Node) -> RecordedOrigin | None:
    return node.origin if isinstance(node.origin, RecordedOrigin) else None


def copy_value(x: Any) -> Any:
    """Copy a value, so that later in-place changes do not affect it."""
    return tuple(copy_value(part) for part in x) if isinstance(x, tuple) else np.array(x) if np.ndim(x) else x


def calling_frame() -> Any:
    """Return the nearest frame outside this package, or None."""
    frame: Any = sys._getframe(1)
    package = __name__.split(".")[0]
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == package:
        frame = frame.f_back
    return frame


class AnomalyError(RuntimeError):
    """Raised when backward finds a NaN; `node` computed it."""

    def __init__(self, message: str, node: Any):
        super().__init__(message)
        self.node = node


def switch(anomaly: bool, check_nan: bool, explains: bool) -> tuple[bool, bool, bool]:
    """Switch the search for anomalies and the tracing of lines on or off; return the old settings."""
    before = state.anomaly, state.check_nan, state.explains
    state.anomaly, state.check_nan, state.explains = anomaly, check_nan, explains
    if anomaly and state.traced is None:
        state.traced = OriginMode()
        begin(state.traced)
    elif not anomaly and state.traced is not None:
        end_mode(state.traced)
        state.traced = None
    return before


class nan_search:  # noqa: N801 - a context like PyTorch's
    """A context in which backward raises AnomalyError at the first NaN, and nodes record the line that made them."""

    explains = False

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan

    def __enter__(self) -> None:
        self.previous = switch(True, self.check_nan, self.explains)

    def __exit__(self, *_: Any) -> None:
        switch(*self.previous)


class detect_anomaly(nan_search):  # noqa: N801 - PyTorch's name
    """A context in which backward raises RuntimeError at the first NaN, naming the operation and its line.

    Other errors in backward name the line of the operation as well. check_nan: whether to look for NaNs.
    """

    explains = True

    def __init__(self, check_nan: bool = True):
        super().__init__(check_nan)
        warnings.warn(
            "Anomaly Detection has been enabled. It makes programs slow: use it for debugging only.", stacklevel=2
        )


class set_detect_anomaly(nan_search):  # noqa: N801 - PyTorch's name
    """Switch the search for anomalies on or off immediately; as a context manager, restore the old setting."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self.previous = switch(bool(mode), check_nan, bool(mode))

    def __enter__(self) -> None:
        """Do nothing: the constructor has already set the mode."""


def run_observed(run: Callable[..., NodePairs], node: Any, *rest: Any) -> NodePairs:
    """Run a node. Raises AnomalyError for a NaN in its result. If `explains` is set, errors come with a warning."""
    try:
        pairs = run(node, *rest)
        if state.check_nan:
            check_for_nan(node, [g for _, g in pairs])
    except Exception:
        if state.explains:
            warn_about_node(node)
        raise
    return pairs


def warn_about_node(node: Any) -> None:
    """Warn about an error in a node, with the line where the node was made."""
    text = f"Error detected in {node.name()}. "
    made_at = getattr(node.origin, "made_at", None)
    if made_at is None:
        text += "No forward pass information available: enable detect_anomaly during the forward pass, too."
    else:
        file, line = made_at
        code = "".join(lines_of_file(file)[line - 1 : line]).strip()
        text += f'Traceback of forward call that caused the error:\n  File "{file}", line {line}\n    {code}\n'
    try:
        warnings.warn(text, stacklevel=2)
    except Warning as warning:  # if warnings are errors, still raise the original error
        print(f"Warning: {warning}", file=sys.stderr)


def check_for_nan(node: Node, grads: Iterable) -> None:
    """Raise AnomalyError if a node's results contain a NaN."""
    for i, g in enumerate(grads):
        raw = getattr(g, "_data", g)
        if isinstance(raw, np.ndarray | np.generic) and raw.dtype.kind in "fc" and bool(np.isnan(raw).any()):
            made_at = getattr(node.origin, "made_at", None)
            error = AnomalyError(f"Function '{node.name()}' returned nan values in its {i}th output.", node)
            raise add_advice(error, f"this node was made at {made_at[0]}:{made_at[1]}") if made_at else error
