"""vmap: compute many points in one call of a function, along a hidden leading axis."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import NotBatchableError
from ..rules import entry
from ..tape.tensor import Tensor
from .batched_tensor import active, level_class
from .trace import flatten_tree, spread_prefix


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "same") -> Callable:
    """Return func mapped over an axis of its arguments, which computes all points in one call.

    in_dims: the axis to map over, as an int for all arguments or a structure like theirs; None for an argument that
    all points share. out_dims: position of the mapped axis in each result. randomness: "same" if all points get the
    same random numbers, or "different". A function that cannot be batched, because it reads the values of its
    arguments, is called point by point. Raises ValueError for axes that do not exist or differ in length.
    """

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = flatten_tree((args, kwargs))
        prefix = tuple(in_dims) if isinstance(in_dims, list) else in_dims
        dims = [*spread_prefix(prefix, args, "in_dims"), *[0] * len(flatten_tree(kwargs)[0])]
        title = f"vmap({mapped_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
        if not leaves:
            raise ValueError(f"vmap({mapped_name(func)})(<inputs>): got no inputs to map over")
        dims = check_dims(dims, leaves, title)
        moved = [x if not d else entry("moveaxis").function(x, d, 0) for x, d in zip(leaves, dims, strict=True)]
        sizes = [x.shape[0] for x, d in zip(moved, dims, strict=True) if d is not None]
        if len(set(sizes)) > 1:
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes}"
            )
        call = loop_over_points if randomness == "different" and sizes[0] else batch_or_loop
        outputs, build = call(func, moved, dims, rebuild, sizes[0])
        return place_axes(outputs, build, out_dims)

    return mapped


def mapped_name(func: Callable) -> str:
    return getattr(func, "__name__", repr(func))


def check_dims(dims: list, leaves: list, title: str) -> list:
    """Return the axes to map over as nonnegative numbers. Raises ValueError for an axis that an input lacks."""
    result: list[int | None] = []
    for d, x in zip(dims, leaves, strict=True):
        if d is None:
            result.append(None)
            continue
        if not isinstance(x, Tensor):
            raise ValueError(f"{title}: Got in_dim={d} for an input of {type(x)}, which is not a Tensor; use None")
        if not -x.ndim <= d < x.ndim:
            raise ValueError(f"{title}: Got in_dim={d} for an input of {x.ndim} axes")
        result.append(d % x.ndim)
    if not any(d is not None for d in result):
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    return result


@contextlib.contextmanager
def open_level(size: int) -> Iterator[type]:
    before = active.levels
    level = before[-1][0] + 1 if before else 1
    active.levels = (*before, (level, size))
    try:
        yield level_class(level)
    finally:
        active.levels = before


def batch_or_loop(func: Callable, leaves: list, dims: list, rebuild: Callable, size: int) -> tuple[list, Callable]:
    """Return the leaves of func's result, with the mapped axis first, and a function that rebuilds the result."""
    try:
        with open_level(size) as kind:
            values = [x if d is None else kind.of(x) for x, d in zip(leaves, dims, strict=True)]  # type: ignore[attr-defined]
            args, kwargs = rebuild(values)
            outputs, build = flatten_tree(func(*args, **kwargs))
            shown = [tensor_only(x, func) for x in outputs]
            # repeat a result that all points share
            return [x._value if type(x) is kind else x.unsqueeze(0).expand(size, *x.shape) for x in shown], build
    except NotBatchableError as reason:
        if not size:
            raise ValueError("vmap: a function that cannot be batched needs at least one point") from reason
        import logging

        text = "%s cannot be batched and is called point by point: %s"
        logging.getLogger("gradcli").info(text, mapped_name(func), reason)
    return loop_over_points(func, leaves, dims, rebuild, size)


def loop_over_points(func: Callable, leaves: list, dims: list, rebuild: Callable, size: int) -> tuple[list, Callable]:
    """Do the same as `batch_or_loop`, with one call per point."""
    rows: list[list[Tensor]] = []
    for i in range(size):
        args, kwargs = rebuild([x if d is None else x[i] for x, d in zip(leaves, dims, strict=True)])
        outputs, build = flatten_tree(func(*args, **kwargs))
        rows.append([tensor_only(x, func) for x in outputs])
    return [entry("stack").function(column) for column in zip(*rows, strict=True)], build


def tensor_only(x: Any, func: Callable) -> Tensor:
    if not isinstance(x, Tensor):
        name = mapped_name(func)
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    return x


def place_axes(outputs: list, build: Callable, out_dims: Any) -> Any:
    if len(outputs) == 1 and isinstance(out_dims, tuple) and len(out_dims) == 1:
        (out_dims,) = out_dims
    dims = spread_prefix(out_dims, build(list(outputs)), "out_dims")
    placed = []
    for x, d in zip(outputs, dims, strict=True):
        if d is None or not -x.ndim <= d < x.ndim:
            raise ValueError(f"vmap: out_dims={d} is not valid for a result with {x.ndim} axes")
        placed.append(x if d == 0 else entry("moveaxis").function(x, 0, d))
    return build(placed)
