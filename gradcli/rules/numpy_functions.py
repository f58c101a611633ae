"""NumPy's remaining functions of elements: they are made of other entries."""

from __future__ import annotations

import numpy as np

from .complex import real
from .matrix_products import matmul
from .movement import clone, moveaxis
from .scan import cumprod, cumsum
from .shapes import as_array, dtype_of, is_complex, negative_axis, rank, raw, shape_of
from .table import A, Sample, composition, numpy_function


@numpy_function(Sample(A(3, 4)))
def fabs(x):
    """Absolute value of real numbers."""
    return abs(as_array(x))


@numpy_function(Sample(A(3), np.array([1, -2, 0])))
def ldexp(x, y):
    """x times 2 to the (whole) power y."""
    y, kind = as_array(y), dtype_of(as_array(x))
    return x * np.exp2(y if kind.kind == "O" else y.astype(kind))


@numpy_function(public=False)
def modf(x):
    """Fractional and whole part, both with the sign of x."""
    whole = np.trunc(x)
    return x - whole, whole


@numpy_function(name="divmod", public=False)
def divmod_(x, y):
    """Rounded-down quotient and remainder."""
    return np.floor_divide(x, y), np.remainder(x, y)


@numpy_function(public=False)
def frexp(x):
    """Numbers between 1/2 and 1, and the powers of 2 that they are multiplied with to give x."""
    exponent = np.frexp(raw(x))[1]
    return ldexp(x, -exponent), exponent


@numpy_function(Sample(A(2, 3), A(3)), Sample(A(2, 2, 3), A(3)))
def matvec(x, y):
    """Matrices times vectors, over the last axes."""
    return matmul(as_array(x), as_array(y)[..., None])[..., 0]


@numpy_function(Sample(A(2), A(2, 3)), Sample(A(4, 2), A(2, 3)))
def vecmat(x, y):
    """Conjugated vectors times matrices, over the last axes."""
    return matmul(as_array(x).conj()[..., None, :], as_array(y))[..., 0, :]


def around(x, decimals=0):
    """Nearest number with so many decimals, halves to even."""
    return np.rint(x) if decimals == 0 else np.rint(x * 10.0**decimals) / 10.0**decimals


composition(around, numpy=(np.around, np.round), samples=(), public=False)


@numpy_function(Sample(A(2, 3), A()), Sample(A(2, 3), A(3)))
def full_like(x, fill_value):
    """One value in the shape and type of x."""
    return clone(np.broadcast_to(as_array(fill_value), shape_of(x))).astype(dtype_of(x))


@numpy_function(Sample(A(3)))
def copy(x):
    """A copy, through which gradients flow."""
    return clone(as_array(x))


@numpy_function(Sample(A(4)), Sample(A(3, 2), axis=0, include_initial=True))
def cumulative_sum(x, *, axis=None, include_initial=False):
    """Cumulative sum along axis (which only a vector need not name)."""
    return running(cumsum, x, axis, 0.0 if include_initial else None)


@numpy_function(Sample(A(4)), Sample(A(3, 2), axis=0, include_initial=True))
def cumulative_prod(x, *, axis=None, include_initial=False):
    """Cumulative product along axis (which only a vector need not name)."""
    return running(cumprod, x, axis, 1.0 if include_initial else None)


def running(function, x, axis, initial):
    """Run a cumulative function, with its initial value in front where one is given."""
    if axis is None and rank(x) != 1:
        raise ValueError("a cumulative function of an array with several axes needs axis=")
    axis = -1 if axis is None else axis
    out = function(x, axis)
    if initial is None:
        return out
    shape = list(shape_of(out))
    shape[axis] = 1
    return np.concatenate([np.full(shape, initial, dtype_of(out)), out], axis)


@numpy_function(Sample(A(2, 3)))
def matrix_transpose(x):
    """The last two axes exchanged."""
    return x.swapaxes(-1, -2)


@numpy_function(public=False)
def apply_along_axis(func1d, axis, x, *args, **kwargs):
    """func1d of every vector along axis; its results take the place of that axis."""
    axis = negative_axis(axis, rank(x))
    lanes = moveaxis(x, axis, -1)
    lead = shape_of(lanes)[:-1]
    results = [as_array(func1d(lanes[place], *args, **kwargs)) for place in np.ndindex(lead)]
    if not results:
        raise ValueError("apply_along_axis needs at least one vector")
    inner = shape_of(results[0])
    out = np.stack(results).reshape(lead + inner)
    place = axis + rank(x)
    return moveaxis(out, tuple(range(len(lead), rank(out))), tuple(range(place, place + len(inner))))


@numpy_function(Sample(A(3)))
def real_if_close(x, tol=100):
    """The real parts where all imaginary parts are nearly 0, else x."""
    return real(x) if is_complex(x) and not np.iscomplexobj(np.real_if_close(raw(x), tol)) else x
