"""Shapes and orders of axes with PyTorch's arguments."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.index import Index
from ..rules.shapes import negative_axes, negative_axis
from ..tape.dtypes import as_dtype, as_numpy
from ..tape.node import labelled
from ..tape.record import dispatch
from ..tape.tensor import Tensor
from .create import lengths
from .wrap import face, operand


@face
def reshape(input: Any, *shape: Any) -> Tensor:
    """The same elements in another shape; one length may be -1."""
    x = operand(input)
    try:
        return entry("reshape").function(x, lengths(shape))
    except ValueError:
        raise RuntimeError(f"shape '{list(lengths(shape))}' is invalid for input of size {x._data.size}") from None


@face
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of another tensor."""
    return reshape(input, tuple(other.shape))


@face
def view(input: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape; one length may be -1. view(dtype) reads the memory as another type.

    Raises RuntimeError where the elements do not lie in memory as the shape needs them.
    """
    if len(shape) == 1 and not isinstance(shape[0], int | np.integer | tuple | list):
        return reread(input, as_numpy(shape[0]))
    result = reshape(input, *shape)
    if type(result) is Tensor and result._base is None and result._data.size:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
            "two contiguous subspaces). Use .reshape(...) instead."
        )
    return result


def reread(input: Tensor, dtype: Any) -> Tensor:
    """Return the memory of a tensor read as another type."""
    if input._data.dtype == dtype:
        return dispatch(entry("alias"), (input,))
    if input.requires_grad and dtype.kind in "fc":
        raise RuntimeError("view(dtype) has no gradient; use .to(dtype) to convert, or detach() first")
    try:
        return Tensor._wrap(input._array().view(dtype), None)
    except ValueError as error:
        raise RuntimeError(f"view({as_dtype(dtype)}): {error}") from None


@face
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of another tensor."""
    return view(input, tuple(other.shape))


@face
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from start_dim to end_dim as one."""
    if input.ndim == 0:
        return reshape(input, (1,))
    first, last = start_dim % input.ndim, end_dim % input.ndim
    shape = tuple(input.shape)
    return reshape(input, (*shape[:first], -1, *shape[last + 1 :])) if last > first else input


@face
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One axis split into several."""
    axis = dim % input.ndim
    shape = tuple(input.shape)
    return reshape(input, (*shape[:axis], *sizes, *shape[axis + 1 :]))


@face(names=("swapaxes", "swapdims"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged."""
    return entry("swapaxes").function(input, dim0, dim1)


@face
def t(input: Tensor) -> Tensor:
    """The transposed matrix; vectors and scalars stay. Raises RuntimeError above two axes."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return labelled(entry("transpose").function(input), "TBackward0") if input.ndim == 2 else input


@face
def permute(input: Tensor, *dims: Any) -> Tensor:
    """Axes in another order."""
    return entry("transpose").function(input, lengths(dims))


@face
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Axes of length 1 removed: all, or those of dim that have length 1."""
    if dim is None:
        return entry("squeeze").function(input)
    axes = negative_axes(dim, max(input.ndim, 1))
    shape = tuple(input.shape)
    return dispatch(entry("squeeze"), (input,), {"axis": tuple(a for a in axes if shape and shape[a] == 1)})


@face
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new axis of length 1."""
    return entry("expand_dims").function(input, dim)


@face
def expand(input: Tensor, *sizes: Any) -> Tensor:
    """Axes of length 1 repeated without a copy; -1 keeps a length."""
    wanted = lengths(sizes)
    shape = (1,) * (len(wanted) - input.ndim) + tuple(input.shape)
    target = tuple(n if w == -1 else w for w, n in zip(wanted, shape, strict=True))
    if any(n not in (1, w) for w, n in zip(target, shape, strict=True)):
        raise RuntimeError(f"the tensor of shape {list(input.shape)} cannot be expanded to {list(wanted)}")
    return dispatch(entry("broadcast_to"), (input,), {"shape": target})


@face
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Expanded to the shape of another tensor."""
    return expand(input, tuple(other.shape))


@face
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expanded to a shape."""
    return expand(input, tuple(size))


@face(method=False)
def broadcast_tensors(*tensors: Tensor) -> tuple:
    """All tensors expanded to their common shape."""
    shape = np.broadcast_shapes(*(x.shape for x in tensors))
    return tuple(expand(x, shape) for x in tensors)


@face(names=("tile",))
def repeat(input: Tensor, *sizes: Any) -> Tensor:
    """The tensor repeated as a block along each axis."""
    return entry("tile").function(input, lengths(sizes))


@face
def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None) -> Tensor:
    """Each element repeated."""
    return entry("repeat").function(input, repeats, dim)


@face
def flip(input: Tensor, *dims: Any) -> Tensor:
    """Order of the elements reversed along axes."""
    return entry("flip").function(input, lengths(dims))


@face
def fliplr(input: Tensor) -> Tensor:
    """Reversed along axis 1."""
    return flip(input, 1)


@face
def flipud(input: Tensor) -> Tensor:
    """Reversed along axis 0."""
    return flip(input, 0)


@face
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements shifted cyclically."""
    if isinstance(shifts, tuple | list) and dims is not None:
        axes = len(dims) if isinstance(dims, tuple | list) else 1
        if len(shifts) != axes:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{axes}")
    return labelled(entry("roll").function(input, shifts, dims), "RollBackward0")


@face
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The plane of two axes turned by k quarter turns."""
    a, b = dims
    if k % 4 == 0:
        return input.clone()
    if k % 4 == 2:
        return flip(flip(input, a), b)
    return flip(transpose(input, a, b), a) if k % 4 == 1 else transpose(flip(input, a), a, b)


@face(names=("concat", "concatenate"), method=False)
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors joined along an existing axis; empty one-dimensional ones are skipped."""
    parts = [x for x in map(operand, tensors) if tuple(x.shape) != (0,)] or [operand(x) for x in tensors]
    ranks = {x.ndim for x in parts}
    if len(ranks) > 1:
        raise RuntimeError(f"Tensors must have same number of dimensions: got {' and '.join(map(str, ranks))}")
    return entry("concatenate").function(parts, dim)


@face(method=False)
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis."""
    try:
        return entry("stack").function([operand(x) for x in tensors], dim)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


@face(method=False)
def hstack(tensors: Any) -> Tensor:
    """Tensors joined along the second axis (the first, for vectors)."""
    parts = [x.reshape(1) if x.ndim == 0 else x for x in map(operand, tensors)]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


@face(method=False)
def vstack(tensors: Any) -> Tensor:
    """Tensors joined along the first axis; vectors are rows."""
    return cat([x.reshape(1, -1) if x.ndim < 2 else x for x in map(operand, tensors)], 0)


def at(x: Tensor, dim: int, item: Any, label: str | None = None) -> Tensor:
    """Return x indexed along one axis, in a node of the given name."""
    axis = negative_axis(dim, x.ndim)
    key = (..., item) + (slice(None),) * (-axis - 1)
    if label is None:
        return x[key]
    return dispatch(entry("getitem"), (x,), {"index": Index(key, tuple(x.shape)), "label": label})


@face
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple:
    """Cut into parts of a size, or of the given sizes, along dim."""
    length = tensor.shape[dim]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 0 or (step == 0 and length):
            raise RuntimeError(
                f"split expects a positive split_size, but got {step} for a dimension of size {length}"
            )
        step = step or 1
        sizes = [min(step, length - i) for i in range(0, length, step)] or [0]
    else:
        sizes = list(split_size_or_sections)
        if sum(sizes) != length:
            raise RuntimeError(f"split sizes {sizes} do not add up to {length}")
    edges = [0, *np.cumsum(sizes).tolist()]
    label = "Split" if isinstance(split_size_or_sections, int) else "SplitWithSizes"
    return tuple(at(tensor, dim, slice(a, b), label) for a, b in pairwise(edges))


@face
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple:
    """Cut into so many parts along dim, the last maybe smaller."""
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return split(input, max(-(-input.shape[dim] // chunks), 1), dim)


@face
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple:
    """Cut at indices, or into so many parts of nearly one size."""
    pieces = np.array_split(np.arange(input.shape[dim]), indices_or_sections)
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    return tuple(at(input, dim, slice(a, b)) for a, b in zip([0, *ends], ends, strict=False))


@face
def unbind(input: Tensor, dim: int = 0) -> tuple:
    """The slices along an axis."""
    return tuple(at(input, dim, i, "Unbind") for i in range(input.shape[dim]))


@face
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One slice along an axis."""
    return at(input, dim, int(index))


@face
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """length elements from start on along an axis."""
    size = input.shape[dim]
    first = int(start) + (size if start < 0 else 0)
    if length < 0 or not 0 <= first <= size - length:
        raise RuntimeError(f"start ({int(start)}) + length ({length}) exceeds dimension size ({size}).")
    return at(input, dim, slice(first, first + length))


@face
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Axes moved to new places."""
    return entry("moveaxis").function(input, source, destination)


@face(method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple:
    """Coordinate grids of vectors."""
    vectors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
    if indexing == "xy" and len(vectors) > 1:
        grids = meshgrid(vectors[1], vectors[0], *vectors[2:])
        return tuple(transpose(g, 0, 1) for g in (grids[1], grids[0], *grids[2:]))
    shape = tuple(v._data.size for v in vectors)
    places = [(1,) * i + (-1,) + (1,) * (len(vectors) - i - 1) for i in range(len(vectors))]
    return tuple(expand(reshape(v, place), shape) for v, place in zip(vectors, places, strict=True))
