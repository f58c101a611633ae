"""Factors of matrices: Cholesky, LU, QR, eigenvalues and singular values."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from ...rules import entry, spectral
from ...rules.qr import QRResult
from ...rules.triangular import lu_factor as table_lu_factor
from ...tape.tensor import Tensor, as_raw
from ..linear_algebra import cholesky, lu_unpack, must_pivot, singular_at, solve_by_lu
from ..matrix_operands import LinAlgError, on_matrices

CholeskyEx = namedtuple("CholeskyEx", ["L", "info"])
LUFactor = namedtuple("LUFactor", ["LU", "pivots"])
LUFactorEx = namedtuple("LUFactorEx", ["LU", "pivots", "info"])


def call_unless_failed(function: Callable, x: Tensor, info: Tensor, vectors: bool = False) -> Any:
    """Return function(x), matrices or vectors, with nan in place of the result of matrices that info says failed."""
    failed = as_raw(info)[..., None] != 0
    if not failed.any():
        return function(x)
    matrices = failed[..., None]
    result = function(np.where(matrices, np.eye(x.shape[-1], dtype=x.dtype), x))
    return np.where(failed if vectors else matrices, np.nan, result)


def check_info(info: Tensor, check_errors: bool, message: str) -> None:
    """Raise LinAlgError if errors are to be checked and there is one."""
    if check_errors and as_raw(info).any():
        raise LinAlgError(f"{message} (info {np.max(as_raw(info))})")


def minors(x: np.ndarray) -> np.ndarray:
    """Return the order of the first leading minor that is not positive, 0 for positive definite matrices."""
    from scipy.linalg import lapack

    info = np.zeros(x.shape[:-2], np.int32)
    if x.size:
        (potrf,) = lapack.get_lapack_funcs(("potrf",), dtype=x.dtype)
        for place in np.ndindex(info.shape):
            info[place] = potrf(x[place], lower=True)[1]
    return info


@on_matrices(square=True)
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> CholeskyEx:  # noqa: N803
    """The Cholesky factor, and for each matrix the order of the minor that is not positive (0: all well)."""
    raw = as_raw(A)
    info = Tensor._wrap(minors(raw.conj().swapaxes(-1, -2) if upper else raw), None)
    check_info(info, check_errors, "linalg.cholesky_ex: the input is not positive-definite")
    return CholeskyEx(call_unless_failed(lambda x: cholesky(x, upper), A, info), info)


# -- LU ------------------------------------------------------------------------------------------


@on_matrices()
def lu_factor(A: Tensor, *, pivot: bool = True) -> LUFactor:  # noqa: N803
    """L and U of A = P L U packed into one matrix, and row exchanges counted from 1."""
    must_pivot(pivot)
    return LUFactor(*table_lu_factor(A))


@on_matrices()
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> LUFactorEx:  # noqa: N803
    """lu_factor and the place of the first 0 on the diagonal of U (0: none)."""
    packed, pivots = lu_factor(A, pivot=pivot)
    info = singular_at(packed)
    check_info(info, check_errors, "linalg.lu_factor_ex: U is exactly singular")
    return LUFactorEx(packed, pivots, info)


@on_matrices()
def lu(A: Tensor, *, pivot: bool = True) -> tuple:  # noqa: N803
    """P, L and U with A = P L U."""
    return lu_unpack(*lu_factor(A, pivot=pivot))


@on_matrices(square=True)
def lu_solve(
    LU: Tensor,  # noqa: N803
    pivots: Tensor,
    B: Tensor,  # noqa: N803
    *,
    left: bool = True,
    adjoint: bool = False,
) -> Tensor:
    """The X with A X = B (X A = B unless left; A^H for adjoint), from lu_factor(A)."""
    return solve_by_lu(LU, pivots, B, left=left, adjoint=adjoint)


# -- QR ------------------------------------------------------------------------------------------


@on_matrices()
def qr(A: Tensor, mode: str = "reduced") -> QRResult:  # noqa: N803
    """Q and R of A = Q R; mode is 'reduced', 'complete' (square Q) or 'r' (Q empty)."""
    if mode == "r":
        return QRResult(Tensor._wrap(np.zeros(0, A.dtype), None), entry("qr").function(A, "r"))
    return entry("qr").function(A, mode)


# -- eigenvalues and singular values -------------------------------------------------------------


@on_matrices(square=True)
def eig(A: Tensor) -> spectral.EigResult:  # noqa: N803
    """Eigenvalues and eigenvectors, complex, of square matrices."""
    return spectral.complex_eig(A)


@on_matrices(square=True)
def eigvals(A: Tensor) -> Tensor:  # noqa: N803
    """Eigenvalues, complex, of square matrices."""
    return spectral.complex_eig(A).eigenvalues


@on_matrices(square=True)
def eigh(A: Tensor, UPLO: str = "L") -> spectral.EighResult:  # noqa: N803
    """Eigenvalues in rising order and eigenvectors of Hermitian matrices, of which one triangle is read."""
    return spectral.eigh(A, UPLO)


@on_matrices(square=True)
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:  # noqa: N803
    """Eigenvalues of Hermitian matrices, of which one triangle is read, in rising order."""
    return spectral.eigvalsh(A, UPLO)


@on_matrices()
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> spectral.SVDResult:  # noqa: N803
    """U, S and V^H with A = U diag(S) V^H."""
    return spectral.svd(A, full_matrices)


@on_matrices()
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:  # noqa: N803
    """Singular values in falling order."""
    return spectral.svdvals(A)
