"""Products of vectors and matrices, diagonals and Vandermonde matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rules import entry
from ...tape.tensor import Tensor
from ..matrix_operands import as_torch, on_matrices
from ..wrap import operand


def multi_dot(tensors: Any) -> Tensor:
    """Product of two or more matrices in the cheapest order; the first and the last may be vectors."""
    return as_torch("linalg.multi_dot", entry("multi_dot").function, ([operand(x) for x in tensors],), {})


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Sum of conj(x) y along dim."""
    return as_torch("linalg.vecdot", entry("vecdot").function, (operand(x), operand(y)), {"axis": dim})


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Vector product of three-dimensional vectors along dim."""
    x, y = operand(input), operand(other)
    if x.ndim != y.ndim:
        raise RuntimeError(f"linalg.cross: inputs must have the same number of dimensions, got {x.ndim} and {y.ndim}")
    return as_torch("linalg.cross", entry("cross").function, (x, y), {"axis": dim})


@on_matrices(axes=0)
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:  # noqa: N803
    """The diagonals over two axes."""
    return entry("diagonal").function(A, offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:  # noqa: N803
    """Rows of the powers 0 to N - 1 of the elements of x."""
    x = operand(x)
    x = x.reshape(1) if x.ndim == 0 else x
    count = x.shape[-1] if N is None else N
    if count <= 1 and N is not None:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {N}")
    ones = np.ones((*x.shape, 1), x.dtype)
    factors = np.broadcast_to(x[..., None], (*x.shape, count - 1))
    return entry("cumprod").function(entry("concatenate").function([ones, factors], -1), -1)
