"""Losses of numbers and of classes, and terms of losses of probabilities that need care at 0 and 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .activation import logsigmoid, sigmoid
from .index import Index, put
from .shapes import negative_axes, rank, shape_of, unreduce
from .table import POSITIVE, A, Sample, internal, rule

LOWEST_LOG = -100.0
SMALLEST = float(np.float32(1e-12))


def x_log_x(x):
    """x log(x), 0 at 0."""
    return x * np.log(np.where(x == 0, 1.0, x))


internal.elementwise(
    x_log_x, lambda _, x: np.log(x) + 1, name="x_log_x", node="Xlogy", domain=(POSITIVE,), twin="x * log(x)"
)


def loss_entry(name: str, loss: Callable, *vjps: Callable, **options: Any) -> None:
    """Enter the sum over axis of loss(x, t) / total, for two arrays of one shape."""
    internal.general(
        name,
        lambda x, t, *, axis, total: np.add.reduce(loss(x, t), axis=axis) / total,
        *vjps,
        bind=lambda x, y, total=1.0: ((x, y), {"axis": negative_axes(None, rank(x)), "total": total}),
        complex=False,
        promote=None,
        samples=(Sample(A(3, 4), A(3, 4)), Sample(A(2, 3, 2), A(2, 3, 2), total=12.0), Sample(A(), A())),
        **options,
    )


def square(x, y):
    """(x - y)^2, as a product: the power of a single number is sometimes rounded differently."""
    difference = x - y
    return difference * difference


def square_loss_dx(g, _out, x, y, *, axis, total):
    """2 g (x - y) / total."""
    return 2 / total * (x - y) * unreduce(g, x.shape, axis, False)


loss_entry(
    "square_loss",
    square,
    square_loss_dx,
    rule(
        "2 g (y - x) / total",
        lambda g, _out, x, y, *, axis, total: square_loss_dx(g, None, y, x, axis=axis, total=total),
    ),
    node="MseLoss",
    doc="Sum of the squared differences of two arrays of one shape, over total: the loss behind mse_loss.",
)


def cross_entropy(x, t):
    """-(t log(x) + (1 - t) log(1 - x)) with logarithms of at least -100."""
    with np.errstate(divide="ignore"):
        return (t - 1) * np.maximum(np.log1p(-x), LOWEST_LOG) - t * np.maximum(np.log(x), LOWEST_LOG)


def over_total(formula: str, slope: Callable) -> Callable:
    return rule(formula, lambda g, _out, x, t, *, axis, total: slope(x, t) * unreduce(g, x.shape, axis, False) / total)


loss_entry(
    "probability_loss",
    cross_entropy,
    over_total("g (x - t) / (x (1 - x)) / total", lambda x, t: (x - t) / np.maximum((1 - x) * x, SMALLEST)),
    over_total("g (log(1 - x) - log(x)) / total", lambda x, _t: np.log1p(-x) - np.log(x)),
    node="BinaryCrossEntropy",
    domain=((0.1, 0.9), (0.1, 0.9)),
    doc="Sum of the cross entropies of two probabilities, over total: the loss behind binary_cross_entropy.",
)
loss_entry(
    "logit_loss",
    lambda x, t: (1 - t) * x - logsigmoid.forward(x),
    over_total("(sigmoid(x) - t) g / total", lambda x, t: sigmoid(x) - t),
    over_total("-x g / total", lambda x, _t: -x),
    node="BinaryCrossEntropyWithLogits",
    doc="Sum of the cross entropies of sigmoid(x), over total: the loss behind binary_cross_entropy_with_logits.",
)


def class_index(classes: np.ndarray, places: np.ndarray | None, shape: tuple[int, ...]) -> Index:
    """Return the index of one class per place in scores (N, C, ...) or (C,). places: which count, None for all."""
    if len(shape) == 2 and places is None:
        return Index.of_places((np.arange(shape[0]), classes), shape)
    places = np.ones(classes.shape, bool) if places is None else places
    rows = places.nonzero() if len(shape) > 1 else ()
    return Index.of_places((*rows[:1], classes[places], *rows[1:]), shape)


def class_loss(x, *, index, weights, total):
    """-(sum of the weighted scores) / total, never -0."""
    taken = index.take(x)
    return (0 - (taken if weights is None else taken * weights).sum(-1)) / total


def class_loss_dx(g, _out, _x, *, index, weights, total):
    """-g weights / total at the scores that were taken."""
    share = g / -total
    if isinstance(share, np.generic):
        return index.put(share if weights is None else share * weights, ())
    lead = shape_of(share)
    each = np.ones(len(index.key[-1]), np.int8) if weights is None else weights
    return put(share.reshape((*lead, 1)) * each, index=index, lead=lead)


def class_loss_signature(x, classes, weights=None, total=1.0):
    """Bind class_loss where all classes count. weights, one per place, do not widen the type of the scores."""
    return (x,), {"index": class_index(np.asarray(classes), None, shape_of(x)), "weights": weights, "total": total}


internal.linear(
    "class_loss",
    class_loss,
    class_loss_dx,
    bind=class_loss_signature,
    node=lambda x_shape, params: "NllLoss2D" if len(params["index"].shape) > 2 else "NllLoss",
    samples=(
        Sample(A(3, 4), [2, 0, 2]),
        Sample(A(3, 4), [2, 0, 2], weights=np.array([1, 0.5, 2], np.float16), total=3.5),
        Sample(A(2, 4, 3), [[1, 0, 3], [2, 2, 1]], total=6.0),
        Sample(A(4), 1),
    ),
)
