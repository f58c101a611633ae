"""Joining tensors and cutting them into parts, with PyTorch's arguments."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.join import cut, cut_places
from ..rules.shapes import negative_axis
from ..tape.memory import one_of_several
from ..tape.tensor import Tensor, as_raw
from .shape import at
from .wrap import operand, public, rename_function

# -- joining -------------------------------------------------------------------------------------


def join_by_entry(name: str, tensors: Any, *dim: int) -> Tensor:
    """Join tensors by an entry of the table. Raises RuntimeError where shapes do not fit."""
    parts = [operand(x) for x in tensors]
    try:
        return entry(name).function(parts, *dim)
    except ValueError as error:
        if isinstance(error, IndexError):
            raise
        if str(error).startswith("stack expects"):
            raise RuntimeError(str(error)) from None
        shapes = ", ".join(str(list(x.shape)) for x in parts)
        raise RuntimeError(f"{name}: {error} (shapes {shapes or 'none'})") from None


@public(names=("concat", "concatenate"), method=False)
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors joined along an existing axis; empty one-dimensional ones are skipped."""
    if isinstance(tensors, Tensor):
        raise TypeError("cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    if not len(tensors):
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    parts = [x for x in map(operand, tensors) if tuple(x.shape) != (0,)]
    ranks = {x.ndim for x in parts}
    if len(ranks) > 1:
        raise RuntimeError(f"Tensors must have same number of dimensions: got {' and '.join(map(str, ranks))}")
    for x in parts[:1]:
        negative_axis(dim, x.ndim)
    check_sizes(parts, dim)
    return join_by_entry("concatenate", parts or tensors, dim)


def check_sizes(parts: list[Tensor], dim: int) -> None:
    """Raise RuntimeError unless tensors differ in length along dim only."""
    for place, x in enumerate(parts[1:], 1):
        for axis, (n, m) in enumerate(zip(parts[0].shape, x.shape, strict=True)):
            if n != m and axis != dim % x.ndim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim % x.ndim}. Expected size {n} but got "
                    f"size {m} for tensor number {place} in the list."
                )


@public(method=False)
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis."""
    return join_by_entry("stack", tensors, dim)


def stacking(name: str) -> None:
    """Enter a function that joins along a certain axis, such as hstack."""

    def function(tensors: Any) -> Tensor:
        return join_by_entry(name, tensors)

    public(rename_function(function, name, entry(name).doc), method=False)


for _name in ("hstack", "vstack", "row_stack", "dstack", "column_stack"):
    stacking(_name)


@public(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of a larger one, zeros elsewhere; vectors are rows."""
    blocks = [entry("atleast_2d").function(operand(x)) for x in tensors] or [operand(np.zeros((1, 0)))]
    if any(x.ndim > 2 for x in blocks):
        raise RuntimeError("block_diag needs tensors of at most two axes")
    width = sum(x.shape[1] for x in blocks)
    rows, start = [], 0
    for x in blocks:
        left, right = (np.zeros((x.shape[0], n), x.dtype.dtype) for n in (start, width - start - x.shape[1]))
        rows.append(join_by_entry("concatenate", (left, x, right), 1))
        start += x.shape[1]
    return join_by_entry("concatenate", rows, 0)


def sequence(tensors: tuple) -> tuple:
    """Return f(a, b) and f([a, b]) as (a, b)."""
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors


def atleast(ndim: int) -> None:
    """Enter atleast_1d and the like: a tensor, or a tuple for several."""
    name = f"atleast_{ndim}d"

    def function(*tensors: Any) -> Any:
        parts = tuple(entry(name).function(operand(x)) for x in sequence(tensors))
        return parts[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else parts

    public(rename_function(function, name, entry(name).doc))


for _ndim in (1, 2, 3):
    atleast(_ndim)


# -- cutting -------------------------------------------------------------------------------------


@public
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple:
    """Cut into parts of a size, or of the given sizes, along dim."""
    if not tensor.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = negative_axis(dim, tensor.ndim)
    length = tensor.shape[axis]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 0 or (step == 0 and length):
            raise RuntimeError(f"split expects split_size to be positive, but got split_size={step}")
        sizes = [min(step, length - i) for i in range(0, length, step or 1)] or [0]
    else:
        sizes = [int(n) for n in split_size_or_sections]
        if sum(sizes) != length or min(sizes, default=0) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at "
                f"dimension {dim}), but got split_sizes={sizes}"
            )
    edges = [0, *np.cumsum(sizes).tolist()]
    label = "Split" if isinstance(split_size_or_sections, int) else "SplitWithSizes"
    return one_of_several(tuple(at(tensor, dim, slice(a, b), label) for a, b in pairwise(edges)))


@public
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple:
    """Cut into parts of the given sizes along dim."""
    return split(input, list(split_sizes), dim)


@public
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple:
    """Cut into so many parts along dim, the last maybe smaller."""
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    return split(input, max(-(-input.shape[dim] // chunks), 1), dim)


@public
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple:
    """Cut at indices, or into so many parts of nearly one size."""
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = as_raw(indices_or_sections).tolist()
    if input.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = negative_axis(dim, input.ndim)
    return cut(input, axis, cut_places(indices_or_sections, input.shape[axis]))


def splitting(name: str, least: int, axis: int) -> None:
    """Enter a function that cuts into equal parts (or at indices) along a certain axis, such as hsplit."""

    def function(input: Tensor, indices_or_sections: Any) -> tuple:
        if input.ndim < least:
            raise RuntimeError(f"{name} requires a tensor with at least {least} dimension(s), got {input.ndim}")
        dim = min(axis, input.ndim - 1)
        if isinstance(indices_or_sections, int) and (indices_or_sections < 1 or input.shape[dim] % indices_or_sections):
            raise RuntimeError(
                f"{name} attempted to split along dimension {dim}, but the size of the dimension "
                f"{input.shape[dim]} is not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, dim)

    public(rename_function(function, name, f"Cut into equal parts, or at indices, along axis {axis}."))


splitting("hsplit", 1, 1)
splitting("vsplit", 2, 0)
splitting("dsplit", 3, 2)


@public
def unbind(input: Tensor, dim: int = 0) -> tuple:
    """The slices along an axis."""
    return one_of_several(tuple(at(input, dim, i, "Unbind") for i in range(input.shape[dim])))


# -- grids and choices ---------------------------------------------------------------------------


@public(method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple:
    """Coordinate grids of vectors."""
    vectors = tuple(operand(x) for x in sequence(tensors))
    if not vectors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if any(x.ndim > 1 for x in vectors):
        raise RuntimeError(f"meshgrid expects 0D or 1D tensors, got shapes {[list(x.shape) for x in vectors]}")
    return entry("meshgrid").function(*vectors, indexing=indexing)
