"""Inverses, determinants, factors and systems of equations under PyTorch's top-level names."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.spectral import svd as table_svd
from ..rules.triangular import cholesky_solve as table_cholesky_solve
from ..tape.tensor import Tensor, as_raw
from .matrix_operands import on_matrices
from .wrap import operand, public

SVD = namedtuple("SVD", ["U", "S", "V"])
QR = namedtuple("QR", ["Q", "R"])
LU = namedtuple("LU", ["P", "L", "U"])
Slogdet = namedtuple("Slogdet", ["sign", "logabsdet"])
TriangularSolve = namedtuple("TriangularSolve", ["solution", "cloned_coefficient"])

# -- functions of one square matrix --------------------------------------------------------------


@public
@on_matrices("linalg.inv", square=True)
def inverse(input: Tensor) -> Tensor:
    """Inverse of square matrices. Raises LinAlgError for singular ones."""
    return entry("inv").function(input)


@public
@on_matrices("linalg.det", square=True)
def det(input: Tensor) -> Tensor:
    """Determinant of square matrices."""
    return entry("det").function(input)


@public
@on_matrices("linalg.slogdet", square=True)
def slogdet(input: Tensor) -> Slogdet:
    """Sign (phase, for complex matrices) and logarithm of the modulus of the determinant."""
    return Slogdet(*entry("slogdet").function(input))


@public
@on_matrices("linalg.slogdet", square=True)
def logdet(input: Tensor) -> Tensor:
    """Logarithm of the determinant; nan where it is negative."""
    return entry("logdet").function(input)


@public
@on_matrices(square=True)
def matrix_exp(input: Tensor) -> Tensor:
    """Exponential of square matrices."""
    return entry("matrix_exp").function(input)


@public
@on_matrices(square=True)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Square matrices multiplied n times with themselves; of the inverse for negative n."""
    return entry("matrix_power").function(input, n)


@public
@on_matrices("linalg.pinv")
def pinverse(input: Tensor, rcond: Any = 1e-15) -> Tensor:
    """Pseudo-inverse; singular values up to rcond times the largest count as 0."""
    return entry("pinv").function(input, as_raw(rcond))


# -- orthogonal factors --------------------------------------------------------------------------


@public
@on_matrices("linalg.svd")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> SVD:
    """U, S and V with input = U diag(S) V^H; all columns of U and V unless some."""
    if not compute_uv:
        rows, columns = (np.zeros((*input.shape[:-2], n, n), input.dtype) for n in input.shape[-2:])
        return SVD(operand(rows), table_svd(input, compute_uv=False), operand(columns))
    u, s, vh = table_svd(input, not some)
    return SVD(u, s, vh.mH)


@public
@on_matrices("linalg.qr")
def qr(input: Tensor, some: bool = True) -> QR:
    """Q with orthonormal columns and R upper triangular; a square Q unless some."""
    return QR(*entry("qr").function(input, "reduced" if some else "complete"))


# -- triangular factors --------------------------------------------------------------------------


@public
@on_matrices("linalg.cholesky", square=True)
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """L with input = L L^H, or upper U with input = U^H U. Raises LinAlgError unless positive definite."""
    return entry("cholesky").function(input, upper=upper)


@public
@on_matrices("cholesky_solve")
def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:  # noqa: N803 - PyTorch's word
    """The X with A X = input, from A's Cholesky factor L."""
    return table_cholesky_solve(input, L, upper=bool(upper))


def singular_at(packed: Tensor) -> Tensor:
    """Return the place, from 1, of the first 0 on the diagonal of U; 0 where there is none."""
    diagonal = np.diagonal(as_raw(packed), 0, -2, -1) == 0
    if not diagonal.shape[-1]:
        return operand(np.zeros(diagonal.shape[:-1], np.int32))
    first = np.where(diagonal.any(-1), diagonal.argmax(-1) + 1, 0)
    return operand(np.asarray(first, np.int32))
