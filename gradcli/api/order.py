"""Order statistics with PyTorch's arguments: medians, quantiles, modes, and elements by rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from ..rules.shapes import negative_axis
from ..tape.record import cast
from ..tape.tensor import Tensor, as_raw
from .reduce import ValuesIndices, pick_in_lanes, pick_only, pick_positions
from .wrap import operand, public


def order(data: np.ndarray, axis: int, descending: bool = False) -> np.ndarray:
    """Return the positions that sort data; equal elements keep their order either way."""
    if not descending:
        return np.argsort(data, axis=axis, kind="stable")
    flipped = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(flipped, axis)


# -- in order -------------------------------------------------------------------------------------


@public
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """(values, indices) in rising or falling order along dim."""
    x = operand(input)
    axis = negative_axis(dim, x.ndim)
    if x.ndim == 0:
        return pick_only(x)
    indices = order(as_raw(x), axis, descending)
    return ValuesIndices(pick_positions(x, indices, axis, "SortBackward0"), Tensor._wrap(indices, None))


@public
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions that sort."""
    if input.ndim == 0:
        return Tensor._wrap(np.zeros((), np.int64), None)
    return Tensor._wrap(order(as_raw(input), negative_axis(dim, input.ndim), descending), None)


@public
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """(values, indices) of the k largest elements along dim."""
    axis = negative_axis(dim, input.ndim)
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if input.ndim == 0:
        return pick_only(input)
    indices = np.take(order(as_raw(input), axis, largest), np.arange(k), axis=axis)
    return ValuesIndices(pick_positions(input, indices, axis, "TopkBackward0"), Tensor._wrap(indices, None))


# -- middles --------------------------------------------------------------------------------------


def find_medians(input: Any, dim: int | None, keepdim: bool, ignore_nan: bool, node: str) -> Any:
    """The median of all elements, or (values, indices) of the lower medians along dim."""
    x = operand(input)
    if dim is None:
        return entry("lower_median").function(x, ignore_nan=ignore_nan)
    axis = negative_axis(dim, x.ndim)
    if x.ndim == 0:
        return pick_only(x)
    data = as_raw(x)
    ranks, missing = order(data, axis), (data != data).sum(axis, keepdims=True)
    length = data.shape[axis]
    if ignore_nan:
        places = np.maximum(length - missing - 1, 0) // 2
    else:
        places = np.where(missing > 0, length - missing, (length - 1) // 2)
    return pick_in_lanes(x, np.take_along_axis(ranks, places, axis), axis, keepdim, node)


@public
def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of all elements (nan if one is); with dim (values, indices)."""
    return find_medians(input, dim, keepdim, False, "MedianBackward1")


@public
def nanmedian(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of all elements that are not nan; with dim (values, indices)."""
    return find_medians(input, dim, keepdim, True, "NanmedianBackward1")


@public(node="ModeBackward0")
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """(values, indices) of the commonest element along dim, the smallest of several, at its last place."""
    x = operand(input)
    axis = negative_axis(dim, x.ndim)
    if x.ndim == 0:
        return pick_only(x)
    data = np.moveaxis(as_raw(x), axis, -1)
    ranks = order(data, -1)
    ordered = np.take_along_axis(data, ranks, -1)
    steps = np.arange(data.shape[-1])
    starts = np.concatenate([np.ones_like(ordered[..., :1], bool), ordered[..., 1:] != ordered[..., :-1]], -1)
    runs = steps - np.maximum.accumulate(np.where(starts, steps, 0), -1)
    places = np.argmax(runs, -1, keepdims=True)
    indices = np.moveaxis(np.take_along_axis(ranks, places, -1), -1, axis)
    return pick_in_lanes(x, indices, axis, keepdim, "ModeBackward0")


# -- quantiles ------------------------------------------------------------------------------------


def find_quantiles(input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool) -> Tensor:
    """The quantiles q over dim, one more axis in front where q is a vector."""
    from ..rules.numpy_functions import METHODS  # here, because few programs need it

    if interpolation not in METHODS:
        raise RuntimeError(f"quantile() interpolation must be one of {', '.join(METHODS)}, but got {interpolation}")
    x = operand(input)
    if 0 in x.shape:
        raise RuntimeError("quantile() input tensor must be non-empty")
    q = q if isinstance(q, Tensor) else Tensor._wrap(np.asarray(q, as_raw(x).dtype), None)
    if x.dtype.kind not in "fO" or q.dtype != x.dtype:
        raise RuntimeError(f"quantile() needs a float input and q of the same type, got {x.dtype} and {q.dtype}")
    if q.ndim > 1 or not ((as_raw(q) >= 0) & (as_raw(q) <= 1)).all():
        raise RuntimeError("quantile() q must be a number or a vector of values between 0 and 1")
    shape, axis = list(x.shape), -1
    if dim is None:
        x, kept = x.reshape((-1,)), [1] * len(shape)
    else:
        axis = negative_axis(dim, x.ndim)
        kept = shape[:axis] + [1] + shape[axis % len(shape) + 1 :] if shape else []
        x = x.movedim(axis, -1) if shape else x.reshape((1,))
    out = interpolate_ranks(x, q.reshape((-1,)), interpolation, ignore_nan)
    rest = [n for i, n in enumerate(kept, -len(kept)) if i != axis] if dim is not None else []
    return out.movedim(-1, 0).reshape([*q.shape, *(kept if keepdim else rest)])


def interpolate_ranks(x: Tensor, q: Tensor, interpolation: str, ignore_nan: bool) -> Tensor:
    """The quantiles q of the last axis, as the last axis."""
    ordered = sort(x, -1)[0]
    data, length = as_raw(ordered), x.shape[-1]
    known = (data == data).sum(-1, keepdims=True).astype(data.dtype)
    if ignore_nan:
        ranks = q * np.maximum(known - 1, 0)
    else:  # a lane with nan gives its last element, which is nan
        ranks = np.where(known < length, length - 1.0, q * (length - 1.0) + np.zeros_like(known))
    if interpolation == "nearest":
        ranks = ranks.round()
    below = np.floor(as_raw(ranks))
    if interpolation == "higher":
        below = np.ceil(as_raw(ranks))
    low = pick_positions(ordered, below.astype(np.intp), -1, "GatherBackward0")
    if interpolation not in ("linear", "midpoint"):
        return low
    weights = 0.5 if interpolation == "midpoint" else ranks - below
    high = pick_positions(ordered, np.ceil(as_raw(ranks)).astype(np.intp), -1, "GatherBackward0")
    return low.lerp(high, weights)


@public
def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The q-th quantiles over dim (of all elements without it); nan where an element is."""
    return find_quantiles(input, q, dim, keepdim, interpolation, False)


@public
def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The q-th quantiles of the elements that are not nan."""
    return find_quantiles(input, q, dim, keepdim, interpolation, True)


# -- sums without nan -----------------------------------------------------------------------------


def replace_nan(x: Any) -> tuple[Tensor, Tensor]:
    """Return x with 0 for nan, and where it is not nan."""
    x = operand(x)
    there = x == x
    return entry("where")(there, x, 0), there


@public(node="NansumBackward0")
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over dim with nan as 0."""
    return replace_nan(input)[0].sum(dim, keepdim, dtype=dtype)


@public
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean over dim of the elements that are not nan."""
    x, there = replace_nan(input)
    if x.dtype.kind not in "fcO":
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {x.dtype}")
    count = cast(there.sum(dim, keepdim), x._data.dtype)
    total = x.sum(dim, keepdim, dtype=dtype)
    return total / count
