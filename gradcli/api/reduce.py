"""Reductions, norms, running results and order statistics with PyTorch's arguments."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.select import lanes
from ..rules.shapes import lay_along, negative_axes, negative_axis
from ..tape.record import dispatch, relabel
from ..tape.tensor import Tensor, as_raw
from .shape import at, cat
from .wrap import offer, operand, public, stand_alone

ValuesIndices = namedtuple("ValuesIndices", ["values", "indices"])


def reduce_by_entry(name: str, input: Any, dim: Any, keepdim: bool, dtype: Any = None, **params: Any) -> Tensor:
    """Run a reduction of the table over dim (all when None or empty)."""
    x = operand(input)
    if dtype is not None:
        x = x.to(dtype)
    axis = negative_axes(None if dim == () or dim == [] else dim, max(x.ndim, 1) if dim is not None else x.ndim)
    return dispatch(entry(name), (x,), {"axis": axis[: x.ndim] if x.ndim else (), "keepdims": keepdim, **params})


def enter_variance(name: str, doc: str, entry: str, with_mean: bool = False) -> None:
    """Enter a variance or standard deviation; the denominator is n - correction, n - 1 unless given."""

    def function(
        input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        if operand(input).dtype.kind not in "fcO":
            raise RuntimeError("std and var only support floating point and complex dtypes")
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None or unbiased else 0
        result = reduce_by_entry(entry, input, dim, keepdim, correction=correction)
        return (result, operand(input).mean(dim, keepdim)) if with_mean else result

    offer(name, function, doc, node=f"{entry.title()}MeanBackward0" if with_mean else "")


for _name, _word in {"var": "Variance", "std": "Standard deviation"}.items():
    enter_variance(_name, f"{_word} over dim; divides by n - 1 unless correction says otherwise.", _name)
    enter_variance(f"{_name}_mean", f"{_word} and mean.", _name, with_mean=True)


def pick_positions(x: Tensor, indices: np.ndarray, dim: int, node: str) -> Tensor:
    """Return the elements at integer positions along dim, in a node of the given name."""
    return dispatch(entry("getitem"), (x,), {"index": lanes(x.shape, indices, dim), "label": node})


def pick_in_lanes(x: Tensor, indices: np.ndarray, axis: int, keepdim: bool, node: str) -> ValuesIndices:
    """(values, indices) of one element per lane; indices has length 1 along axis."""
    values = pick_positions(x, indices, axis, node)
    if not keepdim:
        values, indices = relabel(values.squeeze(axis), node), indices.squeeze(axis)
        stand_alone(values, ())
    return ValuesIndices(values, Tensor._wrap(indices, None))


def pick_only(x: Tensor) -> ValuesIndices:
    """(values, indices) of a 0-d tensor's only element."""
    return ValuesIndices(x.clone(), Tensor._wrap(np.zeros((), np.int64), None))


