"""How many digits of a program's value and gradients are right over a range, and which operations lose the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..program.base import Program, silence_prints
from ..results.precision import Loss, Precision
from .cancellation import find_loss
from .float_error import POINTS, Exactness, Numbers, points_between
from .gradient import Request
from .plot import check_plotted_output


def measure_precision(
    program: Program,
    given: Mapping[str, np.ndarray],
    over: tuple[str, float, float],
    request: Request,
    points: int = POINTS,
    dtype: Any = np.float64,
) -> Precision:
    """Return how many digits of a program's value and gradients are right between two ends of one input.

    Raises GradcliError for an output that is no real number.
    """
    name, low, high = over
    if name in given:
        raise GradcliError(f"'{name}' has a value and a range", hint=f"leave out {name}=...", kind="usage")
    x = points_between(low, high, points, np.dtype(dtype))
    output = check_plotted_output(program, {**given, name: x[-1]}, [name], request.out, "measured")
    with silence_prints(program):
        right = Exactness(program, given, name, x, request)
        value, gradients = right.count_digits(program)
        losses = find_losses(program, right, value, gradients)
    return Precision(program.title, name, x, right.full, value, gradients, losses, output)


def find_losses(program: Program, right: Exactness, value: np.ndarray, gradients: Numbers) -> tuple[Loss, ...]:
    """Return for the value and each gradient which operation loses its digits, where more than a quarter is lost."""
    losses = []
    for of, digits in {"value": value, **gradients}.items():
        if np.isfinite(digits).any() and np.nanmin(digits) < 0.75 * right.full:
            at = float(right.x[np.nanargmin(digits)])
            losses.append(find_loss(program, right, of, at))
    return tuple(loss for loss in losses if loss is not None)
