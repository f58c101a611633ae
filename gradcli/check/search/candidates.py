"""Points that people forget: ties, zeros, integers, signs, huge and tiny values, and the constants of the source."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ...program.detect_framework import reachable_from

SPECIAL: tuple[float, ...] = (
    *(0.0, 1.0, -1.0, 0.5, 2.0, -0.5, -2.0, 1e-3, 30.0, -30.0, 1e-8, 90.0, -90.0, 1e4, -1e4, -1e-8, 3.0, -3.0),
    *(1e-160, 800.0, -800.0, 1e8, -1e8, 1e-300, 1e100, -1e100, -1e-3, 10.0, -10.0, 100.0, -100.0, 1e16, 1e-16),
)
"""Values at which formulas change or arithmetic ends: exp overflows above 88 (float32) and 709, squares at 1e154."""
MOST_CONSTANTS = 24
LARGEST = 1e120

Point = dict[str, np.ndarray]


def constants_in(source: str) -> Iterator[float]:
    """Yield the numbers of Python source, with their sign."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        sign = -1.0 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1.0
        constant = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(constant, ast.Constant) and is_input_number(constant.value):
            yield sign * float(constant.value)  # type: ignore[arg-type]


def is_input_number(x: Any) -> bool:
    """Return whether something is a real number of a size that an input may have."""
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < LARGEST and math.isfinite(x)


def constants_of(functions: Iterable[Callable]) -> list[float]:
    """Return the numbers in the source of functions and of what they call, and the numbers that they refer to."""
    constants: dict[float, None] = {}
    for function in functions:
        for x in reachable_from(function):
            if is_input_number(x):
                constants[float(x)] = None
            if hasattr(x, "__code__"):
                try:
                    constants.update(dict.fromkeys(constants_in(inspect.getsource(x.__code__))))
                except (OSError, TypeError):
                    continue
    return list(constants)


def beside(constant: float) -> tuple[float, ...]:
    """Return values at a constant, beyond it on both sides, and its negative."""
    more = (constant + 1, -constant, constant - 1, 2 * constant, constant / 2, -2 * constant)
    return (constant, *more)


def candidates(
    base: Mapping[str, np.ndarray], constants: Iterable[float], rng: np.random.Generator
) -> Iterator[Point]:
    """Yield points without end, of the shapes and types of `base`; kinds of points take turns.

    base: the inputs to vary, of real or complex numbers.
    """
    kinds = [
        uniform_points([v for c in list(constants)[:MOST_CONSTANTS] for v in beside(c)], base),
        uniform_points(SPECIAL, base),
        tied_points(base, rng),
        mixed_points(base, [*SPECIAL, *constants], rng),
        scaled_points(base, rng),
        whole_numbers(base, rng),
        single(base, [*constants, *SPECIAL], rng),
        random_points(base, rng),
    ]
    while True:
        for kind in list(kinds):
            point = next(kind, None)
            if point is None:
                kinds.remove(kind)
            else:
                yield {name: x.astype(base[name].dtype) for name, x in point.items()}


def uniform_points(values: Iterable[float], base: Mapping[str, np.ndarray]) -> Iterator[Point]:
    """Yield points all of whose elements are one value; of several inputs, then each one by itself."""
    values = list(dict.fromkeys(values))
    for value in values:
        yield {name: np.full(x.shape, value) for name, x in base.items()}
    for value in values if len(base) > 1 else ():
        for chosen, x in base.items():
            yield {**base, chosen: np.full(x.shape, value)}


def tied_points(base: Mapping[str, np.ndarray], rng: np.random.Generator) -> Iterator[Point]:
    """Yield points with equal elements: all, two, or some, inside inputs and between them; nothing for one number."""
    if sum(x.size for x in base.values()) < 2:
        return
    while True:
        flat = joined_inputs(base)
        size = len(flat)
        count = size if rng.random() < 0.2 else int(rng.integers(2, min(size, 4) + 1))
        places = rng.choice(size, count, replace=False)
        flat[places] = rng.choice([flat[places[0]], np.round(flat[places[0]].real), 0.0, flat.real.max()])
        yield split(flat, base)


def mixed_points(
    base: Mapping[str, np.ndarray], values: Iterable[float], rng: np.random.Generator
) -> Iterator[Point]:
    """Yield points of special values, each element its own."""
    pool = np.array([v for v in values if abs(v) < 1e9])
    while True:
        yield {name: rng.choice(pool, x.shape) for name, x in base.items()}


def scaled_points(base: Mapping[str, np.ndarray], rng: np.random.Generator) -> Iterator[Point]:
    """Yield the point itself much larger or smaller, with signs changed."""
    for power in (1, 2, -3, 4, -1, 8, -8, 3, -6, 6, 12, -12):
        for flip in (1.0, -1.0):
            yield {name: flip * 10.0**power * x for name, x in base.items()}
    while True:
        signs = {name: rng.choice([-1.0, 1.0], x.shape) for name, x in base.items()}
        yield {name: sign * base[name] * 10.0 ** rng.uniform(-2, 2) for name, sign in signs.items()}


def whole_numbers(base: Mapping[str, np.ndarray], rng: np.random.Generator) -> Iterator[Point]:
    """Yield points of small whole numbers."""
    while True:
        most = int(rng.choice([1, 3, 10]))
        yield {name: rng.integers(-most, most + 1, x.shape) for name, x in base.items()}


def single(base: Mapping[str, np.ndarray], values: Iterable[float], rng: np.random.Generator) -> Iterator[Point]:
    """Yield the point with one element changed to a special value; nothing for one number."""
    flat = joined_inputs(base)
    while len(flat) > 1:
        for value in values:
            changed = flat.copy()
            changed[rng.integers(len(flat))] = value
            yield split(changed, base)


def random_points(base: Mapping[str, np.ndarray], rng: np.random.Generator) -> Iterator[Point]:
    """Yield random points of any size."""
    while True:
        size = 10.0 ** rng.uniform(-3, 3)
        yield {name: size * rng.standard_normal(x.shape) for name, x in base.items()}


def joined_inputs(point: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the elements of all inputs as one vector."""
    return np.concatenate([x.reshape(-1) for x in point.values()])


def split(flat: np.ndarray, like: Mapping[str, np.ndarray]) -> Point:
    """Return a vector of elements as inputs of given shapes."""
    edges = np.cumsum([0, *(x.size for x in like.values())])
    parts = {}
    for k, (name, x) in enumerate(like.items()):
        part = flat[edges[k] : edges[k + 1]]
        parts[name] = (part if x.dtype.kind == "c" else part.real).reshape(x.shape)
    return parts
