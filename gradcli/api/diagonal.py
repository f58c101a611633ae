"""Diagonals and strides with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from ..rules.index import Index
from ..rules.select import diagonal_positions
from ..rules.shapes import lay_along, negative_axis
from ..tape.record import dispatch
from ..tape.tensor import Tensor
from ..tape.versions import address_of
from .wrap import public


@public
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a diagonal."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    result = entry("diag").function(input, diagonal)
    return result.clone() if input.ndim == 2 else result


@public
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals over two axes."""
    if negative_axis(dim1, input.ndim) == negative_axis(dim2, input.ndim):
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return entry("diagonal").function(input, offset, dim1, dim2)


@public(node="TraceBackward0")
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return entry("trace").function(input)


@public(node="DiagEmbedBackward0")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, over the new axes dim1 and dim2, with the last axis on a diagonal."""
    first, second = (negative_axis(d, input.ndim + 1) for d in (dim1, dim2))
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input.shape[-1] + abs(offset)
    index = Index((..., *diagonal_positions(n, n, offset)), (*input.shape[:-1], n, n))
    square = dispatch(entry("put_zeros"), (input,), {"index": index, "lead": ()})
    return entry("moveaxis").function(square, (-2, -1), (first, second))


def positions_in(input: Tensor) -> np.ndarray:
    """Return the number of each element, in the tensor's shape."""
    return np.arange(np.prod(input.shape, dtype=int)).reshape(tuple(input.shape))


def replace_places(input: Tensor, src: Tensor, places: np.ndarray, node: str) -> Tensor:
    """Return input with src at the elements of these numbers. Raises RuntimeError for another shape."""
    if tuple(src.shape) != places.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
            f"slice size = {list(places.shape)} "
        )
    index = Index(np.unravel_index(places, tuple(input.shape)) if input.ndim else (), tuple(input.shape))
    return dispatch(
        entry("setitem"), (input, src if input.ndim else src.reshape(())), {"index": index, "label": node}
    )


@public
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """input with other diagonals."""
    return replace_places(input, src, np.diagonal(positions_in(input), offset, dim1, dim2), "DiagonalScatter")


# -- strides -------------------------------------------------------------------------------------


def memory_places(input: Tensor) -> np.ndarray:
    """Return the number of the element at each place of memory from the first on, -1 where it has none."""
    data = input._array()
    if min(data.strides, default=0) < 0:  # PyTorch has no such strides
        data = np.ascontiguousarray(data)
    steps = [s // data.itemsize for s in data.strides]
    where = sum(
        lay_along(np.arange(n) * s, i - data.ndim) for i, (n, s) in enumerate(zip(data.shape, steps, strict=True))
    )
    places = np.full(int(np.max(where, initial=-1)) + 1, -1)
    places[where] = positions_in(input)
    return places


def strided_places(input: Tensor, size: Any, stride: Any, storage_offset: int | None, name: str) -> np.ndarray:
    """Return the numbers of the elements that strides visit.

    storage_offset counts from the first element of the memory that input is a view of. Raises RuntimeError
    where they leave the elements of input.
    """
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    offset = 0
    if storage_offset is not None and input._base is not None:
        data, base = input._array(), input._base._array()
        offset = (address_of(base) - address_of(data)) // data.itemsize
    where = np.full(size, offset + (storage_offset or 0))
    for i, (n, s) in enumerate(zip(size, stride, strict=True)):
        where = where + lay_along(np.arange(n) * s, i - len(size))
    memory = memory_places(input)
    if where.size and not 0 <= where.min() <= where.max() < memory.size:
        raise RuntimeError(
            f"{name}: size {list(size)} and stride {list(stride)} leave the memory of a tensor "
            f"of shape {list(input.shape)}"
        )
    places = memory[where]
    if (places < 0).any():
        raise RuntimeError(f"{name}: the strides visit memory between the elements of the tensor; clone() it first")
    return places


@public
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """The elements that lie at steps of `stride` in memory, as a copy."""
    places = strided_places(input, size, stride, storage_offset, "as_strided")
    return input.reshape((-1,))[places]


@public
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """input with other elements at steps of `stride` in memory."""
    places = strided_places(input, size, stride, storage_offset, "as_strided_scatter")
    return replace_places(input, src, places, "AsStridedScatter")


@public(node="UnfoldBackward0")
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of a size along an axis, every `step` elements, as a new last axis."""
    if input.ndim == 0:
        return input.reshape((1,))[:size]
    axis = negative_axis(dimension, input.ndim)
    length = input.shape[axis]
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dimension} is {length} but size is {size}")
    if size < 0 or step < 1:
        what = f"size is {size} but must be >= 0" if size < 0 else f"step is {step} but must be > 0"
        raise RuntimeError(what)
    return entry("sliding_windows").function(input, axis, size, step)
