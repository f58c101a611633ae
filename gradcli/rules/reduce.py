"""Reductions: sums, means, extremes and tests over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .exact import exact_extreme, exact_mean
from .shapes import kept_shape, mask, negative_axes, negative_axis, rank, spread, sum_kept, unreduce
from .table import REDUCTION, A, Sample, constant, general, linear

REDUCTIONS = (
    Sample(A(3, 4)),
    Sample(A(3, 4), axis=0),
    Sample(A(2, 3, 4), axis=(0, -1)),
    Sample(A(2, 3, 4), axis=1, keepdims=True),
    Sample(A()),
)


def reduction_signature(x, axis=None, keepdims=False):
    """Bind a reduction: axes negative and sorted."""
    return (x,), {"axis": negative_axes(axis, rank(x)), "keepdims": bool(keepdims)}


def count(shape, axis):
    """Return how many elements each reduction runs over."""
    total = 1
    for i in axis:
        total *= shape[i]
    return total


# -- sums and means ------------------------------------------------------------------------------


def sum_vjp(g, _, x_shape, *, axis, keepdims):
    """Spread g back over the summed axes."""
    return spread(g, x_shape, axis, keepdims)


def mean_vjp(g, _, x_shape, *, axis, keepdims):
    """Spread g / n back over the n averaged elements."""
    return spread(g / max(count(x_shape, axis), 1), x_shape, axis, keepdims)


linear(
    "sum",
    lambda x, *, axis, keepdims: np.add.reduce(x, axis=axis, keepdims=keepdims),
    sum_vjp,
    bind=reduction_signature,
    node=lambda x_shape, params: "Sum" if len(params["axis"]) == len(x_shape) else "SumBackward1",
    numpy=(np.sum,),
    folds=(np.add.reduce,),
    samples=(*REDUCTIONS, Sample(A(0, 3), axis=0)),
    pattern=REDUCTION,
    doc="Sum over axis.",
)
linear(
    "mean",
    lambda x, *, axis, keepdims: np.mean(x, axis=axis, keepdims=keepdims),
    mean_vjp,
    bind=reduction_signature,
    node=lambda x_shape, params: "Mean" if len(params["axis"]) == len(x_shape) else "MeanBackward1",
    numpy=(np.mean,),
    samples=REDUCTIONS,
    exact=exact_mean,
    pattern=REDUCTION,
    doc="Arithmetic mean over axis.",
)


# -- extremes ------------------------------------------------------------------------------------


def extreme_vjp(g, out, x, *, axis, keepdims, ignore_nan=False):
    """Share g equally among the elements that attain the extreme."""
    out, g = unreduce(out, x.shape, axis, keepdims), unreduce(g, x.shape, axis, keepdims)
    chosen = mask((x == out) | ((x != x) & (out != out)), x)
    return g * (chosen / sum_kept(chosen, axis))


for name, alias, ufunc, functions in [
    ("max", "amax", np.maximum, (np.max, np.amax)),
    ("min", "amin", np.minimum, (np.min, np.amin)),
]:
    general(
        name,
        lambda x, *, axis, keepdims, ufunc=ufunc: ufunc.reduce(x, axis=axis, keepdims=keepdims),
        extreme_vjp,
        bind=reduction_signature,
        aliases=(alias,),
        numpy=functions,
        complex=False,
        samples=REDUCTIONS,
        exact=exact_extreme(ufunc.__name__),
        folds=(ufunc.reduce,),
        pattern=REDUCTION,
        doc=f"{'Largest' if name == 'max' else 'Smallest'} element over axis (values only); nan if one is.",
        subgradient="shared equally among ties",
    )


def lower_median(x, *, axis, keepdims, ignore_nan):
    """The middle element over axis, the lower of two; nan if one is, or the middle of the others."""
    shape = tuple(n for i, n in enumerate(x.shape, -x.ndim) if i not in axis)
    moved = np.moveaxis(x, axis, range(x.ndim - len(axis), x.ndim)).reshape((*shape, -1))
    counts = (moved == moved).sum(-1, keepdims=True)
    middle = (counts if ignore_nan else np.full_like(counts, moved.shape[-1])) - 1
    places = np.where((counts < moved.shape[-1]) & (not ignore_nan), middle, np.maximum(middle, 0) // 2)
    if not moved.shape[-1]:
        return np.full(kept_shape(x.shape, axis) if keepdims else shape, np.nan, x.dtype)
    out = np.take_along_axis(np.sort(moved, -1), places, -1)[..., 0]
    return np.expand_dims(out, axis) if keepdims else out


general(
    "lower_median",
    lower_median,
    extreme_vjp,
    bind=lambda x, axis=None, keepdims=False, ignore_nan=False: (
        (x,),
        {**reduction_signature(x, axis, keepdims)[1], "ignore_nan": ignore_nan},
    ),
    node="Median",
    complex=False,
    samples=(*REDUCTIONS, Sample(A(5), ignore_nan=True)),
    public=False,
    doc="Middle element over axis, the lower of two.",
    subgradient="shared equally among ties",
)


def arg_signature(x, axis=None, keepdims=False):
    """Bind argmax and argmin."""
    return (x,), {"axis": None if axis is None else negative_axis(axis, rank(x)), "keepdims": bool(keepdims)}


ARGS: list[Any] = [np.argmax, np.argmin]
for function in ARGS:
    constant(
        lambda x, *, axis, keepdims, function=function: function(x, axis=axis, keepdims=keepdims),
        name=function.__name__,
        bind=arg_signature,
        numpy=(function,),
        samples=(Sample(A(3, 4)), Sample(A(3, 4), axis=1)),
        doc=f"Index of the {'largest' if function is np.argmax else 'smallest'} element along axis.",
    )
TESTS: list[tuple[Any, Any, str]] = [
    (np.all, np.logical_and, "True where all elements are true"),
    (np.any, np.logical_or, "True where any element is true"),
]
for function, ufunc, doc in TESTS:
    constant(
        lambda x, *, axis, keepdims, function=function: function(x, axis=axis, keepdims=keepdims),
        name=function.__name__,
        bind=reduction_signature,
        numpy=(function,),
        folds=(ufunc.reduce,),
        samples=REDUCTIONS[:2],
        doc=f"{doc} over axis.",
    )
constant(
    lambda x, *, axis, keepdims: np.count_nonzero(x, axis=axis, keepdims=keepdims),
    name="count_nonzero",
    bind=reduction_signature,
    numpy=(np.count_nonzero,),
    samples=REDUCTIONS[:2],
    doc="Number of non-zero elements over axis.",
)
