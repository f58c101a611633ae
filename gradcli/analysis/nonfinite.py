"""Where a result holds nan, or another number that is not finite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import EXIT_FAIL, GradcliError


def nan_in(result: Any) -> str | None:
    """Return where a result first holds nan, in words; None where it does not."""
    for what, _, where, _ in places(result, np.isnan):
        at = f" first {'in' if where.startswith('row ') else 'at'} {where}" if what.startswith("the block") else ""
        return f"{what} holds nan{at}"
    return None


def check_finite(result: Any) -> None:
    """Raise GradcliError, with exit code 1, for a result with nan or infinity in it, and say where."""
    for what, place, where, number in places(result, lambda numbers: ~np.isfinite(numbers)):
        more = f"not finite: {where} is {number}" if place or "/" in where else number
        raise GradcliError(f"{what} is {more}", kind="value", exit_code=EXIT_FAIL)


def places(result: Any, wanted: Callable[[np.ndarray], np.ndarray]) -> Iterator[tuple[str, list[int], str, Any]]:
    """Yield the first wanted number of each array of a result: of what it is, its place, that in words, itself."""
    for what, array, name in getattr(result, "arrays", ()):
        numbers = float_values(array)
        for place in np.argwhere(wanted(numbers))[:1].tolist():
            yield what, place, name(place), numbers[tuple(place)]


def float_values(x: np.ndarray) -> np.ndarray:
    """Return an array of numbers; of many digits, as text, none is too large or too small to be finite."""
    if x.dtype.kind not in "OU":
        return x
    return np.vectorize(lambda text: np.nan if "nan" in text else np.inf if "inf" in text else 0.0, otypes=[float])(x)
