"""Functions of matrices check their operand and fail as PyTorch's do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tape.tensor import Tensor
from .results import of_function
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
                args = (checked(args[0], title, axes, square), *args[1:])
            elif first in kwargs:
                kwargs[first] = checked(kwargs[first], title, axes, square)
            return of_function(title.replace(".", "_"), as_torch(title, function, args, kwargs))

        return call

    return enter


def as_torch(title: str, function: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function and raise what NumPy's errors are to PyTorch."""
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        text = str(error)
        kinds = {np.linalg.LinAlgError: LinAlgError, np.exceptions.AxisError: IndexError}
        kind = next((kinds[k] for k in type(error).__mro__ if k in kinds), RuntimeError)
        raise kind(text if text.startswith(f"{title.split('.')[-1]}:") else f"{title}: {text}") from None


def checked(x: Any, title: str, axes: int, square: bool) -> Tensor:
    """Return an operand as a Tensor. Raises RuntimeError for integers, too few axes, matrices not square."""
    x = operand(x)
    if x.dtype.kind not in "fcO":
        raise RuntimeError(f"{title}: Expected a floating point or complex tensor as input. Got {x.dtype.name}")
    if x.ndim < axes:
        raise RuntimeError(f"{title}: The input tensor A must have at least {axes} dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        rows, columns = x.shape[-2:]
        raise RuntimeError(
            f"{title}: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    return x
