"""Triangular systems and the factors that lead to them: Cholesky and LU."""

from __future__ import annotations

import numpy as np

from .batch import batch_aligned
from .elimination import exact_cholesky, exact_solve_triangular
from .shapes import adjoint, fit, shape_of
from .solve import square_signature
from .table import A, Sample, general, numpy_function

# -- triangular systems --------------------------------------------------------------------------


def triangle(x, lower, unit):
    """The lower or upper triangle; without the diagonal where that is 1 by agreement."""
    return np.tril(x, -int(unit)) if lower else np.triu(x, int(unit))


def triangular_forward(a, b, *, lower, unit):
    """Substitution by BLAS; one call for all columns where there is a single matrix."""
    from scipy.linalg import blas

    dtype = np.result_type(a, b)
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    out = np.empty(shape, dtype)
    if out.size == 0:
        return out
    (trsm,) = blas.get_blas_funcs(("trsm",), dtype=dtype)
    if a.ndim == 2:
        columns = np.moveaxis(b, -2, 0)
        solved = trsm(1.0, a, columns.reshape((len(a), -1)), lower=lower, diag=unit)
        out[...] = np.moveaxis(solved.reshape(columns.shape), 0, -2)
        return out
    matrices, rights = np.broadcast_to(a, shape[:-2] + a.shape[-2:]), np.broadcast_to(b, shape)
    for place in np.ndindex(shape[:-2]):
        out[place] = trsm(1.0, matrices[place], rights[place], lower=lower, diag=unit)
    return out


def triangular_da(g, out, a, b_shape, *, lower, unit):
    """The triangle of -(A^-H g) X^H."""
    grad = -(solve_triangular(adjoint(a), g, lower=not lower, unit=unit) @ adjoint(out))
    return fit(triangle(grad, lower, unit), a.shape, max(len(b_shape), a.ndim))


def triangular_db(g, out_shape, a, b_shape, *, lower, unit):
    """A^-H g."""
    return fit(solve_triangular(adjoint(a), g, lower=not lower, unit=unit), b_shape, len(out_shape))


def triangular_signature(a, b, lower=False, unit=False):
    """Bind solve_triangular."""
    (a,), _ = square_signature(a)
    return (a, b), {"lower": bool(lower), "unit": bool(unit)}


solve_triangular = general(
    "solve_triangular",
    triangular_forward,
    triangular_da,
    triangular_db,
    bind=triangular_signature,
    node="LinalgSolveTriangular",
    batch=batch_aligned,
    promote=None,
    domain=((0.4, 2.0), (-3.0, 3.0)),
    samples=(
        Sample(A(3, 3), A(3, 2)),
        Sample(A(3, 3), A(3, 2), lower=True),
        Sample(A(3, 3), A(3, 1), lower=True, unit=True),
        Sample(A(2, 3, 3), A(3, 2), unit=True),
        Sample(A(3, 3), A(2, 3, 2)),
    ),
    exact=exact_solve_triangular,
    doc="The matrix X with A X = B, where only the upper (or lower) triangle of A is read.",
)


def solve_right(a, b):
    """The X with X A = B for a lower triangular A."""
    return adjoint(solve_triangular(adjoint(a), adjoint(b), lower=False, unit=False))


# -- Cholesky ------------------------------------------------------------------------------------


def cholesky_vjp(g, out, _):
    """Murray 2016, "Differentiation of the Cholesky decomposition": the symmetric form."""
    middle = adjoint(out) @ g
    half = (np.tril(middle) + np.tril(middle, -1)) * 0.5
    grad = solve_right(out, solve_triangular(adjoint(out), half, lower=False, unit=False))
    return 0.5 * (grad + adjoint(grad))


cholesky_lower = general(
    "cholesky_lower",
    np.linalg.cholesky,
    cholesky_vjp,
    node="LinalgCholeskyEx",
    samples=(),
    public=False,
    exact=exact_cholesky,
    doc="Lower triangular L with A = L L^H.",
)


@numpy_function(
    home=np.linalg,
    doc="Lower triangular L with A = L L^H for a positive definite A (its lower triangle is read).",
    subgradient="the symmetric gradient, as in PyTorch",
)
def cholesky(x, /, *, upper=False):
    """L with A = L L^H or, if upper, U with A = U^H U; the triangle of that name is read."""
    (x,), _ = square_signature(x)
    return adjoint(cholesky_lower(adjoint(x))) if upper else cholesky_lower(x)


def factor_solve(b, factor, *, upper):
    """X with L L^H X = b, or U^H U X = b."""
    low, up = (adjoint(factor), factor) if upper else (factor, adjoint(factor))
    middle = triangular_forward(low, b, lower=True, unit=False)
    return triangular_forward(up, middle, lower=False, unit=False)


