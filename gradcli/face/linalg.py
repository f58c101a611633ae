"""Products and linear algebra with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from ..tape.modes import allowed
from ..tape.operators import multiplied, stacks_text, types_error
from ..tape.tensor import Tensor
from .wrap import face, operand


def rank_text(name: str, ranks: tuple[int, int], first: int, second: int) -> str:
    """Return PyTorch's message for operands with other numbers of axes."""
    if name == "mm":
        return "self must be a matrix" if first != 2 else "mat2 must be a matrix"
    if name == "bmm":
        return "batch1 must be a 3D tensor" if first != 3 else "batch2 must be a 3D tensor"
    if name == "mv":
        return f"vector + matrix @ vector expected, got {second}, {first}, {second}"
    return f"{ranks[0]}D tensors expected, but got {first}D and {second}D tensors"


def of_ranks(name: str, ranks: tuple[int, int]) -> None:
    """Enter matmul for operands of fixed ranks, such as mm."""

    def function(input: Tensor, other: Tensor) -> Tensor:
        if (input.ndim, other.ndim) != ranks:
            raise RuntimeError(rank_text(name, ranks, input.ndim, other.ndim))
        if ranks == (3, 3) and input.shape[0] != other.shape[0]:
            raise RuntimeError(stacks_text(input.shape, other.shape))
        if allowed.float_of_grad and input.dtype != other.dtype:
            raise types_error(input, other)
        return product(input, other)

    function.__name__ = name
    function.__doc__ = f"Matrix product of tensors with {ranks[0]} and {ranks[1]} axes."
    face(function)


for _name, _ranks in {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3), "dot": (1, 1)}.items():
    of_ranks(_name, _ranks)


def product(input: Any, other: Any) -> Tensor:
    """Matrix product; raises RuntimeError naming the shapes that do not fit."""
    return multiplied(operand(input), operand(other))


@face
def matmul(input: Any, other: Any) -> Tensor:
    """Matrix product of vectors, matrices and stacks of matrices."""
    return product(input, other)


@face(names=("ger",))
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of two elements."""
    return entry("outer").function(input, vec2)


def plus(input: Tensor, added: Tensor, beta: float, alpha: float) -> Tensor:
    """beta * input + alpha * added; a beta of 0 ignores the input, nan and all."""
    added = added if alpha == 1 else added * alpha
    if beta == 0:
        return added + np.where(True, 0.0, input)
    return (input if beta == 1 else input * beta) + added


@face(node="AddmmBackward0")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * mat1 @ mat2."""
    return plus(input, product(mat1, mat2), beta, alpha)


@face(node="AddmvBackward0")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * mat @ vec."""
    return plus(input, product(mat, vec), beta, alpha)


@face(node="AddrBackward0")
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
    return plus(input, outer(vec1, vec2), beta, alpha)


@face(node="BaddbmmBackward0")
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * batch1 @ batch2, for stacks of matrices."""
    return plus(input, product(batch1, batch2), beta, alpha)


@face(node="AddbmmBackward0")
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * the sum of batch1 @ batch2 over the stack."""
    return plus(input, product(batch1, batch2).sum(0), beta, alpha)


@face(method=False)
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Product of matrices in the cheapest order."""
    return matrices[0] if len(matrices) == 1 else entry("multi_dot").function(matrices)
