"""Cutting arrays into parts: results are tuples of arrays."""

from __future__ import annotations

from .shapes import as_int, at_axis, negative_axis, rank, shape_of
from .table import numpy_function


def cut(x, axis, cuts):
    """Return the parts of x between the given places along a negative axis."""
    edges = zip([0, *cuts], [*cuts, shape_of(x)[axis]], strict=True)
    return tuple(x[at_axis(axis, slice(a, b))] for a, b in edges)


def cut_places(indices_or_sections, length):
    """Return where to cut an axis: the given places, or those that make so many parts of nearly one size."""
    if rank(indices_or_sections) > 0:
        return [as_int(i) for i in indices_or_sections]
    parts = as_int(indices_or_sections)
    if parts < 1:
        raise ValueError(f"the number of parts must be larger than 0, not {parts}")
    small, larger = divmod(length, parts)
    return [i * small + min(i, larger) for i in range(1, parts)]


@numpy_function(rounds=lambda x, sections, axis=0: sections)
def array_split(x, indices_or_sections, axis=0):
    """Cut x into so many parts of nearly one size, or at the given indices, along axis (several results)."""
    axis = negative_axis(axis, rank(x))
    return cut(x, axis, cut_places(indices_or_sections, shape_of(x)[axis]))


@numpy_function(rounds=lambda x, sections, axis=0: sections)
def split(x, indices_or_sections, axis=0):
    """Cut x into equal parts, or at the given indices, along axis (several results)."""
    if rank(indices_or_sections) == 0:
        length, parts = shape_of(x)[negative_axis(axis, rank(x))], as_int(indices_or_sections)
        if parts < 1 or length % parts:
            raise ValueError(f"split: an axis of length {length} has no {parts} equal parts")
    return array_split(x, indices_or_sections, axis)


def split_axis(x, indices_or_sections, name, least, axis):
    """Split along one certain axis; raises ValueError for arrays of fewer axes than `least`."""
    if rank(x) < least:
        raise ValueError(f"{name} needs an array of at least {least} axes, got shape {shape_of(x)}")
    return split(x, indices_or_sections, axis)


@numpy_function()
def hsplit(x, indices_or_sections):
    """Cut x along the second axis (the first, for vectors) (several results)."""
    return split_axis(x, indices_or_sections, "hsplit", 1, 1 if rank(x) > 1 else 0)


@numpy_function()
def vsplit(x, indices_or_sections):
    """Cut x along the first axis (several results)."""
    return split_axis(x, indices_or_sections, "vsplit", 2, 0)


@numpy_function()
def dsplit(x, indices_or_sections):
    """Cut x along the third axis (several results)."""
    return split_axis(x, indices_or_sections, "dsplit", 3, 2)


@numpy_function(rounds=lambda x, axis=0: shape_of(x)[as_int(axis)])
def unstack(x, *, axis=0):
    """The slices along an axis (several results)."""
    axis = negative_axis(axis, rank(x))
    return tuple(x[at_axis(axis, i)] for i in range(shape_of(x)[axis]))
