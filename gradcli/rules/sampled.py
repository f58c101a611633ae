"""Curves through points, integrals of samples, polynomials by their coefficients, and two-dimensional convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from .differences import MODES, convolve, interval_of, pad
from .fourier import transform
from .join import concatenate, stack_entry
from .matrix_functions import default_tolerance, pinv_with
from .scan import cumsum
from .select import take_along_axis
from .shapes import (
    as_floats,
    as_int,
    as_operand_array,
    at_axis,
    count_product,
    in_type_of,
    lay_along,
    negative_axis,
    rank,
    shape_of,
    size_of,
)
from .solve import solve
from .table import A, Sample, numpy_function

SAMPLE_COORDINATES = np.array([-2.0, -0.7, 0.4, 1.5, 2.5])
"""Coordinates for samples."""


# -- interpolation ---------------------------------


def coordinates_of(name, xp, fp, least):
    """Return coordinates and values as arrays of the values' type. Raises ValueError for too few or other shapes."""
    fp = as_floats(as_operand_array(fp))
    xp = in_type_of(fp, xp)
    if rank(xp) != 1 or shape_of(xp) != shape_of(fp) or shape_of(xp)[0] < least:
        shapes = f"{shape_of(xp)} and {shape_of(fp)}"
        raise ValueError(f"{name} needs a value for each point, and at least {least} points; got shapes {shapes}")
    return xp, fp


def hermite(x, xp, fp, slopes):
    """Values at x of the piecewise cubic function with given values and slopes at increasing points."""
    flat = x.reshape((-1,))
    places = interval_of(xp, flat)
    x0, y0, s0 = (take_along_axis(v, places, 0) for v in (xp, fp, slopes))
    x1, y1, s1 = (take_along_axis(v, places + 1, 0) for v in (xp, fp, slopes))
    h = x1 - x0
    t = (flat - x0) / h
    rise = (y1 - y0) / h
    cubic = y0 + (flat - x0) * (s0 + t * ((3 * rise - 2 * s0 - s1) + t * (s0 + s1 - 2 * rise)))
    return cubic.reshape(shape_of(x))


@numpy_function(
    Sample(A(4), SAMPLE_COORDINATES, A(5)),
    Sample(A(), SAMPLE_COORDINATES, A(5)),
    size=lambda x, xp, fp: size_of(xp) ** 2,
)
def cubic_spline(x, xp, fp):
    """Value at x of the cubic spline through the points (xp, fp), as in scipy's CubicSpline (not-a-knot)."""
    xp, fp = coordinates_of("cubic_spline", xp, fp, 4)
    x = in_type_of(fp, x)
    n, h = shape_of(xp)[0], xp[1:] - xp[:-1]
    rise = (fp[1:] - fp[:-1]) / h
    inner = 3 * (h[1:] * rise[:-1] + h[:-1] * rise[1:])
    left = ((h[0] + 2 * (h[0] + h[1])) * h[1] * rise[0] + h[0] * h[0] * rise[1]) / (h[0] + h[1])
    right = h[-1] * h[-1] * rise[-2] + (2 * (h[-1] + h[-2]) + h[-1]) * h[-2] * rise[-1]
    known = concatenate.function((left[None], inner, (right / (h[-1] + h[-2]))[None]), 0)
    return hermite(x, xp, fp, solve(spline_matrix(h, n), known))


def spline_matrix(h, n):
    """The tridiagonal matrix of the equations for the slopes; its outer rows are the not-a-knot conditions."""
    zero = h[:1] * 0
    lower = concatenate.function((zero, h[1:], (h[-1] + h[-2])[None]), 0)
    middle = concatenate.function((h[1:2], 2 * (h[1:] + h[:-1]), h[-2:-1]), 0)
    upper = concatenate.function(((h[0] + h[1])[None], h[:-1], zero), 0)
    diagonals = ((middle, 0), (lower, -1), (upper, 1))
    return sum(lay_along(v, -2) * in_type_of(h, np.eye(n, k=k)) for v, k in diagonals)


@numpy_function(
    Sample(SAMPLE_COORDINATES, A(5), np.array([-1.9, -0.1, 0.9, 2.1])),
    subgradient="0 where neighbouring differences change sign",
)
def pchip_interpolate(xi, yi, x):
    """Value at x of the monotone piecewise cubic function through the points (xi, yi) (Fritsch and Butland 1984)."""
    xi, yi = coordinates_of("pchip_interpolate", xi, yi, 3)
    x = in_type_of(yi, x)
    h = xi[1:] - xi[:-1]
    rise = (yi[1:] - yi[:-1]) / h
    before, after = rise[:-1], rise[1:]
    flat = before * after <= 0
    near, far = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    safe = (np.where(flat, 1.0, before), np.where(flat, 1.0, after))
    inner = np.where(flat, 0.0, (near + far) / (near / safe[0] + far / safe[1]))
    ends = [monotone_end_slope(h[0], h[1], rise[0], rise[1]), monotone_end_slope(h[-1], h[-2], rise[-1], rise[-2])]
    return hermite(x, xi, yi, concatenate.function((ends[0][None], inner, ends[1][None]), 0))


