"""Losses of classes, and terms of losses of probabilities, whose values and slopes need care at 0 and 1."""

from __future__ import annotations

import numpy as np

from .index import Index, put
from .shapes import shape_of
from .table import POSITIVE, A, Sample, elementwise, linear

LOWEST_LOG = -100.0
SMALLEST = 1e-12


def floored_log(x):
    """log(x), at least -100."""
    return np.maximum(np.log(x), LOWEST_LOG)


def cross_entropy(x, t):
    """-(t log(x) + (1 - t) log(1 - x)) with logarithms of at least -100."""
    with np.errstate(divide="ignore"):
        return (t - 1) * np.maximum(np.log1p(-x), LOWEST_LOG) - t * floored_log(x)


def cross_entropy_dx(_, x, t):
    """(x - t) / (x (1 - x))."""
    return (x - t) / np.maximum((1 - x) * x, SMALLEST)


def cross_entropy_dt(_, x, _t):
    """log(1 - x) - log(x)."""
    return np.log1p(-x) - np.log(x)


elementwise(
    cross_entropy,
    cross_entropy_dx,
    cross_entropy_dt,
    name="binary_cross_entropy_terms",
    node="BinaryCrossEntropy",
    complex=False,
    domain=((0.1, 0.9), (0.1, 0.9)),
    public=False,
    doc="-(t log(x) + (1 - t) log(1 - x)).",
)


def x_log_x(x):
    """x log(x), 0 at 0."""
    return x * np.log(np.where(x == 0, 1.0, x))


elementwise(
    x_log_x,
    lambda _, x: np.log(x) + 1,
    name="x_log_x",
    node="Xlogy",
    complex=False,
    domain=(POSITIVE,),
    public=False,
    twin="x * log(x)",
    doc="x log(x), 0 at 0.",
    subgradient="-inf at 0",
)


# -- classes --------------------------------------------------------------------------------------


def class_index(classes: np.ndarray, places: np.ndarray, shape: tuple[int, ...]) -> Index:
    """Return the index of the scores of one class per place, for scores of shape (N, C, ...) or (C,).

    classes: shape (N, ...) or (). places: which of them count, of the same shape.
    """
    rows = places.nonzero() if len(shape) > 1 else ()
    index = Index((*rows[:1], classes[places], *rows[1:]), shape)
    index.joined = index.unique = True  # one class a place: nothing is taken twice
    return index


def class_loss(x, *, index, weights, total):
    """-(sum of the weighed scores) / total; a loss of 0 has no minus sign."""
    return (0 - (index.take(x) * weights).sum(-1)) / total


def class_loss_dx(g, _out, _x, *, index, weights, total):
    """-g weights / total at the scores that were taken."""
    share = g / -total
    lead = shape_of(share)
    return put(share.reshape((*lead, 1)) * weights, index=index, lead=lead)


def class_loss_signature(x, classes, weights=None, total=1.0):
    """Bind class_loss for classes all of which count; weights, one per place, do not widen the scores' type."""
    classes = np.asarray(classes)
    index = class_index(classes, np.ones(classes.shape, bool), shape_of(x))
    return (x,), {"index": index, "weights": unit_weights(index) if weights is None else weights, "total": total}


def unit_weights(index: Index) -> np.ndarray:
    """Return a weight of 1, of the smallest type, for each element that an index of classes takes."""
    return np.ones(len(index.key[-1]), np.int8)


linear(
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
    public=False,
    doc="-(sum of the scores of one class per place, weighed) / total: the loss behind nll_loss and cross_entropy.",
)
