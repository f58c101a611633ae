"""PyTorch's rule, for who asks for tolerances: central differences with one step, |a - n| <= atol + rtol |n|."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..reference.jacobian import Reference
from ..subjects.flatten import Flat
from .verdict import FAIL, PASS, Judgement

EPS, ATOL, RTOL = 1e-6, 1e-5, 1e-3


class CentralDifferences(Reference):
    """A reference of central differences with one step; their error is the tolerance."""

    def __init__(self, flat: Flat, eps: float, atol: float, rtol: float):
        super().__init__(flat)
        self.value = central(flat, np.arange(flat.size), eps)
        self.error = atol + rtol * np.abs(self.value)


class FixedJudgement(Judgement):
    """What tolerances decide about every entry."""

    margin = 1.0

    def __init__(self, flat: Flat, analytic: np.ndarray, tolerances: Sequence[float | None]):
        """Decide. tolerances: eps, atol, rtol, None for the usual."""
        chosen = (d if x is None else x for x, d in zip(tolerances, (EPS, ATOL, RTOL), strict=True))
        none = np.zeros(analytic.shape)
        super().__init__(analytic, CentralDifferences(flat, *chosen), none, none)
        with np.errstate(all="ignore"):
            self.state = np.where(np.abs(analytic - self.value) <= self.error, PASS, FAIL)


def central(flat: Flat, elements: np.ndarray, eps: float) -> np.ndarray:
    """Return central differences of all outputs with one step along some elements: shape (m, elements)."""
    n = len(elements)
    values = flat.along(np.repeat(elements, 2), np.tile([eps, -eps], n)).reshape((n, 2, len(flat.f0)))
    return ((values[:, 0] - values[:, 1]) / (2 * eps)).T
