"""The backward pass of a custom function: what it is given, and whether its answer fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import noted
from ..rules.shapes import fit
from .context import SLOT_NAMES, differentiable, stashed
from .node import Slots
from .tensor import Tensor


def run_backward(ctx: Any, g: Any, method: Any) -> tuple:
    """Call `method`, the user's backward, on the cotangents of the outputs."""
    several = isinstance(g, Slots)
    given = [g.get(i) for i in range(len(ctx._outlines))] if several else [g]
    create = any(isinstance(x, Tensor) for x in given)
    known = next(i for i, x in enumerate(given) if x is not None)
    extra = given[known].ndim - len(ctx._outlines[known][0])
    if extra:
        return one_by_one(ctx, given, several, create, method)
    tensors = [cotangent(ctx, i, x) for i, x in enumerate(given)]
    hidden = hide_stashed(ctx) if create else {}
    try:
        grads = method(ctx, *tensors)
    finally:
        for name, x in hidden.items():
            setattr(ctx, name, x)
    return checked(ctx, grads, create)


def cotangent(ctx: Any, i: int, g: Any) -> Any:
    """Return what backward gets for one output: a Tensor, zeros, or None."""
    outline = ctx._outlines[i]
    if g is None:
        if outline is None or not ctx.materialize_grads:
            return None
        if i in ctx._constant_places and not ctx._materialize_non_diff_grads:
            return None
        return Tensor._wrap(np.zeros(*outline), None)
    return g if isinstance(g, Tensor) else Tensor._wrap(g, None)


def hide_stashed(ctx: Any) -> dict:
    """Put barriers in place of tensors that forward stashed on ctx; return what was there."""
    found = {}
    for name in [*ctx.__dict__, *SLOT_NAMES]:
        x = getattr(ctx, name, None)
        if isinstance(x, Tensor) and x._node is None and id(x) not in ctx._own and differentiable(x):
            found[name] = x
            setattr(ctx, name, stashed(x, ctx, f"stashed as ctx.{name}"))
    return found


def one_by_one(ctx: Any, given: list, several: bool, create: bool, method: Any) -> tuple:
    """Run backward for every cotangent of a batch, and stack the results."""
    count = next(x.shape[0] for x in given if x is not None)
    rows = []
    for k in range(count):
        parts = [None if x is None else x[k] for x in given]
        row = Slots((i, x) for i, x in enumerate(parts) if x is not None) if several else parts[0]
        rows.append(run_backward(ctx, row, method))
    stacked: list = []
    for column in zip(*rows, strict=True):
        if all(x is None for x in column):
            stacked.append(None)
        elif create:
            from ..rules import entry

            stacked.append(entry("stack").function(list(column)))
        else:
            stacked.append(np.stack(column))
    return tuple(stacked)


def checked(ctx: Any, grads: Any, create: bool) -> tuple:
    """Return the user's gradients as the engine carries them. Raises RuntimeError for a wrong number or shape."""
    found = list(grads) if isinstance(grads, tuple | list) else [grads]
    wanted = len(ctx._parents)
    while len(found) > wanted and found[-1] is None:
        found.pop()
    if len(found) != wanted:
        raise RuntimeError(
            f"function {ctx.name()} returned an incorrect number of gradients (expected {wanted}, got {len(found)})"
        )
    result: list = []
    for i, (g, outline) in enumerate(zip(found, ctx._inputs, strict=True)):
        if g is None or ctx._parents[i] is None:
            if g is not None and outline is None:
                raise RuntimeError(
                    f"function {ctx.name()} returned a gradient different from None at position {i + 1}, but the "
                    "corresponding forward input was not a Tensor"
                )
            result.append(None)
            continue
        result.append(fitted(ctx, i, g, outline, create))
    return tuple(result)


def fitted(ctx: Any, i: int, g: Any, outline: tuple, create: bool) -> Any:
    """Return one gradient in the shape and type of its input."""
    if not isinstance(g, Tensor):
        raise noted(
            RuntimeError(f"expected Variable or None (got {type(g).__name__})"),
            f"backward of {ctx.name()} must return Tensors and None; this is at position {i}",
        )
    shape, dtype = outline
    given = tuple(g.shape)
    if given != shape:
        try:
            wide = np.broadcast_shapes(given, shape) == given
        except ValueError:
            wide = False
        if not wide:
            raise RuntimeError(
                f"Function {ctx.name()} returned an invalid gradient at index {i} - got {list(given)} but expected "
                f"shape compatible with {list(shape)}"
            )
        g = fit(g, shape, len(given))
    if g._data.dtype != dtype:
        if g._data.dtype.kind == "c" and dtype.kind != "c":
            g = g.real
        g = g.to(dtype)
    return g if create else g._data
