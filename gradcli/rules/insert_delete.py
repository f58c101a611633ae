"""Padding, inserting and leaving out elements: NumPy's functions."""

from __future__ import annotations

import numpy as np

from .index import Index, getitem, replace
from .join import concatenate
from .movement import moveaxis
from .select import take
from .shapes import as_array, as_shape, dtype_of, negative_axis, rank, raw, shape_of
from .size_limits import count_product, count_shape
from .table import A, Sample, numpy_function

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
    return getitem.function(x.reshape((-1,)), np.pad(number_elements(shape), pad_width, mode=mode))  # type: ignore[call-overload]


def number_elements(shape):
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
    return getitem.function(x, number_elements(shape) % shape_of(x)[0])


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
