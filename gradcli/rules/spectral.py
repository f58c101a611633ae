"""QR, eigenvalues, eigenvectors, singular values and singular vectors.

Eigenvectors are determined up to a sign or a phase, so a gradient exists only if the loss does not depend on it.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from .shapes import adjoint, lead_of, shape_of
from .solve import TRIANGLE, matrix_signature, solve_columns, solve_right, square_signature
from .table import A, Sample, composition, internal, numpy_function

QRResult = namedtuple("QRResult", ["Q", "R"])


def fill_missing(gs, outs):
    """Return the cotangents of several outputs, with zeros for unused outputs."""
    lead = next(lead_of(g, out.shape) for g, out in zip(gs, outs, strict=True) if g is not None)
    return [np.zeros(lead + tuple(out.shape), out.dtype) if g is None else g for g, out in zip(gs, outs, strict=True)]


def qr_vjp(gs, outs, _, *, mode):
    """(g_Q + Q S) R^-H, where S is the Hermitian matrix with the upper triangle of g_R R^H - Q^H g_Q.

    Walter and Lehmann 2018, "Algorithmic differentiation of linear algebra functions with application in
    optimum experimental design". Raises RuntimeError if A does not determine all columns of Q.
    """
    q, r = outs
    if q.shape[-1] > r.shape[-1]:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols; use mode='reduced'"
        )
    gq, gr = fill_missing(gs, outs)
    middle = hermitian_forward(gr @ adjoint(r) - adjoint(q) @ gq, lower=False)
    return solve_right(adjoint(r), gq + q @ middle)


qr_outputs = internal.general(
    "qr_outputs",
    lambda x, *, mode: tuple(np.linalg.qr(x, mode)),
    qr_vjp,
    node="LinalgQr",
    outputs=2,
    doc="Q and R of a matrix with at least as many rows as columns.",
)


@numpy_function(public=False, doc="QR decomposition (two results).")
def qr(a, mode="reduced"):
    """Q with orthonormal columns and upper triangular R with A = Q R; R alone for mode='r'."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete' or 'r', not {mode!r}")
    matrix_signature(a)
    kind = "complete" if mode == "complete" else "reduced"
    m, n = shape_of(a)[-2:]
    q, r = qr_outputs(a[..., :, :m] if n > m else a, mode=kind)
    if n > m:
        r = np.concatenate([r, adjoint(q) @ a[..., :, m:]], axis=-1)
    return r if mode == "r" else QRResult(q, r)


EighResult = namedtuple("EighResult", ["eigenvalues", "eigenvectors"])
EigResult = namedtuple("EigResult", ["eigenvalues", "eigenvectors"])
SVDResult = namedtuple("SVDResult", ["U", "S", "Vh"])


def diagonals(x):
    return np.diagonal(x, 0, -2, -1)


def off_diagonal(numerator, denominator):
    """numerator / denominator with 0 on the diagonal."""
    diagonal = np.eye(numerator.shape[-1], dtype=bool)
    return np.where(diagonal, 0.0, numerator / np.where(diagonal, 1.0, denominator))


def pairwise_differences(x):
    """x_j - x_i at (i, j)."""
    return x[..., None, :] - x[..., :, None]


def check_phase(imaginary, name):
    """Raise RuntimeError if a loss depends on the phase of complex vectors, which is arbitrary."""
    if (abs(imaginary) > 1e-2).any():
        raise RuntimeError(
            f"{name}_backward: the vectors of a complex matrix are specified up to multiplication by e^{{i phi}}; "
            "the specified loss function depends on this quantity, so it is ill-defined."
        )


def hermitian_forward(x, *, lower):
    """Return the Hermitian matrix given by one triangle."""
    part = np.tril(x, -1) if lower else np.triu(x, 1)
    diagonal = np.real(diagonals(x))
    return part + adjoint(part) + diagonal[..., None] * np.eye(x.shape[-1], dtype=diagonal.dtype)


def eigh_vjp(gs, outs, _):
    """V (diag(g_w) + V^H g_V / (w_j - w_i)) V^H. Giles 2008, section 3.1."""
    gw, gv = gs
    w, v = outs
    if gv is None:
        return (v * gw[..., None, :]) @ adjoint(v)
    inner = adjoint(v) @ gv
    if v.dtype.kind == "c":
        check_phase(np.imag(diagonals(inner)), "linalg_eigh")
    middle = off_diagonal(inner, pairwise_differences(w))
    grad = v @ middle @ adjoint(v)
    return grad if gw is None else grad + (v * gw[..., None, :]) @ adjoint(v)


eigh_outputs = internal.general(
    "eigh_outputs", lambda x: tuple(np.linalg.eigh(x)), eigh_vjp, node="LinalgEigh", outputs=2
)
hermitian_of = internal.general("hermitian_of", hermitian_forward, lambda g, _, _x, *, lower: 0.5 * (g + adjoint(g)))


def from_triangle(a, lower=True):
    """Return the Hermitian matrix given by one triangle; the other is not read."""
    (a,), _ = square_signature(a)
    return hermitian_of(a, lower=lower)


@numpy_function(public=False, torch="linalg.eigh(A: square, UPLO='L')", doc="Eigenvalues and eigenvectors, Hermitian.")
def eigh(a, UPLO="L"):  # noqa: N803 - NumPy's name
    """Eigenvalues (in increasing order) and eigenvectors of a Hermitian matrix; only one triangle of it is read."""
    if str(UPLO).upper() not in ("L", "U"):
        raise ValueError(f"UPLO must be 'L' or 'U', not {UPLO!r}")
    return EighResult(*eigh_outputs(from_triangle(a, str(UPLO).upper() == "L")))


