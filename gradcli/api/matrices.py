"""Products and decompositions with PyTorch's arguments and errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules import entry
from ..tape.dtypes import imitation
from ..tape.tensor import Tensor, multiply
from ..tape.torch_errors import as_pytorch, stacks_text, types_error
from .wrap import offer, operand, public


class LinAlgError(RuntimeError):
    """A matrix without a result: singular, or not positive definite."""


def on_matrices(*, axes: int = 2, square: bool = False) -> Callable:
    """Return a decorator for a function whose first argument, A, is a stack of matrices (of vectors for axes=1).

    Raises RuntimeError, prefixed with the function's name, for integers, too few axes and operands that do not fit;
    LinAlgError where a matrix has no result; IndexError for axes out of range.
    """

    def enter(function: Callable) -> Callable:
        title = f"linalg.{function.__name__}"

        @functools.wraps(function)
        def call(A: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N803 - PyTorch's word
            return as_torch(title, function, (check_operand(A, title, axes, square), *args), kwargs)

        return call

    return enter


def as_torch(title: str, function: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function; raise PyTorch's errors in place of NumPy's."""
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        if isinstance(error, np.exceptions.AxisError):
            raise as_pytorch(error) from None
        kind = LinAlgError if isinstance(error, np.linalg.LinAlgError) else RuntimeError
        text = str(error)
        raise kind(text if text.startswith(f"{title.split('.')[-1]}:") else f"{title}: {text}") from None


def check_operand(x: Any, title: str, axes: int, square: bool) -> Tensor:
    """Return an operand as a Tensor. Raises RuntimeError for integers, too few axes and matrices not square."""
    x = operand(x)
    if x.dtype.kind not in "fcO":
        raise RuntimeError(f"{title}: Expected a floating point or complex tensor as input. Got {x.dtype.name}")
    if x.ndim < axes:
        raise RuntimeError(f"{title}: The input tensor A must have at least {axes} dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        rows, columns = x.shape[-2:]
        raise RuntimeError(f"{title}: A must be batches of square matrices, but they are {rows} by {columns} matrices")
    return x


def of_ranks(name: str, ranks: tuple[int, int]) -> None:
    """Enter matmul for operands of fixed ranks, such as mm."""

    def function(input: Tensor, other: Tensor) -> Tensor:
        if (input.ndim, other.ndim) != ranks:
            wanted, got = (f"{first}D and {second}D tensors" for first, second in (ranks, (input.ndim, other.ndim)))
            raise RuntimeError(f"{name}: {wanted} expected, but got {got}")
        if ranks == (3, 3) and input.shape[0] != other.shape[0]:
            raise RuntimeError(stacks_text(input.shape, other.shape))
        if imitation.of_torch and input.dtype != other.dtype:
            raise types_error(input, other)
        return multiply(input, other)

    offer(name, function, f"Matrix product of tensors with {ranks[0]} and {ranks[1]} axes.")


for _name, _ranks in {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3), "dot": (1, 1)}.items():
    of_ranks(_name, _ranks)


@public
def matmul(input: Any, other: Any) -> Tensor:
    """Matrix product of vectors, matrices and stacks of matrices."""
    return multiply(operand(input), operand(other))


@public(node="AddmmBackward0")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * mat1 @ mat2."""
    product = multiply(operand(mat1), operand(mat2))
    product = product if alpha == 1 else product * alpha
    if beta == 0:  # ignores nan in the input
        return product + np.where(True, 0.0, input)
    return (input if beta == 1 else input * beta) + product


@public(method=False)
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Einstein summation: einsum("ij,jk->ik", a, b)."""
    parts = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    try:
        return entry("einsum").function(equation, *(operand(x) for x in parts))
    except ValueError as error:
        raise RuntimeError(str(error)) from None


@public(node="LinalgCrossBackward0")
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
