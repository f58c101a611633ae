"""Broadcasting and its reverse, axes counted from the right, and the sizes of results.

Axes are made negative here, so that extra leading (batch) axes never affect a rule.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

Shape = tuple[int, ...]
MOST_FILLED = 4096
"""Up to this many elements, filling an array is faster than creating a view that repeats one element."""


def rank(x: Any) -> int:
    """Return the number of axes of an array, a Tensor, a scalar or a nested list."""
    ndim = getattr(x, "ndim", None)
    return np.ndim(x) if ndim is None else ndim


def shape_of(x: Any) -> Shape:
    """Return the shape of an array, a Tensor, a scalar or a nested list."""
    shape = getattr(x, "shape", None)
    return np.shape(x) if shape is None else tuple(shape)


def as_operand_array(x: Any) -> Any:
    """Convert a number or a list to an array; return everything else unchanged."""
    return x if hasattr(x, "ndim") else np.asarray(x)


def raw(x: Any) -> np.ndarray:
    """Return the data of an array or a Tensor, without the graph."""
    return np.asarray(getattr(x, "_data", x))


def dtype_of(x: Any) -> np.dtype:
    return getattr(x.dtype, "dtype", x.dtype)


def is_complex(x: Any) -> bool:
    """Return whether the elements of an array or a Tensor, including exact ones, are complex."""
    kind = x.dtype.kind
    return kind == "c" or (kind == "O" and getattr(getattr(x, "_data", x), "is_complex", False))


def may_hold(condition: Any) -> bool:
    """Report whether a condition is true for an element, or may be: symbols leave it open."""
    return getattr(getattr(condition, "dtype", None), "kind", "") == "O" or bool(np.any(condition))


def in_type_of(x: Any, other: Any) -> Any:
    """Cast an array or a number to the type of x if that is real floating-point."""
    other = as_operand_array(other)
    return other.astype(dtype_of(x)) if x.dtype.kind == "f" else other


def as_shape(*shape: Any) -> Shape:
    """Return ints, or one sequence of them (also integral floats and 0-d arrays), as a tuple of ints."""
    given = shape[0] if len(shape) == 1 else shape
    return tuple(as_int(n) for n in given) if rank(given) else (as_int(given),)


def as_int(n: Any) -> int:
    """Convert an integral number of any type to an int. Raises TypeError for 2.5."""
    if isinstance(n, float | np.floating) and float(n).is_integer():
        return int(n)
    if getattr(n, "ndim", None) == 0 and not isinstance(n, int):
        return as_int(n.item())
    return operator.index(n)


def negative_axes(axis: Any, ndim: int) -> Shape:
    """Return axis (None: all) as sorted negative axes. Raises AxisError if out of range, ValueError if repeated."""
    if axis is None:
        return tuple(range(-ndim, 0))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis - ndim if axis >= 0 else axis,)
    return tuple(sorted(i - ndim for i in normalize_axis_tuple(as_shape(axis), ndim)))


def negative_axis(axis: int, ndim: int) -> int:
    """Return one axis counted from the right; a 0-d array has the axes 0 and -1, as in PyTorch."""
    if type(axis) is int and -ndim <= axis < ndim:
        return axis - ndim if axis >= 0 else axis
    (axis,) = normalize_axis_tuple(as_int(axis), ndim or 1)
    return axis - (ndim or 1)


def at_axis(axis: int, item: Any) -> tuple:
    """Return the index that applies `item` to one negative axis."""
    return (..., item) + (slice(None),) * (-axis - 1)


def lay_along(x: Any, axis: int) -> Any:
    """Reshape a vector to lie along a negative axis."""
    return x.reshape((-1,) + (1,) * (-axis - 1))


def fit_to_shape(g: Any, shape: Shape, ndim: int) -> Any:
    """Sum a cotangent g (lead + broadcast shape, for a result of rank ndim) to an operand's shape: lead + `shape`."""
    lead = g.ndim - ndim
    missing = ndim - len(shape)
    if g.shape[lead:] == shape:
        return g
    axes = tuple(range(lead, lead + missing)) + tuple(
        lead + missing + i for i, n in enumerate(shape) if n == 1 and g.shape[lead + missing + i] != 1
    )
    if axes:
        if type(g) is np.ndarray:
            g = np.add.reduce(g, axis=axes, keepdims=True)
        else:
            g = g.sum(axis=axes, keepdims=True)
    return g.reshape(g.shape[:lead] + shape)


