"""Norms, condition numbers, ranks and determinants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...rules.norms import cond as table_cond
from ...rules.norms import matrix_norm as table_matrix_norm
from ...tape.record import relabel
from ...tape.tensor import Tensor, as_raw
from ..linear_algebra import inverse
from ..matrix_operands import on_matrices
from ..reduce import reduce_by_entry
from .solve import singular, tolerances


@on_matrices(axes=0)
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """(sum |x|^ord)^(1/ord) over dim, all axes unless given."""
    return reduce_by_entry("norm", x, dim, keepdim, dtype, ord=float(ord))


@on_matrices()
def matrix_norm(
    A: Tensor,  # noqa: N803
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """Norm of matrices: 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2."""
    norm = table_matrix_norm(A if dtype is None else A.to(dtype), ord, dim, keepdim)
    if isinstance(ord, str) or ord in (2, -2):
        return norm
    return relabel(norm, "AmaxBackward0" if ord > 0 else "AminBackward0")


@on_matrices(axes=0)
def norm(
    A: Tensor,  # noqa: N803
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """Vector norm over one axis or, without ord, over dim; matrix norm over two."""
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
def cond(A: Tensor, p: Any = None) -> Tensor:  # noqa: N803
    """The condition number |A| |A^-1| in the norm p, of the singular values unless given; inf if singular."""
    if p in (None, 2, -2):
        return table_cond(A, p)
    failed = as_raw(singular(A)) != 0
    regular = np.where(failed[..., None, None], np.eye(A.shape[-1], dtype=A.dtype), A) if failed.any() else A
    product = matrix_norm(A, p) * matrix_norm(inverse(regular), p)
    bounded: Any = np.where(failed, math.inf, product) if failed.any() else product
    return bounded


@on_matrices()
def matrix_rank(
    A: Tensor,  # noqa: N803
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
) -> Tensor:
    """How many singular values exceed max(atol, rtol * largest)."""
    raw = as_raw(A)
    values = np.sort(abs(np.linalg.eigvalsh(raw)))[..., ::-1] if hermitian else np.linalg.svdvals(raw)
    absolute, relative = (as_raw(tol), 0.0) if tol is not None else tolerances(A, atol, rtol)
    limit = np.maximum(absolute, relative * values.max(-1, initial=0))
    return Tensor._wrap(np.asarray((values > limit[..., None]).sum(-1)), None)
