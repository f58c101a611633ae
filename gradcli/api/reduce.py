"""Reductions, norms, distances and running results with PyTorch's arguments."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.select import lanes
from ..rules.shapes import lay_along, negative_axes, negative_axis
from ..tape.record import dispatch, relabel
from ..tape.tensor import Tensor, as_raw
from .join import cat
from .shape import at
from .wrap import operand, public, rename_function, stand_alone

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

    public(rename_function(function, name, doc), node=f"{entry.title()}MeanBackward0" if with_mean else "")


enter_variance("var", "Variance over dim; divides by n - 1 unless correction says otherwise.", "var")
enter_variance("std", "Standard deviation over dim; divides by n - 1 unless correction says otherwise.", "std")
enter_variance("var_mean", "Variance and mean.", "var", with_mean=True)
enter_variance("std_mean", "Standard deviation and mean.", "std", with_mean=True)


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


@public
def max_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Largest element; with dim (values, indices); with a second tensor the larger of both."""
    return find_extreme("max", input, dim, keepdim)


@public
def min_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Smallest element; with dim (values, indices); with a second tensor the smaller of both."""
    return find_extreme("min", input, dim, keepdim)


@public
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Position of the largest element."""
    check_some("argmax", input, dim)
    return Tensor._wrap(np.asarray(np.argmax(input._data, axis=dim, keepdims=keepdim and dim is not None)), None)


@public
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Position of the smallest element."""
    check_some("argmin", input, dim)
    return Tensor._wrap(np.asarray(np.argmin(input._data, axis=dim, keepdims=keepdim and dim is not None)), None)


def reduce_truth(reduce: Any, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Reduce truth values over dim; those of uint8 are uint8, as in PyTorch."""
    raw = as_raw(input)
    out = np.asarray(reduce(raw, axis=tuple(dim) if isinstance(dim, list) else dim, keepdims=keepdim))
    return Tensor._wrap(out.astype(np.uint8) if raw.dtype == np.uint8 else out, None)


@public
def all_(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are true, over dim."""
    return reduce_truth(np.all, input, dim, keepdim)


@public
def any_(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element is true, over dim."""
    return reduce_truth(np.any, input, dim, keepdim)


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


def running_extreme(ufunc: np.ufunc, input: Any, dim: int, node: str) -> ValuesIndices:
    """(values, indices) of the extreme so far; nan stays, and the last of equal elements counts."""
    x = operand(input)
    axis = negative_axis(dim, x.ndim)
    if x.ndim == 0:
        return pick_only(x)
    data = as_raw(x)
    attained = (data == ufunc.accumulate(data, axis=axis)) | (data != data)
    steps = lay_along(np.arange(data.shape[axis]), axis)
    indices = np.maximum.accumulate(np.where(attained, steps, 0), axis=axis)
    return ValuesIndices(pick_positions(x, indices, axis, node), Tensor._wrap(indices, None))


@public
def cummax(input: Tensor, dim: int) -> ValuesIndices:
    """(values, indices) of the largest element so far along dim."""
    return running_extreme(np.maximum, input, dim, "CummaxBackward0")


@public
def cummin(input: Tensor, dim: int) -> ValuesIndices:
    """(values, indices) of the smallest element so far along dim."""
    return running_extreme(np.minimum, input, dim, "CumminBackward0")


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