@numpy_function(
    torch="linalg.eigvalsh(A: square, UPLO='L')",
    doc=f"Eigenvalues of a symmetric (Hermitian) matrix, in increasing order. {TRIANGLE}",
)
def eigvalsh(a, UPLO="L"):  # noqa: N803 - NumPy's name
    return eigh(a, UPLO).eigenvalues


def eig_forward(x, *, real):
    w, v = np.linalg.eig(x)
    kind = np.result_type(x.dtype, np.complex64)
    return w.astype(kind, copy=False), v.astype(kind, copy=False)


def eig_vjp(gs, outs, _, *, real):
    """V^-H (diag(g_w) + (V^H g_V - V^H V Re diag(V^H g_V)) / conj(w_j - w_i)) V^H, for vectors of length 1.

    Boeddeker et al. 2017, "On the computation of complex-valued gradients with application to statistically
    optimum beamforming", 4.77.
    """
    gw, gv = gs
    w, v = outs
    if gv is None:
        middle = gw[..., :, None] * adjoint(v)
    else:
        inner = adjoint(v) @ gv
        along = diagonals(inner)
        check_phase(np.imag(along), "linalg_eig")
        inner = inner - (adjoint(v) @ v) * np.real(along)[..., None, :]
        middle = off_diagonal(inner, pairwise_differences(w).conj()) @ adjoint(v)
        if gw is not None:
            middle = middle + gw[..., :, None] * adjoint(v)
    grad = solve_columns(adjoint(v), middle)
    return np.real(grad) if real else grad


eig_outputs = internal.general(
    "eig_outputs", eig_forward, eig_vjp, node="LinalgEig", outputs=2, doc="Eigenvalues and eigenvectors, complex."
)


@numpy_function(public=False, torch="linalg.eig(A: square)")
def complex_eig(a):
    """Eigenvalues and eigenvectors of a square matrix, always complex."""
    (a,), _ = square_signature(a)
    return EigResult(*eig_outputs(a, real=a.dtype.kind != "c"))


composition(
    lambda a: complex_eig(a).eigenvalues,
    name="complex_eigvals",
    public=False,
    samples=(),
    torch="linalg.eigvals(A: square)",
    doc="Eigenvalues of a square matrix, always complex.",
)


@numpy_function(public=False)
def eig(a):
    """Eigenvalues and eigenvectors, real for a real matrix with real eigenvalues."""
    w, v = complex_eig(a)
    if a.dtype.kind != "c" and not (np.imag(w) != 0).any():
        return EigResult(np.real(w), np.real(v))
    return EigResult(w, v)


@numpy_function(public=False)
def eigvals(a):
    """Eigenvalues, real for a real matrix if all of them are real."""
    return eig(a).eigenvalues


def skew(x):
    return x - adjoint(x)


def svd_vjp(gs, outs, _, *, full):
    """U (M + diag(g_S)) V^H + (1 - U U^H) g_U S^-1 V^H + U S^-1 g_V^H (1 - V V^H), where M off its diagonal is
    (skew(U^H g_U) S + S skew(V^H g_V)) / (s_j^2 - s_i^2).

    Townsend 2016, "Differentiating the singular value decomposition"; for complex matrices Wan and Zhang
    2019, "Automatic differentiation for complex valued SVD". Columns beyond the singular values, which full
    matrices have, are not determined and get no gradient.
    """
    u, s, vh = outs
    if gs[0] is None and gs[2] is None:
        size = s.shape[-1]
        return (u[..., :size] * gs[1][..., None, :]) @ vh[..., :size, :]
    gu, g, gvh = fill_missing(gs, outs)
    if full:
        size = s.shape[-1]
        u, gu, vh, gvh = u[..., :size], gu[..., :size], vh[..., :size, :], gvh[..., :size, :]
    left, right = skew(adjoint(u) @ gu), skew(vh @ adjoint(gvh))
    row, column = s[..., None, :], s[..., :, None]
    middle = off_diagonal(left * row + column * right, pairwise_differences(s) * (row + column))
    along = g
    if u.dtype.kind == "c":
        check_phase(np.imag(diagonals(left) + diagonals(right)), "svd")
        along = along + diagonals(left) / (2 * s)
    grad = u @ (middle + along[..., None, :] * np.eye(s.shape[-1], dtype=s.dtype)) @ vh
    if u.shape[-2] > s.shape[-1] and gs[0] is not None:
        scaled = gu / row
        grad = grad + (scaled - u @ (adjoint(u) @ scaled)) @ vh
    if vh.shape[-1] > s.shape[-1] and gs[2] is not None:
        scaled = gvh / column
        grad = grad + u @ (scaled - (scaled @ adjoint(vh)) @ vh)
    return grad


svd_outputs = internal.general(
    "svd_outputs", lambda x, *, full: tuple(np.linalg.svd(x, full)), svd_vjp, node="LinalgSvd", outputs=3
)


@numpy_function(
    public=False, torch="linalg.svd(A: matrix, full_matrices=True, *, driver=None)", doc="Singular value decomposition."
)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """U, S (in decreasing order) and V^H with A = U S V^H; only S if compute_uv is false."""
    matrix_signature(a)
    a = from_triangle(a) if hermitian else a
    if not compute_uv:
        return svdvals(a)
    return SVDResult(*svd_outputs(a, full=bool(full_matrices)))


@numpy_function(Sample(A(3, 3)), Sample(A(2, 4, 3)), Sample(A(2, 4)), torch="linalg.svdvals(A: matrix, *, driver=None)")
def svdvals(x, /):
    """Singular values of a matrix, in decreasing order."""
    matrix_signature(x)
    return svd_outputs(x, full=False)[1]
