"""Reductions over axes: sums, means, extremes, tests, variances and vector norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import direction
from .exact import NoTwinError, exact_extreme
from .shapes import conjugate, kept_shape, mask, negative_axes, negative_axis, rank, spread, sum_kept, unreduce
from .table import REDUCTION, A, Sample, constant, general, internal, linear, no_gradient, rule

REDUCTIONS = (
    Sample(A(3, 4)),
    Sample(A(3, 4), axis=0),
    Sample(A(2, 3, 4), axis=(0, -1)),
    Sample(A(2, 3, 4), axis=1, keepdims=True),
    Sample(A()),
)


def reduced_axes(x, axis):
    """Return the axes of a reduction, negative and sorted. A single number may be reduced over the axis 0 or -1."""
    is_only = not rank(x) and type(axis) is int and axis in (0, -1)
    return () if is_only else negative_axes(axis, rank(x))


def reduction_signature(x, axis=None, keepdims=False):
    """Bind a reduction, with negative and sorted axes."""
    return (x,), {"axis": reduced_axes(x, axis), "keepdims": bool(keepdims)}


def count_reduced(shape, axis):
    return math.prod([shape[i] for i in axis])


linear(
    "sum",
    lambda x, *, axis, keepdims: np.add.reduce(x, axis=axis, keepdims=keepdims),
    rule(
        "Spread g back over the summed axes",
        lambda g, _, x_shape, *, axis, keepdims: spread(g, x_shape, axis, keepdims),
    ),
    bind=reduction_signature,
    node=lambda x_shape, params: "Sum" if len(params["axis"]) == len(x_shape) else "SumBackward1",
    torch="sum(input, dim=None, keepdim=False, *, dtype=None) -> SumBackward0, SumBackward1",
    folds=(np.add.reduce,),
    samples=(*REDUCTIONS, Sample(A(0, 3), axis=0)),
    pattern=REDUCTION,
    doc="Sum over axis.",
)
linear(
    "mean",
    lambda x, *, axis, keepdims: np.mean(x, axis=axis, keepdims=keepdims),
    rule(
        "Spread g / n back over the n averaged elements",
        lambda g, _, x_shape, *, axis, keepdims: spread(
            g / max(count_reduced(x_shape, axis), 1), x_shape, axis, keepdims
        ),
    ),
    bind=reduction_signature,
    node=lambda x_shape, params: "Mean" if len(params["axis"]) == len(x_shape) else "MeanBackward1",
    torch="mean(input, dim=None, keepdim=False, *, dtype=None)",
    floats_only="mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
    "Got: {type}",
    samples=REDUCTIONS,
    exact=lambda field, x, *, axis, keepdims: (
        np.add.reduce(x, axis=axis, keepdims=keepdims) / field.number(count_reduced(x.shape, axis))
    ),
    pattern=REDUCTION,
    doc="Arithmetic mean over axis.",
)


def extreme_vjp(g, out, x, *, axis, keepdims, ignore_nan=False):
    """Share g equally among the elements that attain the extreme."""
    out, g = unreduce(out, x.shape, axis, keepdims), unreduce(g, x.shape, axis, keepdims)
    chosen = mask((x == out) | ((x != x) & (out != out)), x)
    return g / sum_kept(chosen, axis) * chosen


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
        torch=f"{alias}(input, dim=(), keepdim=False) -> {alias.title()}Backward0",
        numpy=functions,
        complex=False,
        samples=REDUCTIONS,
        exact=exact_extreme(ufunc.__name__),
        folds=(ufunc.reduce,),
        pattern=REDUCTION,
        doc=f"{'Largest' if name == 'max' else 'Smallest'} element along axis; nan if any element is nan.",
        subgradient="shared equally among ties",
    )


def lower_median(x, *, axis, keepdims, ignore_nan):
    """The middle element over axis, or the lower of two; nan if any element is nan, unless ignore_nan."""
    shape = tuple(n for i, n in enumerate(x.shape, -x.ndim) if i not in axis)
    moved = np.moveaxis(x, axis, range(x.ndim - len(axis), x.ndim)).reshape((*shape, -1))
    counts = (moved == moved).sum(-1, keepdims=True)
    middle = (counts if ignore_nan else np.full_like(counts, moved.shape[-1])) - 1
    places = np.where((counts < moved.shape[-1]) & (not ignore_nan), middle, np.maximum(middle, 0) // 2)
    if not moved.shape[-1]:
        return np.full(kept_shape(x.shape, axis) if keepdims else shape, np.nan, x.dtype)
    out = np.take_along_axis(np.sort(moved, -1), places, -1)[..., 0]
    return np.expand_dims(out, axis) if keepdims else out


internal.general(
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
)


def arg_signature(x, axis=None, keepdims=False):
    return (x,), {"axis": None if axis is None else negative_axis(axis, rank(x)), "keepdims": bool(keepdims)}


PIECEWISE_CONSTANT: list[tuple[Any, Any, tuple, str]] = [
    (np.argmax, arg_signature, (), "Index of the largest element along axis."),
    (np.argmin, arg_signature, (), "Index of the smallest element along axis."),
    (np.all, reduction_signature, (np.logical_and.reduce,), "True where all elements along axis are true."),
    (np.any, reduction_signature, (np.logical_or.reduce,), "True where at least one element along axis is true."),
    (np.count_nonzero, reduction_signature, (), "Number of non-zero elements over axis."),
]
for function, bind, folds, doc in PIECEWISE_CONSTANT:
    constant(
        lambda x, *, axis, keepdims, function=function: function(x, axis=axis, keepdims=keepdims),
        name=function.__name__,
        bind=bind,
        numpy=(function,),
        folds=folds,
        samples=(Sample(A(3, 4)), Sample(A(3, 4), axis=1)) if bind is arg_signature else REDUCTIONS[:2],
        doc=doc,
    )


def variance_signature(x, axis=None, keepdims=False, *, correction=None, ddof=None):
    """Bind var and std: the sum of squares is divided by n - correction (by default 0; NumPy's ddof)."""
    (x,), params = reduction_signature(x, axis, keepdims)
    return (x,), {**params, "correction": correction if correction is not None else ddof or 0}


def subtract_mean(x, axis):
    return x - sum_kept(x, axis) / max(count_reduced(x.shape, axis), 1)


def deviation_of(x, axis):
    """x minus its mean over axis, subtracted twice to remove the rounding error of a large mean."""
    return subtract_mean(subtract_mean(x, axis), axis)


def per_degree_of_freedom(x, shape, axis, correction):
    """x / (n - correction); nan or inf for too few elements, as in PyTorch."""
    freedom = max(count_reduced(shape, axis) - correction, 0)
    return x / freedom if freedom else x * np.inf


def var_forward(x, *, axis, keepdims, correction):
    """Mean squared distance from the mean, with n - correction in the denominator."""
    deviation = x - np.mean(x, axis=axis, keepdims=True)
    squares = np.add.reduce((deviation * deviation.conj()).real, axis=axis, keepdims=keepdims)
    return per_degree_of_freedom(squares, np.shape(x), axis, correction)


def var_vjp(g, _, x, *, axis, keepdims, correction):
    """g times 2 (x - mean) / (n - correction)."""
    scale = per_degree_of_freedom(unreduce(g, x.shape, axis, keepdims) * 2.0, x.shape, axis, correction)
    return scale * deviation_of(x, axis)


def std_vjp(g, out, x, *, axis, keepdims, correction):
    """(x - mean) / ((n - correction) std), and 0 where std is 0 (PyTorch's choice)."""
    g, out = unreduce(g, x.shape, axis, keepdims), unreduce(out, x.shape, axis, keepdims)
    ratio = np.where(out == 0, 0.0, g / np.where(out == 0, 1.0, out))
    return per_degree_of_freedom(ratio, x.shape, axis, correction) * deviation_of(x, axis)


def exact_var(field, x, *, axis, keepdims, correction):
    n = count_reduced(x.shape, axis)
    deviation = x - np.add.reduce(x, axis=axis, keepdims=True) / field.number(n)
    size = abs(deviation) if deviation.is_complex else deviation
    return np.add.reduce(size * size, axis=axis, keepdims=keepdims) / field.number(n - correction)


SPREADS = (*REDUCTIONS[:4], Sample(A(3, 4), axis=1, correction=1))
general(
    "var",
    var_forward,
    var_vjp,
    bind=variance_signature,
    samples=SPREADS,
    exact=exact_var,
    pattern=REDUCTION,
    doc="Variance over axis, with n - correction in the denominator.",
)
general(
    "std",
    lambda x, **params: np.sqrt(var_forward(x, **params)),
    std_vjp,
    bind=variance_signature,
    samples=SPREADS,
    exact=lambda field, x, **params: np.sqrt(exact_var(field, x, **params)),
    pattern=REDUCTION,
    doc="Standard deviation over axis, with n - correction in the denominator.",
    subgradient="0 where all elements are equal",
)


def standardize_forward(x, *, axis, eps):
    """(x - mean) / sqrt(variance + eps)."""
    deviation = subtract_mean(x, axis)
    return deviation / np.sqrt(sum_kept(deviation * deviation, axis) / max(count_reduced(x.shape, axis), 1) + eps)


def standardize_vjp(g, _, x, *, axis, eps):
    """(g - mean(g) - out mean(g out)) / sqrt(variance + eps). out is not saved, as it may change in place."""
    n = max(count_reduced(x.shape, axis), 1)
    deviation = subtract_mean(x, axis)
    scale = np.sqrt(sum_kept(deviation * deviation, axis) / n + eps)
    out = deviation / scale
    return (g - sum_kept(g, axis) / n - out * (sum_kept(g * out, axis) / n)) / scale


internal.general(
    "standardize",
    standardize_forward,
    standardize_vjp,
    bind=lambda x, axis=-1, eps=1e-05: ((x,), {"axis": negative_axes(axis, rank(x)), "eps": float(eps)}),
    node="NativeLayerNorm",
    complex=False,
    samples=(Sample(A(3, 4)), Sample(A(2, 3, 4), axis=(0, 2)), Sample(A(5), eps=0.1)),
)


def norm_forward(x, *, ord, axis, keepdims):
    """(sum |x|^ord)^(1/ord), scaled by the largest magnitude so that nothing overflows."""
    size = np.abs(x)
    top = np.maximum.reduce(size, axis=axis, keepdims=True, initial=0.0)
    if ord == np.inf:
        out = top
    elif ord == -np.inf:
        out = np.minimum.reduce(size, axis=axis, keepdims=True)
    elif ord == 0:
        out = np.add.reduce(size != 0, axis=axis, keepdims=True).astype(size.dtype)
    elif ord == 1:
        out = np.add.reduce(size, axis=axis, keepdims=True)
    else:
        scale = np.where((top == 0) | ~np.isfinite(top), 1.0, top).astype(size.dtype)
        out = scale * np.add.reduce((size / scale) ** ord, axis=axis, keepdims=True) ** (1.0 / ord)
    return out if keepdims else np.squeeze(out, axis)


def exact_norm(field, x, *, ord, axis, keepdims):
    size = abs(x)
    if ord in (np.inf, -np.inf):
        return exact_extreme("maximum" if ord > 0 else "minimum")(field, size, axis=axis, keepdims=keepdims)
    if ord == 0:
        raise NoTwinError("the norm of order 0 counts elements and has no formula")
    if ord == 2:
        return np.sqrt(np.add.reduce(size * size, axis=axis, keepdims=keepdims))
    order = field.number(ord)
    return np.add.reduce(size**order, axis=axis, keepdims=keepdims) ** (1 / order)


def norm_slope_forward(x, out, *, ord, axis):
    """sign(x) (|x| / out)^(ord - 1); 0 at the origin."""
    safe = np.where(out == 0, 1.0, out)
    if ord == 2:
        return x / safe
    ratio = np.where(x == 0, 1.0, abs(x)) / safe
    return np.where(x == 0, 0.0, direction(x) * ratio ** (ord - 1))


def norm_slope_vjp(g, slope, x, out, *, ord, axis):
    """((|x| / out)^(ord - 2) (g + (ord - 2) e Re(conj(e) g)) - (ord - 1) slope Re(sum(conj(slope) g))) / out for
    e = sign(x). A multiple of x is first subtracted from g, which is then 0 where |x| is largest, to save digits."""
    size, safe = abs(x), np.where(out == 0, 1.0, out)
    top = np.maximum.reduce(size, axis=axis, keepdims=True, initial=0.0)
    at_top, along = mask(size == top, size), x / np.where(top == 0, 1.0, top)
    g = g - along * (sum_kept(at_top * (conjugate(along) * g).real, axis) / sum_kept(at_top, axis))
    across = (ord - 1) * slope * sum_kept((conjugate(slope) * g).real, axis)
    if ord != 2:
        e, ratio = direction(x), np.where(x == 0, 1.0, size) / safe
        g = np.where(x == 0, 0.0, ratio ** (ord - 2) * (g + (ord - 2) * e * (conjugate(e) * g).real))
    return np.where(out == 0, 0.0, (g - across) / safe)


norm_slope = internal.general("norm_slope", norm_slope_forward, norm_slope_vjp, no_gradient)


def norm_vjp(g, out, x, *, ord, axis, keepdims):
    """sign(x) (|x| / norm)^(ord - 1); 0 at the origin; shared equally among ties for infinite ord."""
    g, out = unreduce(g, x.shape, axis, keepdims), unreduce(out, x.shape, axis, keepdims)
    if ord == 0:
        return g * (x * 0.0)
    if ord == 1:
        return g * direction(x)
    if abs(ord) == np.inf:
        chosen = mask(abs(x) == out, out)
        return g * (direction(x) * (chosen / sum_kept(chosen, axis)))
    return g * norm_slope(x, out, ord=ord, axis=axis)


def norm_signature(x, ord=2, axis=None, keepdims=False):
    """Bind the vector norm of order `ord` (a number, 'fro' or None) over axis, by default all axes."""
    if isinstance(ord, str) or ord is None:
        if ord not in ("fro", None):
            raise ValueError(f"norm: unknown order {ord!r}; use a number, inf, -inf or 'fro'")
        ord = 2
    return (x,), {"ord": float(ord), "axis": negative_axes(axis, rank(x)), "keepdims": bool(keepdims)}


vector_norm_entry = general(
    "norm",
    norm_forward,
    norm_vjp,
    bind=norm_signature,
    aliases=("vector_norm",),
    numpy=(),  # np.linalg.norm also takes matrices
    torch=(
        "linalg.vector_norm(x: floats, ord=2, dim=None, keepdim=False, *, dtype=None)",
        "norm(input: floats, p='fro', dim=None, keepdim=False, dtype=None)",
    ),
    node="LinalgVectorNorm",
    samples=(
        *REDUCTIONS,
        Sample(A(3, 4), ord=1, axis=1),
        Sample(A(3, 4), ord=3, axis=0),
        Sample(A(5), ord=np.inf),
        Sample(A(5), ord=-np.inf),
        Sample(A(5), ord=0),
    ),
    exact=exact_norm,
    pattern=REDUCTION,
    doc="Vector norm of order ord over axis; the Euclidean norm if ord is 2.",
    subgradient="0 at the origin",
)
