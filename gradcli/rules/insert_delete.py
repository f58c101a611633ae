"""Choosing, padding, inserting and leaving out elements: NumPy's functions."""

from __future__ import annotations

import numpy as np

from .complex import real
from .index import Index, getitem, replace
from .join import concatenate
from .movement import moveaxis
from .select import take, take_along_axis
from .shapes import as_array, as_shape, dtype_of, is_complex, negative_axis, rank, raw, shape_of
from .sizes import count_product, count_shape
from .table import TEST, A, Sample, constant, numpy_function

CHOICES = [A(3, 4), A(4), A()]

# -- padding and resizing ------------------------------------------------------------------------


@numpy_function(
    Sample(A(2, 3), 1),
    Sample(A(2, 3), ((1, 2), (0, 1)), constant_values=2.0),
    Sample(A(4), (2, 3), "wrap"),
    size=lambda x, width, *_, **__: count_product(n + int(np.max(width)) * 2 for n in shape_of(x)),
)
def pad(x, pad_width, mode="constant", *, constant_values=0, **options):
    """x with elements added around it: a constant, or its own ('edge', 'reflect', 'symmetric', 'wrap')."""
    x = as_array(x)
    shape = shape_of(x)
    if mode == "constant":
        base = np.pad(np.zeros(shape, dtype_of(x)), pad_width, constant_values=constant_values)
        widths = widths_of(pad_width, len(shape))
        inside = tuple(slice(a, a + n) for (a, _), n in zip(widths, shape, strict=True))
        return replace(base, x, index=Index(inside, base.shape))
    if mode not in ("edge", "reflect", "symmetric", "wrap") or options.get("reflect_type", "even") != "even":
        raise TypeError(f"gradcli cannot record np.pad with mode={mode!r} and {options}")
    return getitem.function(x.reshape((-1,)), np.pad(numbered(shape), pad_width, mode=mode))  # type: ignore[call-overload]


def numbered(shape):
    """Return the number of each element, in a shape."""
    return np.arange(np.prod(shape, dtype=np.intp)).reshape(shape)


def widths_of(pad_width, ndim):
    """Return (before, after) for every axis."""
    if isinstance(pad_width, dict):
        return [
            np.broadcast_to(pad_width[i] if i in pad_width else pad_width.get(i - ndim, 0), 2).tolist()
            for i in range(ndim)
        ]
    return np.broadcast_to(np.asarray(pad_width), (ndim, 2)).tolist()


@numpy_function(Sample(A(2, 3), (3, 3)), Sample(A(4), 3), size=lambda x, new_shape: count_shape(new_shape))
def resize(x, new_shape):
    """The elements of x, repeated as often as needed, in another shape."""
    shape = as_shape(new_shape)
    x = as_array(x).reshape((-1,))
    if not shape_of(x)[0]:
        return np.zeros(shape)
    return getitem.function(x, numbered(shape) % shape_of(x)[0])


# -- inserting and leaving out -------------------------------------------------------------------


@numpy_function(
    Sample(A(4), 1, A()),
    Sample(A(4), 1, A(2)),
    Sample(A(2, 3), np.array([0, 2]), A(2, 2), axis=1),
    Sample(A(3, 2), -1, A(2), axis=0),
)
def insert(x, obj, values, axis=None):
    """x with values inserted before the given places along axis (of the flattened array when axis is None)."""
    x, values = as_array(x), as_array(values)
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    axis = negative_axis(axis, rank(x))
    n = shape_of(x)[axis]
    if isinstance(obj, slice):
        obj = np.arange(n)[obj]
    places = raw(obj)
    if places.ndim == 0:
        values = moveaxis(values.reshape((1,) * (rank(x) - rank(values)) + shape_of(values)), 0, axis)
        places = np.repeat(places, shape_of(values)[axis])
    elif places.dtype == bool:
        places = np.flatnonzero(places)
    shape = list(shape_of(x))
    shape[axis] = len(places)
    values = np.broadcast_to(values, tuple(shape)).astype(x.dtype)
    order = np.insert(np.arange(n), places, n + np.arange(len(places)))
    return take(concatenate.function((x, values), axis), order, axis)


@numpy_function(Sample(A(2, 3), 1, axis=1), Sample(A(5), np.array([0, 3])), Sample(A(5), slice(0, 4, 2)))
def delete(x, obj, axis=None):
    """x without the given places along axis (of the flattened array when axis is None)."""
    x = as_array(x)
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    return take(x, np.delete(np.arange(shape_of(x)[axis]), obj if isinstance(obj, slice) else raw(obj)), axis)


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
    found = np.unique(raw(x), True, return_inverse, return_counts, axis)
    x = as_array(x)
    values = take(x, found[1], axis)
    rest = (*found[1:2], *found[2:]) if return_index else found[2:]
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


@numpy_function(public=False)
def apply_along_axis(func1d, axis, x, *args, **kwargs):
    """func1d of every vector along axis; its results take the place of that axis."""
    axis = negative_axis(axis, rank(x))
    lanes = moveaxis(x, axis, -1)
    lead = shape_of(lanes)[:-1]
    found = [as_array(func1d(lanes[place], *args, **kwargs)) for place in np.ndindex(lead)]
    if not found:
        raise ValueError("apply_along_axis needs at least one vector")
    inner = shape_of(found[0])
    out = np.stack(found).reshape(lead + inner)
    place = axis + rank(x)
    return moveaxis(out, tuple(range(len(lead), rank(out))), tuple(range(place, place + len(inner))))


@numpy_function(Sample(A(3)))
def real_if_close(x, tol=100):
    """The real parts where all imaginary parts are nearly 0, else x."""
    return real(x) if is_complex(x) and not np.iscomplexobj(np.real_if_close(raw(x), tol)) else x
