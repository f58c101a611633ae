"""Losses: distances from a target, and losses of class scores and probabilities."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

import numpy as np

from ..api.arithmetic import pick_positions
from ..api.index import where
from ..api.shape import broadcast_tensors
from ..api.wrap import as_method_operand, records_as
from ..rules import entry
from ..rules.pointwise import class_index
from ..rules.shapes import lay_along
from ..tape.record import dispatch
from ..tape.tensor import Tensor
from .layers import Applied, layer


def check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def reduce_losses(values: Any, reduction: str) -> Any:
    check_reduction(reduction)
    return values if reduction == "none" else getattr(values, reduction)()


def loss_by_entry(name: str, input: Tensor, target: Tensor, reduction: str, weight: Tensor | None = None) -> Tensor:
    """Record a loss that is one entry of the table, weighted and reduced. The operands have the same shape."""
    check_reduction(reduction)
    if weight is not None:
        return reduce_losses(loss_by_entry(name, input, target, "none") * weight, reduction)
    axis = () if reduction == "none" else (*range(-input.ndim, 0),)
    total = (math.prod(input.shape) or math.nan) if reduction == "mean" else 1
    return dispatch(entry(name), (input, target), {"axis": axis, "total": total})


def warn_of_shapes(input: Tensor, target: Tensor) -> None:
    """Warn, as PyTorch does, if the shapes of target and input differ."""
    if isinstance(target, Tensor) and target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """|input - target|."""
    warn_of_shapes(input, target)
    return reduce_losses(abs(input - target), reduction)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(input - target)^2."""
    warn_of_shapes(input, target)
    if input.shape != target.shape:
        input, target = broadcast_tensors(input, target)
    return loss_by_entry("square_loss", input, target, reduction)


def huber(difference: Tensor, width: float) -> Tensor:
    """Return difference^2 / 2 where |difference| < width, and width (|difference| - width / 2) elsewhere."""
    size = abs(difference)
    return where(size < width, 0.5 * difference * difference, width * (size - 0.5 * width))


@records_as("SmoothL1LossBackward0")
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """(input - target)^2 / (2 beta) where |input - target| < beta, |input - target| - beta / 2 elsewhere."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction)
    warn_of_shapes(input, target)
    return reduce_losses(huber(input - target, beta) / beta, reduction)


@records_as("HuberLossBackward0")
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """(input - target)^2 / 2 where |input - target| < delta, delta (|input - target| - delta / 2) elsewhere."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    warn_of_shapes(input, target)
    return reduce_losses(huber(input - target, delta), reduction)


def check_target(x: Tensor, target: Tensor) -> None:
    """Raise RuntimeError or ValueError unless target has one class per position of x (N, C, ...) or (C,)."""
    shape, given = tuple(x.shape), tuple(target.shape)
    if not shape:
        raise RuntimeError("a class loss needs an input with at least 1 axis")
    expected = shape[:1] + shape[2:] if len(shape) > 1 else ()
    if given == expected or (len(shape) == 1 and given == (1,)):
        return
    if len(shape) > 1 and given and given[0] != shape[0]:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({given[0]}).")
    raise RuntimeError(f"Expected target size {list(expected)}, got {list(given)}")


def class_losses(
    scores: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, smoothing: float = 0.0
) -> Tensor:
    """Return the weighted -scores of the target classes; the mean divides by the sum of weights. Raises IndexError."""
    check_target(scores, target)
    check_reduction(reduction)
    shape = tuple(scores.shape)
    classes = target.detach().numpy().reshape(shape[:1] + shape[2:] if len(shape) > 1 else ())
    inside = (classes >= 0) & (classes < shape[min(len(shape) - 1, 1)])
    counts = inside & (classes != ignore_index)
    wrong = ~inside & (classes != ignore_index)
    if wrong.any():
        raise IndexError(f"Target {classes[wrong].flat[0]} is out of bounds.")
    if reduction == "none" or smoothing or (weight is not None and weight.requires_grad):
        return loss_at_each(scores, np.where(counts, classes, 0), counts, weight, reduction, smoothing)
    index = class_index(classes, None if counts.all() else counts, shape)
    weights = None if weight is None else weight.detach().numpy()[classes[counts]]
    total: float = 1
    if reduction == "mean":
        total = (len(index.key[-1]) if weights is None else float(weights.sum())) or math.nan
    return dispatch(entry("class_loss"), (scores,), {"index": index, "weights": weights, "total": total})


