"""Inverses, determinants, factors and systems of equations under PyTorch's top-level names."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.qr import apply_reflections
from ..rules.qr import geqrf as table_geqrf
from ..rules.spectral import svd as table_svd
from ..rules.triangular import cholesky_solve as table_cholesky_solve
from ..rules.triangular import lu_factor, lu_parts, permutation, solve_triangular
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


@public
@on_matrices("geqrf")
def geqrf(input: Tensor) -> tuple:
    """R, with the Householder reflections of Q below its diagonal, and tau: what ormqr takes (no gradient)."""
    return table_geqrf(input)


@public
@on_matrices()
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q @ other (other @ Q unless left), or with Q^H, for the Q of Householder reflections that geqrf gives."""
    if not left:
        return apply_reflections(input, tau, other.mH, transpose=not transpose).mH
    return apply_reflections(input, tau, other, transpose=transpose)


@public
@on_matrices("linalg.householder_product")
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of Householder reflections that geqrf gives."""
    if input.shape[-2] < input.shape[-1] or tau.shape[-1] > input.shape[-1]:
        raise RuntimeError(
            "linalg.householder_product: input must not be wider than high, nor have fewer columns than tau; "
            f"got shapes {list(input.shape)} and {list(tau.shape)}"
        )
    identity = np.where(True, np.eye(*input.shape[-2:], dtype=input.dtype), input)
    return apply_reflections(input, tau, identity)


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


@public
@on_matrices("cholesky_inverse", square=True)
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A from its Cholesky factor."""
    return table_cholesky_solve(np.eye(input.shape[-1], dtype=input.dtype), input, upper=bool(upper))


@public(method=False)
@on_matrices("triangular_solve")
def triangular_solve(
    b: Tensor,
    A: Tensor,  # noqa: N803 - PyTorch's word
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> TriangularSolve:
    """The X with A X = b (A^T X = b) for a triangular A, and A."""
    matrix = A.mT if transpose else A
    lower = upper if transpose else not upper
    return TriangularSolve(solve_triangular(matrix, b, lower=lower, unit=unitriangular), A)


def must_pivot(pivot: bool) -> None:
    """Raise RuntimeError for a decomposition without row exchanges."""
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@public
@on_matrices("linalg.lu_factor")
def lu(input: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple:
    """L and U of A = P L U packed into one matrix, row exchanges counted from 1, and infos if wanted."""
    must_pivot(pivot)
    packed, pivots = lu_factor(input)
    return (packed, pivots, singular_at(packed)) if get_infos else (packed, pivots)


def singular_at(packed: Tensor) -> Tensor:
    """Return the place, from 1, of the first 0 on the diagonal of U; 0 where there is none."""
    diagonal = np.diagonal(as_raw(packed), 0, -2, -1) == 0
    if not diagonal.shape[-1]:
        return operand(np.zeros(diagonal.shape[:-1], np.int32))
    first = np.where(diagonal.any(-1), diagonal.argmax(-1) + 1, 0)
    return operand(np.asarray(first, np.int32))


def row_order(pivots: Any, rows: int, dtype: Any) -> np.ndarray:
    """Return P for row exchanges. Raises RuntimeError where they are not counted from 1 to rows."""
    pivots = as_raw(pivots)
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(
            f"LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, got {pivots.dtype}"
        )
    if pivots.size and not (pivots.min() >= 1 and pivots.max() <= rows):
        raise RuntimeError(f"the entries of LU_pivots must lie between 1 and {rows}")
    return permutation(pivots, rows, np.dtype(dtype))


@public(method=False)
@on_matrices("lu_unpack")
def lu_unpack(
    LU_data: Tensor,  # noqa: N803 - PyTorch's word
    LU_pivots: Tensor,  # noqa: N803
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> LU:
    """P, L and U of A = P L U from the packed form; empty where they are not wanted."""
    empty = operand(np.zeros(0, LU_data.dtype))
    lower, upper = lu_parts(LU_data) if unpack_data else (empty, empty)
    order = operand(row_order(LU_pivots, LU_data.shape[-2], LU_data.dtype)) if unpack_pivots else empty
    return LU(order, lower, upper)


def solve_by_lu(packed: Tensor, pivots: Tensor, right: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The X with A X = right (X A = right unless left; A^H for adjoint), from the packed LU of A."""
    if not left:
        return solve_by_lu(packed, pivots, right.mH, adjoint=not adjoint).mH
    order = operand(row_order(pivots, packed.shape[-1], packed.dtype))
    if adjoint:
        middle = solve_triangular(packed.mH, right, lower=True, unit=False)
        return order @ solve_triangular(packed.mH, middle, lower=False, unit=True)
    middle = solve_triangular(packed, order.mT @ right, lower=True, unit=True)
    return solve_triangular(packed, middle, lower=False, unit=False)


@public
@on_matrices("lu_solve")
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:  # noqa: N803 - PyTorch's words
    """The X with A X = b, from the packed LU of A."""
    return solve_by_lu(LU_data, LU_pivots, b)
