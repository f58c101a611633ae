"""Terms of losses of probabilities, whose values and slopes need care at 0 and 1."""

from __future__ import annotations

import numpy as np

from .table import POSITIVE, elementwise

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
