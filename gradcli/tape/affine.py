"""The affine map x @ w.T + b in one step: what networks spend their time on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from . import record as recording
from .edges import outline_of
from .modes import state, suspended
from .node import OWNING, Node, Rule, next_seq
from .parameter import Parameter
from .record import record
from .tensor import Tensor

MANY_ELEMENTS = 65536
FEW = 200_000
"""Multiplications up to which a product is not worth a thought."""
UNPACKED = 1_000_000
"""Multiplications up to which OpenBLAS takes matrices as they lie in memory, on processors that let it."""
UNPACKED_RESULT = 1200
"""Elements of x @ w.T up to which it does so."""


def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return x @ y: `dot` has less to do around a small product, but fills a large result with zeros first."""
    return x.dot(y) if len(x) * y.shape[1] < MANY_ELEMENTS else np.matmul(x, y)


def mapped(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return x @ w.T; 2 to 32 rows and a medium weight in blocks of the weight.

    That takes 0.3 to 1.15 of the time of the whole with two threads, 0.2 to 1.05 with one.
    """
    (rows, width), height = x.shape, len(w)
    work = rows * width * height
    small = x.dtype.char == "f"
    suits = FEW < work <= (4 * UNPACKED if small else UNPACKED) and 1 < rows <= 32 and width >= 64
    if not suits:
        return product(x, w.T)
    blocks = 1 << max(rows * height // UNPACKED_RESULT, work // UNPACKED).bit_length()
    if blocks > (8 if small else 4) or height % blocks or not w.flags.c_contiguous:
        return product(x, w.T)
    result = np.empty((rows, height), x.dtype)
    part = (blocks, height // blocks)
    np.matmul(x, w.reshape(*part, width).swapaxes(1, 2), out=result.reshape(rows, *part).swapaxes(0, 1))
    return result


def thin_product(g: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return g.T @ x in memory of its own.

    Few rows that make a large matrix are multiplied in blocks: up to twice as fast.
    """
    (rows, height), width = g.shape, x.shape[1]
    work = rows * height * width
    if height * width < MANY_ELEMENTS or not UNPACKED < work <= 4 * UNPACKED or height % 4 or g.dtype.char != "f":
        return product(g.T, x)
    result = np.empty((height, width), g.dtype)
    part = (4, height // 4)
    np.matmul(g.reshape(rows, *part).transpose(1, 2, 0), x, out=result.reshape(*part, width))
    return result


def affine_grads(node: Node, g: Any, _owned: bool) -> tuple:
    """The cotangents of b, x and w."""
    b, x, w = node.p
    _, _, data, weight = node.x
    if type(g) is np.ndarray and g.ndim == 2:
        return (
            None if b is None else np.add.reduce(g, axis=-2),
            None if x is None else product(g, weight),
            None if w is None else thin_product(g, data),
        )
    return (
        None if b is None else g.sum(-2),
        None if x is None else g @ weight,
        None if w is None else g.swapaxes(-1, -2) @ data,
    )


def unfolded_grads(node: Node, g: Any, _owned: bool) -> tuple:
    """The cotangents of b, x and w.T."""
    b, x, turn = node.p
    _, _, data, turned_weight = node.x
    return (
        None if b is None else g.sum(-2),
        None if x is None else g @ turned_weight.swapaxes(-1, -2),
        None if turn is None else data.swapaxes(-1, -2) @ g,
    )


def unfold(node: Node) -> None:
    """Put the node of w.T, which PyTorch records, between a node and that of w."""
    b, x, w = node.p
    if w is not None:
        node.p = (b, x, turned(w, node.seq + 1))
    if node.rule.apply is affine_grads:
        _, _, data, weight = node.x
        node.x = (None, None, data, None if weight is None else weight.T)
        node.rule = UNFOLDED


def turned(w: Node, seq: int) -> Node:
    """Return the node of the transpose of what a node made, of a sequence number."""
    turn = Node()
    turn.seq = seq
    turn.rule = TURN
    turn.hooks = None
    turn.p = (w,)
    turn.x = (None, None)
    shape, dtype = outline_of(w)
    turn.y = (shape[::-1], dtype)
    plan = state.plan
    if plan is not None and plan.on_path is not None and w in plan.on_path:
        plan.on_path.add(turn)
    return turn


def turned_grad(_node: Node, g: Any, _owned: bool) -> tuple:
    """The cotangent of w."""
    return (g.swapaxes(-1, -2),)


AFFINE = Rule("AddmmBackward0", OWNING, affine_grads, True, entry("affine"), {}, unfold)
UNFOLDED = Rule("AddmmBackward0", OWNING, unfolded_grads, True, entry("affine"), {})
TURN = Rule("TBackward0", OWNING, turned_grad, False, entry("swapaxes"), {"axis1": -1, "axis2": -2})


PLAIN = frozenset((Tensor, Parameter))


def affine(x: Any, w: Any, b: Any) -> Tensor | None:
    """Return x @ w.T + b for x (N, in), w (out, in) and b (out,); None for whatever is unusual."""
    if type(x) not in PLAIN or type(w) not in PLAIN or type(b) not in PLAIN:
        return None
    data, weight, bias = x._data, w._data, b._data
    dtype, shape = data.dtype, data.shape
    if dtype.char not in "df" or weight.dtype is not dtype or bias.dtype is not dtype:
        return None
    if len(shape) != 2 or weight.ndim != 2 or shape[1] != weight.shape[1] or bias.shape != weight.shape[:1]:
        return None
    if state.observed or recording.Node is not Node:
        return record(entry("affine"), (b, x, w), {})
    out = mapped(data, weight)
    out += bias
    result = Tensor()
    result._data = out
    result._key = result._node = None
    p, q, r = b._node, x._node, w._node
    if (p is None and q is None and r is None) or (suspended and not state.grad):
        return result
    next_seq()  # the number of the node of w.T, if the user should want to see that
    node = result._node = Node()
    node.seq = next_seq()
    node.rule = AFFINE
    node.hooks = None
    node.p = (p, q, r)
    node.x = (None, None, None if r is None else data, None if q is None else weight)
    node.y = (out.shape, dtype)
    return result


__all__ = ["affine"]
