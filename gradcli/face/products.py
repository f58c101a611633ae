"""Products over chosen axes, covariances and distances, with PyTorch's arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..rules import entry
from ..tape.tensor import Tensor, as_raw
from .reduce import reduced
from .wrap import face, operand


@face(method=False)
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Einstein summation: einsum("ij,jk->ik", a, b), or with numbers, einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    if not isinstance(equation, str):
        return entry("einsum").function(equation, *operands)
    parts = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    try:
        return entry("einsum").function(equation, *(operand(x) for x in parts))
    except ValueError as error:
        raise RuntimeError(str(error)) from None


@face(method=False)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum of products over the last and first axes, or over two lists of axes."""
    if isinstance(dims, Tensor):
        dims = as_raw(dims).tolist()
    try:
        if not isinstance(dims, int):
            left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
            a, b = summed_to(a, b, left, right), summed_to(b, a, right, left)
            dims = left, right
        return entry("tensordot").function(a, b, dims)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def summed_to(a: Tensor, b: Tensor, axes: list, others: list) -> Tensor:
    """Return a summed, with length 1, over those of its axes whose partners in b have length 1."""
    single = tuple(i for i, k in zip(axes, others, strict=True) if b.shape[k] == 1 != a.shape[i])
    return a.sum(dim=single, keepdim=True) if single else a


@face(node="LinalgCrossBackward0")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Vector product along dim: the first axis of length 3 unless given."""
    if dim is None:
        sizes = np.broadcast_shapes(tuple(input.shape), tuple(other.shape))
        if 3 not in sizes:
            raise RuntimeError("no dimension of size 3 in input")
        dim = sizes.index(3) - len(sizes)
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    return entry("cross").function(input, other, axis=dim)


@face
def cov(input: Tensor, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """Covariances of the rows; columns are observations, repeated fweights times and weighted by aweights."""
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got {input.ndim} dimensions")
    return entry("cov").function(input, ddof=correction, fweights=fweights, aweights=aweights)


@face
def corrcoef(input: Tensor) -> Tensor:
    """Correlation coefficients of the rows; columns are observations."""
    return entry("corrcoef").function(input)


@face(method=False, node="CdistBackward0")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Tensor:
    """Distances, in the p-norm, between the rows of x1 and those of x2. Raises RuntimeError for negative p."""
    if p < 0 or math.isnan(p):
        raise RuntimeError("cdist only supports non-negative p values")
    for place, x in enumerate((x1, x2), 1):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{place} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    return reduced("norm", operand(x1)[..., :, None, :] - operand(x2)[..., None, :, :], -1, False, ord=float(p))
