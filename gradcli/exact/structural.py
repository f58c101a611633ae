"""Operations on whole arrays whose usual way, made for rounded numbers, is not the exact one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .field import Field, NoTwinError, elementwise


def plain(x: Any) -> np.ndarray:
    """Return an array without the class that makes NumPy come back here."""
    return np.asarray(x).view(np.ndarray)


def by_name(field: Field, name: str, *operands: Any) -> Any:
    """Apply one of the field's functions element by element."""
    return elementwise(field.functions[name], operands)


def exact_where(field: Field, condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y."""
    return elementwise(field.choose, (plain(condition), plain(x), plain(y)))


def exact_extreme(name: str) -> Callable:
    """Return the largest or smallest element over axes."""

    def function(field: Field, x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
        combine = np.frompyfunc(field.functions[name], 2, 1)
        result = plain(x)
        for a in sorted(axis):
            result = combine.reduce(result, axis=a, keepdims=True)
        return result if keepdims else squeeze_axes(result, axis)

    return function


def squeeze_axes(x: Any, axis: tuple[int, ...]) -> np.ndarray:
    """Return an array without these axes."""
    x = np.asarray(x)
    return x.reshape([n for i, n in enumerate(x.shape) if i - x.ndim not in axis])


def sum_axes(x: Any, axis: tuple[int, ...]) -> np.ndarray:
    """Return sums over axes, kept as axes."""
    return np.add.reduce(plain(x), axis=axis, keepdims=True) if axis else plain(x)


def exact_softmax(field: Field, x: Any, *, axis: tuple[int, ...]) -> Any:
    """exp(x) / sum(exp(x))."""
    e = by_name(field, "exp", plain(x))
    return e / sum_axes(e, axis)


def exact_log_softmax(field: Field, x: Any, *, axis: tuple[int, ...]) -> Any:
    """x - log(sum(exp(x)))."""
    return plain(x) - by_name(field, "log", sum_axes(by_name(field, "exp", plain(x)), axis))


def exact_logsumexp(field: Field, x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
    """log(sum(exp(x)))."""
    result = by_name(field, "log", sum_axes(by_name(field, "exp", plain(x)), axis))
    return result if keepdims else squeeze_axes(result, axis)


def exact_norm(field: Field, x: Any, *, axis: tuple[int, ...], keepdims: bool, ord: float) -> Any:
    """The p-norm over axes."""
    size = by_name(field, "abs", plain(x))
    if ord == np.inf or ord == -np.inf:
        return exact_extreme("maximum" if ord > 0 else "minimum")(field, size, axis=axis, keepdims=keepdims)
    if ord == 0:
        raise NoTwinError("the norm of order 0 counts, it is no formula")
    order = field.number(ord)
    if ord == 1:
        result = sum_axes(size, axis)
    elif ord == 2:
        result = by_name(field, "sqrt", sum_axes(size * size, axis))
    else:
        result = sum_axes(size**order, axis) ** (1 / order)
    return result if keepdims else squeeze_axes(result, axis)


def variance(field: Field, x: Any, *, axis: tuple[int, ...], keepdims: bool, correction: float) -> Any:
    """Squared deviations from the mean over axes, divided by n - correction."""
    x = plain(x)
    n = int(np.prod([x.shape[a] for a in axis]))
    deviation = x - sum_axes(x, axis) / field.number(n)
    if any(field.is_complex(e) for e in deviation.ravel().tolist()):
        deviation = by_name(field, "abs", deviation)
    result = sum_axes(deviation * deviation, axis) / field.number(n - correction)
    return result if keepdims else squeeze_axes(result, axis)


def deviation(field: Field, x: Any, **params: Any) -> Any:
    """The square root of the variance."""
    return by_name(field, "sqrt", plain(variance(field, x, **params)))


def exact_mean(field: Field, x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
    """The mean over axes."""
    x = plain(x)
    result = sum_axes(x, axis) / field.number(int(np.prod([x.shape[a] for a in axis])))
    return result if keepdims else squeeze_axes(result, axis)


def angle(field: Field, x: Any) -> Any:
    """The argument of complex numbers."""
    return elementwise(lambda e: field.functions["atan2"](*reversed(field.parts(e))), (plain(x),))


def part(place: int) -> Callable:
    """Return the real (0) or imaginary (1) parts."""
    return lambda field, x: elementwise(lambda e: field.parts(e)[place], (plain(x),))


def keep_numbers(_: Field, x: Any, **__: Any) -> Any:
    """The same numbers."""
    return x


def as_type(field: Field, x: Any, *, dtype: np.dtype, source: Any = None) -> Any:
    """Another type: exact numbers have none, but whole numbers to index with are plain integers."""
    if dtype.kind not in "iu":
        return x
    found = [field.as_float(e) for e in plain(x).ravel().tolist()]
    return x if any(f is None for f in found) else np.array(found).astype(dtype).reshape(np.shape(x))


def exact_logcumsumexp(field: Field, x: Any) -> Any:
    """Logarithms of cumulated sums of exponentials along the last axis."""
    return by_name(field, "log", np.cumsum(by_name(field, "exp", plain(x)), axis=-1))


# -- linear algebra -------------------------------------------------------------------------------------


def over_stacks(function: Callable) -> Callable:
    """Return a function of one matrix (and others beside it) as one of stacks of them."""

    def call(field: Field, *operands: Any, **params: Any) -> Any:
        arrays = [plain(x) for x in operands]
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
    return elementwise(field.number, (np.eye(n).astype(object),))


@over_stacks
def determinant(field: Field, a: np.ndarray) -> Any:
    """The determinant of a matrix."""
    if not field.lazy_pieces:
        return field.functions["matrix"](a).det(method="berkowitz")
    return eliminate(field, a, identity(field, len(a)))[1]


def exact_slogdet(field: Field, a: Any) -> tuple[Any, Any]:
    """The determinant's sign and the logarithm of its size."""
    found = plain(determinant(field, a))
    return by_name(field, "sign", found), by_name(field, "log", by_name(field, "abs", found))


@over_stacks
def exact_solve(field: Field, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of a x = b."""
    return eliminate(field, a, b)[0]


@over_stacks
def exact_cholesky(field: Field, a: np.ndarray) -> np.ndarray:
    """The lower triangle L with L L^T = a."""
    n = len(a)
    out = elementwise(field.number, (np.zeros((n, n)).astype(object),))
    root = field.functions["sqrt"]
    for j in range(n):
        out[j, j] = root(a[j, j] - out[j, :j] @ out[j, :j] if j else a[j, j])
        for i in range(j + 1, n):
            out[i, j] = (a[i, j] - out[i, :j] @ out[j, :j] if j else a[i, j]) / out[j, j]
    return out


def triangular(field: Field, a: Any, b: Any, *, lower: bool, unit: bool) -> Any:
    """The solution of a x = b where only a triangle of a counts."""
    a = plain(a)
    half = np.tril(a, -int(unit)) if lower else np.triu(a, int(unit))
    if unit:
        half = half + np.eye(a.shape[-1])
    return exact_solve(field, numbers_of(field, half), b)


def numbers_of(field: Field, x: np.ndarray) -> np.ndarray:
    """Return an array whose elements, zeros that NumPy put there included, are the field's."""
    return elementwise(lambda e: e if field.is_element(e) else field.number(e), (x,))


STRUCTURAL: dict[str, Callable] = {
    "where": exact_where,
    "max": exact_extreme("maximum"),
    "min": exact_extreme("minimum"),
    "softmax": exact_softmax,
    "finite_softmax": exact_softmax,
    "log_softmax": exact_log_softmax,
    "logsumexp": exact_logsumexp,
    "logcumsumexp_last": exact_logcumsumexp,
    "norm": exact_norm,
    "var": variance,
    "std": deviation,
    "mean": exact_mean,
    "angle": angle,
    "real_part": part(0),
    "imag_part": part(1),
    "astype": as_type,
    "copy_to": keep_numbers,
    "inv": exact_inverse,
    "det": determinant,
    "slogdet_outputs": exact_slogdet,
    "solve_columns": exact_solve,
    "solve_triangular": triangular,
    "cholesky_lower": exact_cholesky,
}
