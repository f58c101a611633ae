"""Modes that note where nodes are made, and what they computed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .modes import state
from .node import Node
from .record import Mode


class Origin:
    """Where a node was made: file and line, and the node whose backward made it, if any."""

    def __init__(self) -> None:
        frame = calling_frame()
        self.made_at = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        self.made_by = state.running


class Observation(Origin):
    """What a node computed besides: the raw operands, parameters and result, and the scope it was made in."""

    def __init__(self, primitive: Any, operands: tuple, params: dict, result: Any, scope: Any):
        super().__init__()
        self.primitive = primitive
        self.operands = operands
        self.params = params
        self.result = result
        self.scope = scope


class Traced(Mode):
    """Records nodes that know where they were made."""

    def make_node(self, primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
        """Return the node of a computed result."""
        node = self.below.make_node(primitive, nodes, out, raws, params)
        if node.origin is None:
            node.origin = Origin()
        return node

    def note(self, node: Node) -> None:
        """Note the origin of a custom function's node."""
        node.origin = Origin()


class Observed(Mode):
    """Records nodes that know what they computed, and in which scope."""

    renames = False

    def __init__(self, scope: Callable[[], Any]):
        self.scope = scope

    def make_node(self, primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
        """Return the node of a computed result."""
        node = self.below.make_node(primitive, nodes, out, raws, params)
        node.origin = Observation(primitive, tuple(raws), params, copy_value(out), self.scope())
        return node


def observation_of(node: Node) -> Observation | None:
    """Return what was noted of a node's operation, None where it was not observed."""
    return node.origin if isinstance(node.origin, Observation) else None


def copy_value(x: Any) -> Any:
    """Return a value as it is now: later changes in place do not reach it."""
    return tuple(copy_value(part) for part in x) if isinstance(x, tuple) else np.array(x) if np.ndim(x) else x


def calling_frame() -> Any:
    """Return the nearest frame outside this package, None if there is none."""
    frame: Any = sys._getframe(1)
    package = __name__.split(".")[0]
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == package:
        frame = frame.f_back
    return frame
