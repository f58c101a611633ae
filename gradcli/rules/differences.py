"""NumPy functions for sampled data: padding, deleting, differences, integrals, interpolation, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from .fourier import transform
from .index import ArrayIndex, getitem, replace
from .join import concatenate
from .matrix_products import matmul
from .select import take, take_along_axis
from .shapes import (
    as_int,
    as_operand_array,
    at_axis,
    count_product,
    dtype_of,
    in_type_of,
    kept_shape,
    lay_along,
    negative_axes,
    negative_axis,
    rank,
    raw,
    shape_of,
    size_of,
)
from .table import A, Sample, constant, numpy_function


@numpy_function(
    Sample(A(2, 3), 1),
    Sample(A(2, 3), ((1, 2), (0, 1)), constant_values=2.0),
    Sample(A(4), (2, 3), "wrap"),
    size=lambda x, width, *_, **__: count_product(n + int(np.max(width)) * 2 for n in shape_of(x)),
)
def pad(x, pad_width, mode="constant", *, constant_values=0, **options):
    """x with elements added around it: a constant, or elements of x (mode 'edge', 'reflect', 'symmetric', 'wrap')."""
    x = as_operand_array(x)
    shape = shape_of(x)
    if mode == "constant":
        base = np.pad(np.zeros(shape, dtype_of(x)), pad_width, constant_values=constant_values)
        widths = widths_of(pad_width, len(shape))
        inside = tuple(slice(a, a + n) for (a, _), n in zip(widths, shape, strict=True))
        return replace(base, x, index=ArrayIndex(inside, base.shape))
    if mode not in ("edge", "reflect", "symmetric", "wrap") or options.get("reflect_type", "even") != "even":
        raise TypeError(f"gradcli does not support np.pad with mode={mode!r} and options {options}")
    numbers = np.arange(size_of(x)).reshape(shape)
    return getitem.function(x.reshape((-1,)), np.pad(numbers, pad_width, mode=mode))  # type: ignore[call-overload]


def widths_of(pad_width, ndim):
    """Return (before, after) for every axis."""
    if isinstance(pad_width, dict):
        sides = (pad_width[i] if i in pad_width else pad_width.get(i - ndim, 0) for i in range(ndim))
        return [np.broadcast_to(side, 2).tolist() for side in sides]
    return np.broadcast_to(np.asarray(pad_width), (ndim, 2)).tolist()


@numpy_function(Sample(A(2, 3), 1, axis=1), Sample(A(5), np.array([0, 3])), Sample(A(5), slice(0, 4, 2)))
def delete(x, obj, axis=None):
    """x without the elements at the given positions along axis (in the flattened array, if axis is None)."""
    x = as_operand_array(x)
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    return take(x, np.delete(np.arange(shape_of(x)[axis]), obj if isinstance(obj, slice) else raw(obj)), axis)


CURVES = (Sample(A(5, 3)), Sample(A(3, 5), axis=0))


def part(x, axis, start, stop=None):
    """Return x[start:stop] along a negative axis."""
    return x[at_axis(axis, slice(start, stop))]


@numpy_function(
    *CURVES[:1],
    Sample(A(4, 3), 2, axis=0),
    Sample(A(4), prepend=0.0),
    Sample(A(3, 2), prepend=0.0, append=1.0),
    Sample(A(4), 1, -1, A(2), A(1)),
    rounds=lambda x, n=1, *_, **__: n,
)
def diff(x, n=1, axis=-1, prepend=None, append=None):
    """n-th difference of neighbours along axis, after prepend and append have been joined to the ends."""
    x, n = as_operand_array(x), as_int(n)
    if n < 0 or rank(x) == 0:
        raise ValueError(f"diff needs a non-negative order and at least one axis, got order {n}, shape {shape_of(x)}")
    if n == 0:
        return x
    axis = negative_axis(axis, rank(x))
    if prepend is not None or append is not None:
        x = concatenate.function([slice_like(y, x, axis) for y in (prepend, x, append) if y is not None], axis)
    for _ in range(min(n, shape_of(x)[axis])):
        later, earlier = part(x, axis, 1), part(x, axis, 0, -1)
        x = later != earlier if x.dtype.kind == "b" else later - earlier
    return x


def slice_like(y, x, axis):
    """Broadcast a number to a slice of x along axis; return arrays as they are."""
    if rank(y):
        return as_operand_array(y)
    return np.broadcast_to(y if hasattr(y, "dtype") else np.asarray(y, dtype_of(x)), kept_shape(shape_of(x), (axis,)))


@numpy_function(
    Sample(A(5)), Sample(A(5, 3), 0.5, axis=0), Sample(A(3, 5), np.array([0, 1, 2, 4, 7]), axis=1, edge_order=2)
)
def gradient(x, *varargs, axis=None, edge_order=1):
    """Slopes along each axis (one result each), by central differences inside and one-sided ones at the ends.

    varargs: the spacing, one for all axes or one for each axis, given as a number or as coordinates along the axis.
    """
    axes = negative_axes(None, rank(x)) if axis is None else [negative_axis(a, rank(x)) for a in np.atleast_1d(axis)]
    spacings = varargs or (1.0,)
    if len(spacings) == 1:
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise TypeError(f"gradient: {len(spacings)} spacings for {len(axes)} axes")
    slopes = tuple(slope_along(x, a, h, edge_order) for a, h in zip(axes, spacings, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes


def slope_along(x, axis, spacing, edge_order):
    """Return the slope along one negative axis. spacing: a distance, or the coordinates."""
    n = shape_of(x)[axis]
    if n < edge_order + 1 or edge_order not in (1, 2):
        raise ValueError(f"gradient: an axis needs at least edge_order + 1 = {edge_order + 1} elements, got {n}")
    if rank(spacing) == 0:
        before = after = spacing
        ends = [spacing] * 4
    elif shape_of(spacing) == (n,):
        steps = lay_along(as_operand_array(in_type_of(x, diff(spacing))), axis)
        before, after = part(steps, axis, 0, -1), part(steps, axis, 1)
        ends = [part(steps, axis, i, i + 1) for i in (0, 1, n - 2, n - 3)]
    else:
        raise ValueError(f"gradient: {n} coordinates are needed along the axis, got shape {shape_of(spacing)}")
    left, middle, right = (part(x, axis, i, n - 2 + i) for i in range(3))
    inside = (
        right * (before / (after * (before + after)))
        - left * (after / (before * (before + after)))
        + middle * ((after - before) / (before * after))
    )
    first = [part(x, axis, i, i + 1) for i in range(edge_order + 1)]
    last = [part(x, axis, n - 1 - i, n - i) for i in range(edge_order + 1)]
    return concatenate.function(
        (end_slope_of_points(first, ends[:2]), inside, -end_slope_of_points(last, ends[2:])), axis
    )


def end_slope_of_points(points, steps):
    """Slope at the first of two or three points, which are listed from the end inwards."""
    h, k = steps
    if len(points) == 2:
        return (points[1] - points[0]) / h
    return points[1] * ((h + k) / (h * k)) - points[0] * ((2 * h + k) / (h * (h + k))) - points[2] * (h / (k * (h + k)))


@numpy_function(*CURVES, Sample(A(3, 4), np.array([0, 1, 3, 4])), aliases=("trapz",))
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """Integral along axis by the trapezoidal rule, with coordinates x or step dx."""
    y = as_operand_array(y)
    axis = negative_axis(axis, rank(y))
    if x is not None:
        x = as_operand_array(x)
        dx = lay_along(diff(x), axis) if rank(x) == 1 else diff(x, axis=axis)
    return ((part(y, axis, 1) + part(y, axis, 0, -1)) * dx / 2.0).sum(axis=axis)


@numpy_function(Sample(A(7)))
def unwrap(x, discont=None, axis=-1, *, period=2 * np.pi):
    """Angles without jumps of more than half a period along axis."""
    return x + full_turns(x, discont=discont, axis=negative_axis(axis, rank(x)), period=period)


full_turns = constant(
    lambda x, *, discont, axis, period: np.unwrap(x, discont, axis, period=period) - x,
    name="full_turns",
    samples=(),
    public=False,
    doc="The full turns that unwrap adds.",
)


MODES = {0: "valid", 1: "same", 2: "full"}
"""NumPy's numbers for the modes of convolve."""
DIRECT = 1 << 24
"""Up to this many products of elements, vectors are convolved directly; beyond, by Fourier transforms."""


