"""Selections along axes, by index, condition or order."""

from __future__ import annotations

import numpy as np

from .index import ArrayIndex, getitem, put
from .movement import check_rank, moveaxis
from .shapes import (
    as_int,
    as_operand_array,
    at_axis,
    count_repeated,
    lay_along,
    negative_axis,
    rank,
    raw,
    shape_of,
    size_of,
)
from .table import TEST, A, Sample, constant, internal, no_gradient, numpy_function, rule, selection


@numpy_function(Sample(A(3, 4), np.array([0, 2, 2])), Sample(A(3, 4), np.array([[1], [0]]), axis=0))
def take(x, indices, axis=None):
    """Elements at integer positions along axis."""
    indices = list(indices) if isinstance(indices, tuple) else indices  # a tuple would index several axes
    if axis is None:
        return getitem.function(x.reshape((-1,)), indices)
    return getitem.function(x, at_axis(negative_axis(axis, rank(x)), indices))


@numpy_function(
    Sample(A(3, 4), 2), Sample(A(3, 4), 2, axis=0), Sample(A(3, 2), np.array([1, 0, 3]), axis=0), size=count_repeated
)
def repeat(x, repeats, axis=None):
    """Each element repeated along axis."""
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    axis, counts = negative_axis(axis, rank(x)), raw(repeats).astype(np.intp)
    if (counts != raw(repeats)).any():
        raise ValueError("repeat: the numbers of repetitions must be integers")
    return take(x, np.repeat(np.arange(shape_of(x)[axis]), counts), axis)


def lanes(shape, indices, axis) -> ArrayIndex:
    """Return the index that picks, per lane along a negative axis, the elements at integer positions.

    Raises IndexError if the positions are not integers.
    """
    if indices.dtype.kind not in "iub":
        raise IndexError(f"positions must be integers, not {indices.dtype}")
    grid = [lay_along(np.arange(n), i - len(shape)) for i, n in enumerate(indices.shape)]
    grid[axis] = indices.astype(np.intp)
    return ArrayIndex(tuple(grid), tuple(shape))


@numpy_function(Sample(A(3, 4), np.array([[0, 0], [3, 1], [2, 2]]), axis=1))
def take_along_axis(x, indices, axis=-1):
    """Elements along axis at the given indices, with separate indices for each row."""
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    axis = negative_axis(axis, rank(x))
    shape = shape_of(x)
    wide = np.broadcast_to(indices, (*shape[:axis], shape_of(indices)[axis], *shape[axis % len(shape) + 1 :]))
    return pick(x, wide, axis=axis) if hasattr(wide, "__record__") else getitem(x, index=lanes(shape, wide, axis))


def pick_dx(g, _, x_shape, indices, *, axis):
    """g added at the picked places."""
    return unpick(g, np.broadcast_to(indices, g.shape), axis=axis, length=x_shape[axis])


def unpick_forward(g, indices, *, axis, length):
    """Zeros, with the given length along axis, and g added per lane at the given positions."""
    shape = list(g.shape)
    shape[axis] = length
    out = np.zeros(shape, g.dtype)
    np.add.at(out, lanes(out.shape, indices, axis).key, g)
    return out


def unpick_dg(g, out_shape, _, indices, *, axis, length):
    """The picked elements of g."""
    return pick(g, np.broadcast_to(indices, g.shape[: g.ndim - len(out_shape)] + tuple(indices.shape)), axis=axis)


pick = internal.general(
    "pick",
    lambda x, indices, *, axis: np.take_along_axis(x, indices, axis),
    pick_dx,
    no_gradient,
    node="Gather",
    doc="Elements picked per lane along a negative axis by positions that may themselves be computed.",
)
unpick = internal.general("unpick", unpick_forward, unpick_dg, no_gradient, node="ScatterAdd")


def sort_vjp(g, _, x, *, axis):
    """Each element of g, moved back to where the sorted element came from."""
    places = np.argsort(sorting_positions(x, axis), axis=axis, kind="stable")
    return np.take_along_axis(g, np.broadcast_to(places, g.shape), axis)


def sorting_positions(x, axis):
    return np.argsort(getattr(x, "_data", x), axis=axis, kind="stable")  # not raw(): an exact array sorts itself


sort_axis = internal.general(
    "sort_axis", lambda x, *, axis: np.take_along_axis(x, sorting_positions(x, axis), axis), sort_vjp, node="Sort"
)


@numpy_function(
    Sample(A(3, 4)), Sample(A(3, 4), axis=0), Sample(A(3, 2), axis=None), subgradient="equal elements keep their order"
)
def sort(x, axis=-1):
    """Elements in increasing order along axis."""
    if axis is None:
        x, axis = x.reshape((-1,)), -1
    return x.reshape(()) if rank(x) == 0 else sort_axis(x, axis=negative_axis(axis, rank(x)))


argsort_entry = constant(
    lambda x, *, axis: sorting_positions(x, axis),
    name="argsort",
    bind=lambda x, axis=-1: ((x,), {"axis": negative_axis(axis, rank(x))}),
    numpy=(np.argsort,),
    samples=(Sample(A(3, 4)), Sample(A(3, 4), axis=0)),
    doc="Indices that sort x along axis. Equal elements keep their order.",
)


