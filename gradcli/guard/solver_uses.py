"""Claims for uses of derivatives that were passed to solvers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..claims.claim import callable_name, failing_as
from ..claims.hand_written import HandWritten
from ..numeric.products import SAME_VALUE

GRADIENT_STEP = 1e-3  # relative to the element: rounding and truncation errors are then about 1e-12
MOST_DIAGONAL = 200  # elements up to which an elementwise derivative is a diagonal matrix, not a product: a choice


def solver_point(use: Any) -> dict[str, Any]:
    """Return the point of a use, by the names of the function's parameters."""
    function = use.function if use.function is not None else use.base
    xs = points_of_use(use)
    count, first = len(xs), use.place.start if isinstance(use.place, slice) else use.place
    names = [p.name for p in signature_parameters(function)][first : first + count]
    if len(names) < count:
        names = [f"p[{i}]" for i in range(count)] if isinstance(use.place, slice) else ["x"]
    return dict(zip(names, xs, strict=True))


def points_of_use(use: Any) -> Sequence[Any]:
    return use.x if isinstance(use.place, slice) else (use.x,)


def solver_claim(use: Any, first_is_right: bool) -> HandWritten:
    """Return the claim for a use of a derivative that was passed to a solver.

    A second derivative differentiates the first derivative if that is right, or else the numeric gradient of f.
    """
    point = solver_point(use)
    at = {name: np.asarray(x, float) if np.asarray(x).dtype.kind in "biu" else x for name, x in point.items()}
    weights = np.asarray(use.args[1]) if use.kind == "weighted" else None
    each = use.kind == "each" and np.ndim(use.x) > 0

    def value(*xs: Any) -> Any:
        return use.base(*with_point_replaced(use, function_arguments(use), xs))

    def f(*xs: Any) -> Any:
        if use.base is not None and not first_is_right:
            return central_gradient(lambda x: value(x) if weights is None else np.dot(weights, value(x)), xs[0], each)
        if use.base is not None:
            value(*xs)  # a first derivative may use what f has cached
        result = use.function(*with_point_replaced(use, function_arguments(use), xs))
        return result if weights is None else dense(result, xs[0]).reshape(-1, np.size(xs[0])).T @ weights.reshape(-1)

    def with_value(*xs: Any) -> tuple[Any, Any]:
        out = f(*xs)  # as solvers do, since a derivative may use what f has cached
        return out, use.claim(*with_point_replaced(use, use.args, xs))

    def derivative(*xs: Any) -> Any:
        out, whole = with_value(*xs)
        if use.kind == "tuple":
            return dict(zip(at, map(np.asarray, whole), strict=False))
        if use.kind == "columns":  # one Jacobian per column; in a tuple, that for unknown parameters comes second
            parts = np.asarray(whole[0] if isinstance(whole, tuple) else whole)
            return np.einsum("ikj,jl->ijkl", parts, np.eye(parts.shape[-1]))
        if isinstance(use.place, slice):
            return {name: np.asarray(whole)[..., i] for i, name in enumerate(at)}
        return np.diag(np.ravel(whole)) if each else as_jacobian(matrix(whole, xs[0]), out, xs[0], use.columns)

    def matrix(whole: Any, x: Any) -> np.ndarray:
        if use.bands is None:
            return dense(whole, x)
        packed = unpacked(whole.T if use.columns else whole, np.size(x), *use.bands)
        return packed.T if use.columns else packed

    def product(tangents: tuple, x: Any) -> Any:
        if each:
            return with_value(x)[1] * tangents[0]
        f(x)
        return use.claim(*with_point_replaced(use, (x, tangents[0], *use.args[2:]), (x,)))

    def forward(tangents: tuple, x: Any) -> Any:
        out, operator = with_value(x)
        return np.reshape(operator.matvec(np.ravel(tangents[0])), np.shape(out))

    def backward(cotangent: Any, x: Any) -> Any:
        _, operator = with_value(x)
        return np.reshape(operator.rmatvec(np.ravel(cotangent)), np.shape(x))

    def holomorphic(tangents: tuple, x: Any) -> Any:
        """Return the product with a complex tangent, for a complex function of complex numbers."""
        out, whole = with_value(x)
        jacobian = as_jacobian(matrix(whole, x), out, x, use.columns)
        return np.tensordot(jacobian, tangents[0], np.ndim(x)) if jacobian.ndim else jacobian * tangents[0]

    f.__name__, derivative.__name__ = callable_name(use.function or use.base), callable_name(use.claim)
    if use.kind == "whole" and has_both_products(use.claimed):
        claim = HandWritten(f, at, jvp=forward, vjp=backward)
    else:
        is_product = use.kind == "product" or (each and np.size(use.x) > MOST_DIAGONAL)
        push = product if is_product else holomorphic if is_complex_use(use, at) else None
        claim = HandWritten(f, at, **({"grad": derivative} if push is None else {"jvp": push}))
    claim.constants = fixed_arguments(use, at)
    if use.wrote:
        name = f"argument '{next(iter(at))}'"
        claim.written = f"{callable_name(use.claim)} changes its {name} in place; it must work on a copy"
    return claim