def monotone_end_slope(h, k, first, second):
    """A one-sided slope that keeps the curve monotone, from two steps and two rises."""
    slope = ((2 * h + k) * first - h * second) / (h + k)
    limited = np.where((first * second < 0) & (abs(slope) > 3 * abs(first)), 3 * first, slope)
    return np.where(slope * first <= 0, 0.0, limited)


@numpy_function(
    Sample(SAMPLE_COORDINATES, A(5), A(4)),
    Sample(SAMPLE_COORDINATES[:3], A(3), A()),
    size=lambda xi, yi, x: size_of(x) * size_of(xi),
)
def barycentric_interpolate(xi, yi, x):
    """Value at x of the polynomial through the points (xi, yi), by the products of Lagrange's formula."""
    xi, yi = coordinates_of("barycentric_interpolate", xi, yi, 1)
    x = in_type_of(yi, x)
    n, flat = shape_of(xi)[0], x.reshape((-1,))
    total: Any = 0.0
    for i in range(n):
        term = flat * 0.0 + yi[i]
        for j in range(n):
            if j != i:
                term = term * ((flat - xi[j]) / (xi[i] - xi[j]))
        total = total + term
    return total.reshape(shape_of(x))


# -- integrals of samples ---------------------------------


def steps_of(x, dx, axis, y):
    """Return the distances of neighbouring samples, laid along the axis, in the type of y."""
    if x is None:
        return dx
    x = in_type_of(y, x)
    steps = x[1:] - x[:-1] if rank(x) == 1 else part_along(x, axis, 1) - part_along(x, axis, 0, -1)
    return lay_along(steps, axis) if rank(x) == 1 else steps


def part_along(x, axis, start, stop=None):
    return x[at_axis(axis, slice(start, stop))]


@numpy_function(Sample(A(4)), Sample(A(2, 5), dx=0.5), Sample(A(3, 4), np.array([0, 1, 3, 4])), Sample(A(4), initial=0))
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    """Integral along axis up to each sample, by the trapezoidal rule. initial=0 puts a 0 in front."""
    y = as_operand_array(y)
    axis = negative_axis(axis, rank(y))
    steps = steps_of(x, dx, axis, y)
    total = cumsum((part_along(y, axis, 1) + part_along(y, axis, 0, -1)) * steps / 2.0, axis)
    if initial is None:
        return total
    return concatenate.function((part_along(y, axis, 0, 1) * 0.0 + initial, total), axis)


