"""Products and linear algebra with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from ..rules.product import matmul as table_matmul
from ..tape.operators import SCALARS, seen, shapes_error
from ..tape.refusal import as_pytorch
from ..tape.tensor import Tensor, allowed
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


def dtype_text(name: str, a: Tensor, b: Tensor) -> str:
    """Return PyTorch's message for operands of different types."""
    if name == "dot":
        return f"dot : expected both vectors to have same dtype, but found {a.dtype.title} and {b.dtype.title}"
    words = [SCALARS.get(x.dtype.title, x.dtype.title) for x in (a, b)]
    return f"expected m1 and m2 to have the same dtype, but got: {words[0]} != {words[1]}"


def of_ranks(name: str, ranks: tuple[int, int]) -> None:
    """Enter matmul for operands of fixed ranks, such as mm."""

    def function(input: Tensor, other: Tensor) -> Tensor:
        if (input.ndim, other.ndim) != ranks:
            raise RuntimeError(rank_text(name, ranks, input.ndim, other.ndim))
        if ranks == (3, 3) and input.shape[0] != other.shape[0]:
            raise RuntimeError(
                "Expected size for first two dimensions of batch2 tensor to be: "
                f"[{input.shape[0]}, {input.shape[2]}] but got: [{other.shape[0]}, {other.shape[1]}]."
            )
        if allowed.float_of_grad and input.dtype != other.dtype:
            raise RuntimeError(dtype_text(name, input, other))
        return product(input, other)

    function.__name__ = name
    function.__doc__ = f"Matrix product of tensors with {ranks[0]} and {ranks[1]} axes."
    face(function)


for _name, _ranks in {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3), "dot": (1, 1)}.items():
    of_ranks(_name, _ranks)


def product(input: Any, other: Any) -> Tensor:
    """Matrix product; raises RuntimeError naming the shapes that do not fit."""
    try:
        return table_matmul(operand(input), operand(other))
    except ValueError as error:
        raise shapes_error(operand(input), operand(other)) or as_pytorch(error) from None


@face
def matmul(input: Any, other: Any) -> Tensor:
    """Matrix product of vectors, matrices and stacks of matrices."""
    return seen(product(input, other), input, other)


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


@face
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * mat1 @ mat2."""
    return plus(input, product(mat1, mat2), beta, alpha)


@face
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * mat @ vec."""
    return plus(input, product(mat, vec), beta, alpha)


@face
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
    return plus(input, outer(vec1, vec2), beta, alpha)


@face
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * batch1 @ batch2, for stacks of matrices."""
    return plus(input, product(batch1, batch2), beta, alpha)


@face
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * the sum of batch1 @ batch2 over the stack."""
    return plus(input, product(batch1, batch2).sum(0), beta, alpha)


@face(method=False)
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Product of matrices in the cheapest order."""
    return matrices[0] if len(matrices) == 1 else entry("multi_dot").function(matrices)
