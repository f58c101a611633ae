"""Choosing elements with PyTorch's arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from ..rules.shapes import negative_axis
from ..tape.promote import as_operand
from ..tape.record import dispatch
from ..tape.tensor import Tensor, as_raw
from .reduce import ValuesIndices, picked
from .shape import at
from .wrap import face, operand


@face
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds, else other; with one argument the positions where it holds."""
    if input is None:
        return nonzero(condition, as_tuple=True)
    return dispatch(entry("where"), (as_operand(condition), as_operand(input), as_operand(other)), {})


def method_where(self: Tensor, condition: Any, other: Any) -> Tensor:
    """self where the condition holds, else other."""
    return where(condition, self, other)


@face
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """value where the mask holds, else input."""
    return dispatch(entry("where"), (mask, value, input), {})


@face
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds."""
    return input[np.broadcast_to(as_raw(mask), input.shape)]


@face
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not 0."""
    found = np.nonzero(as_raw(input))
    if as_tuple:
        return tuple(Tensor._wrap(places, None) for places in found)
    return Tensor._wrap(np.stack(found, -1), None)


@face
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Slices at integer positions along dim."""
    return at(input, dim, index)


@face
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements at positions in the flattened tensor."""
    return entry("take").function(input, as_raw(index))


@face
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Elements picked per lane."""
    return entry("take_along_axis").function(input, as_raw(indices), dim)


@face
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """(values, indices) in rising or falling order along dim."""
    x = operand(input)
    if x.ndim == 0:
        return ValuesIndices(x.clone(), Tensor._wrap(np.zeros((), np.int64), None))
    axis = negative_axis(dim, x.ndim)
    indices = order(x._data, axis, descending)
    return ValuesIndices(picked(x, indices, axis, "SortBackward0"), Tensor._wrap(indices, None))


def order(data: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Return the positions that sort data; equal elements keep their order either way."""
    if not descending:
        return np.argsort(data, axis=axis, kind="stable")
    flipped = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(flipped, axis)


@face
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions that sort."""
    if input.ndim == 0:
        return Tensor._wrap(np.zeros((), np.int64), None)
    return Tensor._wrap(order(input._data, negative_axis(dim, input.ndim), descending), None)


@face
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """(values, indices) of the k largest elements along dim."""
    axis = negative_axis(dim, input.ndim)
    indices = np.take(order(input._data, axis, largest), np.arange(k), axis=axis)
    return ValuesIndices(picked(input, indices, axis, "TopkBackward0"), Tensor._wrap(indices, None))


@face
def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """input[index[i, j], j] and the like along dim."""
    return picked(input, as_raw(index), negative_axis(dim, input.ndim), "GatherBackward0")


@face
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a diagonal."""
    return entry("diag").function(input, diagonal)


@face
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals over two axes."""
    return entry("diagonal").function(input, offset, dim1, dim2)


@face
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix."""
    return entry("trace").function(input)
