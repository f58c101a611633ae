"""Losses of numbers: distances of a prediction from a target."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ...api.shape import broadcast_tensors
from ...api.where_search import where
from ...api.wrap import operand, records_as
from ...rules import entry
from ...tape.record import dispatch
from ...tape.tensor import Tensor


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


def weigh_losses(values: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Return losses times weights, reduced; the mean divides by the sum of the weights."""
    if weight is None:
        return reduce_losses(values, reduction)
    values, weight = broadcast_tensors(values, weight)
    if reduction == "mean":
        return (values * weight).sum() / weight.sum()
    return reduce_losses(values * weight, reduction)


def warn_of_shapes(input: Tensor, target: Tensor) -> None:
    """Warn, in PyTorch's words, of a target whose shape differs from the input's."""
    if isinstance(target, Tensor) and target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )


def subtract_target(input: Tensor, target: Tensor) -> Tensor:
    """Return input - target; warns when the shapes differ."""
    warn_of_shapes(input, target)
    return input - target


def l1_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|."""
    return weigh_losses(abs(subtract_target(input, target)), weight, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target)^2."""
    warn_of_shapes(input, target)
    if input.shape != target.shape:
        input, target = broadcast_tensors(input, target)
    if weight is None:
        return loss("square_loss", input, target, reduction)
    return weigh_losses(loss("square_loss", input, target, "none"), weight, reduction)


def huber(difference: Tensor, width: float) -> Tensor:
    """Return difference^2 / 2 where |difference| < width, width (|difference| - width / 2) beyond."""
    size = abs(difference)
    return where(size < width, 0.5 * difference * difference, width * (size - 0.5 * width))


@records_as("SmoothL1LossBackward0")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """(input - target)^2 / (2 beta) near 0, |input - target| - beta / 2 from beta on."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return reduce_losses(huber(subtract_target(input, target), beta) / beta, reduction)


@records_as("HuberLossBackward0")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """(input - target)^2 / 2 near 0, delta (|input - target| - delta / 2) from delta on."""
    if not isinstance(delta, int | float):
        raise TypeError(f"delta must be a float or int, got: {type(delta)}")
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    losses = huber(subtract_target(input, target), delta)
    return reduce_losses(losses if weight is None else losses * weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target (log(target) - input) for log-probabilities input; 'batchmean' divides the sum by the first length."""
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = entry("x_log_x")(target) - target * input
    if reduction == "batchmean":
        return divide_by_count(losses.sum(), input.shape[0]) if input.ndim else losses
    return reduce_losses(losses, reduction)
