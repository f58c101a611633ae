"""Numbers and element names, as every format writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..results.labels import label

NONE = "none"
"""What is written for a gradient that is None."""


def number(x: Any, precision: int | None = None) -> str:
    """Return a number so that it reads back equal, or with so many significant digits.

    x: a NumPy scalar; complex ones are written as 1.5+2.0j. None is written so.
    """
    if x is None:
        return NONE
    if isinstance(x, complex | np.complexfloating):
        real, imag = number(x.real, precision), number(x.imag, precision)
        return f"{real}{imag if imag.startswith('-') else '+' + imag}j"
    if isinstance(x, bool | np.bool_):
        return str(bool(x))
    if precision is not None:
        return f"{float(x):.{precision}g}"
    return str(x) if isinstance(x, np.float32 | np.integer) else repr(float(x))


def numbers(array: np.ndarray | None, precision: int | None = None) -> list[str]:
    """Return an array's numbers in order, as `number` writes them; None as a single one."""
    if array is None:
        return [NONE]
    if precision is None and array.dtype == np.float64:
        return list(map(repr, array.ravel().tolist()))
    return [number(x, precision) for x in array.ravel()]


PARTS = {"": "", "re": "real part of ", "im": "imaginary part of "}


def label_part(name: str, index: tuple[int | str, ...], part: str) -> str:
    """Return the name of an element, or of its real or imaginary part."""
    return PARTS[part] + label(name, index)


def elements(name: str, array: np.ndarray | None) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of every element, the last axis fastest; None as a single one."""
    if array is None:
        yield name, None
        return
    for index in np.ndindex(array.shape):
        yield label(name, index), array[index]
