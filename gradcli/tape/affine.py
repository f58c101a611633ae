"""The affine map x @ w.T + b in one step: what networks spend their time on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from . import record as recording
from .modes import state, suspended
from .node import OWNING, Node, Rule, next_seq
from .parameter import Parameter
from .record import outline, record
from .tensor import Tensor

UNTURNED, TURNED = (False, None), (True, None)
"""What the node of the transpose keeps: whether the cotangent that comes next has been transposed already."""


def affine_grads(node: Node, g: Any, _owned: bool) -> tuple:
    """The cotangents of b, x and w.T.

    The last one is made as that of w, in memory that its `.grad` can take over, where nobody sees it: not when
    the user has looked at the node, and never again once a pass was recorded, whose nodes lead to w.T as well.
    The node of the transpose is the next to run.
    """
    b, x, turn = node.p
    _, _, data, turned_weight = node.x
    db = None if b is None else g.sum(-2)
    dx = None if x is None else g @ turned_weight.swapaxes(-1, -2)
    if type(turned_weight) is Tensor and turned_weight._node is not None:
        turned_weight._node.out = SHARED  # dx leads there, even where nothing is wanted of the weight yet
    if turn is None:
        return db, dx, None
    if type(g) is not np.ndarray:
        turn.out = SHARED
    elif type(node) is Node and g.ndim == 2 and turn.out is not SHARED:
        turn.x = TURNED
        return db, dx, g.T @ data
    turn.x = UNTURNED
    return db, dx, data.swapaxes(-1, -2) @ g


def turned_grad(node: Node, g: Any, _owned: bool) -> tuple:
    """The cotangent of w."""
    return (g if node.x[0] and type(g) is np.ndarray else g.swapaxes(-1, -2),)


SHARED = "shared"
AFFINE = Rule("AddmmBackward0", OWNING, affine_grads, True, entry("affine"), {})
TURN = Rule("TBackward0", OWNING, turned_grad, False, entry("swapaxes"), {"axis1": -1, "axis2": -2})


def is_plain(x: Any, ndim: int, char: str) -> bool:
    """Return whether x is a tensor of the graph itself, of so many axes and of the given real float type."""
    return (type(x) is Tensor or type(x) is Parameter) and x._data.ndim == ndim and x._data.dtype.char == char


def affine(x: Any, w: Any, b: Any) -> Tensor | None:
    """Return x @ w.T + b for x (N, in), w (out, in) and b (out,); None for whatever is unusual."""
    data: Any = getattr(x, "_data", None)
    weight: Any = getattr(w, "_data", None)
    bias: Any = getattr(b, "_data", None)
    char = data.dtype.char if data is not None else ""
    if char not in ("d", "f") or not (is_plain(x, 2, char) and is_plain(w, 2, char) and is_plain(b, 1, char)):
        return None
    if data.shape[1] != weight.shape[1] or bias.shape[0] != weight.shape[0]:
        return None
    if state.observed or recording.Node is not Node:
        return record(entry("affine"), (b, x, w), {})
    result = Tensor()
    turned_weight = weight.T
    out = result._data = data.dot(turned_weight)
    out += bias
    result._key = result._node = None
    p, q, r = b._node, x._node, w._node
    if (p is None and q is None and r is None) or (suspended and not state.grad):
        return result
    turn = None
    if r is not None:
        turn = Node()
        turn.seq = next_seq()
        turn.rule = TURN
        turn.hooks = None
        turn.p = (r,)
        turn.x = UNTURNED
        turn.y = outline(turned_weight)
    node = result._node = Node()
    node.seq = next_seq()
    node.rule = AFFINE
    node.hooks = None
    node.p = (p, q, turn)
    node.x = (None, None, None if r is None else data, None if q is None else turned_weight)
    node.y = outline(out)
    return result


__all__ = ["affine"]
