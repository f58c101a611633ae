"""Products and decompositions with PyTorch's arguments, and its complaints about matrices."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.solve import cholesky_solve as table_cholesky_solve
from ..rules.spectral import svd as table_svd
from ..tape.modes import allowed
from ..tape.shape_errors import as_pytorch, stacks_text, types_error
from ..tape.tensor import Tensor, as_raw, multiply
from .wrap import offer, operand, public


class LinAlgError(RuntimeError):
    """A matrix for which there is no result: singular, or not positive definite."""


def on_matrices(name: str = "", *, axes: int = 2, square: bool = False) -> Callable:
    """Return a decorator for a function whose first argument is a stack of matrices, or vectors for axes=1.

    Raises RuntimeError, with `name` in front, for integers, too few axes and operands that do not fit,
    LinAlgError where a matrix has no result, IndexError for axes out of range.
    """

    def enter(function: Callable) -> Callable:
        first = function.__code__.co_varnames[0]
        title = name or f"linalg.{function.__name__}"

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if args:
                args = (check_operand(args[0], title, axes, square), *args[1:])
            elif first in kwargs:
                kwargs[first] = check_operand(kwargs[first], title, axes, square)
            return as_torch(title, function, args, kwargs)

        return call

    return enter


def as_torch(title: str, function: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function and raise what NumPy's errors are to PyTorch."""
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        if isinstance(error, np.exceptions.AxisError):
            raise as_pytorch(error) from None
        kind = LinAlgError if isinstance(error, np.linalg.LinAlgError) else RuntimeError
        if kind is LinAlgError and title in REASONS:
            raise kind(REASONS[title](as_raw(args[0]), title)) from None
        text = str(error)
        raise kind(text if text.startswith(f"{title.split('.')[-1]}:") else f"{title}: {text}") from None


def first_failing(x: np.ndarray, fails: Callable) -> tuple[str, int]:
    """Return words for the place of the first matrix of a stack for which fails(matrix) > 0, and that number."""
    for place, matrix in enumerate(x.reshape(-1, *x.shape[-2:])):
        order = fails(matrix)
        if order:
            return f"(Batch element {place}): " if x.ndim > 2 else "", order
    return "", 1


def is_singular(matrix: np.ndarray) -> bool:
    """Return whether LAPACK finds no inverse."""
    try:
        np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return True
    return False


def zero_pivot(matrix: np.ndarray) -> int:
    """Return the place, from 1, of the first pivot that is 0 in elimination with row exchanges; 0 for none."""
    rows = matrix.copy()
    for k in range(len(rows)):
        best = k + int(np.argmax(np.abs(rows[k:, k])))
        if rows[best, k] == 0:
            return k + 1
        rows[[k, best]] = rows[[best, k]]
        rows[k + 1 :] -= rows[k + 1 :, k : k + 1] / rows[k, k] * rows[k]
    return 0


def bad_minor(matrix: np.ndarray) -> int:
    """Return the order of the first leading minor that is not positive definite; 0 for none."""
    for n in range(1, len(matrix) + 1):
        try:
            np.linalg.cholesky(matrix[:n, :n])
        except np.linalg.LinAlgError:
            return n
    return 0


def singular_text(x: np.ndarray, title: str) -> str:
    """Return why there is no inverse."""
    where, order = first_failing(x, zero_pivot)
    return (
        f"{title}: {where}The diagonal element {order} is zero, the inversion could not be completed because the "
        "input matrix is singular."
    )


def indefinite_text(x: np.ndarray, title: str) -> str:
    """Return why there is no Cholesky factor."""
    where, order = first_failing(x, bad_minor)
    return (
        f"{title}: {where}The factorization could not be completed because the input is not positive-definite (the "
        f"leading minor of order {order} is not positive-definite)."
    )


def unsolvable_text(x: np.ndarray, title: str) -> str:
    """Return why there is no solution."""
    where = first_failing(x, zero_pivot)[0]
    return f"torch.{title}: {where}The solver failed because the input matrix is singular."


REASONS = {"linalg.inv": singular_text, "linalg.cholesky": indefinite_text, "linalg.solve": unsolvable_text}


