"""Further NumPy functions, written with other entries: averages, order statistics, covariances."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .arithmetic import clip
from .exact import NoTwinError
from .join import concatenate
from .matrix_products import matmul, mm
from .movement import clone, moveaxis
from .pointwise import real
from .reduce import reduced_axes
from .scan import cumprod, cumsum
from .select import sort, take_along_axis
from .shapes import (
    as_floats,
    as_operand_array,
    dtype_of,
    in_type_of,
    is_complex,
    kept_shape,
    negative_axes,
    rank,
    shape_of,
)
from .table import REDUCTION, A, Sample, composition, constant, numpy_function


@numpy_function(Sample(A(3, 4)))
def fabs(x):
    """Absolute value of real numbers."""
    return abs(as_operand_array(x))


def is_nearly_real(x, *, tol):
    """Report whether all imaginary parts are nearly 0. Raises NoTwinError for exact numbers."""
    if x.dtype == object:
        raise NoTwinError("real_if_close compares values and has no formula")
    return np.asarray(not np.iscomplexobj(np.real_if_close(x, tol)))


nearly_real = constant(is_nearly_real, samples=(), public=False)


@numpy_function(Sample(A(3)))
def real_if_close(x, tol=100):
    """The real part if all imaginary parts are nearly 0, otherwise x."""
    return real(x) if is_complex(x) and nearly_real(x, tol=tol) else x


@numpy_function(Sample(A(3), np.array([1, -2, 0])))
def ldexp(x, y):
    """x times 2**y, for integer y."""
    y, kind = as_operand_array(y), dtype_of(as_operand_array(x))
    return x * np.exp2(y if kind.kind == "O" else y.astype(kind))


@numpy_function(Sample(A(2, 3), A(3)), Sample(A(2, 2, 3), A(3)))
def matvec(x, y):
    """Products of matrices and vectors, over the last axes."""
    return matmul(as_operand_array(x), as_operand_array(y)[..., None])[..., 0]


@numpy_function(Sample(A(2), A(2, 3)), Sample(A(4, 2), A(2, 3)))
def vecmat(x, y):
    """Products of conjugated vectors and matrices, over the last axes."""
    return matmul(as_operand_array(x).conj()[..., None, :], as_operand_array(y))[..., 0, :]


def around(x, decimals=0):
    """Round to a number of decimals, halves to even."""
    return np.rint(x) if decimals == 0 else np.rint(x * 10.0**decimals) / 10.0**decimals


composition(around, numpy=(np.around, np.round), samples=(), public=False)


@numpy_function(Sample(A(2, 3), A()), Sample(A(2, 3), A(3)))
def full_like(x, fill_value):
    """Array with the shape and type of x, filled with one value."""
    return clone(np.broadcast_to(as_operand_array(fill_value), shape_of(x))).astype(dtype_of(x))


@numpy_function(Sample(A(3)))
def copy(x):
    """A copy; gradients flow through it."""
    return clone(as_operand_array(x))


@numpy_function(Sample(A(2, 3)))
def matrix_transpose(x):
    """The array with its last two axes exchanged."""
    return x.mT


REDUCED = (Sample(A(3, 4)), Sample(A(3, 4), axis=0), Sample(A(2, 3, 4), axis=(0, -1), keepdims=True))
RANKED = (
    Sample(A(7), 0.3),
    Sample(A(4, 3), np.array([0.25, 0.6]), axis=0),
    Sample(A(3, 4), 0.5, axis=1, keepdims=True),
)
PERCENTS = (
    Sample(A(7), 30),
    Sample(A(4, 3), np.array([25, 60]), axis=0, method="lower"),
    Sample(A(7), 35, method="nearest"),
)


@numpy_function(*REDUCED[:2], Sample(A(3, 4), 1, A(4)), Sample(A(3, 4), None, A(3, 4)))
def average(x, axis=None, weights=None, returned=False, *, keepdims=False):
    """Weighted mean over axis. With returned=True, the result is the mean and the sum of the weights."""
    x = as_operand_array(x)
    axis = negative_axes(axis, rank(x))
    if weights is None:
        out = x.mean(axis=axis, keepdims=keepdims)
        total = np.ones(shape_of(out)) * (math.prod(shape_of(x)) / max(math.prod(shape_of(out)), 1))
    else:
        weights = as_operand_array(weights)
        if shape_of(weights) != shape_of(x):
            if shape_of(weights) != tuple(shape_of(x)[a] for a in axis):
                raise ValueError(f"average: weights of shape {shape_of(weights)} do not fit shape {shape_of(x)}")
            kept = tuple(n if i - rank(x) in axis else 1 for i, n in enumerate(shape_of(x)))
            weights = np.broadcast_to(weights.reshape(kept), shape_of(x))
        total = weights.sum(axis=axis, keepdims=keepdims)
        out = (x * weights).sum(axis=axis, keepdims=keepdims) / total
    return (out, total) if returned else out


@numpy_function(*REDUCED)
def ptp(x, axis=None, *, keepdims=False):
    """Largest minus smallest element over axis."""
    return np.max(x, axis=axis, keepdims=keepdims) - np.min(x, axis=axis, keepdims=keepdims)


QUANTILE_METHODS = {
    "linear": lambda low, share: share,
    "lower": lambda low, share: share * 0,
    "higher": lambda low, share: np.ceil(share),
    "midpoint": lambda low, share: np.where(share > 0, 0.5, 0.0),
    "nearest": lambda low, share: np.where((share > 0.5) | ((share == 0.5) & (low % 2 == 1)), 1.0, 0.0),
}
"""The weight of the upper neighbour, from the lower rank and the fraction of the way up from it."""


def ranked_value(x, q, axis, keepdims, method, ignore_nan):
    """Return the quantiles q (between 0 and 1) over axis, with shape q.shape + reduced shape."""
    if method not in QUANTILE_METHODS:
        raise TypeError(
            f"gradcli does not support quantiles with method={method!r}; use one of {', '.join(QUANTILE_METHODS)}"
        )
    x, q = as_floats(as_operand_array(x)), as_operand_array(q)
    if ((q < 0) | (q > 1)).any():
        raise ValueError("quantiles must be in the range [0, 1], percentiles in [0, 100]")
    axis = reduced_axes(x, axis)
    lead = tuple(n for i, n in enumerate(shape_of(x)) if i - rank(x) not in axis)
    rows = sort(moveaxis(x, axis, tuple(range(-len(axis), 0))).reshape((*lead, -1)) if rank(x) else x.reshape((1,)))
    n, kind = shape_of(rows)[-1], dtype_of(rows)
    if not n:
        raise ValueError("a quantile needs at least one element")
    missing = np.isnan(rows).sum(axis=-1, keepdims=True)
    counts = n - missing if ignore_nan else np.full((1,) * rank(rows), n)
    places = np.maximum(counts - 1, 0) * q.reshape((-1,))
    low = np.floor(places)
    share = QUANTILE_METHODS[method](low, places - low).astype(kind)
    lower, upper = (take_along_axis(rows, i.astype(np.intp), -1) for i in (low, np.minimum(low + 1, n - 1)))
    out = lower + np.where(share > 0, upper - lower, 0.0) * share
    out = np.where(missing == n if ignore_nan else missing > 0, np.asarray(np.nan, kind), out)
    return moveaxis(out, -1, 0).reshape(shape_of(q) + (kept_shape(shape_of(x), axis) if keepdims else lead))


def enter_ranked(prefix: str, ignore_nan: bool, words: str) -> None:
    """Add entries for quantile, percentile and median, or for their variants that ignore nan."""

    @numpy_function(
        *RANKED,
        name=f"{prefix}quantile",
        torch=f"{prefix}quantile(input, q, dim=None, keepdim=False, *, interpolation='linear')",
        doc=f"Quantiles q, from 0 to 1, over axis{words}",
    )
    def quantile(x, q, axis=None, *, method="linear", keepdims=False):
        return ranked_value(x, q, axis, keepdims, method, ignore_nan)

    @numpy_function(*PERCENTS, name=f"{prefix}percentile", doc=f"Percentiles q, from 0 to 100, over axis{words}")
    def percentile(x, q, axis=None, *, method="linear", keepdims=False):
        return ranked_value(x, as_operand_array(q) / 100, axis, keepdims, method, ignore_nan)

    @numpy_function(*REDUCED, name=f"{prefix}median", doc=f"Median over axis{words}")
    def median(x, axis=None, *, keepdims=False):
        return ranked_value(x, 0.5, axis, keepdims, "linear", ignore_nan)


enter_ranked("", False, "; nan if any element is nan.")
enter_ranked("nan", True, ", ignoring nan.")


def replace_nan(x, value):
    x = as_operand_array(x)
    return np.where(np.isnan(x), np.asarray(value, dtype_of(x)), x)


def count_numbers(x, axis, keepdims):
    """Count the elements over axis that are not nan, in the type of x."""
    x = as_operand_array(x)
    return (~np.isnan(x)).sum(axis=axis, keepdims=keepdims).astype(np.zeros(1, dtype_of(x)).real.dtype)


@numpy_function(
    *REDUCED, pattern=REDUCTION, torch="nansum(input, dim=None, keepdim=False, *, dtype=None) -> NansumBackward0"
)
def nansum(x, axis=None, keepdims=False):
    """Sum over axis, ignoring nan."""
    return np.sum(replace_nan(x, 0), axis=axis, keepdims=keepdims)


@numpy_function(*REDUCED)
def nanprod(x, axis=None, keepdims=False):
    """Product over axis, ignoring nan."""
    return np.prod(replace_nan(x, 1), axis=axis, keepdims=keepdims)


@numpy_function(
    *REDUCED,
    pattern=REDUCTION,
    torch="nanmean(input, dim=None, keepdim=False, *, dtype=None)",
    floats_only="nanmean(): expected input to have floating point or complex dtype but got {dtype}",
)
def nanmean(x, axis=None, keepdims=False):
    """Mean over axis, ignoring nan."""
    return nansum(x, axis, keepdims) / count_numbers(x, axis, keepdims)


@numpy_function(*REDUCED)
def nanvar(x, axis=None, *, ddof=0, keepdims=False):
    """Variance over axis, ignoring nan, with n - ddof in the denominator."""
    away = replace_nan(x - nanmean(x, axis, True), 0)
    squares = (away * away.conj()).real
    return np.sum(squares, axis=axis, keepdims=keepdims) / (count_numbers(x, axis, keepdims) - ddof)


@numpy_function(*REDUCED)
def nanstd(x, axis=None, *, ddof=0, keepdims=False):
    """Standard deviation over axis, ignoring nan."""
    return np.sqrt(nanvar(x, axis, ddof=ddof, keepdims=keepdims))


def enter_nan_extreme(name: str, extreme: Callable, beyond: float, word: str) -> None:

    @numpy_function(*REDUCED, name=name, doc=f"{word} element along axis, ignoring nan; nan if all elements are nan.")
    def function(x, axis=None, keepdims=False):
        out = extreme(replace_nan(x, beyond), axis=axis, keepdims=keepdims)
        empty = np.all(np.isnan(x), axis=axis, keepdims=keepdims)
        return np.where(empty, np.asarray(np.nan, dtype_of(x)), out)


enter_nan_extreme("nanmax", np.max, -np.inf, "Largest")
enter_nan_extreme("nanmin", np.min, np.inf, "Smallest")


@numpy_function(Sample(A(3, 4)), Sample(A(3, 4), axis=0))
def nancumsum(x, axis=None):
    """Cumulative sum along axis, with nan counted as 0."""
    return cumsum(replace_nan(x, 0), axis)


@numpy_function(Sample(A(5)), Sample(A(3, 4), axis=0))
def nancumprod(x, axis=None):
    """Cumulative product along axis, with nan counted as 1."""
    return cumprod(replace_nan(x, 1), axis)


def observations(x, y, rowvar):
    """Return variables as rows and observations as columns."""
    x = as_operand_array(x)
    rows = x.reshape((1, -1)) if rank(x) < 2 else x if rowvar else x.swapaxes(0, 1)
    if y is None:
        return rows
    return concatenate.function((rows, observations(y, None, rowvar)), 0)


@numpy_function(
    Sample(A(3, 4)),
    Sample(A(4)),
    Sample(A(2, 5), A(1, 5), ddof=0),
    Sample(A(5, 2), rowvar=False, fweights=np.array([1, 2, 1, 1, 3]), aweights=np.array([0.5, 1, 2, 1, 1])),
    torch="cov(input, *, correction=1, fweights=None, aweights=None)",
)
def cov(x, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None):
    """Covariances of the variables in the rows of x and y (columns, if rowvar is false), divided by n - ddof."""
    if rank(x) > 2:
        raise ValueError(f"cov(): expected input to have two or fewer dimensions but got {rank(x)} dimensions")
    rows = observations(x, y, rowvar)
    ddof = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        products = centred = rows - rows.mean(axis=1, keepdims=True)
        norm = shape_of(rows)[1] - ddof
    else:
        counts, weights = (as_operand_array(1.0 if w is None else w) for w in (fweights, aweights))
        both = counts * weights  # sums of weights stay in their own type, as in PyTorch
        total = both.sum()
        norm = total - ddof * ((both * weights).sum() / total if aweights is not None else 1.0)
        both, total, norm = (in_type_of(rows, w) for w in (both, total, norm))
        centred = rows - (rows * both).sum(axis=1, keepdims=True) / total
        products = centred * both
    scale = 1 / norm if norm > 0 else np.inf
    covariance = mm(products, centred.conj().swapaxes(0, 1)) * scale
    return covariance.reshape(()) if shape_of(covariance) == (1, 1) else covariance


@numpy_function(Sample(A(3, 4)), Sample(A(5, 2), rowvar=False))
def corrcoef(x, y=None, rowvar=True):
    """Correlation coefficients of the variables in the rows of x and y (columns, if rowvar is false)."""
    covariance = cov(x, y, rowvar)
    if rank(covariance) == 0:
        return covariance / covariance
    spread = np.sqrt(covariance.diagonal().real)
    covariance = covariance / spread[:, None] / spread[None, :]
    return covariance if is_complex(covariance) else clip(covariance, -1.0, 1.0)
