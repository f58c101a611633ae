"""Choosing elements with PyTorch's arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from ..rules.index import Index
from ..rules.shapes import negative_axis
from ..tape.inplace import fitting
from ..tape.node import labelled
from ..tape.promote import as_operand
from ..tape.record import dispatch
from ..tape.tensor import Tensor, as_raw
from .reduce import picked
from .shape import at
from .wrap import face


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
    return labelled(dispatch(entry("where"), (mask, value, input), {}), "MaskedFillBackward0")


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
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """One value (a number or a 0-d tensor) at integer positions along dim, else input."""
    if as_raw(value).ndim:
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got {as_raw(value).ndim}")
    axis = negative_axis(dim, input.ndim)
    if not input.ndim:
        return index_fill(input.reshape(1), 0, index, value).reshape(())
    key = (..., np.unique(as_raw(index)), *[slice(None)] * (-axis - 1))  # each place gets the value once
    params = {"index": Index(key, tuple(input.shape))}
    return labelled(dispatch(entry("setitem"), (input, fitting(value, input)), params), "IndexFillBackward0")


@face
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements at positions in the flattened tensor."""
    return entry("take").function(input, as_raw(index))


@face
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Elements picked per lane."""
    return entry("take_along_axis").function(input, as_raw(indices), dim)


@face
def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """input[index[i, j], j] and the like along dim."""
    return picked(input, as_raw(index), negative_axis(dim, input.ndim), "GatherBackward0")


@face
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, as a copy, or the matrix with a diagonal."""
    result = entry("diag").function(input, diagonal)
    return result.clone() if input.ndim == 2 else result


@face
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals over two axes."""
    return entry("diagonal").function(input, offset, dim1, dim2)


@face
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix."""
    return entry("trace").function(input)