def check_operand(x: Any, title: str, axes: int, square: bool) -> Tensor:
    """Return an operand as a Tensor. Raises RuntimeError for integers, too few axes, matrices not square."""
    x = operand(x)
    if x.dtype.kind not in "fcO":
        raise RuntimeError(f"{title}: Expected a floating point or complex tensor as input. Got {x.dtype.name}")
    if x.ndim < axes:
        raise RuntimeError(f"{title}: The input tensor A must have at least {axes} dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        rows, columns = x.shape[-2:]
        raise RuntimeError(f"{title}: A must be batches of square matrices, but they are {rows} by {columns} matrices")
    return x


# -- products --------------------------------------------------------------------------------------


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
        return multiply_matrices(input, other)

    offer(name, function, f"Matrix product of tensors with {ranks[0]} and {ranks[1]} axes.")


for _name, _ranks in {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3), "dot": (1, 1)}.items():
    of_ranks(_name, _ranks)


def multiply_matrices(input: Any, other: Any) -> Tensor:
    """Matrix product; raises RuntimeError naming the shapes that do not fit."""
    return multiply(operand(input), operand(other))


@public
def matmul(input: Any, other: Any) -> Tensor:
    """Matrix product of vectors, matrices and stacks of matrices."""
    return multiply_matrices(input, other)


def add_scaled(input: Tensor, added: Tensor, beta: float, alpha: float) -> Tensor:
    """beta * input + alpha * added; a beta of 0 ignores the input, nan and all."""
    added = added if alpha == 1 else added * alpha
    if beta == 0:
        return added + np.where(True, 0.0, input)
    return (input if beta == 1 else input * beta) + added


@public(node="AddmmBackward0")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * mat1 @ mat2."""
    return add_scaled(input, multiply_matrices(mat1, mat2), beta, alpha)


@public(method=False)
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Einstein summation: einsum("ij,jk->ik", a, b), or with numbers, einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    if not isinstance(equation, str):
        return entry("einsum").function(equation, *operands)
    parts = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    try:
        return entry("einsum").function(equation, *(operand(x) for x in parts))
    except ValueError as error:
        raise RuntimeError(str(error)) from None


@public(method=False)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum of products over the last and first axes, or over two lists of axes."""
    if isinstance(dims, Tensor):
        dims = as_raw(dims).tolist()
    try:
        if not isinstance(dims, int):
            left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
            a, b = sum_unmatched(a, b, left, right), sum_unmatched(b, a, right, left)
            dims = left, right
        return entry("tensordot").function(a, b, dims)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def sum_unmatched(a: Tensor, b: Tensor, axes: list, others: list) -> Tensor:
    """Return a summed, with length 1, over those of its axes whose partners in b have length 1."""
    single = tuple(i for i, k in zip(axes, others, strict=True) if b.shape[k] == 1 != a.shape[i])
    return a.sum(dim=single, keepdim=True) if single else a


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


SVD = namedtuple("SVD", ["U", "S", "V"])
QR = namedtuple("QR", ["Q", "R"])
Slogdet = namedtuple("Slogdet", ["sign", "logabsdet"])

# -- functions of one square matrix --------------------------------------------------------------


# -- orthogonal factors --------------------------------------------------------------------------


@public
@on_matrices("linalg.svd")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> SVD:
    """U, S and V with input = U diag(S) V^H; all columns of U and V unless some."""
    if not compute_uv:
        rows, columns = (np.zeros((*input.shape[:-2], n, n), input.dtype) for n in input.shape[-2:])
        return SVD(operand(rows), table_svd(input, compute_uv=False), operand(columns))
    u, s, vh = table_svd(input, not some)
    return SVD(u, s, vh.mH)


@public
@on_matrices("linalg.qr")
def qr(input: Tensor, some: bool = True) -> QR:
    """Q with orthonormal columns and R upper triangular; a square Q unless some."""
    return QR(*entry("qr").function(input, "reduced" if some else "complete"))


# -- triangular factors --------------------------------------------------------------------------


@public
@on_matrices("cholesky_solve")
def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:  # noqa: N803 - PyTorch's word
    """The X with A X = input, from A's Cholesky factor L."""
    return table_cholesky_solve(input, L, upper=bool(upper))
