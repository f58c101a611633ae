"""Inverses and systems of linear equations."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ...rules import entry
from ...rules.matrix_functions import LstsqResult, default_tolerance, pinv_with
from ...rules.solve import solve_columns
from ...rules.triangular import lu_factor
from ...rules.triangular import solve_triangular as table_solve_triangular
from ...tape.modes import no_grad
from ...tape.tensor import Tensor, as_raw
from ..linear_algebra import inverse, singular_at
from ..matrix_operands import on_matrices

InvEx = namedtuple("InvEx", ["inverse", "info"])
SolveEx = namedtuple("SolveEx", ["result", "info"])


def is_vector(a: Tensor, b: Tensor) -> bool:
    """Return whether a right-hand side holds vectors rather than matrices."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and tuple(b.shape) == tuple(a.shape[:-1]))


def singular(a: Tensor) -> Tensor:
    """Return for each matrix the place of the first zero pivot, 0 where there is none."""
    with no_grad():
        return singular_at(lu_factor(a)[0])


@on_matrices(square=True)
def inv(A: Tensor) -> Tensor:  # noqa: N803
    """Inverse of square matrices. Raises LinAlgError for singular ones."""
    return inverse(A)


@on_matrices(square=True)
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:  # noqa: N803
    """The X with A X = B, or X A = B unless left; B holds vectors or matrices."""
    if is_vector(A, B):
        return solve_columns(A, B[..., None])[..., 0]
    return solve_columns(A, B) if left else solve_columns(A.mT, B.mT).mT


@on_matrices(square=True)
def solve_triangular(
    A: Tensor,  # noqa: N803
    B: Tensor,  # noqa: N803
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor:
    """The X with A X = B, or X A = B unless left, where only one triangle of A is read."""
    if left:
        return table_solve_triangular(A, B, lower=not upper, unit=unitriangular)
    return table_solve_triangular(A.mT, B.mT, lower=upper, unit=unitriangular).mT


def tolerances(A: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:  # noqa: N803
    """Return what singular values must exceed: absolutely, and relative to the largest one."""
    absolute = 0.0 if atol is None else as_raw(atol)
    if rtol is None:
        usual = default_tolerance(A) if A.shape[-1] and A.shape[-2] else 0.0
        return absolute, np.where(np.asarray(absolute) > 0, 0.0, usual)
    return absolute, as_raw(rtol)


@on_matrices()
def pinv(
    A: Tensor,  # noqa: N803
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
) -> Tensor:
    """Pseudo-inverse; singular values up to max(atol, rtol * largest) count as 0 (rtol may be called rcond)."""
    return pinv_with(A, *tolerances(A, atol, rcond if rtol is None else rtol), hermitian)


@on_matrices()
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> LstsqResult:  # noqa: N803
    """The X that makes |B - A X| smallest; residuals, rank and singular values as the LAPACK driver gives them."""
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"linalg.lstsq: driver must be gels, gelsy, gelsd or gelss, got {driver}")
    vector = is_vector(A, B)
    right = B[..., None] if vector else B
    m, n = A.shape[-2:]
    solution = pinv_with(A, 0.0, default_tolerance(A) if rcond is None else rcond) @ right
    with no_grad():
        values = entry("svdvals").function(A)
        limit = (default_tolerance(A) if rcond is None else rcond) * as_raw(values).max(-1, keepdims=True, initial=0)
        count = np.asarray((as_raw(values) > limit).sum(-1))
    empty = Tensor._wrap(np.zeros(0, as_raw(values).dtype), None)
    residuals = abs(solution.reshape(-1)[:0])
    if m > n and driver not in (None, "gelsy") and (count == n).all():
        distance = abs(A @ solution - right)
        residuals = (distance * distance).sum(-2)
    rank = Tensor._wrap(np.zeros(0, np.int64) if driver == "gels" else count, None)
    values = values if driver in ("gelsd", "gelss") else empty
    return LstsqResult(solution[..., 0] if vector else solution, residuals, rank, values)
