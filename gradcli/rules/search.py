"""Positions and counts: where elements are, or belong; and sums over equal positions."""

from __future__ import annotations

import numpy as np

from .index import ArrayIndex, put
from .shapes import as_int, as_operand_array, negative_axis, rank, raw, shape_of
from .table import A, Sample, composition, constant, numpy_function

ORDERED = np.array([0, 2, 2, 1, 4])
"""Positions for samples."""


def search_signature(a, v, side="left"):
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', not {side!r}")
    return (a, v), {"side": side}


constant(
    lambda a, v, *, side: np.searchsorted(a, v, side),
    name="searchsorted",
    arity=2,
    bind=search_signature,
    numpy=(np.searchsorted,),
    samples=(Sample(np.array([-1.0, 0.0, 1.0]), A(3)),),
    doc="Positions at which v can be inserted into the increasing array a so that it stays in order.",
)
constant(
    lambda x, bins, *, right: np.digitize(x, bins, right),
    name="digitize",
    arity=2,
    bind=lambda x, bins, right=False: ((x, bins), {"right": bool(right)}),
    numpy=(np.digitize,),
    samples=(Sample(A(3), np.array([-1.0, 0.0, 1.0])),),
    doc="Index of the interval that contains each element. The increasing bins are the bounds of the intervals.",
)
constant(
    np.flatnonzero, name="flatnonzero", numpy=(np.flatnonzero,), doc="Positions of the elements of x that are not 0."
)
constant(np.argwhere, name="argwhere", numpy=(np.argwhere,), doc="Indices of the elements of x that are not 0.")


def nonzero(x):
    """Indices of the elements of x that are not 0: an array for each axis (several results)."""
    places = np.nonzero(raw(x))
    return tuple(places)


composition(nonzero, numpy=(np.nonzero,), samples=())
for function, word in ((np.nanargmax, "largest"), (np.nanargmin, "smallest")):
    constant(
        lambda x, *, axis, function=function: function(x, axis=axis),
        name=function.__name__,
        bind=lambda x, axis=None: ((x,), {"axis": None if axis is None else negative_axis(axis, rank(x))}),
        numpy=(function,),
        samples=(Sample(A(3, 4)), Sample(A(3, 4), axis=1)),
        doc=f"Index of the {word} element along axis, ignoring nan.",
    )


def lexsort(keys, axis=-1):
    """Indices that sort by several keys, the last of which is the most important."""
    return np.lexsort([raw(k) for k in keys] if isinstance(keys, list | tuple) else raw(keys), as_int(axis))


composition(lexsort, numpy=(np.lexsort,), samples=())
constant(
    lambda x, y, *, rtol, atol: np.isclose(x, y, rtol, atol),
    name="isclose",
    arity=2,
    bind=lambda x, y, rtol=1e-5, atol=1e-8: ((x, y), {"rtol": rtol, "atol": atol}),
    numpy=(np.isclose,),
    samples=(Sample(A(3), A(3)),),
    doc="True where |x - y| is at most atol + rtol |y|.",
)


@numpy_function(
    Sample(ORDERED, A(5)),
    Sample(ORDERED, A(5), 7),
    size=lambda x, weights=None, minlength=0: max(int(np.max(raw(x), initial=0)) + 1, as_int(minlength)),
)
def bincount(x, weights=None, minlength=0):
    """For each integer from 0 to the largest in x, the number of times it occurs in x, or the sum of their weights."""
    places = raw(x)
    if places.ndim != 1 or (places != places.astype(np.intp)).any() or (places < 0).any():
        raise ValueError("bincount: the positions must be a vector of integers that are not negative")
    n = max(int(places.max(initial=-1)) + 1, as_int(minlength))
    if weights is None:
        return np.bincount(places.astype(np.intp), minlength=n)
    weights = as_operand_array(weights)
    if shape_of(weights) != places.shape:
        raise ValueError(
            f"bincount needs a weight for each position, got shapes {places.shape} and {shape_of(weights)}"
        )
    return put(weights, index=ArrayIndex((places.astype(np.intp),), (n,)), lead=())
