"""Exact arithmetic on whole arrays: where the usual way, made for rounded numbers, is not the exact one.

The functions here work on object arrays of elements of any field (symbols, numbers of many digits). They get the
field, which knows its functions by name, then the operands and parameters of the entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .shapes import count_product, kept_shape

Field = Any


class NoTwinError(Exception):
    """An operation has no exact twin. Its message names it and says why."""


def map_elements(function: Callable, operands: tuple) -> Any:
    """Apply a function of elements over broadcast object arrays; a 0-d result is an array, too."""
    with np.errstate(all="ignore"):
        result = np.frompyfunc(function, len(operands), 1)(*operands)
    if isinstance(result, np.ndarray):
        return result
    boxed = np.empty((), object)
    boxed[()] = result
    return boxed


def without_field(x: Any) -> np.ndarray:
    """Return an array without the class that makes NumPy come back here."""
    return np.asarray(x).view(np.ndarray)


def by_name(field: Field, name: str, *operands: Any) -> Any:
    """Apply one of the field's functions element by element."""
    return map_elements(field.functions[name], operands)


def exact_extreme(name: str) -> Callable:
    """Return the largest or smallest element over axes: of all at once, which share the slope where they tie."""

    def function(field: Field, x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
        x = without_field(x)
        kept = kept_shape(x.shape, axis)
        moved = np.moveaxis(x, axis, range(x.ndim - len(axis), x.ndim))
        rows = moved.reshape(count_product(kept), -1 if x.size else 0)
        if not rows.shape[1] and len(rows):
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        result = map_elements(lambda i: field.functions[name](*rows[i]), (np.arange(len(rows)).reshape(kept),))
        return result if keepdims else squeeze_axes(result, axis)

    return function


def squeeze_axes(x: Any, axis: tuple[int, ...]) -> np.ndarray:
    """Return an array without these axes."""
    x = np.asarray(x)
    return x.reshape([n for i, n in enumerate(x.shape) if i - x.ndim not in axis])


def sum_axes(x: Any, axis: tuple[int, ...]) -> np.ndarray:
    """Return sums over axes, kept as axes."""
    return np.add.reduce(without_field(x), axis=axis, keepdims=True) if axis else without_field(x)


def exact_reduction(function: Callable) -> Callable:
    """Return a reduction from a function that keeps the axes."""

    def reduce(field: Field, x: Any, *, axis: tuple[int, ...], keepdims: bool, **params: Any) -> Any:
        result = function(field, without_field(x), axis, **params)
        return result if keepdims else squeeze_axes(result, axis)

    return reduce


def exact_softmax(field: Field, x: Any, *, axis: tuple[int, ...]) -> Any:
    """exp(x) / sum(exp(x))."""
    e = by_name(field, "exp", without_field(x))
    return e / sum_axes(e, axis)


def exact_log_softmax(field: Field, x: Any, *, axis: tuple[int, ...]) -> Any:
    """x - log(sum(exp(x)))."""
    return without_field(x) - by_name(field, "log", sum_axes(by_name(field, "exp", without_field(x)), axis))


@exact_reduction
def exact_logsumexp(field: Field, x: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    """log(sum(exp(x)))."""
    return by_name(field, "log", sum_axes(by_name(field, "exp", x), axis))


@exact_reduction
def exact_norm(field: Field, x: np.ndarray, axis: tuple[int, ...], ord: float) -> np.ndarray:
    """The p-norm over axes."""
    size = by_name(field, "abs", x)
    if ord == np.inf or ord == -np.inf:
        return exact_extreme("maximum" if ord > 0 else "minimum")(field, size, axis=axis, keepdims=True)
    if ord == 0:
        raise NoTwinError("the norm of order 0 counts, it is no formula")
    order = field.number(ord)
    if ord == 1:
        return sum_axes(size, axis)
    if ord == 2:
        return by_name(field, "sqrt", sum_axes(size * size, axis))
    return sum_axes(size**order, axis) ** (1 / order)


@exact_reduction
def exact_var(field: Field, x: np.ndarray, axis: tuple[int, ...], correction: float) -> np.ndarray:
    """Squared deviations from the mean over axes, divided by n - correction."""
    n = int(np.prod([x.shape[a] for a in axis]))
    deviation = without_field(x - sum_axes(x, axis) / field.number(n))
    if any(field.is_complex(e) for e in deviation.ravel().tolist()):
        deviation = by_name(field, "abs", deviation)
    return sum_axes(deviation * deviation, axis) / field.number(n - correction)


def exact_std(field: Field, x: Any, **params: Any) -> Any:
    return by_name(field, "sqrt", without_field(exact_var(field, x, **params)))


@exact_reduction
def exact_mean(field: Field, x: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    return sum_axes(x, axis) / field.number(int(np.prod([x.shape[a] for a in axis])))


def exact_angle(field: Field, x: Any) -> Any:
    """The argument of complex numbers."""
    return map_elements(lambda e: field.functions["atan2"](*reversed(field.parts(e))), (without_field(x),))


def exact_part(place: int) -> Callable:
    """Return the real (0) or imaginary (1) parts."""
    return lambda field, x: map_elements(lambda e: field.parts(e)[place], (without_field(x),))


def exact_astype(field: Field, x: Any, *, dtype: np.dtype, source: Any = None) -> Any:
    """Another type: exact numbers have none, but whole numbers to index with are plain integers."""
    if dtype.kind not in "iu":
        return x
    numbers = [field.as_float(e) for e in without_field(x).ravel().tolist()]
    return x if any(f is None for f in numbers) else np.array(numbers).astype(dtype).reshape(np.shape(x))


def exact_logcumsumexp(field: Field, x: Any, *, axis: int) -> Any:
    """Logarithms of cumulated sums of exponentials along an axis."""
    return by_name(field, "log", np.cumsum(by_name(field, "exp", without_field(x)), axis=axis))
