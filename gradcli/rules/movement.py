"""Functions that move elements without changing them: new shapes, and new order along axes."""

from __future__ import annotations

import math

import numpy as np

from .exact import exact_astype
from .shapes import (
    Shape,
    as_int,
    as_shape,
    count_shape,
    fit_to_shape,
    lead_of,
    negative_axes,
    negative_axis,
    rank,
    shape_of,
)
from .table import A, Sample, internal, numpy_function, rule, selection


def batch_broadcast(size, operands, _flags, params):
    """Keep the operand's leading axis in front of those that broadcasting adds."""
    (x,), shape = operands, params["shape"]
    return (x.reshape((size,) + (1,) * (len(shape) + 1 - x.ndim) + x.shape[1:]),), {"shape": (size, *shape)}


def fill_in_length(old: Shape, wanted: Shape) -> Shape:
    """Return `wanted` with its -1 replaced. Raises ValueError if the sizes do not match."""
    size, known = math.prod(old), math.prod([n for n in wanted if n != -1])
    if -1 in wanted and known and size % known == 0 and wanted.count(-1) == 1:
        wanted = tuple(size // known if n == -1 else n for n in wanted)
    elif known != size or min(wanted, default=0) < 0:
        raise ValueError(f"cannot reshape an array of shape {old} ({size} elements) into shape {wanted}")
    return wanted


reshape_entry = selection(
    "reshape",
    lambda x, *, shape: x.reshape(shape),
    rule("g in the old shape", lambda g, _, x_shape, *, shape: g.reshape(lead_of(g, shape) + x_shape)),
    bind=lambda x, *shape: ((x,), {"shape": fill_in_length(shape_of(x), as_shape(*shape))}),
    node="View",
    view=True,
    batch=lambda size, operands, _flags, params: (operands, {**params, "shape": (size, *params["shape"])}),
    samples=(Sample(A(3, 4), (2, 6)), Sample(A(3, 4), -1), Sample(A(1), ())),
    doc="The same elements in a different shape.",
)


@numpy_function(Sample(A(3, 4)), aliases=("flatten",))
def ravel(x):
    """All elements along one axis."""
    return x.reshape((-1,))


def expand_signature(x, axis):
    """Bind expand_dims; axis refers to axes of the result."""
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    return (x,), {"axis": negative_axes(tuple(map(as_int, axes)), rank(x) + len(axes))}


selection(
    "expand_dims",
    lambda x, *, axis: np.expand_dims(x, axis),
    rule("g without the new axes", lambda g, _, _x, *, axis: g.squeeze(tuple(axis))),
    bind=expand_signature,
    aliases=("unsqueeze",),
    node="Unsqueeze",
    view=True,
    samples=(Sample(A(3, 4), 1), Sample(A(3), (0, -1)), Sample(A(), 0)),
    doc="The array with a new axis of length 1.",
)


def squeeze_signature(x, axis=None):
    """Bind squeeze; without axis, all axes of length 1 are removed."""
    if axis is None:
        return (x,), {"axis": tuple(i - rank(x) for i, n in enumerate(shape_of(x)) if n == 1)}
    return (x,), {"axis": negative_axes(axis, rank(x))}


selection(
    "squeeze",
    lambda x, *, axis: np.squeeze(x, axis),
    rule(
        "g with the axes of length 1 put back",
        lambda g, _, x_shape, *, axis: g.reshape(g.shape[: g.ndim - len(x_shape) + len(axis)] + x_shape),
    ),
    bind=squeeze_signature,
    view=True,
    samples=(Sample(A(3, 1, 4)), Sample(A(1, 3, 1), 0), Sample(A(1, 3, 1), (0, 2))),
    doc="The array without its axes of length 1.",
)
selection(
    "broadcast_to",
    lambda x, *, shape: np.broadcast_to(x, shape),
    rule("g summed over the repeated axes", lambda g, _, x_shape, *, shape: fit_to_shape(g, x_shape, len(shape))),
    bind=lambda x, *shape: ((x,), {"shape": as_shape(*shape)}),
    node="Expand",
    view=True,
    batch=batch_broadcast,
    samples=(Sample(A(4), (3, 4)), Sample(A(3, 1), (2, 3, 4)), Sample(A(), (2,))),
    size=lambda x, *shape: count_shape(*shape),
    doc="The array, broadcast to a larger shape without a copy.",
)


def permute_axes(x, axes):
    """Transpose the trailing axes, given as negative positions; leading axes stay in place."""
    lead = x.ndim - len(axes)
    return x.transpose((*range(lead), *(a + x.ndim for a in axes)))


def transpose_signature(x, axes=None, *more):
    """Bind transpose(x), transpose(x, axes) and transpose(x, 1, 0, 2); without axes, all are reversed."""
    ndim = rank(x)
    if axes is None:
        return (x,), {"axes": tuple(range(-1, -ndim - 1, -1))}
    order = as_shape((axes, *more) if more or not hasattr(axes, "__len__") else axes)
    if len(order) != ndim or len(axes := tuple(negative_axis(a, ndim) for a in order)) != len(set(axes)):
        raise ValueError(f"transpose: axes {order} are not a permutation of the {ndim} axes")
    return (x,), {"axes": axes}


def transpose_vjp(g, _, _x, *, axes):
    """g with the inverse permutation."""
    lead, n = g.ndim - len(axes), len(axes)
    back = sorted(range(n), key=axes.__getitem__)
    return np.transpose(g, (*range(lead), *(lead + i for i in back)))


transpose = selection(
    "transpose",
    lambda x, *, axes: permute_axes(x, axes),
    transpose_vjp,
    bind=transpose_signature,
    aliases=("permute", "permute_dims"),
    node="Permute",
    view=True,
    samples=(Sample(A(3, 4)), Sample(A(2, 3, 4), (1, 2, 0)), Sample(A(5))),
    doc="The array with its axes in the given order, or in reverse order.",
)
selection(
    "swapaxes",
    lambda x, *, axis1, axis2: x.swapaxes(axis1, axis2) if x.ndim else x[...],
    rule("g with axes exchanged", lambda g, _, _x, *, axis1, axis2: g if axis1 == axis2 else g.swapaxes(axis1, axis2)),
    bind=lambda x, axis1, axis2: (
        (x,),
        {"axis1": negative_axis(axis1, rank(x)), "axis2": negative_axis(axis2, rank(x))},
    ),
    node="Transpose",
    torch="transpose swapaxes swapdims(input, dim0, dim1)",
    view=True,
    batch=lambda size, operands, _flags, params: (
        operands,
        params if operands[0].ndim > 1 else {"axis1": 0, "axis2": 0},
    ),
    samples=(Sample(A(3, 4), 0, 1), Sample(A(2, 3, 4), 0, -1)),
    doc="The array with two axes exchanged.",
)


@numpy_function(Sample(A(2, 3, 4), 0, -1), Sample(A(2, 3, 4), (0, 1), (1, 2)), aliases=("movedim",))
def moveaxis(x, source, destination):
    """The array with axes moved to new places."""
    ndim = rank(x)
    source, destination = as_shape(source), as_shape(destination)
    if len(source) != len(destination):
        raise ValueError("moveaxis: source and destination must have the same number of axes")
    sources = [negative_axis(a, ndim) + ndim for a in source]
    if not ndim:
        return transpose.function(x, ())
    order = [a for a in range(ndim) if a not in sources]
    for place, axis in sorted(zip([negative_axis(a, ndim) + ndim for a in destination], sources, strict=True)):
        order.insert(place, axis)
    return transpose.function(x, tuple(order))


def astype_vjp(g, _, _x, *, dtype, source):
    """g in the old type; if that is real, the real part of a complex g."""
    return (g.real if source.kind != "c" and g.dtype.kind == "c" else g).astype(source)


internal.selection(
    "astype",
    lambda x, *, dtype, source: x.astype(dtype),
    astype_vjp,
    bind=lambda x, dtype: ((x,), {"dtype": np.dtype(dtype), "source": np.dtype(x.dtype)}),
    node="ToCopy",
    samples=(Sample(A(3, 4), np.float64),),
    exact=exact_astype,
)
clone_vjp = rule("The same cotangent", lambda g, _, _x: g)
clone = internal.selection(
    "clone",
    lambda x: x.copy(),
    clone_vjp,
    torch="clone(input, *, memory_format=None)",
    samples=(Sample(A(3, 4)), Sample(A()), Sample(A(0))),
    doc="A copy; gradients flow through it.",
)
internal.linear(
    "copy_to",
    lambda x: x,
    clone_vjp,
    node="CopyBackwards",
    exact=lambda _field, x: x,
    doc="The array that is about to be copied into other memory.",
)
internal.selection("alias", lambda x: x, clone_vjp, doc="The array itself, with a node of its own.")
flip_entry = selection(
    "flip",
    lambda x, *, axis: np.flip(x, axis).copy(),
    rule("g flipped as well", lambda g, _, _x, *, axis: np.flip(g, axis)),
    bind=lambda x, axis=None: ((x,), {"axis": negative_axes(axis, rank(x))}),
    samples=(Sample(A(3, 4)), Sample(A(3, 4), 0), Sample(A(2, 3, 4), (0, 2))),
    doc="Elements in reverse order along axis.",
)
roll_axes = internal.selection(
    "roll_axes",
    lambda x, *, shift, axis: np.roll(x, shift, axis),
    rule("g rolled back", lambda g, _, _x, *, shift, axis: np.roll(g, tuple(-s for s in shift), axis)),
    node="Roll",
)


@numpy_function(Sample(A(3, 4), 1), Sample(A(3, 4), 1, axis=0), Sample(A(3, 4), (1, -2), axis=(0, 1)))
def roll(x, shift, axis=None):
    """Elements shifted cyclically along axis."""
    shift = as_shape(shift)
    if axis is None:
        return roll_axes(x.reshape((-1,)), shift=(sum(shift),), axis=(-1,)).reshape(shape_of(x))
    axes = [negative_axis(a, rank(x)) for a in as_shape(axis)]
    if len(shift) == 1:
        shift = shift * len(axes)
    return roll_axes(x, shift=shift, axis=tuple(axes))


def check_rank(x, name: str, least: int) -> None:
    if rank(x) < least:
        raise ValueError(f"{name} needs an array with at least {least} axes, got shape {shape_of(x)}")


def enter_flip(name: str, axis: int, doc: str) -> None:
    @numpy_function(Sample(A(3, 4)), Sample(A(2, 3, 2)), name=name, doc=doc)
    def function(x):
        check_rank(x, name, axis + 1)
        return flip_entry.function(x, axis)


enter_flip("fliplr", 1, "Elements in reverse order along the second axis.")
enter_flip("flipud", 0, "Elements in reverse order along the first axis.")


@numpy_function(Sample(A(3, 4)), Sample(A(2, 3, 2)), node="Rot90")
def rot90(x, k=1, axes=(0, 1)):
    """The array rotated by k quarter turns in the plane of two axes, from the first towards the second."""
    axes, k = tuple(axes), as_int(k)
    if len(axes) != 2 or rank(x) < 2:
        raise ValueError(f"rot90 needs two axes, got axes {axes} and shape {shape_of(x)}")
    first, second = (negative_axis(a, rank(x)) for a in axes)
    if first == second:
        raise ValueError(f"rot90: the axes {axes} must differ")
    if k % 4 == 2:
        return flip_entry.function(x, (first, second))
    if k % 4 == 0:
        return clone(x)
    turned = x.swapaxes(first, second)
    return flip_entry.function(turned, first) if k % 4 == 1 else flip_entry.function(turned, second)


@numpy_function(Sample(A(2, 3, 4), 2), Sample(A(2, 3, 4), 0, 2), Sample(A(2, 3, 4), -1, 1))
def rollaxis(x, axis, start=0):
    """The array with one axis moved in front of another."""
    axis = negative_axis(axis, rank(x)) + rank(x)
    start = as_int(start) + (rank(x) if start < 0 else 0)
    return moveaxis(x, axis, start - (axis < start))
