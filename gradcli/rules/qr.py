"""The QR decomposition and products of Householder reflections."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from .shapes import adjoint, lead_of, shape_of
from .table import general, numpy_function
from .triangular import matrix_signature, solve_right

QRResult = namedtuple("QRResult", ["Q", "R"])


def fill_missing(gs, outs):
    """Return the cotangents of several outputs with zeros for those that were not used."""
    lead = next(lead_of(g, out.shape) for g, out in zip(gs, outs, strict=True) if g is not None)
    return [np.zeros(lead + tuple(out.shape), out.dtype) if g is None else g for g, out in zip(gs, outs, strict=True)]


def qr_vjp(gs, outs, _, *, mode):
    """(g_Q + Q S) R^-H, where S is the Hermitian matrix with the upper triangle of g_R R^H - Q^H g_Q.

    Walter and Lehmann 2018, "Algorithmic differentiation of linear algebra functions with application in
    optimum experimental design". Raises RuntimeError for columns of Q that A does not determine.
    """
    q, r = outs
    if q.shape[-1] > r.shape[-1]:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols; use mode='reduced'"
        )
    gq, gr = fill_missing(gs, outs)
    upper = np.triu(gr @ adjoint(r) - adjoint(q) @ gq, 1)
    diagonal = np.real(np.diagonal(gr @ adjoint(r) - adjoint(q) @ gq, 0, -2, -1))
    middle = upper + adjoint(upper) + diagonal[..., None] * np.eye(q.shape[-1], dtype=diagonal.dtype)
    return solve_right(adjoint(r), gq + q @ middle)


qr_outputs = general(
    "qr_outputs",
    lambda x, *, mode: tuple(np.linalg.qr(x, mode)),
    qr_vjp,
    node="LinalgQr",
    samples=(),
    outputs=2,
    public=False,
    doc="Q and R of a matrix that is not wider than high.",
)


@numpy_function(home=np.linalg, public=False, doc="QR decomposition (two results).")
def qr(a, mode="reduced"):
    """Q with orthonormal columns and upper triangular R with A = Q R; for mode='r' R alone."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete' or 'r', not {mode!r}")
    matrix_signature(a)
    kind = "complete" if mode == "complete" else "reduced"
    m, n = shape_of(a)[-2:]
    q, r = qr_outputs(a[..., :, :m] if n > m else a, mode=kind)
    if n > m:
        r = np.concatenate([r, adjoint(q) @ a[..., :, m:]], axis=-1)
    return r if mode == "r" else QRResult(q, r)


def geqrf_forward(x):
    """R, with the reflections of Q below it, and their scales."""
    packed, scales = np.linalg.qr(x, "raw")
    return packed.swapaxes(-1, -2).copy(), scales


def geqrf_vjp(_gs, _outs, _x):
    """Raises RuntimeError, as PyTorch does."""
    raise RuntimeError("the derivative for geqrf is not implemented; use linalg.qr")


geqrf = general(
    "geqrf",
    geqrf_forward,
    geqrf_vjp,
    bind=matrix_signature,
    samples=(),
    outputs=2,
    public=False,
    doc="The QR decomposition as LAPACK packs it.",
)


def apply_reflections(vectors, scales, x, *, transpose=False):
    """Apply Q = H_1 H_2 ... (or its adjoint) to x, with H_i = 1 - scale_i v_i v_i^H.

    vectors: below the diagonal of column i stands what follows the 1 of v_i, as LAPACK's geqrf leaves it
    (Golub and Van Loan, "Matrix Computations", 5.1). Reflections are recorded one by one.
    """
    rows, count = shape_of(vectors)[-2], shape_of(scales)[-1]
    lower = np.tril(vectors[..., :, :count], -1) + np.eye(rows, count, dtype=vectors.dtype)
    scales = scales.conj() if transpose else scales
    for i in range(count) if transpose else reversed(range(count)):
        v = lower[..., :, i : i + 1]
        x = x - scales[..., i : i + 1, None] * v @ (adjoint(v) @ x)
    return x
