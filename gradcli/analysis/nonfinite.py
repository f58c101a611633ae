"""Where a result holds nan, or another number that is not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import EXIT_FAIL, GradcliError


def nan_in(result: Any) -> str | None:
    """Return where a result first holds nan, in words; None where it does not."""
    for what, array, name in getattr(result, "arrays", ()):
        for place in np.argwhere(np.isnan(float_values(array)))[:1].tolist():
            where = name(place)
            at = (
                f" first {'in' if where.startswith('row ') else 'at'} {where}" if what.startswith("the block") else ""
            )
            return f"{what} holds nan{at}"
    return None


def check_finite(result: Any) -> None:
    """Raise GradcliError, with exit code 1, for a result with nan or infinity in it, and say where."""
    for what, array, name in getattr(result, "arrays", ()):
        numbers = float_values(array)
        for place in np.argwhere(~np.isfinite(numbers))[:1].tolist():
            shown, where = numbers[tuple(place)], name(place)
            more = f"not finite: {where} is {shown}" if place or "/" in where else shown
            raise GradcliError(f"{what} is {more}", kind="value", exit_code=EXIT_FAIL)


def float_values(x: np.ndarray) -> np.ndarray:
    """Return an array of numbers; of many digits, as text, none is too large or too small to be finite."""
    if x.dtype.kind not in "OU":
        return x
    return np.vectorize(lambda text: np.nan if "nan" in text else np.inf if "inf" in text else 0.0, otypes=[float])(x)
