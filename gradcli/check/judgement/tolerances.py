"""PyTorch's rule, for who asks for tolerances: central differences with one step, |a - n| <= atol + rtol |n|."""

from __future__ import annotations

import numpy as np

from ..subjects.flatten import Flat
from .verdict import FAIL, PASS, Judgement

EPS, ATOL, RTOL = 1e-6, 1e-5, 1e-3


def judge_fixed(flat: Flat, judgement: Judgement, eps: float | None, atol: float | None, rtol: float | None) -> None:
    """Decide every entry by fixed tolerances; the reference gets the differences, with the tolerance as error."""
    eps, atol, rtol = (
        default if given is None else given for given, default in ((eps, EPS), (atol, ATOL), (rtol, RTOL))
    )
    numeric = central(flat, np.arange(flat.size), eps)
    judgement.margin = 1.0
    judgement.slack[:] = judgement.floor[:] = 0
    reference = judgement.reference
    reference.value[:], reference.error[:] = numeric, atol + rtol * np.abs(numeric)
    with np.errstate(all="ignore"):
        right = np.abs(judgement.analytic - numeric) <= reference.error
    judgement.state[:] = np.where(right, PASS, FAIL)


def central(flat: Flat, elements: np.ndarray, eps: float) -> np.ndarray:
    """Return central differences of all outputs with one step along some elements: shape (m, elements)."""
    n = len(elements)
    values = flat.along(np.repeat(elements, 2), np.tile([eps, -eps], n)).reshape((n, 2, len(flat.f0)))
    return ((values[:, 0] - values[:, 1]) / (2 * eps)).T
