"""Linear algebra over the last two axes. Formulas: Giles 2008, "Collected matrix derivative results"."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from .batch import batch_aligned
from .elimination import exact_det, exact_inverse, exact_slogdet, exact_solve
from .shapes import adjoint, fit, is_complex, rank, shape_of
from .table import A, Sample, composition, general, numpy_function


def square_signature(x):
    """Bind a function of square matrices; raises ValueError for other shapes."""
    shape = shape_of(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"a square matrix is needed, got shape {shape}")
    return (x,), {}


def inv_vjp(g, out, _):
    """-A^-H g A^-H."""
    return -(adjoint(out) @ g @ adjoint(out))


SQUARE = (Sample(A(3, 3)), Sample(A(2, 3, 3)), Sample(A(1, 1)))
inv = general(
    "inv",
    np.linalg.inv,
    inv_vjp,
    bind=square_signature,
    aliases=("inverse",),
    node="LinalgInvEx",
    numpy=(np.linalg.inv,),
    samples=SQUARE,
    exact=exact_inverse,
    doc="Inverse of a square matrix.",
)


def adjugate(x):
    """det(A) A^-1 without dividing by zero: from the singular values (raw arrays)."""
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.stack([np.prod(np.delete(s, i, -1), -1) for i in range(n)], -1)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    return phase[..., None, None] * (adjoint(vh) * others[..., None, :]) @ adjoint(u)


def cofactors(x):
    """The matrix of signed minors: what differentiates a determinant again where the matrix is singular."""
    n = shape_of(x)[-1]
    keep = [np.delete(np.arange(n), i) for i in range(n)]
    rows = [
        np.stack([(-1.0) ** (i + j) * det(x[..., keep[i][:, None], keep[j][None, :]]) for j in range(n)], axis=-1)
        for i in range(n)
    ]
    return np.stack(rows, axis=-2)


def det_vjp(g, out, x):
    """g conj(det(A) A^-1)^T; the adjugate where the matrix is singular."""
    if (out == 0).any():
        return g[..., None, None] * (adjoint(adjugate(x)) if isinstance(x, np.ndarray) else cofactors(x).conj())
    return (g * out.conj())[..., None, None] * adjoint(inv(x))


det = general(
    "det",
    np.linalg.det,
    det_vjp,
    bind=square_signature,
    node="LinalgDet",
    numpy=(np.linalg.det,),
    samples=SQUARE,
    exact=exact_det,
    doc="Determinant.",
    subgradient="the adjugate where the matrix is singular",
)


SlogdetResult = namedtuple("SlogdetResult", ["sign", "logabsdet"])


def slogdet_vjp(gs, outs, x):
    """(g_log + i Im(g_sign conj(sign))) A^-H; the sign of a real determinant is constant."""
    g_sign, g_log = gs
    factor: Any = 0.0 if g_log is None else g_log
    if g_sign is not None:
        factor = factor + (np.imag(g_sign * outs[0].conj()) * 1j if is_complex(x) else g_sign * 0.0)
    singular = np.isinf(outs[1])
    if singular.any():
        singular = singular[..., None, None]
        safe = inv(np.where(singular, np.eye(x.shape[-1], dtype=x.dtype), x))
        return factor[..., None, None] * adjoint(np.where(singular, np.inf, safe))
    return factor[..., None, None] * adjoint(inv(x))


slogdet_outputs = general(
    "slogdet_outputs",
    lambda x: tuple(np.linalg.slogdet(x)),
    slogdet_vjp,
    node="LinalgSlogdet",
    samples=(),
    outputs=2,
    public=False,
    exact=exact_slogdet,
    doc="Sign and logarithm of |det(A)|.",
)


@numpy_function(home=np.linalg)
def slogdet(x):
    """Sign and logarithm of the modulus of the determinant (two results)."""
    (x,), _ = square_signature(x)
    return SlogdetResult(*slogdet_outputs(x))


def logdet(x):
    """Logarithm of the determinant; nan where it is negative."""
    sign, value = slogdet(x)
    return np.log(sign) + value if is_complex(sign) else np.where(sign < 0, np.nan, value)


composition(logdet, samples=())


def solve_da(g, out, a, b_shape):
    """-(A^-H g) x^H."""
    grad = -(solve_columns(adjoint(a), g) @ adjoint(out))
    return fit(grad, a.shape, max(len(b_shape), a.ndim))


def solve_db(g, out_shape, a, b_shape):
    """A^-H g."""
    return fit(solve_columns(adjoint(a), g), b_shape, len(out_shape))


solve_columns = general(
    "solve_columns",
    np.linalg.solve,
    solve_da,
    solve_db,
    node="LinalgSolveEx",
    batch=batch_aligned,
    promote=None,
    samples=(Sample(A(3, 3), A(3, 2)), Sample(A(2, 3, 3), A(3, 2)), Sample(A(3, 3), A(2, 3, 2))),
    public=False,
    exact=exact_solve,
    doc="The matrix X with A X = B.",
)


@numpy_function(Sample(A(3, 3), A(3)), Sample(A(3, 3), A(3, 2)), Sample(A(2, 3, 3), A(2, 3, 1)), home=np.linalg)
def solve(a, b):
    """Solution x of a @ x = b."""
    (a,), _ = square_signature(a)
    if rank(b) == 1:
        return solve_columns(a, b[:, None]).squeeze(-1)
    if rank(b) == 0:
        raise ValueError("solve needs a vector or a matrix on the right")
    return solve_columns(a, b)