def diagonal_positions(rows: int, columns: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    n = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    steps = np.arange(n)
    return steps + max(-offset, 0), steps + max(offset, 0)


def diagonal_view(x, *, offset):
    """The diagonals over the last two axes, as a view."""
    part = x[..., max(-offset, 0) :, max(offset, 0) :]
    n = min(part.shape[-2:])
    return np.einsum("...ii->...i", part[..., :n, :n])


def diagonal_vjp(g, _, x_shape, *, offset):
    """Zeros with g on the diagonals."""
    rows, columns = x_shape[-2:]
    index = ArrayIndex((..., *diagonal_positions(rows, columns, offset)), x_shape)
    return put(g, index=index, lead=g.shape[: g.ndim + 1 - len(x_shape)])


last_diagonal = internal.linear(
    "last_diagonal", diagonal_view, diagonal_vjp, node="Diagonal", view=True, doc="Diagonals over the last two axes."
)


@numpy_function(
    Sample(A(3, 4)),
    Sample(A(3, 4), 1),
    Sample(A(2, 3, 4), -1, 1, 2),
    Sample(A(2, 3, 4)),
    torch=("diagonal(input, offset=0, dim1=0, dim2=1)", "linalg.diagonal(A: floats, *, offset=0, dim1=-2, dim2=-1)"),
)
def diagonal(x, offset=0, axis1=0, axis2=1):
    """Diagonals over two axes."""
    first, second = negative_axis(axis1, rank(x)), negative_axis(axis2, rank(x))
    if first == second:
        raise ValueError(f"diagonal dimensions cannot be identical {axis1}, {axis2}")
    moved = x if (first, second) == (-2, -1) else moveaxis(x, (first, second), (-2, -1))
    return last_diagonal(moved, offset=as_int(offset))


@numpy_function(
    Sample(A(3)),
    Sample(A(3), -1),
    Sample(A(3, 4), 1),
    size=lambda x, k=0: (size_of(x) + abs(as_int(k))) ** 2 if rank(x) == 1 else size_of(x),
)
def diag(x, k=0):
    """Diagonal of a matrix, or the matrix with a given diagonal."""
    k = as_int(k)
    if rank(x) == 2:
        return diagonal(x, k)
    if rank(x) != 1:
        raise ValueError(f"diag needs a vector or a matrix, got shape {shape_of(x)}")
    n = shape_of(x)[0] + abs(k)
    index = ArrayIndex(diagonal_positions(n, n, k), (n, n))
    return put(x, index=index, lead=())


@numpy_function(Sample(A(3, 4)), Sample(A(3, 3), 1))
def trace(x, offset=0, axis1=0, axis2=1):
    """Sum of the diagonal."""
    return diagonal(x, offset, axis1, axis2).sum(axis=-1)


def triangle_signature(x, k=0):
    """Bind triu and tril. Raises ValueError for vectors."""
    check_rank(x, "a triangle", 2)
    return (x,), {"k": as_int(k)}


for function, doc in [
    (np.triu, "Upper triangle: elements below the k-th diagonal are 0."),
    (np.tril, "Lower triangle: elements above the k-th diagonal are 0."),
]:
    selection(
        function.__name__,
        lambda x, *, k, function=function: function(x, k),
        rule("The same triangle of g", lambda g, _, _x, *, k, function=function: function(g, k)),
        bind=triangle_signature,
        numpy=(function,),
        samples=(Sample(A(3, 4)), Sample(A(3, 3), 1), Sample(A(2, 3, 3), -1)),
        doc=doc,
    )


@numpy_function(Sample(np.array([True, False, True]), A(3, 2), axis=0))
def compress(condition, x, axis=None):
    """Slices along axis for which a vector of conditions is true."""
    return take(as_operand_array(x), np.flatnonzero(raw(condition)), axis)


@numpy_function(Sample(TEST, A(3, 4)))
def extract(condition, x):
    """The elements where the condition is true."""
    return getitem.function(as_operand_array(x).reshape((-1,)), np.flatnonzero(raw(condition)))


@numpy_function(Sample(A(7), 3), Sample(A(4, 3), 1, axis=0))
def partition(x, kth, axis=-1):
    """x with its kth element along axis in its sorted place, and smaller elements before it."""
    x = as_operand_array(x)
    if axis is None:
        x, axis = x.reshape((-1,)), -1
    return take_along_axis(x, argpartition.function(x, kth, axis), axis)


argpartition = constant(
    lambda x, *, kth, axis: np.argpartition(x, kth, axis),
    name="argpartition",
    bind=lambda x, kth, axis=-1: ((x,), {"kth": kth, "axis": negative_axis(axis, rank(x))}),
    numpy=(np.argpartition,),
    samples=(Sample(A(7), 3),),
    doc="Indices that bring the elements along axis into the order of partition(x, kth).",
)


@numpy_function(public=False)
def unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The unique elements (slices along axis) in increasing order, with positions and counts if requested."""
    results = np.unique(raw(x), True, return_inverse, return_counts, axis)
    x = as_operand_array(x)
    values = take(x, results[1], axis)
    rest = (*results[1:2], *results[2:]) if return_index else results[2:]
    return (values, *rest) if rest else values


@numpy_function(Sample([TEST, ~TEST[::-1]], [A(3, 4), A(3, 4)], 1.0))
def select(condlist, choicelist, default=0):
    """Element of the first choice whose condition is true, otherwise the default."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    out = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        out = np.where(as_operand_array(condition), choice, out)
    return out


@numpy_function(Sample(np.array([[0, 1, 2, 0]]), [A(3, 4), A(4), A()]))
def choose(index, choices):
    """For each element i of index, the element of choices[i] at the same place."""
    choices = [as_operand_array(c) for c in (choices if isinstance(choices, list | tuple) else list(choices))]
    index = as_operand_array(index)
    shape = np.broadcast_shapes(shape_of(index), *(shape_of(c) for c in choices))
    table = np.stack([np.broadcast_to(c, shape) for c in choices])
    return take_along_axis(table, np.broadcast_to(index, shape)[None], 0)[0]
