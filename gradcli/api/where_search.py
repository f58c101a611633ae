"""Choosing elements with PyTorch's arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from ..tape.dtypes import as_dtype
from ..tape.record import as_operand, dispatch, relabel
from ..tape.tensor import Tensor, as_raw
from .shape import expand
from .wrap import METHOD_FORMS, public


@public
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds, else other; with one argument the positions where it holds."""
    if input is None:
        return nonzero(condition, as_tuple=True)
    return dispatch(entry("where"), (as_operand(condition), as_operand(input), as_operand(other)), {})


def method_where(self: Tensor, condition: Any, other: Any) -> Tensor:
    """self where the condition holds, else other."""
    return where(condition, self, other)


METHOD_FORMS["where"] = method_where


@public
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """value where the mask holds, else input."""
    if as_raw(mask).dtype != bool:
        kind = as_dtype(as_raw(mask).dtype).scalar
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {kind}")
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"masked_fill only supports a 0-dimensional value tensor, got {value.ndim} dimension(s)")
    return relabel(dispatch(entry("where"), (mask, value, input), {}), "MaskedFillBackward0")


@public(node="MaskedSelectBackward0")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds; both are broadcast."""
    chosen = as_raw(mask)
    if chosen.dtype != bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = np.broadcast_shapes(tuple(input.shape), chosen.shape)
    return expand(input, shape)[np.broadcast_to(chosen, shape)]


@public
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not 0."""
    positions = np.nonzero(as_raw(input))
    if as_tuple:
        return tuple(Tensor._wrap(places, None) for places in positions)
    return Tensor._wrap(np.stack(positions, -1), None)


@public
def argwhere(input: Tensor) -> Tensor:
    """Positions of the elements that are not 0, as rows."""
    return nonzero(input)


# -- places in sorted values: no gradient --------------------------------------------------------


@public
def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> Tensor:
    """Where to insert values so that the last axis stays sorted; before equal ones unless right."""
    if right and side == "left":
        raise RuntimeError(
            "searchsorted(): side and right can't be set to opposites, got side of left with right=True"
        )
    rows, values = as_raw(sorted_sequence), as_raw(input)
    order = None if sorter is None else as_raw(sorter)
    where_equal: Any = "right" if right or side == "right" else "left"
    if rows.ndim == 1:
        places = np.searchsorted(rows, values, where_equal, order)
    elif rows.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got {list(rows.shape)} and {list(values.shape)}"
        )
    else:
        places = np.empty(values.shape, np.int64)
        for place in np.ndindex(rows.shape[:-1]):
            places[place] = np.searchsorted(
                rows[place], values[place], where_equal, None if order is None else order[place]
            )
    return Tensor._wrap(np.asarray(places, np.int32 if out_int32 else np.int64), None)


@public
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The different elements (or slices along dim) in rising order; with their places and counts where asked."""
    values, inverse, counts = np.unique(as_raw(input), return_inverse=True, return_counts=True, axis=dim)
    inverse = inverse.reshape(input.shape if dim is None else -1)
    wanted = [values] + [inverse] * return_inverse + [counts] * return_counts
    results = tuple(Tensor._wrap(x, None) for x in wanted)
    return results if len(results) > 1 else results[0]


@public
def bincount(input: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on occurs, or the sum of the weights there."""
    return Tensor._wrap(np.bincount(as_raw(input), None if weights is None else as_raw(weights), minlength), None)
