"""Joining arrays, repeating them as blocks, and cutting them into parts."""

from __future__ import annotations

import numpy as np

from .movement import ravel
from .shapes import as_int, as_shape, lead_of, negative_axis, rank, shape_of
from .table import A, Sample, composition, general, linear


def join_signature(xs, axis=0):
    """Bind concatenate: a sequence of arrays."""
    xs = tuple(xs)
    if not xs:
        raise ValueError("concatenate needs at least one array")
    if axis is None:
        return tuple(ravel(x) for x in xs), {"axis": -1}
    ranks = {rank(x) for x in xs}
    if 0 in ranks:
        raise ValueError("zero-dimensional arrays cannot be concatenated; use stack")
    return xs, {"axis": negative_axis(axis, max(ranks))}


def join_vjp(g, position, _, xs_shapes, *, axis):
    """The part of g that came from this array."""
    start = sum(shape[axis] for shape in xs_shapes[:position])
    part = slice(start, start + xs_shapes[position][axis])
    return g[(..., part) + (slice(None),) * (-axis - 1)]


general(
    "concatenate",
    lambda *xs, axis: np.concatenate(xs, axis=axis),
    join_vjp,
    arity=None,
    bind=join_signature,
    aliases=("concat", "cat"),
    node="Cat",
    numpy=(np.concatenate,),
    promote=None,
    samples=(Sample([A(2, 3), A(1, 3)]), Sample([A(2, 3), A(2, 1), A(2, 2)], axis=-1), Sample([A(3)])),
    doc="Arrays joined along an existing axis.",
)


def stack_signature(xs, axis=0):
    """Bind stack: a sequence of arrays of one shape."""
    xs = tuple(xs)
    if len({shape_of(x) for x in xs}) != 1:
        raise ValueError(f"stack needs arrays of one shape, got {', '.join(str(shape_of(x)) for x in xs) or 'none'}")
    return xs, {"axis": negative_axis(axis, rank(xs[0]) + 1)}


def stack_vjp(g, position, _, _xs, *, axis):
    """The slice of g at this array's place."""
    return g[(..., position) + (slice(None),) * (-axis - 1)]


def batch_tile(_size, operands, _flags, params):
    """Every axis that the repetitions add goes behind the leading one."""
    (x,), reps = operands, params["reps"]
    x = x.reshape(x.shape[:1] + (1,) * (len(reps) + 1 - x.ndim) + x.shape[1:])
    return (x,), {"reps": (1, *reps)}


general(
    "stack",
    lambda *xs, axis: np.stack(xs, axis=axis),
    stack_vjp,
    arity=None,
    bind=stack_signature,
    numpy=(np.stack,),
    promote=None,
    samples=(Sample([A(2, 3), A(2, 3)]), Sample([A(2, 3), A(2, 3)], axis=-1), Sample([A(), A(), A()])),
    doc="Arrays of one shape joined along a new axis.",
)


def tile_signature(x, *reps):
    """Bind tile(x, (2, 3)) and tile(x, 2)."""
    reps = as_shape(reps[0] if len(reps) == 1 else reps)
    return (x,), {"reps": (1,) * (rank(x) - len(reps)) + reps}


def tile_vjp(g, _, x_shape, *, reps):
    """Summed over the copies."""
    full = (1,) * (len(reps) - len(x_shape)) + x_shape
    lead = lead_of(g, reps)
    split = sum(((r, n) for r, n in zip(reps, full, strict=True)), ())
    copies = tuple(range(len(lead), len(lead) + len(split), 2))
    return g.reshape(lead + split).sum(axis=copies).reshape(lead + x_shape)


linear(
    "tile",
    lambda x, *, reps: np.tile(x, reps),
    tile_vjp,
    bind=tile_signature,
    node="Repeat",
    batch=batch_tile,
    numpy=(np.tile,),
    samples=(Sample(A(2, 3), (2, 1)), Sample(A(3), 2), Sample(A(2), (2, 3)), Sample(A(), 3)),
    doc="The array repeated as a block.",
)


def split(x, indices_or_sections, axis=0):
    """Cut x into equal parts, or at the given indices, along axis."""
    axis = negative_axis(axis, rank(x))
    length = shape_of(x)[axis]
    if rank(indices_or_sections) == 0:
        parts = as_int(indices_or_sections)
        if parts < 1 or length % parts:
            raise ValueError(f"split: an axis of length {length} has no {parts} equal parts")
        cuts = [length // parts * i for i in range(1, parts)]
    else:
        cuts = [as_int(i) for i in indices_or_sections]
    tail = (slice(None),) * (-axis - 1)
    edges = zip([0, *cuts], [*cuts, length], strict=True)
    return tuple(x[(..., slice(a, b), *tail)] for a, b in edges)


composition(split, numpy=(np.split,), samples=(), doc="The array cut into parts along axis (several results).")
