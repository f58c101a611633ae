"""Distances and angles between vectors."""

from __future__ import annotations

import numpy as np

from ...face.norms import norm
from ...face.shape import broadcast_tensors
from ...tape.tensor import Tensor


def at_least(size: Tensor, eps: float) -> Tensor:
    """Return max(size, eps) with the slope of size everywhere."""
    fixed = size.detach()
    return size + (fixed.clamp_min(eps) - fixed)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (|x1| |x2|) over dim, each norm at least eps."""
    if "f" not in (x1.dtype.kind, x2.dtype.kind):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x1.dtype}")
    x1, x2 = broadcast_tensors(x1, x2)
    first, second = (x / at_least(norm(x, 2, dim, keepdim=True), eps) for x in (x1, x2))
    return (first * second).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """p-norm of x1 - x2 + eps over the last axis."""
    return norm(x1 - x2 + eps, p, -1, keepdim)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """p-norm distances of all pairs of rows, in the order (0, 1), (0, 2), ..., (1, 2), ..."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = np.triu_indices(input.shape[0], 1)
    return norm(input[first] - input[second], p, -1)
