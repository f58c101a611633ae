"""Diagonals and strides with PyTorch's arguments."""

from __future__ import annotations

from ..rules import entry
from ..rules.index import Index
from ..rules.select import diagonal_positions
from ..rules.shapes import negative_axis
from ..tape.record import dispatch
from ..tape.tensor import Tensor
from .wrap import public


@public
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a diagonal."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    result = entry("diag").function(input, diagonal)
    return result.clone() if input.ndim == 2 else result


@public
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals over two axes."""
    if negative_axis(dim1, input.ndim) == negative_axis(dim2, input.ndim):
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return entry("diagonal").function(input, offset, dim1, dim2)


@public(node="TraceBackward0")
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return entry("trace").function(input)


@public(node="DiagEmbedBackward0")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, over the new axes dim1 and dim2, with the last axis on a diagonal."""
    first, second = (negative_axis(d, input.ndim + 1) for d in (dim1, dim2))
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input.shape[-1] + abs(offset)
    index = Index((..., *diagonal_positions(n, n, offset)), (*input.shape[:-1], n, n))
    square = dispatch(entry("put_zeros"), (input,), {"index": index, "lead": ()})
    return entry("moveaxis").function(square, (-2, -1), (first, second))


# -- strides -------------------------------------------------------------------------------------
