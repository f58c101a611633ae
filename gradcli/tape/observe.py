"""Watching a program being recorded: what each node computed, from what, where, and inside which module."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import elementwise, inplace, record
from .modes import state
from .saved_hooks import TracedNode, active, choose_node_class


class ObservedNode(TracedNode):
    """A node that knows the raw operands, parameters and result of its operation, and the scope it was made in."""

    __slots__ = ("operands", "params", "primitive", "result", "scope")

    def __init__(self) -> None:
        super().__init__()
        self.scope = scope_of()


scopes: list[Callable[[], Any]] = []
"""The innermost one is asked for the scope of a new node."""


def scope_of() -> Any:
    """Return the scope that new nodes belong to, None for none."""
    return scopes[-1]() if scopes else None


def copy_value(x: Any) -> Any:
    """Return a value as it is now: later changes in place do not reach it."""
    return tuple(copy_value(part) for part in x) if isinstance(x, tuple) else np.array(x) if np.ndim(x) else x


@contextlib.contextmanager
def observe(scope: Callable[[], Any] = lambda: None) -> Iterator[None]:
    """Record with nodes that know what they computed. Every operation takes the general path meanwhile."""
    original = record.make_node

    def make_node(primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Any:
        node: Any = original(primitive, nodes, out, raws, params)
        node.primitive, node.operands, node.params, node.result = primitive, tuple(raws), params, copy_value(out)
        return node

    saved = record.make_node, inplace.make_node, elementwise.key_of, state.observed
    active.observers.append(ObservedNode)
    choose_node_class()
    record.make_node = inplace.make_node = make_node
    elementwise.key_of = lambda tensor: None
    state.observed = True
    scopes.append(scope)
    try:
        yield
    finally:
        scopes.pop()
        record.make_node, inplace.make_node, elementwise.key_of, state.observed = saved  # type: ignore[misc]
        active.observers.pop()
        choose_node_class()
