"""Functions that reshape, reorder, join and split tensors, with PyTorch's arguments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.index import ArrayIndex
from ..rules.movement import fill_in_length
from ..rules.shapes import at_axis, negative_axes, negative_axis
from ..tape.dtypes import DType, as_numpy
from ..tape.record import dispatch, relabel
from ..tape.tensor import Tensor, as_raw
from ..tape.torch_errors import BoundsError
from .create import lengths
from .wrap import as_method_operand, offer, public


@public
def reshape(input: Any, *shape: Any) -> Tensor:
    """Return the same elements in another shape; one length may be -1."""
    x = as_method_operand(input)
    try:
        return entry("reshape").function(x, lengths(shape))
    except ValueError:
        raise RuntimeError(f"shape '{list(lengths(shape))}' is invalid for input of size {x._data.size}") from None


@public
def view(input: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """View the same memory in another shape, or its bytes as another type (without a gradient).

    Raises RuntimeError if no strides exist for the shape.
    """
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], DType | np.dtype | type)):
        return Tensor._wrap(input._array().view(as_numpy(shape[0] if dtype is None else dtype)), None)
    result = reshape(input, *shape)
    if input._base is not None and result._base is None and result._data.size:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
            "two contiguous subspaces). Use .reshape(...) instead."
        )
    return result


@public
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the axes from start_dim to end_dim into one."""
    if input.ndim == 0:
        return reshape(input, (1,))
    first, last = (negative_axis(d, input.ndim) + input.ndim for d in (start_dim, end_dim))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    shape = tuple(input.shape)
    joined = int(np.prod(shape[first : last + 1], dtype=int))
    return reshape(input, (*shape[:first], joined, *shape[last + 1 :])) if last > first else input


@public
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Split one axis into several."""
    axis = negative_axis(dim, input.ndim) + input.ndim
    shape = tuple(input.shape)
    parts = fill_in_length((shape[axis],), lengths((sizes,)))
    return reshape(input, (*shape[:axis], *parts, *shape[axis + 1 :]))


@public
def t(input: Tensor) -> Tensor:
    """Transpose a matrix; vectors and scalars are unchanged. Raises RuntimeError for more than two axes."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    same = input.ndim < 2
    view = entry("reshape").function(input, tuple(input.shape)) if same else entry("transpose").function(input)
    return relabel(view, "TBackward0")


@public
def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """Reorder the axes."""
    return entry("transpose").function(input, lengths(order if dims is None else (dims,)))


@public
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Remove axes of length 1: all of them, or only those in dim."""
    if dim is None:
        return entry("squeeze").function(input)
    axes = negative_axes(dim, max(input.ndim, 1))
    shape = tuple(input.shape)
    squeezed = dispatch(entry("squeeze"), (input,), {"axis": tuple(a for a in axes if shape and shape[a] == 1)})
    return relabel(squeezed, "SqueezeBackward1" if isinstance(dim, int) else "SqueezeBackward2")


@public
def expand(input: Tensor, *sizes: Any) -> Tensor:
    """Repeat axes of length 1 without a copy; -1 keeps a length."""
    wanted = lengths(sizes)
    shape = (1,) * (len(wanted) - input.ndim) + tuple(input.shape)
    target = tuple(n if w == -1 else w for w, n in zip(wanted, shape, strict=True))
    for i, (w, n) in enumerate(zip(target, shape, strict=True)):
        if n not in (1, w):
            raise RuntimeError(
                f"The expanded size of the tensor ({w}) must match the existing size ({n}) at non-singleton "
                f"dimension {i}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(input.shape)}"
            )
    return dispatch(entry("broadcast_to"), (input,), {"shape": target})


def like_other(change: Callable) -> Callable:
    """Return a form of reshape, view or expand that takes the shape of another tensor."""
    return lambda input, other: change(input, tuple(other.shape))


for _change in (reshape, view, expand):
    offer(f"{_change.__name__}_as", like_other(_change), f"{_change.__name__} to the shape of another tensor.")


@public
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expand to the given shape."""
    return expand(input, tuple(size))


def unpack_sequence(tensors: tuple) -> tuple:
    """Return the tensors in f(a, b) or f([a, b]) as (a, b)."""
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors


@public(method=False)
def broadcast_tensors(*tensors: Tensor) -> tuple:
    """Expand all tensors to their common shape."""
    tensors = unpack_sequence(tensors)
    shape = np.broadcast_shapes(*(x.shape for x in tensors))
    return tuple(x if tuple(x.shape) == shape else expand(x, shape) for x in tensors)


@public
def repeat(input: Tensor, *sizes: Any, repeats: Any = None) -> Tensor:
    """Repeat the tensor as a block along each axis. Raises RuntimeError if there are fewer numbers than axes."""
    wanted = lengths(sizes if repeats is None else (repeats,))
    if len(wanted) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return tile(input, wanted)


@public
def tile(input: Tensor, *sizes: Any, dims: Any = None) -> Tensor:
    """Repeat the tensor as a block along each of the last axes."""
    return entry("tile").function(input, lengths(sizes if dims is None else (dims,)))


