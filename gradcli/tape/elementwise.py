"""The quick recorders of elementwise functions of one and two operands, each built from its entry.

One type test, one NumPy call, one Tensor, one node. Whatever is unusual (mixed shapes or types, large or complex
arrays, other kinds of operands, a mode of recording) falls back to `record`, which takes 2.4 to 5.9 times as long.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules.table import ARRAY, Primitive
from .modes import moded, state, suspended
from .node import Node, next_seq
from .parameter import Parameter
from .record import dispatch, keep_flags
from .rule import Rule
from .tensor import Tensor
from .vjps import LARGE, elementwise_sender

_keys: dict = {}
PAGE = 4096
"""Bytes of a page of memory, mostly."""


@functools.cache
def keep_freed_memory() -> None:
    """Have the C library keep up to 64 MB of freed memory, once arrays of more than a page are computed with.

    glibc returns freed memory to the system beyond twice the largest block that was freed so far. Freeing a block,
    of which nothing was touched, spares every later pass the page faults: it takes 0.2 to 0.8 of the time.
    """
    np.empty(32_000_000, np.uint8)


def key_of(tensor: Tensor) -> Any:
    """Return the tensor's key, None if it is large or holds no real floats: it is not for quick operations."""
    data = tensor._data
    if data.nbytes > PAGE:
        keep_freed_memory()
    if data.dtype.char not in "df" or not data.dtype.isnative or data.size >= LARGE:
        return None
    if len(_keys) > 10_000:
        _keys.clear()
    kind = (data.dtype.char, data.shape)
    key = tensor._key = _keys.setdefault(kind, kind)
    return key


def unary(primitive: Primitive) -> Callable[[Any], Any]:
    """Return the recorder of an elementwise function of one operand."""
    keep_out, keep_x = (flag == ARRAY for flag in (*primitive.keeps[0], 0, 0)[:2])
    forward = primitive.forward
    rule = Rule(primitive.node, elementwise_sender(primitive), primitive.saves, primitive, fresh=True, arity=1)

    def function(x: Any) -> Any:
        if (
            (type(x) is not Tensor and type(x) is not Parameter)
            or (key := x._key or key_of(x)) is None
            or (moded and state.recorder is not None)
        ):
            return dispatch(primitive, (x,))
        result = Tensor()
        data = x._data
        out = result._data = forward(data)
        result._key = key
        parent = x._node
        if parent is not None and (not suspended or state.grad):
            node = result._node = Node()
            node.seq = next_seq()
            node.rule = rule
            node.hooks = None
            node.parent = parent
            node.kept_out = out if keep_out else None
            node.kept_x = data if keep_x else None
        else:
            result._node = None
        return result

    return _give_name(function, primitive)


def binary(primitive: Primitive, apply: Callable | None = None) -> Callable[[Any, Any], Any]:
    """Return the recorder of an elementwise function of two operands; `apply` computes it on raw data.

    Nodes for a Python number on the right have a name of their own where the entry has one.
    """
    both, left, right = (
        tuple(flag == ARRAY for flag in keep_flags(primitive, needed))
        for needed in ((True, True), (True, False), (False, True))
    )
    send = elementwise_sender(primitive)
    of_tensors = Rule(primitive.node, send, primitive.saves, primitive, fresh=True, arity=2)
    number = primitive.variants[1]
    of_number = of_tensors if number is None else of_tensors.rename(number)
    forward = apply or primitive.forward

    def function(x: Any, y: Any) -> Any:
        if (
            (type(x) is not Tensor and type(x) is not Parameter)
            or (key := x._key or key_of(x)) is None
            or (moded and state.recorder is not None)
        ):
            return dispatch(primitive, (x, y))
        if type(y) is Tensor or type(y) is Parameter:
            if key is not (y._key or key_of(y)):
                return dispatch(primitive, (x, y))
            q = y._node
            b = y._data
            rule = of_tensors
        elif type(y) is float or type(y) is int:
            q = None
            b = y
            rule = of_number
        else:
            return NotImplemented if type(y) is str else dispatch(primitive, (x, y))
        result = Tensor()
        p = x._node
        a = x._data
        out = result._data = forward(a, b)
        result._key = key
        if (p is None and q is None) or (suspended and not state.grad):
            result._node = None
            return result
        node = result._node = Node()
        node.seq = next_seq()
        node.rule = rule
        node.hooks = None
        node.parent = p
        node.other_parent = q
        keep_out, keep_x, keep_y = both if p is not None and q is not None else left if q is None else right
        node.kept_out = out if keep_out else None
        node.kept_x = a if keep_x else None
        node.kept_y = b if keep_y else None
        return result

    return _give_name(function, primitive)


def _give_name(function: Any, primitive: Primitive) -> Any:
    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = primitive.doc
    return function
