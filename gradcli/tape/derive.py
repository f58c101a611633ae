"""What nodes do in backward: they turn the cotangent of a result into those of its operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules.shapes import fit
from .node import Node, Slots


def apply_rules(node: Node, g: Any) -> tuple:
    """Call the vector-Jacobian product of every operand that wants a cotangent."""
    primitive, params = node.rule.primitive, node.rule.params
    saved, parents = node.x, node.p
    if primitive.arity is None:
        (rule,) = primitive.rules
        out, *xs = saved
        return tuple(None if p is None else rule(g, i, out, xs, **params) for i, p in enumerate(parents))
    rules = primitive.rules
    if len(parents) == 1 and parents[0] is not None:
        return (rules[0](g, *saved, **params),)
    return tuple(None if p is None else rule(g, *saved, **params) for p, rule in zip(parents, rules, strict=True))


def apply_several(node: Node, g: Slots) -> tuple:
    """The same for a node with several outputs: rules get a list, None where an output was not used."""
    return apply_rules(node, [g.get(i) for i in range(node.rule.primitive.outputs)])


def apply_partials(node: Node, g: Any) -> tuple:
    """Multiply by partial derivatives, where shapes mix, operands are complex, or there are parameters."""
    params, shapes, ndim, conjugate = node.rule.params
    primitive = node.rule.primitive
    pair = primitive.pair
    if pair is not None and not conjugate:
        both = pair(g, *node.x, *[p is not None for p in node.p])
        if both is not None:
            return tuple(x if x is None else fit(x, shape, ndim) for x, shape in zip(both, shapes, strict=True))
    grads: list = []
    for p, partial, shape in zip(node.p, primitive.rules, shapes, strict=True):
        if p is None:
            grads.append(None)
            continue
        if not callable(partial):
            grads.append(fit(scaled(g, partial), shape, ndim))
            continue
        factor = partial(*node.x, **params)
        grads.append(fit(g * (np.conj(factor) if conjugate else factor), shape, ndim))
    return tuple(grads)


def apply_large(node: Node, g: Any, owned: bool) -> tuple:
    """Multiply large arrays by partial derivatives, into memory that is at hand where there is some.

    owned: nobody else holds g, so its memory may be used once nothing more is computed from it.
    """
    params, shapes, ndim, _ = node.rule.params
    wanted = [i for i, p in enumerate(node.p) if p is not None]
    pair = node.rule.primitive.pair
    if pair is not None and len(wanted) == 2 and (both := pair(g, *node.x, True, True)) is not None:
        return tuple(fit(x, shape, ndim) for x, shape in zip(both, shapes, strict=True))
    grads: list = [None] * len(node.p)
    for i in wanted:
        partial, shape = node.rule.primitive.rules[i], shapes[i]
        free = owned and i == wanted[-1] and not any(x is g for x in grads)
        if callable(partial):
            factor = partial(*node.x, **params)
            room = g if free else factor if not any(factor is x for x in node.x) else None
            result = product_into(g, factor, room)
        elif constant_is_sign(partial):
            result = g if partial == 1 else np.negative(g, out=g if free else None)
        else:
            result = scaled(g, partial)
        grads[i] = fit(result, shape, ndim)
    return tuple(grads)


def constant_is_sign(partial: Any) -> bool:
    """Return whether a constant partial derivative is 1 or -1."""
    return partial in (1, -1)


def is_one(g: Any) -> bool:
    """Return whether a cotangent is the number 1 broadcast to a shape: what the sum of a loss sends back."""
    return type(g) is np.ndarray and not any(g.strides) and g.size > 0 and g.item(0) == 1


def product_into(g: Any, factor: Any, room: Any) -> Any:
    """Return g * factor, written into `room` if that is an array of the result's shape and type.

    What is not to be written into later is returned as a view.
    """
    if is_one(g) and np.shape(factor) == g.shape and factor.dtype == g.dtype:
        return factor if room is factor else factor.view()
    if (
        type(room) is np.ndarray
        and room.shape == g.shape == np.shape(factor)
        and room.dtype == g.dtype
        and getattr(factor, "dtype", g.dtype) == g.dtype
        and room.flags.writeable
        and room.base is None
    ):
        return np.multiply(g, factor, out=room)
    return g * factor


def scaled(g: Any, constant: float) -> Any:
    """Return g times a constant partial derivative; 0 gives zeros, whatever g holds."""
    if constant == 0:
        return np.zeros_like(g)
    return g if constant == 1 else -g if constant == -1 else g * constant
