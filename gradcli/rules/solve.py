"""Systems of equations and triangular factors over the last two axes, in floating point and over exact fields.

Formulas: Giles 2008, "Collected matrix derivative results".
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from .exact import ExactField, NoTwinError, map_elements, without_field
from .shapes import adjoint, fit_to_shape, is_complex, may_hold, rank, shape_of
from .table import A, Sample, batch_aligned, general, internal, numpy_function, rule


def over_stacks(function: Callable) -> Callable:
    """Extend a function of matrices to stacks of matrices."""

    def call(field: ExactField, *operands: Any, **params: Any) -> Any:
        arrays = [without_field(x) for x in operands]
        lead = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
        arrays = [np.broadcast_to(x, lead + x.shape[-2:]) for x in arrays]
        results = [function(field, *(x[i] for x in arrays), **params) for i in np.ndindex(lead)]
        first = np.asarray(results[0], object) if results else np.zeros((), object)
        out = np.empty((len(results), *first.shape), object)
        for i, result in enumerate(results):
            out[i] = result
        return out.reshape(lead + first.shape)

    return call


def eliminate(field: ExactField, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return the solution of a x = b and the determinant of a, by Gaussian elimination."""
    a, b = a.copy(), b.copy()
    n = len(a)
    determinant = field.number(1)
    for k in range(n):
        if field.sorts_rows:
            determinant = determinant * bring_up_largest(field, a, b, k)
        pivot = next((i for i in pivots(field, a[:, k], k)), None)
        if pivot is None:
            return b * field.functions["nan"], field.number(0)
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
            determinant = -determinant
        determinant = determinant * a[k, k]
        for i in range(k + 1, n):
            ratio = a[i, k] / a[k, k]
            if field.sorts_rows:  # below a pivot of 0, all elements are 0
                ratio = field.choose(abs(a[k, k]) > 0, ratio, field.number(0))
            a[i, k:] = a[i, k:] - ratio * a[k, k:]
            b[i] = b[i] - ratio * b[k]
    for k in reversed(range(n)):
        b[k] = (b[k] - a[k, k + 1 :] @ b[k + 1 :] if k + 1 < n else b[k]) / a[k, k]
    return b, determinant


def bring_up_largest(field: ExactField, a: np.ndarray, b: np.ndarray, k: int) -> Any:
    """Exchange rows, by choices between elements, until row k has the largest element of column k; return the sign of
    the permutation."""
    sign = field.number(1)
    for i in range(k + 1, len(a)):
        larger = abs(a[i, k]) > abs(a[k, k])
        for rows in (a, b):
            upper = [field.choose(larger, x, y) for x, y in zip(rows[i], rows[k], strict=True)]
            rows[i] = [field.choose(larger, y, x) for x, y in zip(rows[i], rows[k], strict=True)]
            rows[k] = upper
        sign = field.choose(larger, -sign, sign)
    return sign


def pivots(field: ExactField, column: np.ndarray, start: int) -> list[int]:
    """Return the nonzero rows, which may be pivots, with the largest first if sizes are known."""
    rows = [i for i in range(start, len(column)) if column[i] != 0]
    return sorted(rows, key=lambda i: -abs(column[i])) if field.lazy_pieces else rows


def exact_identity(field: ExactField, n: int) -> np.ndarray:
    return map_elements(field.number, (np.eye(n).astype(object),))


@over_stacks
def exact_det(field: ExactField, a: np.ndarray) -> Any:
    if "matrix" in field.functions:
        return field.functions["matrix"](a).det(method="berkowitz")
    return eliminate(field, a, exact_identity(field, len(a)))[1]


def exact_slogdet(field: ExactField, a: Any) -> tuple[Any, Any]:
    det = exact_det(field, a).view(type(a))
    return np.sign(det), np.log(abs(det))


