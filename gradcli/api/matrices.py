"""What PyTorch demands of matrices, and its words for those that have no result."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tape.dtypes import as_pytorch
from ..tape.tensor import Tensor, as_raw
from .wrap import operand


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
