"""Reductions, norms, running results and order statistics with PyTorch's arguments."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.select import lanes
from ..rules.shapes import negative_axes, negative_axis
from ..tape.modes import report_event
from ..tape.record import dispatch, relabel
from ..tape.tensor import Tensor, as_raw
from .wrap import offer, operand, public, stand_alone

ValuesIndices = namedtuple("ValuesIndices", ["values", "indices"])


def enter_variance(name: str, doc: str) -> None:
    """Enter a variance or standard deviation; it divides by n - correction, by default n - 1."""

    def function(
        input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        x = operand(input)
        if x.dtype.kind not in "fcO":
            raise RuntimeError("std and var only support floating point and complex dtypes")
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None or unbiased else 0
        axis = negative_axes(None if dim == () or dim == [] else dim, max(x.ndim, 1) if dim is not None else x.ndim)
        params = {"axis": axis[: x.ndim], "keepdims": keepdim, "correction": correction}
        return dispatch(entry(name), (x,), params)

    offer(name, function, doc)

    def with_mean(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, **options: Any) -> tuple:
        x = operand(input)
        dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
        return function(x, dim, unbiased, keepdim, **options), x.mean(dim, keepdim)

    word = "Variance" if name == "var" else "Standard deviation"
    doc = f"{word} and mean over dim."
    offer(f"{name}_mean", with_mean, doc, method=False, node=f"{name.title()}MeanBackward0")


enter_variance("var", "Variance over dim; divides by n - 1 unless correction says otherwise.")
enter_variance("std", "Standard deviation over dim; divides by n - 1 unless correction says otherwise.")


def positions(x: Any, indices: np.ndarray) -> Tensor:
    """Return positions in x as a tensor outside the graph."""
    return report_event("argsort", x, Tensor._wrap(indices, None))


def pick_positions(x: Tensor, indices: np.ndarray, dim: int, node: str) -> Tensor:
    """Return the elements at integer positions along dim, with a node of this name."""
    return dispatch(entry("getitem"), (x,), {"index": lanes(x.shape, indices, dim), "label": node})


def pick_in_lanes(x: Tensor, indices: np.ndarray, axis: int, keepdim: bool, node: str) -> ValuesIndices:
    """Return (values, indices) of one element per lane; indices has length 1 along axis."""
    values = pick_positions(x, indices, axis, node)
    if not keepdim:
        values, indices = relabel(values.squeeze(axis), node), indices.squeeze(axis)
        stand_alone(values, ())
    return ValuesIndices(values, positions(x, indices))


def pick_only(x: Tensor) -> ValuesIndices:
    """Return (values, indices) of a 0-d tensor's only element."""
    return ValuesIndices(x.clone(), Tensor._wrap(np.zeros((), np.int64), None))


def enter_extreme(name: str, word: str) -> None:
    """Enter max or min: of all elements, per lane with its position, or of two tensors."""

    def extreme(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        x = operand(input)
        if dim is None:
            whole = dispatch(entry(name), (x,), {"axis": negative_axes(None, x.ndim), "keepdims": False})
            return relabel(whole, f"{name.title()}Backward1")
        if isinstance(dim, Tensor):
            return entry(f"{name}imum")(x, dim)
        if x.ndim == 0:
            return pick_only(x)
        axis = negative_axis(dim, x.ndim)
        indices = (np.argmax if name == "max" else np.argmin)(x._data, axis=axis, keepdims=True)
        return pick_in_lanes(x, indices, axis, keepdim, f"{name.title()}Backward0")

    offer(name, extreme, f"The {word} element; with dim (values, indices); with a second tensor the {word} of both.")


enter_extreme("max", "largest")
enter_extreme("min", "smallest")


@public(method=False)
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple:
    """Central differences along every axis of dim, one-sided ones of edge_order at both ends.

    spacing: one distance, one per axis, or a tensor of coordinates per axis.
    """
    spacings = spacing if isinstance(spacing, list | tuple) else (spacing,)
    slopes = entry("gradient").function(operand(input), *spacings, axis=dim, edge_order=edge_order)
    return slopes if isinstance(slopes, tuple) else (slopes,)


def order(data: np.ndarray, axis: int, descending: bool = False) -> np.ndarray:
    """Return the positions that sort data; equal elements keep their order."""
    if not descending:
        return np.argsort(data, axis=axis, kind="stable")
    flipped = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(flipped, axis)


@public
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """(values, indices) in rising or falling order along dim."""
    x = operand(input)
    axis = negative_axis(dim, x.ndim)
    if x.ndim == 0:
        return pick_only(x)
    indices = order(as_raw(x), axis, descending)
    return ValuesIndices(pick_positions(x, indices, axis, "SortBackward0"), positions(x, indices))


@public
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions that sort."""
    if input.ndim == 0:
        return Tensor._wrap(np.zeros((), np.int64), None)
    return positions(input, order(as_raw(input), negative_axis(dim, input.ndim), descending))


@public
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """(values, indices) of the k largest elements along dim."""
    axis = negative_axis(dim, input.ndim)
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if input.ndim == 0:
        return pick_only(input)
    indices = np.take(order(as_raw(input), axis, largest), np.arange(k), axis=axis)
    return ValuesIndices(pick_positions(input, indices, axis, "TopkBackward0"), positions(input, indices))


def enter_median(name: str, doc: str, ignore_nan: bool) -> None:

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
