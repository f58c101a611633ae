"""Standardizing: mean 0 and variance 1 over axes."""

from __future__ import annotations

import numpy as np

from .reduce import count
from .shapes import negative_axes, rank, sum_kept
from .table import A, Sample, general


def centred(x, axis):
    """x minus its mean over axis."""
    return x - sum_kept(x, axis) / max(count(x.shape, axis), 1)


def standardize_forward(x, *, axis, eps):
    """(x - mean) / sqrt(variance + eps)."""
    deviation = centred(x, axis)
    return deviation / np.sqrt(sum_kept(deviation * deviation, axis) / max(count(x.shape, axis), 1) + eps)


def standardize_vjp(g, _, x, *, axis, eps):
    """(g - mean(g) - out mean(g out)) / sqrt(variance + eps). The result is not saved: it may be changed in place."""
    n = max(count(x.shape, axis), 1)
    deviation = centred(x, axis)
    scale = np.sqrt(sum_kept(deviation * deviation, axis) / n + eps)
    out = deviation / scale
    return (g - sum_kept(g, axis) / n - out * (sum_kept(g * out, axis) / n)) / scale


def standardize_signature(x, axis=-1, eps=1e-5):
    """Bind standardize."""
    return (x,), {"axis": negative_axes(axis, rank(x)), "eps": float(eps)}


general(
    "standardize",
    standardize_forward,
    standardize_vjp,
    bind=standardize_signature,
    node="NativeLayerNorm",
    complex=False,
    samples=(Sample(A(3, 4)), Sample(A(2, 3, 4), axis=(0, 2)), Sample(A(5), eps=0.1)),
    public=False,
    doc="(x - mean) / sqrt(variance + eps) over axis.",
)
