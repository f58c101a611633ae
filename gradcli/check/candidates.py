"""Points that people forget, the cheap screen of a claim at them, and failing points made small."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import math
import textwrap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..program.detect_framework import reachable_from
from .flat import Flat

SPECIAL: tuple[float, ...] = (
    *(0.0, 1.0, -1.0, 0.5, 2.0, -0.5, -2.0, 1e-3, 30.0, -30.0, 1e-8, 90.0, -90.0, 1e4, -1e4, -1e-8, 3.0, -3.0),
    *(1e-160, 800.0, -800.0, 1e8, -1e8, 1e-300, 1e100, -1e100, -1e-3, 10.0, -10.0, 100.0, -100.0, 1e16, 1e-16),
)
"""Values at which formulas change or arithmetic ends: exp overflows above 88 (float32) and 709, squares at 1e154."""
MOST_CONSTANTS = 24
LARGEST_CONSTANT = 1e120

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
            yield sign * float(constant.value)  # type: ignore[arg-type]


def is_input_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < LARGEST_CONSTANT and math.isfinite(x)


def constants_of(functions: Iterable[Callable]) -> list[float]:
    """Return the numbers in the source of functions and of what they call, and the numbers that they refer to."""
    constants: list[float] = []
    for x in itertools.chain.from_iterable(map(reachable_from, functions)):
        if is_input_number(x):
            constants.append(float(x))
        if hasattr(x, "__code__"):
            with contextlib.suppress(OSError, TypeError):
                constants += constants_in(inspect.getsource(x.__code__))
    return constants


def candidates(base: Mapping[str, np.ndarray], constants: Iterable[float], rng: np.random.Generator) -> Iterator[Point]:
    """Yield points without end, of the shapes and types of `base`, the inputs to vary; kinds of points take turns."""
    pool = np.array([v for v in [*SPECIAL, *constants] if abs(v) < 1e9])

    def mixed() -> Point:
        return {name: rng.choice(pool, x.shape) for name, x in base.items()}

    def whole_numbers() -> Point:
        most = int(rng.choice([1, 3, 10]))
        return {name: rng.integers(-most, most + 1, x.shape) for name, x in base.items()}

    def normal() -> Point:
        size = 10.0 ** rng.uniform(-3, 3)
        return {name: size * rng.standard_normal(x.shape) for name, x in base.items()}

    chosen = list(constants)[:MOST_CONSTANTS]
    kinds = [
        uniform_points([v for c in chosen for v in (c, c + 1, -c, c - 1, 2 * c, c / 2, -2 * c)], base),
        uniform_points(SPECIAL, base),
        tied_points(base, rng),
        iter(mixed, None),
        scaled_points(base, rng),
        iter(whole_numbers, None),
        single(base, [*constants, *SPECIAL], rng),
        iter(normal, None),
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


def scaled_points(base: Mapping[str, np.ndarray], rng: np.random.Generator) -> Iterator[Point]:
    for power in (1, 2, -3, 4, -1, 8, -8, 3, -6, 6, 12, -12):
        for flip in (1.0, -1.0):
            yield {name: flip * 10.0**power * x for name, x in base.items()}
    while True:
        signs = {name: rng.choice([-1.0, 1.0], x.shape) for name, x in base.items()}
        yield {name: sign * base[name] * 10.0 ** rng.uniform(-2, 2) for name, sign in signs.items()}


def single(base: Mapping[str, np.ndarray], values: Iterable[float], rng: np.random.Generator) -> Iterator[Point]:
    """Yield the point with one element changed to a special value; nothing for one number."""
    flat = joined_inputs(base)
    while len(flat) > 1:
        for value in values:
            changed = flat.copy()
            changed[rng.integers(len(flat))] = value
            yield split(changed, base)


def joined_inputs(point: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([x.reshape(-1) for x in point.values()])


def split(flat: np.ndarray, like: Mapping[str, np.ndarray]) -> Point:
    point, begin = {}, 0
    for name, x in like.items():
        part = flat[begin : (begin := begin + x.size)]
        point[name] = (part if x.dtype.kind == "c" else part.real).reshape(x.shape)
    return point


LARGE_STEP, HALF_STEP = 0.05, 0.025
"""Two steps whose slopes are extrapolated, in units of the scale; two more follow from the rounding unit."""
AGREES_WITHIN = 1e-6  # the relative difference from a claim that no filter holds against it
INFORMED = 1e-2  # the relative error beyond which a slope says nothing
HIDING = 1e-9  # an error of a slope beside the slopes over a large step, that is more than rounding
MATTERS = 1e-4  # a claimed effect, beside the value and the largest one, that is looked at where no slope is seen
SMALL_STEPS, GROWTH = 1e-6, 10.0
"""Steps so small beside the largest show slopes so many times larger where the function is singular."""


def compare_along_line(flat: Flat, rng: np.random.Generator) -> tuple[float, bool]:
    """Return the relative distance between claim and slopes along a random direction, and whether there is a kink.

    Slopes over four steps, of a random sum of the outputs. A slope that is known well and agrees is enough; at a
    kink, whatever lies between the one-sided ones.
    """
    unit = max(flat.unit, flat.input_unit)
    direction = rng.choice([-1.0, 1.0], flat.size) * rng.uniform(0.5, 1.0, flat.size) * flat.scales
    weights = np.ones(1) if len(flat.f0) == 1 else rng.standard_normal(len(flat.f0))
    real = flat.out_dtype.kind == "f" and all(x.dtype.kind == "f" for x in flat.arrays)
    row = flat.pull([weights])[0] if real and flat.claim.capabilities.pull else weights @ flat.matrix()
    parts = row * direction
    claimed, size = float(parts.sum()), float(np.abs(parts).max())
    x = flat.x
    steps = np.array([LARGE_STEP, HALF_STEP, 4 * unit ** (1 / 3), 4 * unit**0.5])
    offsets = np.concatenate([steps, -steps])
    values = flat.points(x + offsets[:, None] * direction) @ weights
    middle = float(flat.f0 @ weights)
    up, down = values[:4], values[4:]
    right, left = (up - middle) / steps, (middle - down) / steps
    central = (right + left) / 2
    rounding = 4 * unit * (float(np.abs(flat.f0 * weights).sum()) + np.fmax(np.abs(up), np.abs(down))) / steps
    slopes = np.array([(4 * central[1] - central[0]) / 3, central[2], central[3]])
    errors = np.array([abs(central[1] - central[0]), rounding[2], rounding[3]])
    errors[1:] += unit / steps[2:] * size
    errors[0] += rounding[1]
    known = np.isfinite(slopes) & np.isfinite(errors)
    largest = max(size if np.isfinite(size) else 0.0, float(np.abs(slopes[known]).max(initial=0.0)))
    sided = np.isfinite(right[3]) or np.isfinite(left[3])
    if not np.isfinite(claimed):
        return (np.inf if sided else 0.0), False
    if not largest:
        return 0.0, False
    jump = np.abs(right - left)
    kink = bool((jump[2:] > 1e-3 * largest + 4 * rounding[2:]).all() and jump[3] > 0.5 * jump[2])
    if kink:
        low, high = min(right[3], left[3]), max(right[3], left[3])
        outside = max(low - claimed, claimed - high) - AGREES_WITHIN * largest - 4 * rounding[3]
        return max(0.0, outside / largest), True
    best = int(np.argmin(np.where(known, errors, np.inf)))
    gap = abs(claimed - slopes[best])
    if not errors[best] <= INFORMED * largest or gap <= AGREES_WITHIN * largest + errors[best]:
        return 0.0, False
    return float(gap / largest), False


class ElementSlopes:
    """Slopes of one output along one element, over steps from its size (or 1) down to its rounding, tenfold each."""

    def __init__(self, flat: Flat, place: int, row: int):
        self.flat, self.place, self.row = flat, place, row
        unit = float(np.finfo(flat.coordinate(place).dtype).eps)
        largest = max(abs(float(flat.coordinate(place))), 1.0)
        self.steps = largest * 10.0 ** -np.arange(1 - np.floor(np.log10(4 * unit)))
        count = len(self.steps)
        values = flat.along(np.full(2 * count, place), np.concatenate([self.steps, -self.steps]))[:, row]
        up, down, middle = values[:count], values[count:], flat.f0[row]
        self.rounding = 4 * flat.unit * np.fmax(np.abs(up), np.abs(down)) / self.steps
        self.central = (up - down) / (2 * self.steps)
        self.sided = np.fmax(np.abs(up - middle), np.abs(middle - down)) / self.steps - self.rounding

    def agrees(self, claimed: float, gap: float) -> bool:
        """Return whether a claim is the slope over two steps, one after the other: then it is so at some scale.

        gap: how far it is from what values tell, of which a tenth is no agreement.
        """
        if not np.isfinite(claimed) or not claimed:
            return False
        room = min(INFORMED * abs(claimed), gap / GROWTH)
        near = (np.abs(self.central - claimed) <= room) & (self.rounding <= INFORMED * abs(claimed))
        return bool((near[1:] & near[:-1]).any())

    def has_no_slope(self, claimed: float, error: float) -> bool:
        """Return whether values say that there is no slope at any scale, though a claim has one that would matter.

        None that grows towards small steps, as beside a pole, and none nearly as large as the claim; a wave that is
        faster than numbers are close has any.
        """
        flat, claim = self.flat, self.flat.claim
        near = float(np.nanmax(self.sided[self.steps < SMALL_STEPS * self.steps[0]], initial=0.0))
        if near > GROWTH * float(np.nanmax(self.sided[:4], initial=0.0)):
            return False
        size = abs(claimed)
        jacobian = flat.matrix()[self.row]
        if not np.isfinite(size):  # rounding inside the function may hide an infinite slope, too
            seen = max(abs(float(flat.f0[self.row])) / self.steps[0], float(self.sided[0]))
            effects = np.abs(jacobian[np.isfinite(jacobian)] * np.maximum(flat.scales, 1.0)[np.isfinite(jacobian)])
            inside = flat.unit * float(effects.max(initial=0.0)) / self.steps[0]
            return bool(max(error, inside) <= HIDING * seen) or bool(np.isnan(size))
        largest = max(abs(flat.f0[self.row]), float(np.nanmax(np.abs(jacobian) * np.maximum(flat.scales, 1.0))))
        seen = self.sided >= size / GROWTH
        if size * self.steps[0] < MATTERS * largest or (seen[1:] & seen[:-1]).any():
            return False
        k = flat.input_of(self.place)
        name, x = claim.wrt[k], flat.arrays[k]
        beside = {**claim.at, name: x * (1 + 2 * np.finfo(x.dtype).eps)}
        moved = flat.matrix(beside)[self.row, self.place]
        return bool(abs(moved - claimed) <= 1e-3 * size)


MOST_CALLS = 150
MOST_DROPPED = 24  # the longest axis from which elements are dropped one by one
ROUNDS = 4


def shrink(point: Point, fails: Callable[[Point], bool], varied: Mapping[str, np.ndarray]) -> Point:
    """Return the simplest point that still fails, by the moves of delta debugging (Zeller and Hildebrandt, 2002).

    varied: the inputs whose values may change; the others lose elements together with these. fails is called at most
    MOST_CALLS times.
    """
    shrinking = Shrinking(point, fails, varied)
    for _ in range(ROUNDS):
        before = shrinking.values()
        shrinking.shorten()
        for value in dict.fromkeys(shrinking.values().tolist()):
            shrinking.simplify(value)
        if np.array_equal(shrinking.values(), before):
            break
    return shrinking.point


class Shrinking:
    def __init__(self, point: Point, fails: Callable[[Point], bool], varied: Container[str]):
        self.point, self.fails, self.varied, self.calls = point, fails, varied, 0

    def part(self) -> Point:
        return {name: x for name, x in self.point.items() if name in self.varied}

    def values(self) -> np.ndarray:
        return joined_inputs(self.part())

    def accept(self, point: Point) -> bool:
        if self.calls >= MOST_CALLS:
            return False
        self.calls += 1
        if not self.fails(point):
            return False
        self.point = point
        return True

    def shorten(self) -> None:
        """Drop elements along axes of one length, of all inputs at once: the first ones kept, else one by one."""
        lengths = {n for x in self.part().values() for n in x.shape if n > 1}
        for length in sorted(lengths):
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
        arrays = {}
        for name, x in self.point.items():
            for axis in range(x.ndim):
                if x.shape[axis] == length:
                    x = np.take(x, places, axis=axis)
            arrays[name] = x
        return arrays

    def simplify(self, value: complex) -> None:
        """Put something simpler wherever the value is: a special number, fewer digits, or a smaller number."""
        places = self.values() == value
        if not places.any():
            return
        for simpler in simpler_values(value):
            if self.put(places, simpler):
                value = simpler
                break
        if np.imag(value) or abs(value) <= 3:
            return
        sign, two_digits = np.sign(np.real(value)), np.outer(10.0 ** np.arange(300), np.arange(10, 100))
        numbers = float(sign) * np.concatenate([np.arange(1, 10), two_digits.reshape(-1)])
        low, high = 0, int(np.searchsorted(np.abs(numbers), abs(value)))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.put(places, float(numbers[middle])) else (middle, high)

    def put(self, places: np.ndarray, value: complex) -> bool:
        """Put a value at places; return whether it was simpler and failed."""
        changed, like = np.where(places, value, self.values()), self.part()
        simpler = {name: x.astype(like[name].dtype) for name, x in split(changed, like).items()}
        return complexity(joined_inputs(simpler)) < complexity(self.values()) and self.accept(self.point | simpler)


def simpler_values(value: complex) -> Iterator[complex]:
    real = float(np.real(value))
    sign = -1.0 if real < 0 else 1.0
    yield from (0.0, sign, -sign, 2 * sign)
    if not np.imag(value) and abs(real) < 1e15:
        yield from (sign * np.floor(abs(real)), sign * np.ceil(abs(real)))
    if real and np.isfinite(real):
        yield from (float(f"{real:.{digits}e}") for digits in range(6))


def complexity(values: np.ndarray) -> tuple[Any, ...]:
    """Return how complicated values are, to be compared: fractions, different values, digits, size, minus signs."""
    real = np.real(values).astype(float)
    fractions = (real != np.floor(real)) | (np.imag(values) != 0)
    length = sum(len(repr(v)) for v in real[fractions].tolist())
    size = float(np.minimum(np.abs(values).astype(float), 1e300).sum())
    counts = np.count_nonzero(values), size, len(np.unique(np.abs(values))), np.count_nonzero(real < 0)
    return np.count_nonzero(fractions), length, *counts