def is_complex_use(use: Any, at: Mapping[str, Any]) -> bool:
    """Report whether the derivative is the complex Jacobian of one complex input."""
    return use.kind == "whole" and len(at) == 1 and all(np.asarray(x).dtype.kind == "c" for x in at.values())


def fixed_arguments(use: Any, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function other than its point, by the names of its parameters."""
    given = zip(signature_parameters(use.function or use.base), function_arguments(use), strict=False)
    return {p.name: x for p, x in given if p.name not in at}


def signature_parameters(function: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def function_arguments(use: Any) -> tuple[Any, ...]:
    """Return the arguments for f from a call of its derivative, without the vector that a product also takes."""
    return (use.args[0], *use.args[2:]) if use.kind in ("product", "weighted") else use.args


def with_point_replaced(use: Any, args: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
    """Return the arguments of a call with the point replaced by a copy of xs, which the function may change."""
    fresh = [np.array(x) if np.ndim(x) else x for x in xs]
    if isinstance(use.place, slice):
        return [*args[: use.place.start], *fresh]
    return [*args[: use.place], fresh[0], *args[use.place + 1 :]]


def dense(x: Any, point: Any) -> np.ndarray:
    """Return a derivative as an array, also from a sparse matrix or a linear operator of SciPy."""
    if hasattr(x, "toarray"):
        return x.toarray()
    return x @ np.eye(np.size(point)) if hasattr(x, "matmat") else np.asarray(x)


def unpacked(packed: Any, n: int, below: int, above: int) -> np.ndarray:
    """Return a matrix from its diagonals, where packed[i - j + above, j] is the element [i, j].

    Rows below those of the diagonals are work space of an integrator.
    """
    rows = np.asarray(packed)
    if rows.ndim != 2 or rows.shape[1] != n or len(rows) < below + above + 1:
        return rows
    i, j = np.indices((n, n))
    inside = (j - above <= i) & (i <= j + below)
    return np.where(inside, rows[np.clip(i - j + above, 0, len(rows) - 1), j], 0.0)


def has_both_products(x: Any) -> bool:
    """Report whether a derivative is an operator, not a matrix, with products from both sides."""
    if not hasattr(x, "rmatvec") or hasattr(x, "toarray"):
        return False
    try:
        x.rmatvec(np.zeros(x.shape[0]))
    except NotImplementedError:
        return False
    return True


def as_jacobian(raw: np.ndarray, out: Any, x: Any, columns: bool) -> np.ndarray:
    """Reshape a Jacobian to output.shape + x.shape if only axes of length 1 differ, as solvers allow."""
    raw, wanted = raw.T if columns else raw, np.shape(out) + np.shape(x)
    same = [n for n in raw.shape if n != 1] == [n for n in wanted if n != 1]
    return raw.reshape(wanted) if same else raw


def central_gradient(f: Callable[[Any], Any], x: np.ndarray, each: bool = False) -> np.ndarray:
    """Return the gradient by central differences with one step of Richardson extrapolation.

    each: whether f is applied element by element, so that all elements may move together.
    """
    steps = GRADIENT_STEP * np.maximum(np.abs(x), 0.1)
    directions = [steps] if each else np.where(np.eye(np.size(x), dtype=bool), steps.reshape(-1), 0.0)

    def difference(step: np.ndarray, part: float) -> Any:
        h = part * np.reshape(step, np.shape(x))
        return (f(x + h) - f(x - h)) / (2 * part)

    values = [(4 * difference(step, 0.5) - difference(step, 1.0)) / 3 for step in directions]
    return np.reshape(values, np.shape(x)) / steps


def difference_from_run(use: Any) -> tuple[str, str] | None:
    """Describe how the function or the derivative differs at the point from the run; None if not at all."""
    xs = points_of_use(use)
    calls = (
        ("function", use.base or use.function, function_arguments(use), use.value),
        ("derivative", use.claim, use.args, use.claimed),
    )
    for what, function, args, then in calls:
        with failing_as(callable_name(function)):
            now = function(*with_point_replaced(use, args, xs))
            if then is not None and not is_close(then, now):
                return describe_change(what, xs, then, now, function(*with_point_replaced(use, args, xs)))
    return None


def is_close(then: Any, now: Any, tolerance: float = SAME_VALUE) -> bool:
    """Report whether two results are the same. tolerance: how much they may differ, relative to the largest element."""
    try:
        a, b = (np.asarray(x.toarray() if hasattr(x, "toarray") else x, complex) for x in (then, now))
    except (TypeError, ValueError):  # a linear operator
        return True
    atol = tolerance * np.abs(a).max(initial=0.0)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=tolerance, atol=atol, equal_nan=True))


def describe_change(what: str, xs: Sequence[Any], then: Any, now: Any, again: Any) -> tuple[str, str]:
    """Return a finding and its text. then: the result in the run. now, again: those of two calls now."""
    where, is_now = ", ".join(map(brief_array, xs)), brief_array(now)
    if not is_close(now, again):
        text = f"the {what} is random: two calls at {where} returned {is_now} and {brief_array(again)}"
        return "non-deterministic", text
    text = f"the {what} has changed: at {where}, it returned {brief_array(then)} in the run, and returns {is_now} now"
    return "changed since", text


def brief_array(x: Any) -> str:
    return np.array2string(np.asarray(x), precision=6, threshold=6, edgeitems=2).removesuffix(".")
