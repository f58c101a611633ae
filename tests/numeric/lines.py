"""Samplers of plain functions, for the tests of the numeric core."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.claims.hand_written import claim_by_hand
from gradcli.numeric.flat import Flat
from gradcli.numeric.sampler import Sampler


def sampler_of(f: Callable, x: Any, grad: Callable = np.zeros_like) -> Sampler:
    """Return a sampler of a function of one array; ArithmeticError and ValueError become nan."""

    def value(x: np.ndarray) -> Any:
        try:
            return np.asarray(f(x if x.ndim else float(x)), float)
        except (ArithmeticError, ValueError):
            return np.float64(np.nan)

    return Sampler(Flat(claim_by_hand(value, {"x": np.asarray(x, float)}, {"grad": grad}, None, False)))
