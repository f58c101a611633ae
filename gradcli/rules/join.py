"""Joining arrays, repeating them, and cutting them into parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .movement import check_rank, ravel
from .shapes import (
    as_int,
    as_operand_array,
    as_shape,
    at_axis,
    count_shape,
    lead_of,
    negative_axis,
    rank,
    shape_of,
    size_of,
)
from .table import SELECTION, A, Sample, general, numpy_function, rule, selection


def join_signature(xs, axis=0):
    xs = tuple(xs)
    if not xs:
        raise ValueError("concatenate needs at least one array")
    if axis is None:
        return tuple(ravel(x) for x in xs), {"axis": -1}
    ranks = sorted({rank(x) for x in xs})
    if not ranks[0]:
        raise ValueError("zero-dimensional arrays cannot be concatenated; use stack")
    if len(ranks) > 1:
        raise ValueError(
            f"concatenate: the arrays have {' and '.join(map(str, ranks))} axes; they need the same number"
        )
    return xs, {"axis": negative_axis(axis, ranks[0])}


def join_vjp(g, position, _, xs_shapes, *, axis):
    """The part of g for this array."""
    start = sum(shape[axis] for shape in xs_shapes[:position])
    return g[at_axis(axis, slice(start, start + xs_shapes[position][axis]))]


concatenate = general(
    "concatenate",
    lambda *xs, axis: np.concatenate(xs, axis=axis),
    join_vjp,
    arity=None,
    bind=join_signature,
    aliases=("concat", "cat"),
    node="Cat",
    promote=None,
    samples=(Sample([A(2, 3), A(1, 3)]), Sample([A(2, 3), A(2, 1), A(2, 2)], axis=-1), Sample([A(3)])),
    pattern=SELECTION,
    doc="Arrays joined along an existing axis.",
)


def stack_signature(xs, axis=0):
    xs = tuple(xs)
    if not xs:
        raise ValueError("stack expects a non-empty TensorList")
    first, *others = map(shape_of, xs)
    for place, other in enumerate(others, 1):
        if other != first:
            sizes = f"{list(first)} at entry 0 and {list(other)} at entry {place}"
            raise ValueError(f"stack expects each tensor to be equal size, but got {sizes}")
    return xs, {"axis": negative_axis(axis, rank(xs[0]) + 1)}


def batch_tile(_size, operands, _flags, params):
    """Insert the axes that the repetitions add after the leading one."""
    (x,), reps = operands, params["reps"]
    x = x.reshape(x.shape[:1] + (1,) * (len(reps) + 1 - x.ndim) + x.shape[1:])
    return (x,), {"reps": (1, *reps)}


stack_entry = general(
    "stack",
    lambda *xs, axis: np.stack(xs, axis=axis),
    rule("The slice of g for this array", lambda g, position, _, _xs, *, axis: g[at_axis(axis, position)]),
    arity=None,
    bind=stack_signature,
    promote=None,
    samples=(Sample([A(2, 3), A(2, 3)]), Sample([A(2, 3), A(2, 3)], axis=-1), Sample([A(), A(), A()])),
    pattern=SELECTION,
    doc="Arrays of equal shape, joined along a new axis.",
)


def tile_signature(x, *numbers, reps=None):
    """Bind tile(x, (2, 3)), tile(x, 2, 3) and tile(x, 2)."""
    reps = as_shape(numbers if len(numbers) > 1 else numbers[0] if numbers else reps)
    return (x,), {"reps": (1,) * (rank(x) - len(reps)) + reps}


def tile_vjp(g, _, x_shape, *, reps):
    """g summed over the copies."""
    full = (1,) * (len(reps) - len(x_shape)) + x_shape
    lead = lead_of(g, reps)
    split = sum(((r, n) for r, n in zip(reps, full, strict=True)), ())
    copies = tuple(range(len(lead), len(lead) + len(split), 2))
    return g.reshape(lead + split).sum(axis=copies).reshape(lead + x_shape)


selection(
    "tile",
    lambda x, *, reps: np.tile(x, reps),
    tile_vjp,
    bind=tile_signature,
    node="Repeat",
    batch=batch_tile,
    samples=(Sample(A(2, 3), (2, 1)), Sample(A(3), 2), Sample(A(2), (2, 3)), Sample(A(), 3)),
    size=lambda x, *reps: size_of(x) * count_shape(*reps),
    doc="The whole array, repeated along each axis.",
)


def add_axes(x, ndim):
    """Return x with at least ndim axes, added where NumPy does: in front, and one at the end to reach 3."""
    x = as_operand_array(x)
    shape = shape_of(x)
    if len(shape) >= ndim:
        return x
    if ndim == 3 and shape:
        return x.reshape((1, *shape, 1) if len(shape) == 1 else (*shape, 1))
    return x.reshape((1,) * (ndim - len(shape)) + shape)


@numpy_function(Sample([A(3), A(3)]), Sample([A(2, 3), A(2, 3)]))
def hstack(xs):
    """Arrays joined along the second axis, or vectors along their only axis."""
    parts = [add_axes(x, 1) for x in xs]
    return concatenate.function(parts, 0 if parts and rank(parts[0]) == 1 else 1)


@numpy_function(Sample([A(3), A(3)]), Sample([A(2, 3), A(2, 3)]), aliases=("row_stack",))
def vstack(xs):
    """Arrays joined along the first axis. Vectors become rows."""
    return concatenate.function([add_axes(x, 2) for x in xs], 0)


@numpy_function(Sample([A(3), A(3)]), Sample([A(2, 3), A(2, 3)]))
def dstack(xs):
    """Arrays joined along the third axis."""
    return concatenate.function([add_axes(x, 3) for x in xs], 2)


@numpy_function(Sample([A(3), A(3)]), Sample([A(2, 3), A(2, 3)]))
def column_stack(xs):
    """Arrays joined along the second axis. Vectors become columns."""
    return concatenate.function([x if rank(x) > 1 else x.reshape((-1, 1)) for x in map(as_operand_array, xs)], 1)


@numpy_function(Sample(A(3), A(2, 2)), Sample(A(2, 3), A(1, 3), axis=0))
def append(x, values, axis=None):
    """x with values joined to its end."""
    return concatenate.function((as_operand_array(x), as_operand_array(values)), axis)


def enter_atleast(ndim: int, doc: str) -> None:
    """Add an entry that gives arrays at least ndim axes; it returns one array, or a tuple of several."""

    @numpy_function(Sample(A()), Sample(A(3)), Sample(A(2, 3)), name=f"atleast_{ndim}d", doc=doc)
    def function(*xs):
        out = tuple(add_axes(x, ndim) for x in xs)
        return out[0] if len(out) == 1 else out


enter_atleast(1, "Arrays with at least one axis.")
enter_atleast(2, "Arrays with at least two axes. Vectors become rows.")
enter_atleast(3, "Arrays with at least three axes.")


@numpy_function(Sample([A(3), A(2)]), Sample([[A(2, 2), A(2, 1)], [A(1, 2), A(1, 1)]]))
def block(arrays):
    """Array assembled from nested lists of blocks."""
    depth, ndim = _depth_and_rank(arrays)

    def join(part, level):
        if not isinstance(part, list):
            return add_axes(part, 0).reshape((1,) * (max(ndim, depth) - rank(part)) + shape_of(part))
        return concatenate.function([join(x, level + 1) for x in part], level - depth)

    return join(arrays, 0)


def _depth_and_rank(arrays) -> tuple[int, int]:
    """Return the nesting depth of the lists and the largest rank of their arrays."""
    if not isinstance(arrays, list):
        return 0, rank(arrays)
    pairs = [_depth_and_rank(x) for x in arrays]
    return 1 + max(d for d, _ in pairs), max(n for _, n in pairs)


def count_parts(x, indices_or_sections, axis=0):
    """Return the number of parts, which is given itself or follows from the indices of the cuts."""
    return indices_or_sections if rank(indices_or_sections) == 0 else len(indices_or_sections) + 1


@numpy_function(rounds=count_parts)
def array_split(x, indices_or_sections, axis=0):
    """x cut along axis, into a number of parts of nearly equal size or at given indices (several results)."""
    axis = negative_axis(axis, rank(x))
    length = shape_of(x)[axis]
    if rank(indices_or_sections) > 0:
        places = [as_int(i) for i in indices_or_sections]
    else:
        parts = as_int(indices_or_sections)
        if parts < 1:
            raise ValueError(f"the number of parts must be larger than 0, not {parts}")
        small, larger = divmod(length, parts)
        places = [i * small + min(i, larger) for i in range(1, parts)]
    return tuple(x[at_axis(axis, slice(a, b))] for a, b in pairwise([0, *places, length]))


@numpy_function(rounds=count_parts)
def split(x, indices_or_sections, axis=0):
    """x cut along axis, into equal parts or at given indices (several results)."""
    if rank(indices_or_sections) == 0:
        length, parts = shape_of(x)[negative_axis(axis, rank(x))], as_int(indices_or_sections)
        if parts < 1 or length % parts:
            raise ValueError(f"split: an axis of length {length} cannot be cut into {parts} equal parts")
    return array_split(x, indices_or_sections, axis)


def enter_split(name: str, least: int, axis: int, words: str) -> None:
    """Add an entry that splits arrays with at least `least` axes along one axis."""

    @numpy_function(name=name, doc=f"x cut along {words} (several results).")
    def function(x, indices_or_sections):
        check_rank(x, name, least)
        return split(x, indices_or_sections, min(axis, rank(x) - 1))


enter_split("hsplit", 1, 1, "the second axis, or a vector along its only axis")
enter_split("vsplit", 2, 0, "the first axis")
enter_split("dsplit", 3, 2, "the third axis")


@numpy_function(rounds=lambda x, axis=0: shape_of(x)[as_int(axis)])
def unstack(x, *, axis=0):
    """The slices along an axis (several results)."""
    axis = negative_axis(axis, rank(x))
    return tuple(x[at_axis(axis, i)] for i in range(shape_of(x)[axis]))