@numpy_function(Sample(A(5)), Sample(A(2, 6), dx=0.5), Sample(A(5), np.array([0, 1, 3, 4, 6.0])), Sample(A(4), A(4)))
def simpson(y, x=None, dx=1.0, axis=-1):
    """Integral along axis by Simpson's rule; for an even number of samples, with Cartwright's formula for the last
    interval, as in SciPy."""
    y = as_floats(as_operand_array(y))
    axis = negative_axis(axis, rank(y))
    n = shape_of(y)[axis]
    if n < 3:
        raise ValueError(f"simpson needs at least 3 samples along the axis, got {n}")
    h = steps_of(x, dx, axis, y)
    spread = (lambda a, b=None: h) if x is None else (lambda a, b=None: h[at_axis(axis, slice(a, b, 2))])
    last = n - 1 if n % 2 else n - 2
    h0, h1 = spread(0, last), spread(1, last)
    y0, y1, y2 = (y[at_axis(axis, slice(i, last + (i + 1) // 2 if i < 2 else None, 2))] for i in range(3))
    count = last // 2
    y0, y1, y2 = (part_along(v, axis, 0, count) for v in (y0, y1, y2))
    pairs = (h0 + h1) / 6 * (y0 * (2 - h1 / h0) + y1 * (h0 + h1) ** 2 / (h0 * h1) + y2 * (2 - h0 / h1))
    total = pairs.sum(axis=axis)
    if n % 2:
        return total
    before, after = (h, h) if x is None else (part_along(h, axis, -2, -1), part_along(h, axis, -1))
    a, b, c = (part_along(y, axis, n - 3 + i, n - 2 + i) for i in range(3))
    extra = (
        c * (2 * after**2 + 3 * before * after) / (6 * (before + after))
        + b * (after**2 + 3 * before * after) / (6 * before)
        - a * after**3 / (6 * before * (before + after))
    )
    return total + extra.sum(axis=axis)


# -- polynomials by their coefficients, the highest power first ---------------------------------


@numpy_function(Sample(A(4)), Sample(A(5), 2), Sample(A(2), 3))
def polyder(p, m=1):
    """Coefficients of the m-th derivative of a polynomial, the highest power first."""
    p = as_operand_array(p)
    for _ in range(as_int(m)):
        n = shape_of(p)[0]
        p = p[:-1] * in_type_of(p, np.arange(n - 1, 0, -1)) if n > 1 else p[:0]
    return p


@numpy_function(Sample(A(4)), Sample(A(3), 2))
def polyint(p, m=1):
    """Coefficients of the m-th antiderivative of a polynomial, the highest power first; the constants are 0."""
    p = as_floats(as_operand_array(p))
    for _ in range(as_int(m)):
        n = shape_of(p)[0]
        p = pad(p / in_type_of(p, np.arange(n, 0, -1)), ((0, 1),))
    return p


@numpy_function(Sample(A(4), A(3)), Sample(A(1), A(3)))
def polymul(a, b):
    """Coefficients of the product of two polynomials."""
    return convolve(a, b)


def aligned(a, b):
    """Return coefficients with zeros in front of the shorter ones."""
    a, b = as_operand_array(a), as_operand_array(b)
    n = max(shape_of(a)[0], shape_of(b)[0])
    return (pad(p, ((n - shape_of(p)[0], 0),)) for p in (a, b))


@numpy_function(Sample(A(4), A(3)), Sample(A(2), A(3)))
def polyadd(a, b):
    """Coefficients of the sum of two polynomials."""
    a, b = aligned(a, b)
    return a + b


@numpy_function(Sample(A(4), A(3)), Sample(A(2), A(3)))
def polysub(a, b):
    """Coefficients of the difference of two polynomials."""
    a, b = aligned(a, b)
    return a - b


@numpy_function(
    Sample(SAMPLE_COORDINATES, A(5), 2), Sample(A(4), A(4), 1), size=lambda x, y, deg: size_of(x) * (as_int(deg) + 1)
)
def polyfit(x, y, deg):
    """Coefficients of the polynomial of degree deg that fits the points (x, y) best, the highest power first."""
    y, degree = as_floats(as_operand_array(y)), as_int(deg)
    x = in_type_of(y, x)
    powers = [x * 0.0 + 1.0]
    for _ in range(degree):
        powers.append(powers[-1] * x)
    matrix = stack_entry.function(powers[::-1], -1)
    return (pinv_with(matrix, 0.0, default_tolerance(matrix)) @ y[..., None])[..., 0]


@numpy_function(Sample(A(3)), Sample(A(1)))
def poly(roots):
    """Coefficients of the polynomial with these roots, the highest power first; the first one is 1."""
    roots = as_operand_array(roots)
    p = roots[:1] * 0 + 1.0
    for i in range(shape_of(roots)[0]):
        p = pad(p, ((0, 1),)) - pad(p, ((1, 0),)) * roots[i]
    return p


# -- convolution over two axes ---------------------------------


@numpy_function(
    Sample(A(3, 4), A(2, 2)),
    Sample(A(3, 4), A(2, 3), "same"),
    Sample(A(3, 4), A(2, 3), 0),
    size=lambda a, v, mode="full": 4 * count_product(n + m for n, m in zip(shape_of(a), shape_of(v), strict=True)),
)
def convolve2d(a, v, mode="full"):
    """Convolution of two matrices. mode is full, same or valid; in formulas, it is 2, 1 or 0."""
    a, v, mode = as_operand_array(a), as_operand_array(v), MODES.get(mode, mode)
    if rank(a) != 2 or rank(v) != 2:
        raise ValueError(f"convolve2d needs two matrices, got shapes {shape_of(a)} and {shape_of(v)}")
    if mode not in MODES.values():
        raise ValueError(f"mode must be 'full', 'same' or 'valid', not {mode!r}")
    (n, m), (rows, columns) = shape_of(a), shape_of(v)
    lengths, axes = (n + rows - 1, m + columns - 1), (-2, -1)
    if size_of(v) > FEW_IN_KERNEL and a.dtype.kind == v.dtype.kind == "f":
        left, right = (transform(x, "rfft", lengths, axes) for x in (a, v))
        full = transform(left * right, "irfft", lengths, axes)
    else:
        wide = pad(a, ((rows - 1, rows - 1), (columns - 1, columns - 1)))
        full = sum(
            wide[rows - 1 - i : rows - 1 - i + lengths[0], columns - 1 - j : columns - 1 - j + lengths[1]] * v[i, j]
            for i in range(rows)
            for j in range(columns)
        )
    if mode == "same":
        i, j = (rows - 1) // 2, (columns - 1) // 2
        return full[i : i + n, j : j + m]
    inside = slice(min(rows, n) - 1, max(rows, n)), slice(min(columns, m) - 1, max(columns, m))
    return full[inside] if mode == "valid" else full


FEW_IN_KERNEL = 64  # elements of a kernel; beyond, Fourier transforms take less time
