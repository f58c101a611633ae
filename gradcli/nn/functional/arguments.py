"""What arguments of several families mean: one number for all axes, a reduction, work in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api.wrap import operand
from ...rules import entry
from ...tape import inplace
from ...tape.record import dispatch
from ...tape.tensor import Tensor


def per_axis(value: Any, n: int, name: str) -> tuple[int, ...]:
    """Return one int per axis: a single number stands for all. Raises RuntimeError for another count."""
    if isinstance(value, int | np.integer):
        return (int(value),) * n
    values = tuple(int(v) for v in value)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        raise RuntimeError(f"{name} must be a number or {n} numbers, got {list(values)}")
    return values


def compute_into(input: Tensor, inplace_: bool, function: Callable[[], Any]) -> Any:
    """Return function(), written into input where that is asked for."""
    return inplace.update(input, function) if inplace_ else function()


def reduce_losses(values: Any, reduction: str) -> Any:
    """Return the mean, the sum, or the values themselves. Raises ValueError for another reduction."""
    if reduction == "none":
        return values
    if reduction in ("mean", "sum"):
        return getattr(values, reduction)()
    raise ValueError(f"{reduction} is not a valid value for reduction")


def divide_by_count(x: Any, count: float) -> Any:
    """Return x / count, where a count of 0 gives nan rather than an error."""
    return x / operand(count).to(x.dtype)


def loss(name: str, input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """Record a loss of operands of one shape that is one entry of the table, reduced."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    axis = () if reduction == "none" else (*range(-input.ndim, 0),)
    total = (math.prod(input.shape) or math.nan) if reduction == "mean" else 1
    return dispatch(entry(name), (input, target), {"axis": axis, "total": total})
