"""Generate edge-case points, filter them by a cheap test of the claim, and shrink failing points."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import math
import textwrap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from ..numeric.estimate import estimate
from ..numeric.rows import draw_signs
from ..numeric.sampler import Sampler
from ..numeric.verdict import MARGIN
from ..user.frameworks import reachable_from

SPECIAL_VALUES: tuple[float, ...] = (
    *(0.0, 1.0, -1.0, 0.5, 2.0, 1e-8, 1e-3, 30.0, -30.0, -0.5, -2.0, 90.0, -90.0, 1e4, -1e4, -1e-8, 3.0, -3.0),
    *(1e-160, 800.0, -800.0, 1e8, -1e8, 1e-300, 1e100, -1e100, -1e-3, 10.0, -10.0, 100.0, -100.0, 1e16, 1e-16),
)
"""Values where formulas change or arithmetic fails: exp overflows above 88 (float32) and 709, squares above 1e154."""
MOST_CONSTANTS = 24  # maximum number of constants of the code, from the first on, around which to try points: a choice
RANDOM_REACH = 10.0  # random points are drawn up to this distance from 0, where formulas are written for: a choice
LARGEST_CONSTANT = 5e102  # the third power of larger ones overflows

Point = dict[str, np.ndarray]


def constants_in(source: str) -> Iterator[float]:
    try:
        tree = ast.parse(textwrap.dedent(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        sign = -1.0 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1.0
        constant = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(constant, ast.Constant) and is_input_number(constant.value):
            yield sign * float(constant.value)


def is_input_number(x: Any) -> TypeGuard[float]:
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < LARGEST_CONSTANT and math.isfinite(x)


def constants_of_code(functions: Iterable[Callable]) -> list[float]:
    """Return the numbers in the source of functions and their callees, and the numbers that these refer to."""
    constants: list[float] = []
    for x in itertools.chain.from_iterable(map(reachable_from, functions)):
        if is_input_number(x):
            constants.append(float(x))
        if hasattr(x, "__code__"):
            with contextlib.suppress(OSError, TypeError):
                constants += constants_in(inspect.getsource(x.__code__))
    return constants


def candidate_points(
    base: Mapping[str, np.ndarray], constants: Sequence[float], rng: np.random.Generator
) -> Iterator[Point]:
    """Yield points endlessly, with the shapes and types of `base`, the inputs to vary; kinds of points alternate."""
    pool = np.array([v for v in [*SPECIAL_VALUES, *constants] if abs(v) < 1e9])
    some = sorted(set(constants[:MOST_CONSTANTS]))
    between = [(a + b) / 2 for a, b in itertools.pairwise(some)]  # where a formula may hold only between two numbers
    near = [v for c in constants[:MOST_CONSTANTS] for v in (c, c + 1, -c, c - 1, 2 * c, c / 2, -2 * c)]
    near = [v for pair in itertools.zip_longest(near, between) for v in pair if v is not None]
    kinds = [
        uniform_points(near, base),
        uniform_points(SPECIAL_VALUES, base),
        tied_points(base, rng),
        mixed_points(base, pool, rng),
        scaled_points(base, rng),
        changed_elements(base, [*constants, *SPECIAL_VALUES], rng),
    ]
    while True:
        for kind in list(kinds):
            point = next(kind, None)
            if point is None:
                kinds.remove(kind)
            else:
                yield {name: x.astype(base[name].dtype) for name, x in point.items()}


def uniform_points(values: Iterable[float], base: Mapping[str, np.ndarray]) -> Iterator[Point]:
    """Yield points with all elements equal to a value; then, if there are several inputs, only those of one input."""
    values = list(dict.fromkeys(values))
    for value in values:
        yield {name: np.full(x.shape, value) for name, x in base.items()}
    for value in values if len(base) > 1 else ():
        for chosen, x in base.items():
            yield {**base, chosen: np.full(x.shape, value)}


def mixed_points(base: Mapping[str, np.ndarray], pool: np.ndarray, rng: np.random.Generator) -> Iterator[Point]:
    """Yield points with elements drawn at random: from a pool, and evenly out to RANDOM_REACH."""
    while True:
        yield {name: rng.choice(pool, x.shape) for name, x in base.items()}
        yield {name: rng.uniform(-RANDOM_REACH, RANDOM_REACH, x.shape) for name, x in base.items()}


def tied_points(base: Mapping[str, np.ndarray], rng: np.random.Generator) -> Iterator[Point]:
    """Yield points with two, some or all elements equal, within and across inputs; nothing for a single number."""
    size = sum(x.size for x in base.values())
    while size > 1:
        flat = joined_inputs(base)
        count = size if rng.random() < 0.2 else int(rng.integers(2, min(size, 4) + 1))
        places = rng.choice(size, count, replace=False)
        flat[places] = rng.choice([flat[places[0]], np.round(flat[places[0]].real), 0.0, flat.real.max()])
        yield split_point(flat, base)


def scaled_points(base: Mapping[str, np.ndarray], rng: np.random.Generator) -> Iterator[Point]:
    for power, flip in itertools.product((1, 2, -3, 4, -1, 8, -8, 3, -6, 6, 12, -12), (1.0, -1.0)):
        yield {name: flip * 10.0**power * x for name, x in base.items()}
    while True:
        yield {name: rng.choice([-1.0, 1.0], x.shape) * x * 10.0 ** rng.uniform(-2, 2) for name, x in base.items()}


def changed_elements(
    base: Mapping[str, np.ndarray], values: Sequence[float], rng: np.random.Generator
) -> Iterator[Point]:
    """Yield the point with one element changed to a special value; nothing for a single number."""
    size = sum(x.size for x in base.values())
    for value in itertools.cycle(values) if size > 1 else ():
        changed = joined_inputs(base)
        changed[rng.integers(size)] = value
        yield split_point(changed, base)


def joined_inputs(point: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([x.reshape(-1) for x in point.values()])


def split_point(flat: np.ndarray, like: Mapping[str, np.ndarray]) -> Point:
    point, begin = {}, 0
    for name, x in like.items():
        part = flat[begin : (begin := begin + x.size)]
        point[name] = (part if x.dtype.kind == "c" else part.real).reshape(x.shape)
    return point


AGREES_WITHIN = 1e-6  # relative difference up to which claim and estimate agree in the filter: a choice
INFORMED = 1e-2  # relative error above which the filter ignores a slope: a choice


def compare_along_line(sampler: Sampler, rng: np.random.Generator) -> float:
    """Return the relative difference of claim and estimate along a random direction; 0 if they agree or are unknown.

    At a kink, any value between the one-sided slopes agrees.
    """
    flat = sampler.flat
    direction = np.where(flat.fixed, 0.0, draw_signs(rng, flat.size) * flat.scales)
    weights = np.ones((1, 1)) if len(flat.f0) == 1 else rng.standard_normal((1, len(flat.f0)))
    real = flat.out_dtype.kind == "f" and all(x.dtype.kind == "f" for x in flat.arrays)
    row = flat.pull(weights)[0] if real and flat.claim.capabilities.pull else (weights @ flat.matrix())[0]
    parts = row * direction
    claimed, size = float(parts.sum()), float(np.abs(parts).max())
    found = estimate(sampler.line(direction, weights))
    if not np.isfinite(claimed):
        return np.inf if found.kind[0] not in ("none", "jump") else 0.0
    if found.kind[0] == "kink":
        low, high = sorted((float(found.left[0]), float(found.right[0])))
        gap, error = max(low - claimed, claimed - high, 0.0), float(found.side_error[0])
        value = max(abs(low), abs(high))
    else:
        value, error = float(found.value[0]), float(found.error[0])
        gap, value = abs(claimed - value), abs(value)
    largest = max(size if np.isfinite(size) else 0.0, value if np.isfinite(value) else 0.0)
    if not largest or not error <= INFORMED * largest or gap <= AGREES_WITHIN * largest + MARGIN * error:
        return 0.0
    return float(gap / largest)


MOST_TRIES = 150  # maximum number of simpler points to try: a choice
MOST_DROPPED = 24  # the longest axis from which elements are dropped one by one: a choice
SHRINK_ROUNDS = 4  # maximum number of rounds of all moves: a choice


def shrink(point: Point, fails: Callable[[Point], bool], varied: Container[str]) -> Point:
    """Return the simplest point that still fails, by the moves of delta debugging (Zeller and Hildebrandt, 2002).

    varied: the inputs whose values may change; the others lose elements together with these. fails is called at most
    MOST_TRIES times.
    """
    shrinking = Shrinking(point, fails, varied)
    for _ in range(SHRINK_ROUNDS):
        before = shrinking.values
        shrinking.shorten()
        for value in dict.fromkeys(shrinking.values.tolist()):
            shrinking.simplify(value)
        if np.array_equal(shrinking.values, before):
            break
    return shrinking.point


class Shrinking:
    """A failing point, and attempts to replace it by simpler ones."""

    def __init__(self, point: Point, fails: Callable[[Point], bool], varied: Container[str]):
        self.point, self.fails, self.varied, self.calls = point, fails, varied, 0

    @property
    def part(self) -> Point:
        return {name: x for name, x in self.point.items() if name in self.varied}

    @property
    def values(self) -> np.ndarray:
        return joined_inputs(self.part)

    def accept(self, point: Point) -> bool:
        self.calls += 1
        if self.calls > MOST_TRIES or not self.fails(point):
            return False
        self.point = point
        return True

    def shorten(self) -> None:
        """Drop elements along axes of equal length in all inputs at once: all but the first ones, else one by one."""
        for length in sorted({n for x in self.part.values() for n in x.shape if n > 1}):
            for kept in (1, 2):
                if kept < length and self.accept(self.take_places(length, np.arange(kept))):
                    length = kept
                    break
            while 1 < length <= MOST_DROPPED:
                drops = (np.delete(np.arange(length), j) for j in reversed(range(length)))
                if not any(self.accept(self.take_places(length, places)) for places in drops):
                    break
                length -= 1

    def take_places(self, length: int, places: np.ndarray) -> Point:
        def shorter(x: np.ndarray) -> np.ndarray:
            return x[np.ix_(*(places if n == length else np.arange(n) for n in x.shape))] if x.ndim else x

        return {name: shorter(x) for name, x in self.point.items()}

    def simplify(self, value: complex) -> None:
        """Replace a value wherever it occurs: by a special number, one with fewer digits, or a smaller one."""
        places = self.values == value
        for simpler in simpler_values(value):
            if self.put(places, simpler):
                value = simpler
                break
        if np.imag(value) or abs(value) <= 3:
            return
        two_digits = np.outer(10.0 ** np.arange(300), np.arange(10, 100))
        numbers = float(np.sign(np.real(value))) * np.concatenate([np.arange(1, 10), two_digits.reshape(-1)])
        low, high = 0, int(np.searchsorted(np.abs(numbers), abs(value)))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.put(places, float(numbers[middle])) else (middle, high)

    def put(self, places: np.ndarray, value: complex) -> bool:
        """Put a value at places if that is simpler and fails, too; return whether it does."""
        changed, like = np.where(places, value, self.values), self.part
        simpler = {name: x.astype(like[name].dtype) for name, x in split_point(changed, like).items()}
        return complexity(joined_inputs(simpler)) < complexity(self.values) and self.accept(self.point | simpler)


def simpler_values(value: complex) -> Iterator[complex]:
    real = float(np.real(value))
    sign = -1.0 if real < 0 else 1.0
    yield from (0.0, sign, -sign, 2 * sign)
    if not np.imag(value) and abs(real) < 1e15:
        yield from (sign * np.floor(abs(real)), sign * np.ceil(abs(real)))
    if real and np.isfinite(real):
        yield from (float(f"{real:.{digits}e}") for digits in range(6))


def complexity(values: np.ndarray) -> tuple[Any, ...]:
    """Return a key to compare how complicated values are: fractions, digits, nonzeros, size, distinct, negative."""
    real = np.real(values).astype(float)
    fractions = (real != np.floor(real)) | (np.imag(values) != 0)
    length = sum(len(repr(v)) for v in real[fractions].tolist())
    size = float(np.minimum(np.abs(values).astype(float), 1e300).sum())
    counts = np.count_nonzero(values), size, len(np.unique(np.abs(values))), np.count_nonzero(real < 0)
    return np.count_nonzero(fractions), length, *counts
