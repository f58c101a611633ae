"""Losses: distances of a prediction from a target, of scores of classes, and of probabilities."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ...api.index import where
from ...api.reduce import pick_positions, softmax_by_entry
from ...api.shape import broadcast_tensors
from ...api.wrap import operand, records_as
from ...errors import add_advice
from ...rules import entry
from ...rules.losses import class_index
from ...rules.shapes import lay_along
from ...tape.record import dispatch
from ...tape.tensor import Tensor
from .activation import logsigmoid


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


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """|input - target|."""
    return weigh_losses(abs(subtract_target(input, target)), weight, reduction)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
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
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
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


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target (log(target) - input) for log-probabilities input; 'batchmean' divides the sum by the first length."""
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = entry("x_log_x")(target) - target * input
    if reduction == "batchmean":
        return divide_by_count(losses.sum(), input.shape[0]) if input.ndim else losses
    return reduce_losses(losses, reduction)


def check_target(x: Tensor, target: Tensor) -> None:
    """Raise RuntimeError or ValueError unless target has one class for every place of x (N, C, ...) or (C,)."""
    shape, given = tuple(x.shape), tuple(target.shape)
    if not shape:
        raise RuntimeError("a loss of classes needs input of at least 1 axis")
    expected = shape[:1] + shape[2:] if len(shape) > 1 else ()
    if given == expected or (len(shape) == 1 and given == (1,)):
        return
    if len(shape) > 1 and given and given[0] != shape[0]:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({given[0]}).")
    raise RuntimeError(f"Expected target size {list(expected)}, got {list(given)}")


def class_losses(
    scores: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, smoothing: float = 0.0
) -> Tensor:
    """Return -scores of the target classes, weighed; the mean divides by the sum of the weights.

    Raises IndexError for no class.
    """
    check_target(scores, target)
    shape = tuple(scores.shape)
    classes = target.detach().numpy().reshape(shape[:1] + shape[2:] if len(shape) > 1 else ())
    count = shape[0 if len(shape) == 1 else 1]
    places = None if are_below(classes, count) else (classes >= 0) & (classes < count)
    if 0 <= ignore_index < count:
        places = (classes != ignore_index) if places is None else places & (classes != ignore_index)
    if places is not None:
        wrong = ~places & (classes != ignore_index)
        if wrong.any():
            raise IndexError(f"Target {classes[wrong].flat[0]} is out of bounds.")
    if reduction not in ("mean", "sum") or smoothing or (weight is not None and weight.requires_grad):
        counts = np.ones(classes.shape, bool) if places is None else places
        return loss_at_each(scores, np.where(counts, classes, 0), counts, weight, reduction, smoothing)
    index = class_index(classes, places, shape)
    weights = (
        None if weight is None else weight.detach().numpy()[classes.ravel() if places is None else classes[places]]
    )
    total: float = 1
    if reduction == "mean":
        total = (len(index.key[-1]) if weights is None else float(weights.sum())) or math.nan
    return dispatch(entry("class_loss"), (scores,), {"index": index, "weights": weights, "total": total})


def are_below(classes: np.ndarray, count: int) -> bool:
    """Return whether all numbers of classes are at least 0 and below a count."""
    if classes.dtype.kind == "i":
        classes = classes.view(f"u{classes.itemsize}")  # negative numbers become the largest
    return classes.size == 0 or int(classes.max()) < count


def loss_at_each(
    scores: Tensor, classes: np.ndarray, places: np.ndarray, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    """Return class_losses composed of simpler operations: one per place, smoothed, or with gradients of weights.

    places: which classes count.
    """
    axis = 0 if scores.ndim == 1 else 1
    taken = pick_positions(scores, np.expand_dims(classes, axis), axis - scores.ndim, "NllLossBackward0")
    losses = -taken.squeeze(axis)
    if weight is None:
        weights: Any = operand(places.astype(scores.dtype))
        spread = scores
    else:
        weights = where(operand(places), weight[classes], 0.0)
        losses = losses * weights
        spread = scores * lay_along(weight, axis - scores.ndim)
    if smoothing:
        losses = losses * (1 - smoothing) - spread.sum(axis) * (smoothing / scores.shape[axis])
    losses = where(operand(places), losses, 0.0)
    return losses.sum() / weights.sum() if reduction == "mean" else reduce_losses(losses, reduction)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """-input at the target classes, for log-probabilities (N, C, ...) or (C,)."""
    return class_losses(input, target, weight, ignore_index, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log_softmax(input) at the target classes, or its mean over target probabilities in the shape of input.

    label_smoothing: the part of the target that is spread equally over all classes.
    """
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    shape = input.shape
    axis = 0 if len(shape) == 1 else 1
    classes = shape[axis] if shape else 1
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    probabilities = target.shape == shape and len(shape) > 0
    if probabilities == (target.dtype.kind in "iub"):
        raise add_advice(
            RuntimeError(
                "Expected floating point type for target with class probabilities, got " + target.dtype.title
                if probabilities
                else f"expected target dtype to be Long or Byte, but got {target.dtype.title}"
            ),
            f"the target has shape {list(target.shape)}, the input {list(shape)}: probabilities are floats of "
            "the input's shape, classes are whole numbers",
        )
    if probabilities and ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    scores = softmax_by_entry("log_softmax", input, axis)
    if not probabilities:
        return class_losses(scores, target, weight, ignore_index, reduction, label_smoothing)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        scores = scores * lay_along(weight, axis - len(shape))
    losses = -(scores * target).sum(axis)
    if reduction == "mean":
        return divide_by_count(losses.sum(), math.prod(shape) / classes)
    return reduce_losses(losses, reduction)


# -- two classes ----------------------------------------------------------------------------------


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """-(target log(input) + (1 - target) log(1 - input)), logarithms at least -100.

    Raises ValueError for another shape of target, RuntimeError for input outside [0, 1].
    """
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
            "deprecated. Please ensure they have the same size."
        )
    data = input.detach()
    if not bool(((data >= 0) & (data <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if weight is None:
        return loss("probability_loss", input, target, reduction)
    return reduce_losses(loss("probability_loss", input, target, "none") * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(input), without overflow; pos_weight multiplies the loss of positives."""
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if weight is None and pos_weight is None:
        return loss("logit_loss", input, target, reduction)
    if pos_weight is None:
        losses = loss("logit_loss", input, target, "none")
    else:
        losses = (1 - target) * input - logsigmoid(input) * ((pos_weight - 1) * target + 1)
    return reduce_losses(losses if weight is None else losses * weight, reduction)
