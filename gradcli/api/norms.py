"""Norms and distances with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

from ..rules import entry
from ..rules.shapes import negative_axes
from ..tape.tensor import Tensor
from .reduce import reduce_by_entry
from .wrap import operand, public


@public
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """Vector norm of order p over dim ('fro': 2); 'nuc' is the sum of the singular values of matrices."""
    if p == "nuc":
        return nuclear(operand(input) if dtype is None else operand(input).to(dtype), dim, keepdim)
    x = operand(input)
    if dtype is None and x.dtype.kind not in "fcO":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype.title}"
        )
    order = 2.0 if p in ("fro", None) else float(p)
    return reduce_by_entry("norm", input, dim, keepdim, dtype, ord=order)


def nuclear(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The sum of the singular values over two axes."""
    axes = negative_axes(dim, x.ndim)
    if len(axes) != 2:
        raise RuntimeError("norm of order 'nuc' needs a matrix, or two axes in dim")
    return entry("linalg.norm").function(x, "nuc", axes, keepdim)


@public(node="DistBackward0")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Norm of order p of input - other."""
    return norm(input - other, float(p))