def factor_solve_db(g, out_shape, b_shape, factor, *, upper):
    """(L L^H)^-1 g."""
    return fit(cholesky_solve(g, factor, upper=upper), b_shape, len(out_shape))


def factor_solve_dl(g, out, b_shape, factor, *, upper):
    """-(H + H^H) L with H = (L L^H)^-1 g X^H, or -U (H + H^H): also in the triangle that is 0, as in PyTorch."""
    product = cholesky_solve(g, factor, upper=upper) @ adjoint(out)
    both = -(product + adjoint(product))
    grad = factor @ both if upper else both @ factor
    return fit(grad, factor.shape, max(len(b_shape), factor.ndim))


cholesky_solve = general(
    "cholesky_solve",
    factor_solve,
    factor_solve_db,
    factor_solve_dl,
    node="CholeskySolve",
    batch=batch_aligned,
    promote=None,
    samples=(),
    public=False,
    doc="The matrix X with A X = B, from A's Cholesky factor.",
)


# -- LU ------------------------------------------------------------------------------------------


def lu_forward(x):
    """L below the diagonal and U in one matrix, and LAPACK's row exchanges (counted from 1)."""
    from scipy.linalg import lapack

    m, n = x.shape[-2:]
    lu, pivots = np.array(x), np.zeros((*x.shape[:-2], min(m, n)), np.int32)
    if x.size:
        (getrf,) = lapack.get_lapack_funcs(("getrf",), dtype=x.dtype)
        for place in np.ndindex(x.shape[:-2]):
            lu[place], exchanges, _ = getrf(x[place])
            pivots[place] = exchanges + 1
    return lu, pivots


def permutation(pivots, rows, dtype):
    """The matrix P of A = P L U for LAPACK's row exchanges (raw arrays)."""
    order = np.broadcast_to(np.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for i in range(pivots.shape[-1]):
        other = pivots[..., i : i + 1].astype(np.intp) - 1
        ours, theirs = order[..., i : i + 1].copy(), np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, ours, -1)
        order[..., i : i + 1] = theirs
    return np.eye(rows, dtype=dtype)[order].swapaxes(-1, -2)


def lu_parts(lu):
    """L with its unit diagonal and U out of the packed matrix."""
    size = min(lu.shape[-2:])
    lower, upper = lu[..., :, :size], lu[..., :size, :]
    return np.tril(lower, -1) + np.eye(lu.shape[-2], size, dtype=lu.dtype), np.triu(upper)


def lu_vjp(gs, outs, _):
    """P L^-H (tril(L^H g_L, -1) + triu(g_U U^H)) U^-H.

    de Hoog, Anderssen and Lukas 2011, "Differentiation of matrix functionals using triangular factorization";
    rows below and columns right of the square part are linear in A: L_2 = A_2 U^-1 and U_2 = L^-1 A_2.
    """
    g, (lu, pivots) = gs[0], outs
    m, n = lu.shape[-2:]
    size = min(m, n)
    low, up = lu_parts(lu[..., :size, :size])
    g_low = g_up = g[..., :size, :size]
    if m > n:
        g_below = solve_right(adjoint(up), g[..., size:, :])
        g_up = g_up - adjoint(lu[..., size:, :]) @ g_below
    if n > m:
        g_right = solve_triangular(adjoint(low), g[..., :, size:], lower=False, unit=True)
        g_low = g_low - g_right @ adjoint(lu[..., :, size:])
    middle = np.tril(adjoint(low) @ np.tril(g_low, -1), -1) + np.triu(np.triu(g_up) @ adjoint(up))
    left = solve_triangular(adjoint(low), middle, lower=False, unit=True)
    grad = solve_right(adjoint(up), left)
    if m > n:
        grad = np.concatenate([grad, g_below], axis=-2)
    if n > m:
        grad = np.concatenate([grad, g_right], axis=-1)
    return permutation(pivots, m, np.dtype(lu.dtype)) @ grad


def matrix_signature(x):
    """Bind a function of matrices; raises ValueError for vectors."""
    if len(shape_of(x)) < 2:
        raise ValueError(f"a matrix is needed, got shape {shape_of(x)}")
    return (x,), {}


lu_factor = general(
    "lu_factor",
    lu_forward,
    lu_vjp,
    bind=matrix_signature,
    node="LinalgLuFactorEx",
    samples=(),
    outputs=2,
    public=False,
    doc="L and U of A = P L U in one matrix, and the row exchanges of P.",
)
