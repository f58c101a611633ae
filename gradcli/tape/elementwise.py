"""Quick recorders for elementwise functions of one and two operands.

One type test, one NumPy call, one Tensor, one node. Whatever is unusual (mixed shapes or types, large or complex
arrays, other kinds of operands) goes to `record`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..rules.table import ARRAY, Primitive, first_operand, second_operand
from .modes import state, suspended
from .node import ONE, PRODUCT, TWO, Node, Rule, next_seq
from .parameter import Parameter
from .record import LARGE, dispatch, keep_flags
from .tensor import Tensor
from .walk import scale_by_constant

_keys: dict = {}


def key_of(tensor: Tensor) -> Any:
    """Return the tensor's key, None if it is large or holds no real floats: it is not for quick operations."""
    data = tensor._data
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

    forward, rule = primitive.forward, unary_rule(primitive, keep_out, keep_x)

    def function(x: Any) -> Any:
        if (type(x) is not Tensor and type(x) is not Parameter) or (key := x._key or key_of(x)) is None:
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
            node.p = parent
            if keep_x:
                node.x = data
            if keep_out:
                node.out = out
        else:
            result._node = None
        return result

    return _give_name(function, primitive)


def unary_rule(primitive: Primitive, keep_out: bool, keep_x: bool) -> Rule:
    """Return what the nodes of an elementwise function of one operand do, which save its result or operand."""
    (partial,) = primitive.rules

    if callable(partial) and not keep_out:

        def apply(node: Node, g: Any) -> Any:
            return g * partial(None, node.x)

    elif callable(partial):

        def apply(node: Node, g: Any) -> Any:
            return g * partial(node.out, node.x if keep_x else None)

    else:

        def apply(node: Node, g: Any) -> Any:
            return scale_by_constant(g, partial)

    return Rule(primitive.node, ONE, apply, keep_out or keep_x, primitive)


def binary(primitive: Primitive, apply: Callable | None = None) -> Callable[[Any, Any], Any]:
    """Return the recorder of an elementwise function of two operands; `apply` computes it on raw data.

    Nodes for a Python number on the right have a name of their own where the entry has one.
    """
    dx, dy = primitive.rules
    (both_out, both_x, both_y), left, right = (
        tuple(flag == ARRAY for flag in keep_flags(primitive, needed))
        for needed in ((True, True), (True, False), (False, True))
    )
    is_product = dx is second_operand and dy is first_operand
    kind = PRODUCT if is_product else TWO
    saves = both_out or both_x or both_y
    pair = multiply_cotangents if is_product else pair_rule(dx, dy, primitive.pair, (both_out, both_x, both_y))
    of_tensors = Rule(primitive.node, kind, pair, saves, primitive)
    number = primitive.variants[1]
    of_number = of_tensors if number is None else Rule(number, kind, pair, saves, primitive)
    forward = apply or primitive.forward

    def function(x: Any, y: Any) -> Any:
        if (type(x) is not Tensor and type(x) is not Parameter) or (key := x._key or key_of(x)) is None:
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
        node.p = p
        node.q = q
        if p is not None and q is not None:
            if both_y:
                node.y = b
            if both_x:
                node.x = a
            if both_out:
                node.out = out
        else:
            keep_out, keep_x, keep_y = left if q is None else right
            node.y = b if keep_y else None
            node.x = a if keep_x else None
            node.out = out if keep_out else None
        return result

    return _give_name(function, primitive)


def multiply_cotangents(node: Node, g: Any) -> tuple:
    """The cotangents of x y: g y and g x."""
    return (None if node.p is None else g * node.y, None if node.q is None else g * node.x)


def pair_rule(dx: Any, dy: Any, pair: Callable | None, kept: tuple[bool, bool, bool]) -> Callable:
    """Return the function that computes both cotangents from two partial derivatives.

    pair: computes both together, where the entry has a better way. kept: which of out, x and y are saved.
    """
    keep_out, keep_x, keep_y = kept

    def general(node: Node, g: Any) -> tuple:
        out, x, y = node.out if keep_out else None, node.x if keep_x else None, node.y if keep_y else None
        return (None if node.p is None else g * dx(out, x, y), None if node.q is None else g * dy(out, x, y))

    def at_once(node: Node, g: Any) -> tuple:
        out, x = node.out if keep_out else None, node.x if keep_x else None
        y = node.y if keep_y else None
        both = pair(g, out, x, y, node.p is not None, node.q is not None)  # type: ignore[misc]
        return general(node, g) if both is None else both

    def addition(node: Node, g: Any) -> tuple:
        return g, g

    def with_numbers(node: Node, g: Any) -> tuple:
        out, x, y = node.out if keep_out else None, node.x if keep_x else None, node.y if keep_y else None
        return (
            None if node.p is None else g * dx(out, x, y) if callable(dx) else scale_by_constant(g, dx),
            None if node.q is None else g * dy(out, x, y) if callable(dy) else scale_by_constant(g, dy),
        )

    if pair is not None:
        return at_once
    if dx == 1 and dy == 1:
        return addition
    return general if callable(dx) and callable(dy) else with_numbers


def _give_name(function: Any, primitive: Primitive) -> Any:
    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = primitive.doc
    return function
