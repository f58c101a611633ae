"""Shapes and orders of axes with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from ..rules.index import Index
from ..rules.movement import fill_in_length
from ..rules.shapes import at_axis, fit, negative_axes, negative_axis
from ..tape.dtypes import DType, as_numpy
from ..tape.record import dispatch, relabel
from ..tape.tensor import Tensor, as_raw
from .create import lengths
from .wrap import METHOD_FORMS, METHODS, operand, public


@public
def reshape(input: Any, *shape: Any) -> Tensor:
    """The same elements in another shape; one length may be -1."""
    x = operand(input)
    try:
        return entry("reshape").function(x, lengths(shape))
    except ValueError:
        raise RuntimeError(f"shape '{list(lengths(shape))}' is invalid for input of size {x._data.size}") from None


@public
def view(input: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The same memory in another shape, or its bytes read as another type (without a gradient).

    Raises RuntimeError where a view of other memory has no strides for the shape.
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
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of another tensor."""
    return view(input, tuple(other.shape))


@public
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of another tensor."""
    return reshape(input, tuple(other.shape))


@public
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from start_dim to end_dim as one."""
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
    """One axis split into several."""
    axis = negative_axis(dim, input.ndim) + input.ndim
    shape = tuple(input.shape)
    parts = fill_in_length((shape[axis],), lengths((sizes,)))
    return reshape(input, (*shape[:axis], *parts, *shape[axis + 1 :]))


@public
def t(input: Tensor) -> Tensor:
    """The transposed matrix; vectors and scalars stay. Raises RuntimeError above two axes."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    same = input.ndim < 2
    view = entry("reshape").function(input, tuple(input.shape)) if same else entry("transpose").function(input)
    return relabel(view, "TBackward0")


def method_resize(self: Tensor, *sizes: Any) -> Tensor:
    """The same elements in another shape: the old name of view."""
    return view(self, *sizes)


METHOD_FORMS["resize"] = method_resize
METHODS.add("resize")


@public
def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """Axes in another order."""
    axes = lengths(order if dims is None else (dims,))
    if len(axes) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(axes)}"
        )
    if len({negative_axis(a, input.ndim) for a in axes}) != len(axes):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return entry("transpose").function(input, axes)


@public
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Axes of length 1 removed: all, or those of dim that have length 1."""
    if dim is None:
        return entry("squeeze").function(input)
    axes = negative_axes(dim, max(input.ndim, 1))
    shape = tuple(input.shape)
    squeezed = dispatch(entry("squeeze"), (input,), {"axis": tuple(a for a in axes if shape and shape[a] == 1)})
    return relabel(squeezed, "SqueezeBackward1" if isinstance(dim, int) else "SqueezeBackward2")


@public
def expand(input: Tensor, *sizes: Any) -> Tensor:
    """Axes of length 1 repeated without a copy; -1 keeps a length."""
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


@public
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Expanded to the shape of another tensor."""
    return expand(input, tuple(other.shape))


@public
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expanded to a shape."""
    return expand(input, tuple(size))


@public(method=False)
def broadcast_tensors(*tensors: Tensor) -> tuple:
    """All tensors expanded to their common shape; those that have it as they are."""
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        tensors = tuple(tensors[0])
    shape = np.broadcast_shapes(*(x.shape for x in tensors))
    return tuple(x if tuple(x.shape) == shape else expand(x, shape) for x in tensors)


@public(node="SumBackward1")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over what expanding to this shape from `size` would have repeated."""
    target = lengths(size)
    if np.broadcast_shapes(target, tuple(input.shape)) != tuple(input.shape):
        raise RuntimeError(f"size {list(target)} is not expandable to size {list(input.shape)}.")
    return fit(input, target, input.ndim)


@public
def repeat(input: Tensor, *sizes: Any, repeats: Any = None) -> Tensor:
    """The tensor repeated as a block along each axis. Raises RuntimeError for fewer numbers than axes."""
    wanted = lengths(sizes if repeats is None else (repeats,))
    if len(wanted) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return tile(input, wanted)


@public
def tile(input: Tensor, *sizes: Any, dims: Any = None) -> Tensor:
    """The tensor repeated as a block along each of the last axes."""
    return entry("tile").function(input, lengths(sizes if dims is None else (dims,)))


@public
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: Any = None) -> Tensor:
    """Each element repeated; of counts alone, the positions repeated so often."""
    if repeats is None:
        return Tensor._wrap(np.repeat(np.arange(input.shape[0]), as_raw(input)), None)
    return entry("repeat").function(operand(input), repeats, dim)


@public
def flip(input: Tensor, *axes: Any, dims: Any = None) -> Tensor:
    """Order of the elements reversed along axes."""
    return entry("flip").function(input, lengths(axes if dims is None else (dims,)) if input.ndim else ())


@public
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements shifted cyclically."""
    if isinstance(shifts, tuple | list) and dims is not None:
        axes = len(dims) if isinstance(dims, tuple | list) else 1
        if len(shifts) != axes:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{axes}")
    return relabel(entry("roll").function(input, shifts, dims), "RollBackward0")


def at(x: Tensor, dim: int, item: Any, label: str | None = None) -> Tensor:
    """Return x indexed along one axis, in a node of the given name."""
    key = at_axis(negative_axis(dim, x.ndim), item)
    if label is None:
        return x[key]
    return dispatch(entry("getitem"), (x,), {"index": Index(key, tuple(x.shape)), "label": label})


@public
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One slice along an axis."""
    if input.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    return at(input, dim, int(index))


@public
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """length elements from start on along an axis."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    size, begin = input.shape[dim], int(start)
    if not -size <= begin <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {begin})")
    begin += size if begin < 0 else 0
    if length < 0 or begin + length > size:
        raise RuntimeError(f"start ({begin}) + length ({length}) exceeds dimension size ({size}).")
    return at(input, dim, slice(begin, begin + length))
