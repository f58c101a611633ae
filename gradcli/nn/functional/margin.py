"""Losses that ask for a margin between what belongs together and what does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...face.select import where
from ...tape.tensor import Tensor
from .arguments import constant, legacy, reduced, run
from .distances import pairwise_distance

EPSILON = 1e-12


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1."""
    near = where(target != 1, (margin - input).clamp_min(0), 0.0)
    far = where(target != -1, input, 0.0)
    return reduced(near + far, legacy(reduction, size_average, reduce))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(input1, input2) where the target is 1, max(0, cos - margin) where it is -1."""
    if target.ndim > 1 or input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, "
            f"but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    squares = ((x * x).sum(-1) + EPSILON for x in (input1, input2))
    first, second = squares
    cosine = (input1 * input2).sum(-1) / (first * second).sqrt()
    loss = where(target == 1, 1 - cosine, 0.0) + where(target == -1, (cosine - margin).clamp_min(0), 0.0)
    return reduced(loss, legacy(reduction, size_average, reduce))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin - target (input1 - input2)): the target 1 says that input1 ranks higher, -1 lower."""
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    loss = (-target * (input1 - input2) + margin).clamp_min(0)
    return reduced(loss, legacy(reduction, size_average, reduce))


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target input))."""
    loss = run("softplus", -target * input, beta=1.0, threshold=np.inf)
    return reduced(loss, legacy(reduction, size_average, reduce))


def rows(x: Tensor) -> Tensor:
    """Return x (N, C), (C,) or () with two axes."""
    return x.reshape(-1, x.shape[-1]) if x.ndim else x.reshape(1, 1)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the other classes i of max(0, margin - input[target] + input[i])^p; input (N, C) or (C,)."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    x = rows(input)
    count, classes = x.shape
    labels = target.detach().numpy().reshape(-1)
    if labels.shape != (count,) or (labels.size and not 0 <= labels.min() <= labels.max() < classes):
        raise RuntimeError(f"multi_margin_loss: target {labels.tolist()[:4]} does not fit input {list(input.shape)}")
    lines = np.arange(count)
    others = np.ones((count, classes), bool)
    others[lines, labels] = False
    gap = (margin - x[lines, labels][:, None] + x).relu()
    terms = where(constant(others), gap if p == 1 else gap * gap, 0.0)
    if weight is not None:
        terms = terms * weight[labels][:, None]
    loss = terms.sum(1) / classes
    return reduced(loss.squeeze(0) if target.ndim == 0 else loss, legacy(reduction, size_average, reduce))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Sum of max(0, 1 - input[j] + input[i]) over target classes j and other classes i, divided by the classes.

    target: class numbers per row, ended by -1; input (N, C) or (C,).
    """
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size {list(target.shape)} for input of size {list(input.shape)}")
    x, labels = rows(input), target.detach().numpy().reshape(rows(input).shape)
    count, classes = x.shape
    real = np.logical_and.accumulate(labels >= 0, axis=1)
    safe = np.where(real, labels, 0)
    wanted = np.zeros((count, classes), bool)
    np.logical_or.at(wanted, (np.arange(count)[:, None], safe), real)
    gap = (1 - x[np.arange(count)[:, None], safe][:, :, None] + x[:, None, :]).relu()
    loss = where(constant(real[:, :, None] & ~wanted[:, None, :]), gap, 0.0).sum((1, 2)) / classes
    return reduced(loss.squeeze(0) if input.ndim < 2 else loss, legacy(reduction, size_average, reduce))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + |anchor - positive| - |anchor - negative|) with the p-norm."""

    def distance(x: Tensor, y: Tensor) -> Tensor:
        return pairwise_distance(x, y, p, eps)

    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=distance,
        margin=margin,
        swap=swap,
        reduction=legacy(reduction, size_average, reduce),
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)); swap: the nearer of anchor and positive."""
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = np.minimum(far, distance(positive, negative))
    return reduced((margin + distance(anchor, positive) - far).clamp_min(0), reduction)