def count_windows(x: Any, y: Any, *_: Any, **__: Any) -> int:
    """Return how many elements convolve and correlate create, in windows or in Fourier transforms."""
    direct = size_of(x) * size_of(y) <= DIRECT or "c" in (dtype_of(x).kind, dtype_of(y).kind)
    return (size_of(x) + size_of(y)) * (min(size_of(x), size_of(y)) if direct else 2)


@numpy_function(
    Sample(A(5), A(3)),
    Sample(A(2), A(5), "same"),
    Sample(A(5), A(3), "valid"),
    Sample(A(4), A(2), "same"),
    size=count_windows,
)
def convolve(a, v, mode="full"):
    """Convolution of two vectors. mode is full, same or valid, as in NumPy; in formulas, it is 2, 1 or 0."""
    mode = MODES.get(mode, mode)
    a, v = as_operand_array(a).reshape((-1,)), as_operand_array(v).reshape((-1,))
    if shape_of(a) < shape_of(v):
        a, v = v, a
    n, m = shape_of(a)[0], shape_of(v)[0]
    if not m:
        raise ValueError("convolve: the vectors must not be empty")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be 'full', 'same' or 'valid', not {mode!r}")
    start, stop = {"full": (0, n + m - 1), "same": ((m - 1) // 2, (m - 1) // 2 + n), "valid": (m - 1, n)}[mode]
    if n * m > DIRECT and dtype_of(a).kind == dtype_of(v).kind == "f":
        length = 1 << (n + m - 2).bit_length()
        left, right = (transform(x, "rfft", (length,), (-1,)) for x in (a, v))
        return transform(left * right, "irfft", (length,), (-1,))[start:stop]
    places = np.arange(start, stop)[:, None] - np.arange(m)
    inside = (places >= 0) & (places < n)
    windows = getitem.function(a, np.where(inside, places, 0))
    return matmul(windows if inside.all() else np.where(inside, windows, 0.0), v)


@numpy_function(
    Sample(A(5), A(3)),
    Sample(A(2), A(5), "same"),
    Sample(A(2), A(5), "full"),
    Sample(A(5), A(2), "same"),
    size=count_windows,
)
def correlate(a, v, mode="valid"):
    """Cross-correlation of two vectors, with the second one conjugated. mode has the same values as in convolve."""
    mode = MODES.get(mode, mode)
    a, v = as_operand_array(a), as_operand_array(v)
    if shape_of(a) < shape_of(v):
        return correlate(v, a, mode)[::-1].conj()
    return convolve(a, v[::-1].conj(), mode)


@numpy_function(
    Sample(A(6), np.array([-2, -1, 1, 2]), A(4)),
    Sample(A(5), np.array([0, 1]), A(2), left=0.0),
    Sample(A(6), np.array([2, 0, 1]), A(3), period=2.5),
)
def interp(x, xp, fp, left=None, right=None, period=None):
    """Linear interpolation at x between the points (xp, fp), with increasing xp. It is constant outside them; with a
    period, the points repeat."""
    x, xp, fp = as_operand_array(x), as_operand_array(xp), as_operand_array(fp)
    if rank(xp) != 1 or shape_of(xp) != shape_of(fp):
        raise ValueError(f"interp needs a value for each point, got shapes {shape_of(xp)} and {shape_of(fp)}")
    if period is not None:
        x, xp, fp = repeated(x, xp, fp, abs(period))
    flat, n = x.reshape((-1,)), shape_of(xp)[0]
    xp, fp = in_type_of(x, xp), in_type_of(x, fp)
    places = interval_of(xp, flat)
    x0, y0 = (take_along_axis(v, places, 0) for v in (xp, fp))
    x1, y1 = (take_along_axis(v, np.minimum(places + 1, n - 1), 0) for v in (xp, fp))
    inside = y0 + (flat - x0) * ((y1 - y0) / np.where(x1 == x0, 1.0, x1 - x0))
    lower = np.where(flat < xp[0], fp[0] if left is None else left, inside)
    return np.where(flat > xp[-1], fp[-1] if right is None else right, lower).reshape(shape_of(x))


def repeated(x, xp, fp, period):
    """Return x within one period, and the points of this period in order, with one more on either side."""
    x, xp = x % period, xp % period
    order = np.argsort(raw(xp), kind="stable")
    xp, fp = take(xp, order), take(fp, order)
    wide = concatenate.function((xp[-1:] - period, xp, xp[:1] + period), 0)
    return x, wide, concatenate.function((fp[-1:], fp, fp[:1]), 0)


def interval_forward(knots, x):
    """Index of the interval between increasing knots that contains each element; the outer ones extend to infinity."""
    if knots.ndim > 1:
        return np.stack([interval_forward(k, v) for k, v in zip(knots, x, strict=True)])
    return np.clip(np.searchsorted(knots, x, "right") - 1, 0, max(len(knots) - 2, 0))


interval_of = constant(
    interval_forward, name="interval_of", arity=2, bind=lambda knots, x: ((knots, x), {}), samples=(), public=False
)


@numpy_function(Sample(A(3), A(2, 2)), Sample(A(4), A()))
def polyval(p, x):
    """Value at x of the polynomial with coefficients p, with the highest power first."""
    value = as_operand_array(x) * 0
    for i in range(len(p)):
        value = value * x + p[i]
    return value