def loss_at_each(
    scores: Tensor, classes: np.ndarray, places: np.ndarray, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    """Compute class_losses position by position; supports smoothing and gradients of the weights."""
    axis = 0 if scores.ndim == 1 else 1
    taken = pick_positions(scores, np.expand_dims(classes, axis), axis - scores.ndim, "NllLossBackward0")
    losses = -taken.squeeze(axis)
    if weight is None:
        weights: Any = as_method_operand(places.astype(scores.dtype))
        spread = scores
    else:
        weights = where(as_method_operand(places), weight[classes], 0.0)
        losses = losses * weights
        spread = scores * lay_along(weight, axis - scores.ndim)
    if smoothing:
        losses = losses * (1 - smoothing) - spread.sum(axis) * (smoothing / scores.shape[axis])
    losses = where(as_method_operand(places), losses, 0.0)
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
    """-log_softmax(input) at the target classes, or its mean under target probabilities of the shape of input.

    label_smoothing: fraction of the target that is spread equally over all classes.
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
        kind = "a floating point type for class probabilities" if probabilities else "Long or Byte for classes"
        raise RuntimeError(
            f"expected target dtype to be {kind}, but got {target.dtype.title} (probabilities have the input's shape)"
        )
    if probabilities and ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    scores = input.log_softmax(axis)
    if not probabilities:
        return class_losses(scores, target, weight, ignore_index, reduction, label_smoothing)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        scores = scores * lay_along(weight, axis - len(shape))
    losses = -(scores * target).sum(axis)
    if reduction == "mean":
        return losses.sum() / (math.prod(shape) / classes or math.nan)
    return reduce_losses(losses, reduction)


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target (log(target) - input), where input is log-probabilities; 'batchmean' divides the sum by len(input)."""
    losses = target.exp() * (target - input) if log_target else entry("x_log_x")(target) - target * input
    if reduction == "batchmean":
        return losses.sum() / (input.shape[0] or math.nan) if input.ndim else losses
    return reduce_losses(losses, reduction)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """-(target log(input) + (1 - target) log(1 - input)), with logarithms limited to >= -100.

    Raises ValueError if the shapes of target and input differ, and RuntimeError for input outside [0, 1].
    """
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
            "deprecated. Please ensure they have the same size."
        )
    data = input.detach()
    if not bool(((data >= 0) & (data <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    return loss_by_entry("probability_loss", input, target, reduction, weight)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(input), without overflow; pos_weight multiplies the loss of positive targets."""
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if pos_weight is None:
        return loss_by_entry("logit_loss", input, target, reduction, weight)
    losses = (1 - target) * input - entry("logsigmoid")(input) * ((pos_weight - 1) * target + 1)
    return reduce_losses(losses if weight is None else losses * weight, reduction)


class Loss(Applied):
    """A loss whose weights are buffers."""

    def _set(self, name: str, value: Any) -> None:
        if name in ("weight", "pos_weight"):
            self.register_buffer(name, value)
        else:
            setattr(self, name, value)


loss = partial(layer, base=Loss, shown="")
L1Loss = loss("L1Loss", l1_loss, reduction="mean")
MSELoss = loss("MSELoss", mse_loss, reduction="mean")
SmoothL1Loss = loss("SmoothL1Loss", smooth_l1_loss, reduction="mean", beta=1.0)
HuberLoss = loss("HuberLoss", huber_loss, reduction="mean", delta=1.0)
KLDivLoss = loss("KLDivLoss", kl_div, reduction="mean", log_target=False)
BCELoss = loss("BCELoss", binary_cross_entropy, weight=None, reduction="mean")
BCEWithLogitsLoss = loss(
    "BCEWithLogitsLoss", binary_cross_entropy_with_logits, weight=None, reduction="mean", pos_weight=None
)
of_classes = partial(loss, weight=None, ignore_index=-100, reduction="mean")
NLLLoss = of_classes("NLLLoss", nll_loss)
CrossEntropyLoss = of_classes("CrossEntropyLoss", cross_entropy, label_smoothing=0.0)