@over_stacks
def exact_solve(field: ExactField, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return eliminate(field, a, b)[0]


@over_stacks
def exact_cholesky(field: ExactField, a: np.ndarray) -> np.ndarray:
    """The lower triangle L with L L^H = a, as a function of the mean of a and its adjoint."""
    if any(field.as_float(x) not in (None, 0.0) for x in (a - adjoint(a)).flat):
        raise NoTwinError("cholesky has no formula for a matrix that is not symmetric")
    n, hermitian = len(a), any(map(field.is_complex, a.flat))
    a = (a + adjoint(a)) / field.number(2)
    out = map_elements(field.number, (np.zeros((n, n)).astype(object),))
    root = field.functions["sqrt"]
    for j in range(n):
        row = out[j, :j].conj() if hermitian else out[j, :j]
        out[j, j] = root(a[j, j] - out[j, :j] @ row if j else a[j, j])
        for i in range(j + 1, n):
            out[i, j] = (a[i, j] - out[i, :j] @ row if j else a[i, j]) / out[j, j]
    return out


def exact_solve_triangular(field: ExactField, a: Any, b: Any, *, lower: bool, unit: bool) -> Any:
    """The solution of a x = b; only one triangle of a is read."""
    half = triangle(without_field(a), lower, unit)
    if unit:
        half = half + np.eye(half.shape[-1])
    numbers = map_elements(lambda e: e if field.is_element(e) else field.number(e), (half,))  # also NumPy's zeros
    return exact_solve(field, numbers, b)


def square_signature(x):
    """Bind a function of square matrices. Raises ValueError for other shapes."""
    shape = shape_of(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"a square matrix is needed, got shape {shape}")
    return (x,), {}


def matrix_signature(x):
    """Bind a function of matrices. Raises ValueError for vectors."""
    if len(shape_of(x)) < 2:
        raise ValueError(f"a matrix is needed, got shape {shape_of(x)}")
    return (x,), {}


SQUARE = (Sample(A(3, 3)), Sample(A(2, 3, 3)), Sample(A(1, 1)))
inv = general(
    "inv",
    np.linalg.inv,
    rule("-A^-H g A^-H", lambda g, out, _: -(adjoint(out) @ g @ adjoint(out))),
    bind=square_signature,
    aliases=("inverse",),
    torch=("inverse(input: square)", "linalg.inv(A: square)"),
    node="LinalgInvEx",
    samples=SQUARE,
    exact=lambda field, a: exact_solve(field, a, exact_identity(field, a.shape[-1])),
    doc="Inverse of a square matrix.",
)


def adjugate(x):
    """det(A) A^-1, computed from singular values without dividing by zero (raw arrays)."""
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.stack([np.prod(np.delete(s, i, -1), -1) for i in range(n)], -1)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    return phase[..., None, None] * (adjoint(vh) * others[..., None, :]) @ adjoint(u)


def cofactors(x):
    """The matrix of signed minors, which keeps a determinant differentiable where the matrix is singular."""
    n = shape_of(x)[-1]
    keep = [np.delete(np.arange(n), i) for i in range(n)]
    rows = [
        np.stack([(-1.0) ** (i + j) * det(x[..., keep[i][:, None], keep[j][None, :]]) for j in range(n)], axis=-1)
        for i in range(n)
    ]
    return np.stack(rows, axis=-2)


def det_vjp(g, out, x):
    """g conj(det(A) A^-1)^T; the adjugate where the matrix is singular."""
    if may_hold(out == 0):
        in_floats = isinstance(x, np.ndarray) and x.dtype != object
        return g[..., None, None] * (adjoint(adjugate(x)) if in_floats else cofactors(x).conj())
    return (g * out.conj())[..., None, None] * adjoint(inv(x))


det = general(
    "det",
    np.linalg.det,
    det_vjp,
    bind=square_signature,
    node="LinalgDet",
    torch="det linalg.det(input: square)",
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
    if may_hold(singular):
        singular = singular[..., None, None]
        safe = inv(np.where(singular, np.eye(x.shape[-1], dtype=x.dtype), x))
        return factor[..., None, None] * adjoint(np.where(singular, np.inf, safe))
    return factor[..., None, None] * adjoint(inv(x))


slogdet_outputs = internal.general(
    "slogdet_outputs",
    lambda x: tuple(np.linalg.slogdet(x)),
    slogdet_vjp,
    node="LinalgSlogdet",
    outputs=2,
    exact=exact_slogdet,
)


@numpy_function(torch="slogdet linalg.slogdet(input: square)")
def slogdet(x):
    """Sign of the determinant, and logarithm of its absolute value (two results)."""
    (x,), _ = square_signature(x)
    return SlogdetResult(*slogdet_outputs(x))


@numpy_function(torch="logdet(input: square)")
def logdet(x):
    """Logarithm of the determinant; nan if the determinant is negative."""
    sign, value = slogdet(x)
    return np.log(sign) + value if is_complex(sign) else np.where(sign < 0, np.nan, value)


def solve_da(g, out, a, b_shape):
    """-(A^-H g) x^H."""
    grad = -(solve_columns(adjoint(a), g) @ adjoint(out))
    return fit_to_shape(grad, a.shape, max(len(b_shape), a.ndim))


solve_columns: Any = internal.general(
    "solve_columns",
    np.linalg.solve,
    solve_da,
    rule(
        "A^-H g", lambda g, out_shape, a, b_shape: fit_to_shape(solve_columns(adjoint(a), g), b_shape, len(out_shape))
    ),
    node="LinalgSolveEx",
    batch=batch_aligned,
    promote=None,
    samples=(Sample(A(3, 3), A(3, 2)), Sample(A(2, 3, 3), A(3, 2)), Sample(A(3, 3), A(2, 3, 2))),
    exact=exact_solve,
    doc="The matrix X with A X = B.",
)


@numpy_function(Sample(A(3, 3), A(3)), Sample(A(3, 3), A(3, 2)), Sample(A(2, 3, 3), A(2, 3, 1)))
def solve(a, b):
    """Solution x of a @ x = b."""
    (a,), _ = square_signature(a)
    if shape_of(b)[-2:][:1] != shape_of(a)[-1:]:
        raise ValueError(f"solve: {shape_of(a)[-1]} equations do not match a right-hand side of shape {shape_of(b)}")
    return solve_columns(a, b[:, None]).squeeze(-1) if rank(b) == 1 else solve_columns(a, b)


def triangle(x, lower, unit):
    """The lower or upper triangle, without the diagonal if that is 1 by convention."""
    return np.tril(x, -int(unit)) if lower else np.triu(x, int(unit))


def triangular_forward(a, b, *, lower, unit):
    from scipy.linalg import blas

    dtype = np.result_type(a, b)
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    out = np.empty(shape, dtype)
    if out.size == 0:
        return out
    (trsm,) = blas.get_blas_funcs(("trsm",), dtype=dtype)
    matrices, rights = np.broadcast_to(a, shape[:-2] + a.shape[-2:]), np.broadcast_to(b, shape)
    for place in np.ndindex(shape[:-2]):
        out[place] = trsm(1.0, matrices[place], rights[place], lower=lower, diag=unit)
    return out


def triangular_da(g, out, a, b_shape, *, lower, unit):
    """The triangle of -(A^-H g) X^H."""
    grad = -(solve_triangular_entry(adjoint(a), g, lower=not lower, unit=unit) @ adjoint(out))
    return fit_to_shape(triangle(grad, lower, unit), a.shape, max(len(b_shape), a.ndim))


def triangular_db(g, out_shape, a, b_shape, *, lower, unit):
    """A^-H g."""
    return fit_to_shape(solve_triangular_entry(adjoint(a), g, lower=not lower, unit=unit), b_shape, len(out_shape))


def triangular_signature(a, b, lower=False, unit=False):
    (a,), _ = square_signature(a)
    return (a, b), {"lower": bool(lower), "unit": bool(unit)}


solve_triangular_entry = general(
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
    doc="The matrix X with A X = B, where only the upper triangle of A is read (the lower one, if lower is true).",
)


def solve_right(a, b):
    """The X with X A = B for a lower triangular A."""
    return adjoint(solve_triangular_entry(adjoint(a), adjoint(b), lower=False, unit=False))


TRIANGLE = "Only the lower triangle of the matrix is read. The gradient is symmetric, as in PyTorch."


def cholesky_vjp(g, out, _):
    """Murray 2016, "Differentiation of the Cholesky decomposition": the symmetric form."""
    middle = adjoint(out) @ g
    half = (np.tril(middle) + np.tril(middle, -1)) * 0.5
    grad = solve_right(out, solve_triangular_entry(adjoint(out), half, lower=False, unit=False))
    return 0.5 * (grad + adjoint(grad))


cholesky_lower = internal.general(
    "cholesky_lower", np.linalg.cholesky, cholesky_vjp, node="LinalgCholeskyEx", exact=exact_cholesky
)


@numpy_function(
    torch="cholesky linalg.cholesky(input: square, upper=False)",
    doc=f"Lower triangular L with x = L L^H, for a positive definite x. {TRIANGLE}",
)
def cholesky(x, /, *, upper=False):
    """L with A = L L^H or, if upper, U with A = U^H U; only that triangle of A is read."""
    (x,), _ = square_signature(x)
    return adjoint(cholesky_lower(adjoint(x))) if upper else cholesky_lower(x)
