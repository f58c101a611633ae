"""Sums of exponentials: logsumexp, softmax and log_softmax, shifted so that nothing overflows."""

from __future__ import annotations

import numpy as np

from .exact import exact_log_softmax, exact_logsumexp, exact_softmax
from .reduce import REDUCTIONS, reduction_signature
from .shapes import conjugate, negative_axes, rank, sum_kept, unreduce
from .table import LANES, REDUCTION, A, Sample, general

# -- exponentials of axes -------------------------------------------------------------------------


def largest(x, axis):
    """Largest element over axis, kept as an axis; -inf for empty ones."""
    return np.maximum.reduce(x.real, axis=axis, keepdims=True, initial=-np.inf)


def finite_max(x, axis):
    """Largest element over axis, kept as an axis, with 0 where it is infinite or the axis is empty."""
    top = largest(x, axis)
    return np.where(np.isfinite(top), top, 0.0).astype(top.dtype)


def logsumexp_forward(x, *, axis, keepdims):
    """log(sum(exp(x))), shifted by the largest element so that nothing overflows."""
    shift = finite_max(x, axis)
    total = np.log(np.add.reduce(np.exp(x - shift), axis=axis, keepdims=True)) + shift
    return total if keepdims else np.squeeze(total, axis)


def logsumexp_vjp(g, _, x, *, axis, keepdims):
    """softmax(x) times g: more accurate than exp(x - out) where the values are large."""
    return unreduce(g, x.shape, axis, keepdims) * conjugate(finite_softmax(x, axis=axis))


general(
    "logsumexp",
    logsumexp_forward,
    logsumexp_vjp,
    bind=reduction_signature,
    folds=(np.logaddexp.reduce,),
    samples=REDUCTIONS,
    exact=exact_logsumexp,
    pattern=REDUCTION,
    doc="log(sum(exp(x))) over axis, without overflow.",
)


def softmax_forward(x, *, axis):
    """exp(x) normalised over axis."""
    e = np.exp(x - largest(x, axis))
    return e / np.add.reduce(e, axis=axis, keepdims=True)


def softmax_vjp(g, out, _x_shape, *, axis):
    """s (g - sum(g s))."""
    s = conjugate(out)
    scaled = g * s
    return scaled - s * sum_kept(scaled, axis)


def finite_softmax_forward(x, *, axis):
    """The same; beside an infinite element the others are 0."""
    e = np.exp(x - finite_max(x, axis))
    return e / np.add.reduce(e, axis=axis, keepdims=True)


def log_softmax_forward(x, *, axis):
    """x less its largest element, less the logarithm of the sum of its exponentials."""
    shifted = x - largest(x, axis)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))


def log_softmax_vjp(g, out, _x_shape, *, axis):
    """g - softmax(x) sum(g)."""
    return g - np.exp(conjugate(out)) * sum_kept(g, axis)


def softmax_signature(x, axis=-1):
    """Bind softmax: over one axis, several, or all (None)."""
    return (x,), {"axis": negative_axes(axis, rank(x)) if rank(x) else ()}


SOFTMAXES = (Sample(A(3, 4)), Sample(A(3, 4), axis=0), Sample(A(2, 3, 4), axis=1), Sample(A()))
softmax = general(
    "softmax",
    softmax_forward,
    softmax_vjp,
    bind=softmax_signature,
    samples=SOFTMAXES,
    exact=exact_softmax,
    pattern=LANES,
    doc="exp(x) / sum(exp(x)) over axis (the last one unless given).",
)
finite_softmax = general(
    "finite_softmax",
    finite_softmax_forward,
    softmax_vjp,
    node="Softmax",
    samples=(),
    public=False,
    exact=exact_softmax,
    doc="Softmax as the slope of logsumexp, with zeros beside an infinite element.",
)
general(
    "log_softmax",
    log_softmax_forward,
    log_softmax_vjp,
    bind=softmax_signature,
    node="LogSoftmax",
    samples=SOFTMAXES,
    exact=exact_log_softmax,
    pattern=LANES,
    doc="Logarithm of softmax, without overflow.",
)
