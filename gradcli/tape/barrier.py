"""Barriers: nodes through which backward does not pass, so that a wrong gradient becomes an error."""

from __future__ import annotations

from typing import Any

from .node import MANY, Node, Rule, next_seq
from .tensor import Tensor


def barrier(x: Tensor, message: str, parents: tuple) -> Tensor:
    """Return the same numbers with a node that leads to `parents`, through which backward raises RuntimeError."""

    return Tensor._wrap(x._data, refusing_node(x, message, parents))


def refusing_node(x: Tensor, message: str, parents: tuple) -> Node:
    """Return a node for a tensor that raises RuntimeError in backward."""

    def refuse(node: Node, g: Any) -> tuple:
        raise RuntimeError(message)

    node = Node()
    node.seq = next_seq()
    node.rule = Rule("Error", MANY, refuse, False)
    node.hooks = None
    node.p, node.x = parents, ()
    node.y = (x._data.shape, x._data.dtype)
    return node
