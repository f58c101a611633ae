"""Products and linear algebra with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

from ..rules import entry
from ..rules.product import matmul as table_matmul
from ..tape.tensor import Tensor
from .wrap import face, operand


def of_ranks(name: str, ranks: tuple[int, int]) -> None:
    """Enter matmul for operands of fixed ranks, such as mm."""

    def function(input: Tensor, other: Tensor) -> Tensor:
        if (input.ndim, other.ndim) != ranks:
            raise RuntimeError(
                f"{name} needs tensors of {ranks[0]} and {ranks[1]} axes, got {input.ndim} and {other.ndim}"
            )
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
    except ValueError:
        a, b = tuple(operand(input).shape), tuple(operand(other).shape)
        shapes = "x".join(map(str, a)) + " and " + "x".join(map(str, b))
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})") from None


@face
def matmul(input: Any, other: Any) -> Tensor:
    """Matrix product of vectors, matrices and stacks of matrices."""
    return product(input, other)


@face(names=("ger",))
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of two elements."""
    return entry("outer").function(input, vec2)


@face
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * mat1 @ mat2."""
    return (input if beta == 1 else input * beta) + (
        product(mat1, mat2) if alpha == 1 else product(mat1, mat2) * alpha
    )


@face
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * mat @ vec."""
    return addmm(input, mat, vec, beta=beta, alpha=alpha)
