"""Recording: run a primitive on raw arrays and, where a gradient is wanted, leave a node behind.

`record` handles every case. `unary` and `binary` make the quick recorders of the elementwise primitives:
one type test, one NumPy call, one Tensor, one node; whatever is unusual goes to `record`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.shapes import fit
from ..rules.table import ARRAY, SHAPE, Primitive, first_operand, recorder_of, second_operand
from .dtypes import defaults, result_type
from .modes import state, suspended
from .node import MANY, ONE, TWO, Node, OutputNode, Rule, Slots, next_seq
from .tensor import Tensor, key_of
from .views import track_view

FLOAT64, FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)


def apply_rules(node: Node, g: Any) -> tuple:
    """Call the vector-Jacobian product of every operand that wants a cotangent."""
    primitive, params = node.rule.primitive, node.rule.params
    saved, parents = node.x, node.p
    if primitive.arity is None:
        (rule,) = primitive.rules
        out, *xs = saved
        return tuple(None if p is None else rule(g, i, out, xs, **params) for i, p in enumerate(parents))
    rules = primitive.rules
    return tuple(None if p is None else rule(g, *saved, **params) for p, rule in zip(parents, rules, strict=True))


def apply_several(node: Node, g: Slots) -> tuple:
    """The same for a node with several outputs: rules get a list, None where an output was not used."""
    return apply_rules(node, [g.get(i) for i in range(node.rule.primitive.outputs)])


def apply_partials(node: Node, g: Any) -> tuple:
    """Multiply by partial derivatives, where shapes mix, operands are complex, or there are parameters."""
    params, shapes, ndim, conjugate = node.rule.params
    grads: list = []
    for p, partial, shape in zip(node.p, node.rule.primitive.rules, shapes, strict=True):
        if p is None:
            grads.append(None)
            continue
        if not callable(partial):
            grads.append(fit(scaled(g, partial), shape, ndim))
            continue
        factor = partial(*node.x, **params)
        grads.append(fit(g * (np.conj(factor) if conjugate else factor), shape, ndim))
    return tuple(grads)


def scaled(g: Any, constant: float) -> Any:
    """Return g times a constant partial derivative; 0 gives zeros, whatever g holds."""
    if constant == 0:
        return np.zeros_like(g)
    return g if constant == 1 else -g if constant == -1 else g * constant


def keep_flags(primitive: Primitive, needed: tuple[bool, ...]) -> tuple[int, ...]:
    """Return what to save for (out, *operands) when the `needed` operands want a gradient."""
    found = primitive.cache.get(needed)
    if found is None:
        rules = [keeps for keeps, want in zip(primitive.keeps, needed, strict=True) if want]
        size = 1 + len(needed)
        padded = [tuple(keeps) + (0,) * (size - len(keeps)) for keeps in rules]
        found = primitive.cache[needed] = tuple(_wanted([keeps[i] for keeps in padded]) for i in range(size))
    return found


def _wanted(flags: list[int]) -> int:
    return ARRAY if ARRAY in flags else SHAPE if SHAPE in flags else 0


def kept(flag: int, x: Any) -> Any:
    """Return what a flag says to keep of a raw value."""
    return x if flag == ARRAY else np.shape(x) if flag == SHAPE else None


def saved_values(primitive: Primitive, nodes: tuple, out: Any, raws: list) -> tuple:
    """Return (out, *operands) with only what the rules of the wanted operands read."""
    if primitive.arity is None:
        flags = primitive.keeps[0]
        return (kept(flags[0], out), *(kept(flags[1], x) for x in raws))
    flags = keep_flags(primitive, tuple(p is not None for p in nodes))
    return tuple(kept(flag, x) for flag, x in zip(flags, (out, *raws), strict=True))


def make_node(primitive: Primitive, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
    """Return the node of a computed result."""
    saves = any(ARRAY in keeps for keeps in primitive.keeps)
    label = primitive.node
    if callable(label):
        label = label(np.shape(raws[0]), params)
    if primitive.kind == "elementwise":
        conjugate = primitive.holomorphic and any(getattr(x, "dtype", FLOAT64).kind == "c" for x in raws)
        mixed = (params, tuple(np.shape(x) for x in raws), out.ndim, conjugate)
        rule = Rule(label, MANY, apply_partials, saves, primitive, mixed)
    else:
        apply = apply_rules if primitive.outputs == 1 else apply_several
        rule = Rule(label, MANY, apply, saves, primitive, params)
    return link(rule, nodes, saved_values(primitive, nodes, out, raws))


def link(rule: Rule, parents: tuple, saved: tuple) -> Node:
    """Return a new node."""
    node = Node()
    node.seq = next_seq()
    node.p = parents
    node.x = saved
    node.rule = rule
    node.hooks = None
    return node


def unpacked(primitive: Primitive, operands: tuple) -> tuple[list, list]:
    """Return raw operands and their nodes (None where no gradient is wanted), types made equal."""
    if primitive.promote != ():
        operands = promoted(primitive, operands)
    raws: list = []
    nodes: list = []
    for x in operands:
        if isinstance(x, Tensor):
            raws.append(x._array() if primitive.view else x._data)
            nodes.append(x._node)
        else:
            raws.append(x)
            nodes.append(None)
    return raws, nodes


def promoted(primitive: Primitive, operands: tuple) -> tuple:
    """Return the operands with those that mix cast to their common type; lists become arrays."""
    places = range(len(operands)) if primitive.promote is None else primitive.promote
    chosen = [as_operand(operands[i]) for i in places]
    dtypes = {x._data.dtype if isinstance(x, Tensor) else getattr(x, "dtype", None) for x in chosen} - {None}
    numbers = [x for x in chosen if isinstance(x, int | float | complex)]
    if len(dtypes) == 1 and not numbers:
        common = next(iter(dtypes))
    else:
        common = result_type([x._data if isinstance(x, Tensor) else x for x in chosen])
    out = list(operands)
    for i, x in zip(places, chosen, strict=True):
        out[i] = cast(x, common)
    return tuple(out)


def as_operand(x: Any) -> Any:
    """Return a list or tuple as an array; everything else as it is."""
    return np.asarray(x) if isinstance(x, list | tuple) else x


def cast(x: Any, dtype: Any) -> Any:
    """Return x in another type: recorded for Tensors that want a gradient, Python numbers left alone."""
    if isinstance(x, Tensor):
        if x._data.dtype == dtype:
            return x
        if x._node is None or dtype.kind not in "fc":
            return Tensor._wrap(x._data.astype(dtype), None)
        return record(entry("astype"), (x,), {"dtype": dtype, "source": x._data.dtype})
    if isinstance(x, np.ndarray | np.generic):
        return x if x.dtype == dtype else x.astype(dtype)
    return x


def record(primitive: Primitive, operands: tuple, params: dict) -> Any:
    """Compute a primitive on Tensors (arrays and numbers mixed in), and record it.

    Returns a Tensor, or a tuple of Tensors for a primitive with several outputs. Raises RuntimeError when a
    gradient is wanted that the primitive does not have.
    """
    raws, nodes = unpacked(primitive, operands)
    out = primitive.forward(*raws, **params)
    if primitive.outputs > 1:
        return _record_several(primitive, nodes, out, raws, params)
    if not isinstance(out, np.ndarray | np.generic):
        out = np.asarray(out)
    if out.dtype is FLOAT64 and defaults.float is not FLOAT64:
        out = settled(out, raws)
    node = None
    if state.grad and primitive.rules and any(p is not None for p in nodes) and out.dtype.kind in "fcO":
        check_complex(primitive, raws)
        node = make_node(primitive, tuple(nodes), out, raws, params)
    result = Tensor._wrap(out, node)
    if primitive.view:
        track_view(result, operands[0], primitive, params)
    return result


def _record_several(primitive: Primitive, nodes: list, outs: tuple, raws: list, params: dict) -> tuple:
    if not (state.grad and any(p is not None for p in nodes)):
        return tuple(Tensor._wrap(out, None) for out in outs)
    main = make_node(primitive, tuple(nodes), outs, raws, params)
    return tuple(
        Tensor._wrap(out, OutputNode(main, i) if out.dtype.kind in "fc" else None) for i, out in enumerate(outs)
    )


def settled(out: Any, raws: list) -> Any:
    """Return a float64 result that came from integers and Python numbers only in the default float type."""
    kinds = {x.dtype.kind for x in raws if isinstance(x, np.ndarray | np.generic)}
    return out if "f" in kinds or "c" in kinds else out.astype(defaults.float)


def check_complex(primitive: Primitive, raws: list) -> None:
    """Raise RuntimeError for a complex operand of a function without a complex derivative."""
    if not primitive.complex and any(getattr(x, "dtype", FLOAT64).kind == "c" for x in raws):
        raise RuntimeError(f"{primitive.name} does not support automatic differentiation for complex numbers")


# -- quick recorders -----------------------------------------------------------------------------


def unary(primitive: Primitive) -> Callable[[Any], Any]:
    """Return the recorder of an elementwise function of one operand."""
    forward = primitive.forward
    (partial,) = primitive.rules
    keep_out, keep_x = (flag == ARRAY for flag in (*primitive.keeps[0], 0, 0)[:2])

    if callable(partial):

        def apply(node: Node, g: Any) -> Any:
            return g * partial(node.out if keep_out else None, node.x if keep_x else None)

    else:

        def apply(node: Node, g: Any) -> Any:
            return scaled(g, partial)

    rule = Rule(primitive.node, ONE, apply, keep_out or keep_x, primitive)

    def function(x: Any) -> Any:
        if type(x) is not Tensor or (key := x._key or key_of(x)) is None:
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

    return _named(function, primitive)


def binary(primitive: Primitive, apply: Callable | None = None) -> Callable[[Any, Any], Any]:
    """Return the recorder of an elementwise function of two operands; `apply` computes it on raw data."""
    forward = apply or primitive.forward
    dx, dy = primitive.rules
    (both_out, both_x, both_y), left, right = (
        tuple(flag == ARRAY for flag in keep_flags(primitive, needed))
        for needed in ((True, True), (True, False), (False, True))
    )
    rule = Rule(primitive.node, TWO, pair_rule(dx, dy), both_out or both_x or both_y, primitive)

    def function(x: Any, y: Any) -> Any:
        if type(x) is not Tensor or (key := x._key or key_of(x)) is None:
            return dispatch(primitive, (x, y))
        if type(y) is Tensor:
            if key is not (y._key or key_of(y)):
                return dispatch(primitive, (x, y))
            q = y._node
            b = y._data
        elif type(y) is float or type(y) is int:
            q = None
            b = y
        else:
            return dispatch(primitive, (x, y))
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
            if both_x:
                node.x = a
            if both_y:
                node.y = b
            if both_out:
                node.out = out
        else:
            keep_out, keep_x, keep_y = left if q is None else right
            if keep_x:
                node.x = a
            if keep_y:
                node.y = b
            if keep_out:
                node.out = out
        return result

    return _named(function, primitive)


def pair_rule(dx: Any, dy: Any) -> Callable:
    """Return the function that computes both cotangents from two partial derivatives."""

    def product(node: Node, g: Any) -> tuple:
        return (None if node.p is None else g * node.y, None if node.q is None else g * node.x)

    def general(node: Node, g: Any) -> tuple:
        out, x, y = node.out, node.x, node.y
        return (None if node.p is None else g * dx(out, x, y), None if node.q is None else g * dy(out, x, y))

    def addition(node: Node, g: Any) -> tuple:
        return g, g

    def with_numbers(node: Node, g: Any) -> tuple:
        out, x, y = node.out, node.x, node.y
        return (
            None if node.p is None else g * dx(out, x, y) if callable(dx) else scaled(g, dx),
            None if node.q is None else g * dy(out, x, y) if callable(dy) else scaled(g, dy),
        )

    if dx is second_operand and dy is first_operand:
        return product
    if dx == 1 and dy == 1:
        return addition
    return general if callable(dx) and callable(dy) else with_numbers


def dispatch(primitive: Primitive, operands: tuple) -> Any:
    """Let the operands' types decide how to compute; plain arrays and numbers give a Tensor too."""
    recorder = recorder_of(operands) or record
    return recorder(primitive, operands, {})


def _named(function: Any, primitive: Primitive) -> Any:
    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = primitive.doc
    return function
