"""Factors of matrices: Cholesky, LU, QR, eigenvalues and singular values."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ...rules import entry, spectral
from ...rules.qr import QRResult
from ...tape.tensor import Tensor
from ..matrix_operands import on_matrices

CholeskyEx = namedtuple("CholeskyEx", ["L", "info"])
LUFactor = namedtuple("LUFactor", ["LU", "pivots"])
LUFactorEx = namedtuple("LUFactorEx", ["LU", "pivots", "info"])


# -- LU ------------------------------------------------------------------------------------------


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
