"""Exact arithmetic on whole arrays, for entries whose floating-point algorithm is not exact.

The functions here, and the `exact` functions of entries, take object arrays with elements of any field (symbols,
numbers of many digits). Their arguments are the field, which has its functions by name, and then the entry's operands
and parameters. NumPy functions applied to these operands compute in the field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .shapes import count_product, kept_shape

ExactField = Any


class NoTwinError(Exception):
    """An operation has no formula. The message names it and says why."""


def map_elements(function: Callable, operands: tuple) -> Any:
    """Apply a function of elements to broadcast object arrays; the result is always an array."""
    with np.errstate(all="ignore"):
        result = np.frompyfunc(function, len(operands), 1)(*operands)
    return result if isinstance(result, np.ndarray) else box(result)


def box(x: Any) -> np.ndarray:
    """Return an element as a 0-d object array."""
    boxed = np.empty((), object)
    boxed[()] = x
    return boxed


def without_field(x: Any) -> np.ndarray:
    """Return an array without the subclass that would make NumPy call back here."""
    return np.asarray(x).view(np.ndarray)


def exact_extreme(name: str) -> Callable:
    """Return the function for the largest or smallest element over axes; tied elements share the slope."""

    def function(field: ExactField, x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
        x = without_field(x)
        kept = kept_shape(x.shape, axis)
        moved = np.moveaxis(x, axis, range(x.ndim - len(axis), x.ndim))
        rows = moved.reshape(count_product(kept), -1 if x.size else 0)
        if not rows.shape[1] and len(rows):
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        result = map_elements(lambda i: field.functions[name](*rows[i]), (np.arange(len(rows)).reshape(kept),))
        return result if keepdims else np.squeeze(result, axis)

    return function


def exact_astype(field: ExactField, x: Any, *, dtype: np.dtype, source: Any = None) -> Any:
    """Return exact numbers unchanged, but as plain integers for an integer type, because they may be indices."""
    if dtype.kind not in "iu":
        return x
    numbers = [field.as_float(e) for e in without_field(x).ravel().tolist()]
    return x if any(f is None for f in numbers) else np.array(numbers).astype(dtype).reshape(np.shape(x))