def check_some(name: str, x: Tensor, dim: Any) -> None:
    """Raise PyTorch's error where there is no element of which one could be the largest."""
    if x._data.size:
        return
    if dim is None:
        more = " Specify the reduction dim with the 'dim' argument." if name in ("max", "min") else ""
        kind = RuntimeError if more else IndexError
        raise kind(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.{more}")
    if not isinstance(dim, Tensor) and x.ndim and not x.shape[negative_axis(dim, x.ndim)]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def find_extreme(name: str, input: Any, dim: Any, keepdim: bool) -> Any:
    """The largest or smallest of all elements, per lane with its position, or of two tensors."""
    x = operand(input)
    check_some(name, x, dim)
    if dim is None:
        whole = dispatch(entry(name), (x,), {"axis": negative_axes(None, x.ndim), "keepdims": False})
        return relabel(whole, f"{name.title()}Backward1")
    if isinstance(dim, Tensor):
        return entry({"max": "maximum", "min": "minimum"}[name])(x, dim)
    if x.ndim == 0:
        return pick_only(x)
    axis = negative_axis(dim, x.ndim)
    find = np.argmax if name == "max" else np.argmin
    indices = find(x._data, axis=axis, keepdims=True)
    return pick_in_lanes(x, indices, axis, keepdim, f"{name.title()}Backward0")


def enter_extremes(name: str, word: str) -> None:
    """Enter max and argmax, or min and argmin."""

    def extreme(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return find_extreme(name, input, dim, keepdim)

    def position(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        check_some(f"arg{name}", input, dim)
        find = getattr(np, f"arg{name}")
        return Tensor._wrap(np.asarray(find(input._data, axis=dim, keepdims=keepdim and dim is not None)), None)

    offer(name, extreme, f"The {word} element; with dim (values, indices); with a second tensor the {word} of both.")
    offer(f"arg{name}", position, f"Position of the {word} element.")


def enter_test(name: str, doc: str) -> None:
    """Enter all or any; of uint8 it gives uint8, as in PyTorch."""

    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        raw = as_raw(input)
        out = np.asarray(getattr(np, name)(raw, axis=tuple(dim) if isinstance(dim, list) else dim, keepdims=keepdim))
        return Tensor._wrap(out.astype(np.uint8) if raw.dtype == np.uint8 else out, None)

    offer(name, function, doc)


enter_extremes("max", "largest")
enter_extremes("min", "smallest")
enter_test("all", "Whether all elements are true, over dim.")
enter_test("any", "Whether any element is true, over dim.")


@public
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """Vector norm of order p over dim ('fro': 2); 'nuc' is the sum of the singular values of matrices."""
    if p == "nuc":
        return nuclear(operand(input) if dtype is None else operand(input).to(dtype), dim, keepdim)
    x = operand(input)
    if dtype is None and x.dtype.kind not in "fcO":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype.title}"
        )
    order = 2.0 if p in ("fro", None) else float(p)
    return reduce_by_entry("norm", input, dim, keepdim, dtype, ord=order)


def nuclear(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The sum of the singular values over two axes."""
    axes = negative_axes(dim, x.ndim)
    if len(axes) != 2:
        raise RuntimeError("norm of order 'nuc' needs a matrix, or two axes in dim")
    return entry("linalg.norm").function(x, "nuc", axes, keepdim)


@public(node="DistBackward0")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Norm of order p of input - other."""
    return norm(input - other, float(p))


def enter_running_extreme(name: str, ufunc: np.ufunc, word: str) -> None:
    """Enter cummax or cummin."""

    def function(input: Tensor, dim: int) -> ValuesIndices:
        x = operand(input)
        axis = negative_axis(dim, x.ndim)
        if x.ndim == 0:
            return pick_only(x)
        data = as_raw(x)
        attained = (data == ufunc.accumulate(data, axis=axis)) | (data != data)
        steps = lay_along(np.arange(data.shape[axis]), axis)
        indices = np.maximum.accumulate(np.where(attained, steps, 0), axis=axis)
        values = pick_positions(x, indices, axis, f"{name.title()}Backward0")
        return ValuesIndices(values, Tensor._wrap(indices, None))

    offer(name, function, f"(values, indices) of the {word} element so far along dim: nan, or the last of equal ones.")


enter_running_extreme("cummax", np.maximum, "largest")
enter_running_extreme("cummin", np.minimum, "smallest")

# -- integrals ------------------------------------------------------------------------------------


def trapezia(y: Any, x: Any, dx: float, dim: int) -> Tensor:
    """The areas between neighbouring points along dim."""
    y = operand(y)
    dim = negative_axis(dim, y.ndim)
    heights = (at(y, dim, slice(1, None)) + at(y, dim, slice(None, -1))) * 0.5
    if x is None:
        return heights * dx
    x = operand(x)
    if x.ndim == 1:
        steps = lay_along(x[1:] - x[:-1], dim)
    else:
        axis = dim + y.ndim - x.ndim if dim + y.ndim < x.ndim and x.ndim > y.ndim else dim
        steps = at(x, axis, slice(1, None)) - at(x, axis, slice(None, -1))
    return heights * steps


@public(names=("trapz",), method=False)
def trapezoid(y: Tensor, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """Integral of y over dim by the trapezoidal rule; x are the abscissas, dx their distance."""
    return trapezia(y, x, dx, dim).sum(negative_axis(dim, operand(y).ndim))


@public(method=False)
def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """Cumulative integral of y along dim by the trapezoidal rule; one element shorter than y."""
    return trapezia(y, x, dx, dim).cumsum(negative_axis(dim, operand(y).ndim))


# -- differences ----------------------------------------------------------------------------------


@public
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """n-th differences of neighbours along dim; of booleans whether they differ."""
    x = operand(input)
    if x.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = negative_axis(dim, x.ndim)
    if n == 0:
        return x.clone()
    parts = [part for part in (prepend, x, append) if part is not None]
    return entry("diff").function(cat(parts, axis) if len(parts) > 1 else x, n, axis)


@public(method=False)
def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple:
    """Central differences along every axis of dim, one-sided ones of edge_order at both ends.

    spacing: one distance (1 unless given), one per axis, or a tensor of coordinates per axis.
    """
    from ..rules.differences import slope  # here, because it takes long to import

    x = operand(input)
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, not {edge_order}")
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    axes = [negative_axis(i, x.ndim) for i in dims]
    several = isinstance(spacing, list | tuple)
    steps = list(spacing) if several else [1 if spacing is None else spacing] * len(axes)
    if len(steps) != len(axes):
        raise RuntimeError(f"gradient got spacing for {len(steps)} axes, and {len(axes)} axes")
    length = min((x.shape[axis] for axis in axes), default=3)
    if length <= edge_order:
        raise RuntimeError(
            f"torch.gradient expected each dimension size to be at least edge_order+1, got {length} for {edge_order}"
        )
    return tuple(slope(x, axis, step, edge_order) for axis, step in zip(axes, steps, strict=True))


# -- order statistics -------------------------------------------------------------------------------


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


def enter_median(name: str, doc: str, ignore_nan: bool) -> None:
    """Enter median or nanmedian."""

    def function(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
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
        indices = np.take_along_axis(ranks, places, axis)
        return pick_in_lanes(x, indices, axis, keepdim, f"{name.title()}Backward1")

    offer(name, function, f"The lower median of all elements{doc}; with dim (values, indices).")


enter_median("median", " (nan if one is)", False)
enter_median("nanmedian", " that are not nan", True)


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


def enter_quantile(name: str, doc: str, ignore_nan: bool) -> None:
    """Enter quantile or nanquantile, which have one more axis in front where q is a vector."""

    def function(
        input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Tensor:
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

    offer(name, function, f"The q-th quantiles over dim (of all elements without it){doc}.")


enter_quantile("quantile", "; nan where an element is", False)
enter_quantile("nanquantile", ", of the elements that are not nan", True)
