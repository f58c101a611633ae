"""Order of the elements along axes: reversed, turned and rolled."""

from __future__ import annotations

import numpy as np

from .movement import clone, moveaxis
from .shapes import as_int, as_shape, negative_axes, negative_axis, rank, shape_of
from .table import SELECTION, A, Sample, linear, numpy_function


def flip_vjp(g, _, _x, *, axis):
    """Flipped again."""
    return np.flip(g, axis)


flip = linear(
    "flip",
    lambda x, *, axis: np.flip(x, axis).copy(),
    flip_vjp,
    bind=lambda x, axis=None: ((x,), {"axis": negative_axes(axis, rank(x))}),
    numpy=(np.flip,),
    samples=(Sample(A(3, 4)), Sample(A(3, 4), 0), Sample(A(2, 3, 4), (0, 2))),
    pattern=SELECTION,
    doc="Order of the elements reversed along axis.",
)


def roll_vjp(g, _, _x, *, shift, axis):
    """Rolled back."""
    return np.roll(g, tuple(-s for s in shift), axis)


roll_axes = linear(
    "roll_axes",
    lambda x, *, shift, axis: np.roll(x, shift, axis),
    roll_vjp,
    node="Roll",
    samples=(),
    public=False,
    pattern=SELECTION,
    doc="Elements rolled along negative axes.",
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


@numpy_function(Sample(A(3, 4)), Sample(A(2, 3, 2)))
def fliplr(x):
    """Reversed along the second axis."""
    return flip.function(x, _needs(x, "fliplr", 2))


@numpy_function(Sample(A(3, 4)), Sample(A(2, 3, 2)))
def flipud(x):
    """Reversed along the first axis."""
    return flip.function(x, _needs(x, "flipud", 1))


def _needs(x, name, axes) -> int:
    """Return the last of so many axes; raises ValueError where x has fewer."""
    if rank(x) < axes:
        raise ValueError(f"{name} needs an array of at least {axes} axes, got shape {shape_of(x)}")
    return axes - 1


@numpy_function(Sample(A(3, 4)), Sample(A(2, 3, 2)), node="Rot90")
def rot90(x, k=1, axes=(0, 1)):
    """The plane of two axes turned by k quarter turns, from the first towards the second."""
    axes = tuple(axes)
    if len(axes) != 2 or rank(x) < 2:
        raise ValueError(f"rot90 turns two axes, not {axes} of shape {shape_of(x)}")
    first, second = (negative_axis(a, rank(x)) for a in axes)
    if first == second:
        raise ValueError(f"rot90: the axes {axes} must differ")
    if k % 4 == 2:
        return flip.function(x, (first, second))
    if k % 4 == 0:
        return clone(x)
    turned = x.swapaxes(first, second)
    return flip.function(turned, first) if k % 4 == 1 else flip.function(turned, second)


@numpy_function(Sample(A(2, 3, 4), 2), Sample(A(2, 3, 4), 0, 2), Sample(A(2, 3, 4), -1, 1))
def rollaxis(x, axis, start=0):
    """One axis moved in front of another."""
    axis = negative_axis(axis, rank(x)) + rank(x)
    start = as_int(start) + (rank(x) if start < 0 else 0)
    return moveaxis(x, axis, start - (axis < start))
