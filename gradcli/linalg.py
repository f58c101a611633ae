"""Linear algebra with the names, arguments and results of torch.linalg."""

from __future__ import annotations

from typing import Any

import numpy as np

from .api.signature import LinAlgError, matmul, on_matrices, raising_as_torch, resolve
from .api.wrap import as_method_operand, missing
from .rules import entry
from .rules.matrix_functions import LstsqResult, default_tolerance, pinv_with
from .rules.matrix_functions import matrix_norm as table_matrix_norm
from .rules.solve import solve_columns
from .rules.solve import solve_triangular_entry as table_solve_triangular
from .rules.spectral import QRResult
from .tape.modes import no_grad
from .tape.record import relabel
from .tape.tensor import Tensor, as_raw

FROM_TABLE = """
    cholesky cond det diagonal eig eigh eigvals eigvalsh inv matrix_exp matrix_power slogdet svd svdvals vecdot
    vector_norm
""".split()
LINALG_FUNCTIONS: dict[str, Any] = {name: resolve(f"linalg.{name}") for name in FROM_TABLE}
vector_norm = LINALG_FUNCTIONS["vector_norm"]
globals().update(LINALG_FUNCTIONS)


@on_matrices()
def qr(A: Tensor, mode: str = "reduced") -> QRResult:
    """Q and R of A = Q R; mode is 'reduced', 'complete' (square Q) or 'r' (Q empty)."""
    if mode == "r":
        return QRResult(Tensor._wrap(np.zeros(0, A.dtype), None), entry("qr").function(A, "r"))
    return entry("qr").function(A, mode)


def multi_dot(tensors: Any) -> Tensor:
    """Product of two or more matrices in the cheapest order; the first and the last may be vectors."""
    return raising_as_torch(
        "linalg.multi_dot", entry("multi_dot").function, ([as_method_operand(x) for x in tensors],), {}
    )


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Vector product of three-dimensional vectors along dim."""
    x, y = as_method_operand(input), as_method_operand(other)
    if x.ndim != y.ndim:
        raise RuntimeError(f"linalg.cross: inputs must have the same number of dimensions, got {x.ndim} and {y.ndim}")
    return raising_as_torch("linalg.cross", entry("cross").function, (x, y), {"axis": dim})


def is_vector(a: Tensor, b: Tensor) -> bool:
    """Return whether a right-hand side contains vectors, not matrices."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and tuple(b.shape) == tuple(a.shape[:-1]))


@on_matrices(square=True)
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Solution X of A X = B, or of X A = B if left is False. B contains vectors or matrices."""
    if is_vector(A, B):
        return solve_columns(A, B[..., None])[..., 0]
    return solve_columns(A, B) if left else solve_columns(A.mT, B.mT).mT


@on_matrices(square=True)
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """Solution X of A X = B, or of X A = B if left is False. Only one triangle of A is read."""
    if left:
        return table_solve_triangular(A, B, lower=not upper, unit=unitriangular)
    return table_solve_triangular(A.mT, B.mT, lower=upper, unit=unitriangular).mT


def tolerances(A: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Return the two bounds that singular values must exceed: absolute, and relative to the largest one."""
    absolute = 0.0 if atol is None else as_raw(atol)
    if rtol is None:
        default = default_tolerance(A) if A.shape[-1] and A.shape[-2] else 0.0
        return absolute, np.where(np.asarray(absolute) > 0, 0.0, default)
    return absolute, as_raw(rtol)


@on_matrices()
def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """Pseudo-inverse; singular values up to max(atol, rtol * largest) count as 0 (rtol may be called rcond)."""
    return pinv_with(A, *tolerances(A, atol, rcond if rtol is None else rtol), hermitian)


@on_matrices()
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> LstsqResult:
    """X that minimizes |B - A X|, the squared residuals if A has full rank, the rank, and the singular values.

    driver: LAPACK's method in PyTorch; here it only decides which of the last three results are left empty.
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"linalg.lstsq: driver must be one of gels, gelsy, gelsd, gelss, not {driver}")
    vector = is_vector(A, B)
    right = B[..., None] if vector else B
    relative = default_tolerance(A) if rcond is None else rcond
    solution = pinv_with(A, 0.0, relative) @ right
    with no_grad():
        values = entry("svdvals").function(A)
    count = (as_raw(values) > relative * as_raw(values).max(-1, keepdims=True, initial=0)).sum(-1)
    distance = abs(A @ solution - right)
    residuals = (distance * distance).sum(-2) if A.shape[-2] > A.shape[-1] == count.min() else distance.reshape(-1)[:0]
    found = np.asarray(count)
    if driver == "gels":
        found = found.reshape(-1)[:0]
    if driver in ("gels", "gelsy"):
        values = values.reshape(-1)[:0]
    if driver == "gelsy":
        residuals = distance.reshape(-1)[:0]
    return LstsqResult(solution[..., 0] if vector else solution, residuals, as_method_operand(found), values)


@on_matrices()
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Norm of matrices: 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2."""
    norm = table_matrix_norm(A if dtype is None else A.to(dtype), ord, dim, keepdim)
    if isinstance(ord, str) or ord in (2, -2):
        return norm
    return relabel(norm, "AmaxBackward0" if ord > 0 else "AminBackward0")


@on_matrices(axes=0)
def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Vector norm if ord is None or there is a single axis; otherwise the matrix norm over two axes."""
    axes = dim if dim is None or isinstance(dim, tuple | list) else (dim,)
    if ord is None:
        return vector_norm(A, 2, axes, keepdim, dtype=dtype)
    if axes is None and A.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
        )
    if (A.ndim if axes is None else len(axes)) == 1 and not isinstance(ord, str):
        return vector_norm(A, ord, axes, keepdim, dtype=dtype)
    return matrix_norm(A, ord, (-2, -1) if axes is None else axes, keepdim, dtype=dtype)


@on_matrices()
def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """Number of singular values that exceed max(atol, rtol * largest)."""
    raw = as_raw(A)
    values = np.sort(abs(np.linalg.eigvalsh(raw)))[..., ::-1] if hermitian else np.linalg.svdvals(raw)
    absolute, relative = (as_raw(tol), 0.0) if tol is not None else tolerances(A, atol, rtol)
    limit = np.maximum(absolute, relative * values.max(-1, initial=0))
    return Tensor._wrap(np.asarray((values > limit[..., None]).sum(-1)), None)


__all__ = ["LinAlgError", "cross", "lstsq", "matmul", "matrix_norm", "matrix_rank", "multi_dot", "norm", "pinv"]
__all__ += ["qr", "solve", "solve_triangular"]
__all__.extend(FROM_TABLE)
__getattr__ = missing(__name__, lambda: __all__)
