"""Exact linear algebra: Gaussian elimination over any field of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .exact import Field, by_name, map_elements, without_field


def over_stacks(function: Callable) -> Callable:
    """Return a function of one matrix (and others beside it) as one of stacks of them."""

    def call(field: Field, *operands: Any, **params: Any) -> Any:
        arrays = [without_field(x) for x in operands]
        lead = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
        arrays = [np.broadcast_to(x, lead + x.shape[-2:]) for x in arrays]
        results = [function(field, *(x[i] for x in arrays), **params) for i in np.ndindex(lead)]
        first = np.asarray(results[0], object) if results else np.zeros((), object)
        out = np.empty((len(results), *first.shape), object)
        for i, result in enumerate(results):
            out[i] = result
        return out.reshape(lead + first.shape)

    return call


def eliminate(field: Field, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return the solution of a x = b and the determinant of a, by Gaussian elimination."""
    a, b = a.copy(), b.copy()
    n = len(a)
    determinant = field.number(1)
    for k in range(n):
        pivot = next((i for i in pivots(field, a[:, k], k)), None)
        if pivot is None:
            return b * field.functions["nan"], field.number(0)
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
            determinant = -determinant
        determinant = determinant * a[k, k]
        for i in range(k + 1, n):
            ratio = a[i, k] / a[k, k]
            a[i, k:] = a[i, k:] - ratio * a[k, k:]
            b[i] = b[i] - ratio * b[k]
    for k in reversed(range(n)):
        b[k] = (b[k] - a[k, k + 1 :] @ b[k + 1 :] if k + 1 < n else b[k]) / a[k, k]
    return b, determinant


def pivots(field: Field, column: np.ndarray, start: int) -> list[int]:
    """Return the rows that may be pivots, the best first: the largest, or where sizes are unknown, any but 0."""
    rows = [i for i in range(start, len(column)) if column[i] != 0]
    return sorted(rows, key=lambda i: -abs(column[i])) if field.lazy_pieces else rows


@over_stacks
def exact_inverse(field: Field, a: np.ndarray) -> np.ndarray:
    """The inverse of a matrix."""
    return eliminate(field, a, identity(field, len(a)))[0]


def identity(field: Field, n: int) -> np.ndarray:
    """The identity matrix."""
    return map_elements(field.number, (np.eye(n).astype(object),))


@over_stacks
def exact_det(field: Field, a: np.ndarray) -> Any:
    """The determinant of a matrix."""
    if not field.lazy_pieces:
        return field.functions["matrix"](a).det(method="berkowitz")
    return eliminate(field, a, identity(field, len(a)))[1]


def exact_slogdet(field: Field, a: Any) -> tuple[Any, Any]:
    """The determinant's sign and the logarithm of its size."""
    det = without_field(exact_det(field, a))
    return by_name(field, "sign", det), by_name(field, "log", by_name(field, "abs", det))


@over_stacks
def exact_solve(field: Field, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of a x = b."""
    return eliminate(field, a, b)[0]


@over_stacks
def exact_cholesky(field: Field, a: np.ndarray) -> np.ndarray:
    """The lower triangle L with L L^T = a."""
    n = len(a)
    out = map_elements(field.number, (np.zeros((n, n)).astype(object),))
    root = field.functions["sqrt"]
    for j in range(n):
        out[j, j] = root(a[j, j] - out[j, :j] @ out[j, :j] if j else a[j, j])
        for i in range(j + 1, n):
            out[i, j] = (a[i, j] - out[i, :j] @ out[j, :j] if j else a[i, j]) / out[j, j]
    return out


def exact_solve_triangular(field: Field, a: Any, b: Any, *, lower: bool, unit: bool) -> Any:
    """The solution of a x = b where only a triangle of a counts."""
    a = without_field(a)
    half = np.tril(a, -int(unit)) if lower else np.triu(a, int(unit))
    if unit:
        half = half + np.eye(a.shape[-1])
    return exact_solve(field, numbers_of(field, half), b)


def numbers_of(field: Field, x: np.ndarray) -> np.ndarray:
    """Return an array whose elements, zeros that NumPy put there included, are the field's."""
    return map_elements(lambda e: e if field.is_element(e) else field.number(e), (x,))
