"""The other direction of a Kullback-Leibler divergence, if an objective is one.

Two ways lead to it: the objective returns what a function of its file returns for two distributions, which can be
exchanged; or its values are those of a known divergence between a distribution that the inputs describe and one that
stands in the file. Values at two points must agree, so that no other function is taken for a divergence.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..claims.claim import nearby_point

SAME_DIVERGENCE = 1e-8  # relative difference of equal values: they are computed in different orders
MOST_PARAMETERS = 8  # numbers and arrays of a file that are tried as parameters of a distribution: a choice

PointByName = Mapping[str, np.ndarray]
FunctionOfPoint = Callable[[PointByName], float]
"""A function of inputs by name."""
Reading = Callable[[PointByName], Any]
"""The parameters of a distribution that inputs describe."""


class Divergence(NamedTuple):
    """A divergence between q, which the inputs describe, and p. There and back: KL(q, p) and KL(p, q)."""

    there: FunctionOfPoint
    back: FunctionOfPoint


def softmax_values(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()


def categorical(q: np.ndarray, p: np.ndarray) -> float:
    return float((q * np.log(q / p)).sum())


def bernoulli(q: np.ndarray, p: np.ndarray) -> float:
    return float((q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))).sum())


def kl_of_normals(q: tuple[np.ndarray, np.ndarray], p: tuple[np.ndarray, np.ndarray]) -> float:
    """Return KL(q, p) of normal distributions, each a mean and a standard deviation."""
    (m, s), (n, t) = q, p
    return float((np.log(t / s) + (s**2 + (m - n) ** 2) / (2 * t**2) - 0.5 + 0 * m).sum())


SIMPLEX = (softmax_values, lambda x: x, lambda x: x / x.sum(), np.exp)
"""How an array may give the probabilities of a categorical distribution."""
UNIT = (lambda x: 1 / (1 + np.exp(-x)), lambda x: x)
"""How it may give probabilities of independent events."""
SCALES = (np.exp, lambda x: x, lambda x: np.exp(x / 2), np.sqrt, lambda x: np.log1p(np.exp(x)))
"""How it may give a standard deviation: as a logarithm, itself, or as the variance or its logarithm."""


def other_directions(
    objective: Callable, evaluate: FunctionOfPoint, at: PointByName, wrt: Sequence[str], constants: Sequence[Any]
) -> Iterator[tuple[str, FunctionOfPoint]]:
    """Yield functions that are the other direction of an objective, with words for them.

    evaluate: the objective by name. constants: numbers and arrays in its file.
    """
    with np.errstate(all="ignore"):
        yield from exchanged(objective, evaluate, at)
        points = [at, {**at, **nearby_point({name: at[name] for name in wrt})}]
        try:
            values = [evaluate(point) for point in points]
        except Exception:  # the function has no value at the other point
            return
        for divergence in divergences(at, wrt, constants):
            for here, other in (divergence, divergence[::-1]):
                if all(map(is_same_value, values, (value_or_nan(here, point) for point in points))):
                    yield "the other direction of the KL divergence", other
                    return


def is_same_value(a: float, b: float) -> bool:
    return bool(abs(a - b) <= SAME_DIVERGENCE * max(abs(a), abs(b)))


def value_or_nan(function: FunctionOfPoint, point: PointByName) -> float:
    """Return a value, or nan if the function does not fit the inputs."""
    try:
        return float(function(point))
    except (ValueError, TypeError, IndexError):
        return np.nan


def divergences(at: PointByName, wrt: Sequence[str], constants: Sequence[Any]) -> Iterator[Divergence]:
    """Yield divergences between a distribution that the inputs may describe and one of constants."""
    arrays = [np.asarray(x, float) for x in constants][:MOST_PARAMETERS]
    for name in wrt:
        shape, size = at[name].shape, max(at[name].size, 1)
        others = [*(x for x in arrays if x.shape == shape), np.full(shape, 1 / size)]
        for kinds, kl in ((SIMPLEX, categorical), (UNIT, bernoulli)):
            for own, other, p in itertools.product(kinds, kinds, others):
                yield between(kl, of_input(name, own), other(p))
    means = [np.zeros(()), *arrays]
    scales = [np.ones(()), *arrays, *(scale(x) for x in arrays for scale in (np.exp, np.sqrt))]
    for q in normals(at, wrt):
        for p in itertools.product(means, scales):
            yield between(kl_of_normals, q, p)


def between(kl: Callable[[Any, Any], float], q: Reading, p: Any) -> Divergence:
    return Divergence(lambda point: kl(q(point), p), lambda point: kl(p, q(point)))


def of_input(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Reading:
    return lambda point: change(point[name])


def normals(at: PointByName, wrt: Sequence[str]) -> Iterator[Reading]:
    """Yield readings of the inputs as means and standard deviations: two inputs, the halves of one, or means alone."""
    for scale in SCALES:
        for mean, deviation in itertools.permutations(list(at)[:3], 2):
            yield functools.partial(two_inputs, mean, deviation, scale)
        yield from (functools.partial(halves_of_input, name, scale) for name in wrt if at[name].size % 2 == 0)
    yield from (functools.partial(mean_only, name) for name in wrt)


def two_inputs(mean: str, deviation: str, scale: Callable, point: PointByName) -> tuple[np.ndarray, np.ndarray]:
    return point[mean], scale(point[deviation])


def halves_of_input(name: str, scale: Callable, point: PointByName) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.split(point[name].reshape(-1), 2)
    return first, scale(second)


def mean_only(name: str, point: PointByName) -> tuple[np.ndarray, np.ndarray]:
    return point[name], np.ones(())


def exchanged(objective: Callable, evaluate: FunctionOfPoint, at: PointByName) -> Iterator[tuple[str, FunctionOfPoint]]:
    """Yield the function that an objective returns, with both of its arguments exchanged."""
    call = call_returned(objective, evaluate, at)
    if call is None:
        return
    function, (a, b) = call
    if np.shape(a) != np.shape(b):
        return

    def other(point: PointByName) -> float:
        found = call_returned(objective, evaluate, point)
        return np.nan if found is None else float(np.asarray(function(*found[1][::-1])))

    yield f"{function.__name__} with its arguments exchanged", other


def call_returned(
    objective: Callable, evaluate: FunctionOfPoint, at: PointByName
) -> tuple[Callable, tuple[Any, Any]] | None:
    """Return the last function of two arguments in the objective's file whose result the objective returns."""
    scope = getattr(objective, "__globals__", {})
    codes = {getattr(f, "__code__", None): f for f in scope.values() if inspect.isfunction(f) and f is not objective}
    codes.pop(None, None)
    calls: list[tuple[Callable, tuple[Any, Any], Any]] = []
    given: list[tuple[Any, ...]] = []

    def watch(frame: Any, event: str, result: Any) -> None:
        if frame.f_code not in codes or event not in ("call", "return"):
            return
        if event == "call":
            names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
            given.append(tuple(np.copy(frame.f_locals[name]) for name in names))
        elif len(arguments := given.pop()) == 2:
            calls.append((codes[frame.f_code], (arguments[0], arguments[1]), result))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        value = evaluate(at)
    finally:
        sys.setprofile(before)
    for function, arguments, result in reversed(calls):
        if result is not None and np.size(result) == 1 and is_same_value(float(np.asarray(result).reshape(())), value):
            return function, arguments
    return None
