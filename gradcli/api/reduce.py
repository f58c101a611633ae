"""Reductions with PyTorch's arguments and results."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.select import lanes
from ..rules.shapes import negative_axes, negative_axis
from ..tape.dtypes import defaults
from ..tape.record import cast, dispatch, relabel
from ..tape.tensor import Tensor, as_raw
from .wrap import operand, public, rename_function, stand_alone

ValuesIndices = namedtuple("ValuesIndices", ["values", "indices"])


def reduce_by_entry(name: str, input: Any, dim: Any, keepdim: bool, dtype: Any = None, **params: Any) -> Tensor:
    """Run a reduction of the table over dim (all when None or empty)."""
    x = operand(input)
    if dtype is not None:
        x = x.to(dtype)
    axis = negative_axes(None if dim == () or dim == [] else dim, max(x.ndim, 1) if dim is not None else x.ndim)
    return dispatch(entry(name), (x,), {"axis": axis[: x.ndim] if x.ndim else (), "keepdims": keepdim, **params})


def for_adding_up(x: Any, dtype: Any) -> Tensor:
    """Return x in a type for adding up: that given, and int64 for booleans and unsigned integers."""
    x = operand(x)
    if dtype is None and x.dtype.kind in "bu":
        return cast(x, np.dtype(np.int64))
    return x.to(dtype)


@public
def sum_(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over dim."""
    total = reduce_by_entry("sum", for_adding_up(input, dtype), dim, keepdim)
    return total if dim is None else relabel(total, "SumBackward1")


@public
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean over dim. Raises RuntimeError for integers."""
    x = operand(input)
    if x._data.dtype.kind not in "fcO" and dtype is None:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
            f"dtype. Got: {x.dtype.title}"
        )
    return reduce_by_entry("mean", x, dim, keepdim, dtype)


@public
def prod(input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Product over dim."""
    x = for_adding_up(input, dtype)
    product = reduce_by_entry("prod", x, dim, keepdim) if x.ndim else x.clone()
    return relabel(product, "ProdBackward0" if dim is None else "ProdBackward1")


@public
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over dim."""
    x = operand(input)
    return reduce_by_entry("logsumexp", x, dim, keepdim, None if x.dtype.kind in "fcO" else defaults.float)


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
        return (result, mean(input, dim, keepdim)) if with_mean else result

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
def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Largest element over dim; the gradient is shared equally among ties."""
    return relabel(reduce_by_entry("max", input, dim, keepdim), "AmaxBackward0")


@public
def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Smallest element over dim; the gradient is shared equally among ties."""
    return relabel(reduce_by_entry("min", input, dim, keepdim), "AminBackward0")


MinMax = namedtuple("MinMax", ["min", "max"])


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


def softmax_by_entry(name: str, input: Tensor, dim: int | None, dtype: Any = None) -> Tensor:
    """Return softmax or its logarithm. Raises NotImplementedError for whole numbers, as PyTorch does."""
    x = input if dtype is None else input.to(dtype)
    axis = -1 if dim is None else negative_axis(dim, max(x.ndim, 1))
    if x.dtype.kind not in "fcO":
        kernel = f"{name}_{'lastdim_' if axis == -1 else ''}kernel_impl"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{x.dtype.title}'")
    return dispatch(entry(name), (x,), {"axis": (axis,) if x.ndim else ()})


@public
def softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """exp(input) / sum(exp(input)) over dim."""
    return softmax_by_entry("softmax", input, dim, dtype)


@public
def log_softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """Logarithm of softmax."""
    return softmax_by_entry("log_softmax", input, dim, dtype)
