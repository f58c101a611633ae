"""Choosing elements by conditions, by their order, and from several arrays: NumPy's functions."""

from __future__ import annotations

import numpy as np

from .index import Index, getitem, replace
from .select import take, take_along_axis
from .shapes import as_array, negative_axis, rank, raw, shape_of
from .table import TEST, A, Sample, constant, numpy_function

CHOICES = [A(3, 4), A(4), A()]


@numpy_function(Sample(np.array([True, False, True]), A(3, 2), axis=0))
def compress(condition, x, axis=None):
    """The slices along axis where a vector of conditions holds."""
    return take(as_array(x), np.flatnonzero(raw(condition)), axis)


@numpy_function(Sample(TEST, A(3, 4)))
def extract(condition, x):
    """The elements where the condition holds."""
    return getitem.function(as_array(x).reshape((-1,)), np.flatnonzero(raw(condition)))


@numpy_function(Sample(A(7), 3), Sample(A(4, 3), 1, axis=0))
def partition(x, kth, axis=-1):
    """x with its kth element along axis in its sorted place, smaller ones before it."""
    x = as_array(x)
    if axis is None:
        x, axis = x.reshape((-1,)), -1
    return take_along_axis(x, argpartition.function(x, kth, axis), axis)


argpartition = constant(
    lambda x, *, kth, axis: np.argpartition(x, kth, axis),
    name="argpartition",
    bind=lambda x, kth, axis=-1: ((x,), {"kth": kth, "axis": negative_axis(axis, rank(x))}),
    numpy=(np.argpartition,),
    samples=(Sample(A(7), 3),),
    doc="Positions that put the kth element along axis in its sorted place.",
)


@numpy_function(public=False)
def unique_values(x):
    """The different elements in rising order; the gradient goes to the first of equal ones."""
    _, first = np.unique(raw(x), return_index=True)
    return getitem.function(as_array(x).reshape((-1,)), first)


@numpy_function(public=False)
def unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The different elements (slices along axis) in rising order, with places and counts where asked."""
    results = np.unique(raw(x), True, return_inverse, return_counts, axis)
    x = as_array(x)
    values = take(x, results[1], axis)
    rest = (*results[1:2], *results[2:]) if return_index else results[2:]
    return (values, *rest) if rest else values


# -- choosing ------------------------------------------------------------------------------------


@numpy_function(Sample([TEST, ~TEST[::-1]], [A(3, 4), A(3, 4)], 1.0))
def select(condlist, choicelist, default=0):
    """The element of the first choice whose condition holds, else the default."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    out = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        out = np.where(as_array(condition), choice, out)
    return out


@numpy_function(Sample(np.array([[0, 1, 2, 0]]), CHOICES))
def choose(index, choices):
    """The element of the choice that the index names, place by place."""
    choices = [as_array(c) for c in (choices if isinstance(choices, list | tuple) else list(choices))]
    index = as_array(index)
    shape = np.broadcast_shapes(shape_of(index), *(shape_of(c) for c in choices))
    table = np.stack([np.broadcast_to(c, shape) for c in choices])
    return take_along_axis(table, np.broadcast_to(index, shape)[None], 0)[0]


@numpy_function(public=False)
def piecewise(x, condlist, funclist, *args, **named):
    """Function i of x where condition i holds (the last one where none does, if there is one more)."""
    x = as_array(x)
    conditions = np.asarray(raw(condlist) if not isinstance(condlist, list | tuple) else [raw(c) for c in condlist])
    conditions = conditions.astype(bool).reshape((-1, *shape_of(x)))
    if len(funclist) == len(conditions) + 1:
        conditions = np.concatenate((conditions, ~conditions.any(axis=0, keepdims=True)))
    elif len(funclist) != len(conditions):
        raise ValueError(f"piecewise: {len(conditions)} conditions need as many functions, or one more")
    out = x * 0
    for condition, function in zip(conditions, funclist, strict=True):
        if condition.any():
            index = Index(condition, shape_of(x))
            value = function(getitem(x, index=index), *args, **named) if callable(function) else as_array(function)
            out = replace(out, value, index=index)
    return out