@public
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: Any = None) -> Tensor:
    """Repeat each element; for counts alone, repeat each position that often."""
    if repeats is None:
        return Tensor._wrap(np.repeat(np.arange(input.shape[0]), as_raw(input)), None)
    return entry("repeat").function(as_method_operand(input), repeats, dim)


@public
def flip(input: Tensor, *axes: Any, dims: Any = None) -> Tensor:
    """Reverse the order of the elements along the given axes."""
    return entry("flip").function(input, lengths(axes if dims is None else (dims,)) if input.ndim else ())


@public
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Shift elements cyclically."""
    if isinstance(shifts, tuple | list) and dims is not None:
        axes = len(dims) if isinstance(dims, tuple | list) else 1
        if len(shifts) != axes:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{axes}")
    return relabel(entry("roll").function(input, shifts, dims), "RollBackward0")


def at(x: Tensor, dim: int, item: Any, label: str | None = None) -> Tensor:
    """Return x indexed along one axis. label: the name of the result's node."""
    key = at_axis(negative_axis(dim, x.ndim), item)
    if label is None:
        return x[key]
    return dispatch(entry("getitem"), (x,), {"index": ArrayIndex(key, tuple(x.shape)), "label": label})


@public
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return one slice along an axis."""
    return at(input, dim, int(index))


@public
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return `length` elements along an axis, beginning at start."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    size, begin = input.shape[dim], int(start)
    begin += size if begin < 0 else 0
    if not 0 <= begin <= begin + length <= size:
        raise BoundsError(f"narrow: start {start} and length {length} are out of range for an axis of length {size}")
    return at(input, dim, slice(begin, begin + length))


def join_by_entry(name: str, tensors: Any, *dim: int) -> Tensor:
    return entry(name).function([as_method_operand(x) for x in tensors], *dim)


@public(names=("concat", "concatenate"), method=False)
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Join tensors along an existing axis, skipping empty one-dimensional ones."""
    if isinstance(tensors, Tensor):
        raise TypeError("cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    if not len(tensors):
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return join_by_entry("concatenate", [x for x in tensors if np.shape(x) != (0,)] or tensors, dim)


@public(method=False)
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Join tensors of the same shape along a new axis."""
    return join_by_entry("stack", tensors, dim)


def stacking(name: str) -> Callable:
    return lambda tensors: join_by_entry(name, tensors)


for _name in ("hstack", "vstack", "row_stack", "dstack", "column_stack"):
    offer(_name, stacking(_name), entry(_name).doc, method=False)


@public
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple:
    """Split along dim into parts of one size, or of the given sizes."""
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
            raise RuntimeError(f"split: sizes must add up to the length of the axis, {length}, got {sizes}")
    edges = [0, *np.cumsum(sizes).tolist()]
    label = "Split" if isinstance(split_size_or_sections, int) else "SplitWithSizes"
    return tuple(at(tensor, dim, slice(a, b), label) for a, b in pairwise(edges))


@public
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple:
    """Split along dim into a number of parts of nearly equal size, or at the given indices."""
    return entry("array_split").function(input, indices_or_sections, dim)


@public(node="UnfoldBackward0")
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Copy windows of `size` elements along an axis, `step` elements apart, into a new last axis."""
    axis = negative_axis(dimension, input.ndim)
    length = input.shape[axis] if input.ndim else 1
    if not 0 <= size <= length:
        raise RuntimeError(f"maximum size for tensor at dimension {dimension} is {length} but size is {size}")
    if step < 1:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not input.ndim:
        return input.reshape((1,))[:size]
    places = np.arange(0, length - size + 1, step)[:, None] + np.arange(size)
    return entry("moveaxis").function(at(input, dimension, places), axis, -1)


@public
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple:
    """Split along dim into at most `chunks` parts of equal size; the last may be smaller."""
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    return split(input, max(-(-input.shape[dim] // chunks), 1), dim)


@public
def unbind(input: Tensor, dim: int = 0) -> tuple:
    """Return the slices along an axis."""
    return tuple(at(input, dim, i, "Unbind") for i in range(input.shape[dim]))


@public(method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple:
    """Return coordinate grids from vectors of coordinates."""
    vectors = tuple(as_method_operand(x) for x in unpack_sequence(tensors))
    if not vectors or any(x.ndim > 1 for x in vectors):
        raise RuntimeError(f"meshgrid expects 0D or 1D tensors, got shapes {[list(x.shape) for x in vectors]}")
    return entry("meshgrid").function(*vectors, indexing=indexing)


def offer_atleast(ndim: int) -> None:
    name = f"atleast_{ndim}d"

    def function(*tensors: Any) -> Any:
        given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors
        made = [as_method_operand(entry(name).function(as_method_operand(x))) for x in given]
        return made[0] if given is tensors and len(made) == 1 else tuple(made)

    offer(name, function, f"The tensor, or each of several, with at least {ndim} axes.", method=False)


for ndim in (1, 2, 3):
    offer_atleast(ndim)