def kept_shape(shape: Shape, axes: Shape) -> Shape:
    """Return `shape` with 1 at the negative `axes`, as keepdims=True leaves it."""
    ndim = len(shape)
    return tuple(1 if i - ndim in axes else n for i, n in enumerate(shape))


def unreduce(g: Any, shape: Shape, axis: Shape, keepdims: bool) -> Any:
    """Put the reduced axes back, with length 1, into a cotangent of shape lead + reduced shape."""
    if keepdims:
        return g
    lead = g.ndim - (len(shape) - len(axis))
    return g.reshape(g.shape[:lead] + kept_shape(shape, axis))


def spread(g: Any, shape: Shape, axis: Shape, keepdims: bool) -> Any:
    """Repeat a reduction's cotangent over the reduced axes, to lead + `shape`."""
    if isinstance(g, np.generic) and math.prod(shape) < MOST_FILLED:
        return np.full(shape, g)
    g = unreduce(g, shape, axis, keepdims)
    return np.broadcast_to(g, lead_of(g, shape) + shape)


def sum_kept(x: Any, axis: Shape) -> Any:
    """Sum over negative axes, which are kept with length 1; without axes, return x unchanged."""
    return x.sum(axis=axis, keepdims=True) if axis else x


def lead_of(g: Any, shape: Shape) -> Shape:
    """Return the batch axes of `g`, a cotangent of an array of `shape`."""
    return g.shape[: g.ndim - len(shape)]


def adjoint(x: Any) -> Any:
    """Return the conjugate transpose over the last two axes (no copy for real arrays)."""
    return x.conj().mT


def as_floats(x: Any) -> Any:
    """Convert integers and booleans to float64; return everything else unchanged."""
    return x.astype(np.float64) if getattr(x, "dtype", None) is not None and x.dtype.kind in "biu" else x


def in_floats_of(x: Any, parameter: Any) -> np.ndarray:
    """Return a parameter in the type used to compute with x: that of x, or float64 for integers."""
    kind = np.dtype(dtype_of(as_operand_array(x)))
    return np.asarray(parameter, kind if kind.kind in "fc" else np.float64)


def conjugate(x: Any) -> Any:
    return x.conj() if is_complex(x) else x


def mask(condition: Any, *operands: Any) -> Any:
    """where(condition, 1, 0); in the common type of the operands. Python numbers among them have no type."""
    return condition.astype(next(x.dtype for x in operands if hasattr(x, "dtype")))


def count_product(shape: Any) -> int:
    return math.prod(map(int, shape))


def size_of(x: Any) -> int:
    return count_product(shape_of(x))


def count_steps(start: Any, stop: Any = None, step: Any = 1) -> int:
    """Return the number of elements of arange."""
    start, stop = (0, start) if stop is None else (start, stop)
    span = (float(stop) - float(start)) / float(step) if float(step) else 0.0
    return max(math.ceil(span), 0) if math.isfinite(span) else 1 << 62


def count_shape(*shape: Any) -> int:
    """Return the number of elements of zeros(2, 3) or zeros((2, 3))."""
    return count_product(as_shape(*shape))


def count_repeated(x: Any, repeats: Any, axis: Any = None) -> int:
    """Return an upper bound for the number of elements of repeat."""
    count = as_int(repeats) if rank(repeats) == 0 else int(np.max(raw(repeats), initial=0))
    return size_of(x) * count


def count_matrix(x: Any, y: Any) -> int:
    """Return the number of elements of a matrix product."""
    a, b = shape_of(x), shape_of(y)
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    return count_product(np.broadcast_shapes(a[:-2], b[:-2])) * count_product(rows) * count_product(columns)


def count_pairs(x: Any, y: Any) -> int:
    return size_of(x) * size_of(y)


def count_contracted(x: Any, y: Any, axes: Any = 2) -> int:
    """Return the number of elements of tensordot."""
    a = shape_of(x)
    left = a[len(a) - as_int(axes) :] if rank(axes) == 0 else [a[i] for i in as_shape(axes[0])]
    common = max(count_product(left), 1)
    return (size_of(x) // common) * (size_of(y) // common)
