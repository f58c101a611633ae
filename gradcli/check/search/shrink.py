"""Failing points made small: fewer elements, equal ones kept equal, whole numbers near zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from .candidates import Point, joined_inputs, split

MOST_CALLS = 150
MOST_DROPPED = 24
"""The longest axis from which elements are dropped one by one."""
ROUNDS = 4


def shrink(point: Point, fails: Callable[[Point], bool], varied: Mapping[str, np.ndarray]) -> Point:
    """Return the simplest point that still fails, by the moves of delta debugging (Zeller and Hildebrandt, 2002).

    varied: the inputs whose values may change; the others lose elements together with these.
    """
    return Shrinking(point, fails, set(varied)).run()


class Shrinking:
    """A point on its way down. fails is called at most MOST_CALLS times."""

    def __init__(self, point: Point, fails: Callable[[Point], bool], varied: set[str]):
        self.point, self.fails, self.varied, self.calls = point, fails, varied, 0

    def run(self) -> Point:
        """Return the simplest failing point."""
        for _ in range(ROUNDS):
            before = complexity(self.values())
            size = len(self.values())
            self.shorten()
            self.simplify()
            if len(self.values()) == size and complexity(self.values()) == before:
                break
        return self.point

    def values(self) -> np.ndarray:
        """Return the elements of the inputs that may change."""
        return joined_inputs(self.part())

    def part(self) -> Point:
        """Return the inputs that may change."""
        return {name: x for name, x in self.point.items() if name in self.varied}

    def accept(self, point: Point) -> bool:
        """Go on from a point if it still fails."""
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
        """Return the point with some places of all axes of a length."""
        arrays = {}
        for name, x in self.point.items():
            for axis in range(x.ndim):
                if x.shape[axis] == length:
                    x = np.take(x, places, axis=axis)
            arrays[name] = x
        return arrays

    def simplify(self) -> None:
        """Replace values by simpler ones, equal ones together."""
        for value in dict.fromkeys(self.values().tolist()):
            self.replace_value(value)

    def replace_value(self, value: complex) -> None:
        """Replace a value where it stands by the simplest that fails."""
        places = self.values() == value
        if not places.any():
            return
        for simpler in simpler_values(value):
            if self.put(places, simpler):
                value = simpler
                break
        if np.imag(value) or abs(value) <= 3:
            return
        sign, high = float(np.sign(np.real(value))), abs(float(np.real(value)))
        low = 1.0
        while high > 10 * low and (middle := float(f"{np.sqrt(low * high):.0e}")) not in (low, high):
            low, high = (low, middle) if self.put(places, sign * middle) else (middle, high)
        low = np.floor(low)
        step = 10.0 ** max(0.0, np.floor(np.log10(high)) - 1)
        while high - low > step and (middle := step * np.floor((low + high) / 2 / step)) not in (low, high):
            low, high = (low, middle) if self.put(places, sign * middle) else (middle, high)

    def put(self, places: np.ndarray, value: complex) -> bool:
        """Put a value at places; return whether it was simpler and failed."""
        flat = self.values()
        changed = flat.copy()
        changed[places] = value
        simpler = split(changed, self.part())
        like = self.part()
        simpler = {name: x.astype(like[name].dtype) for name, x in simpler.items()}
        if not complexity(joined_inputs(simpler)) < complexity(flat):
            return False
        return self.accept({**self.point, **simpler})


def simpler_values(value: complex) -> Iterator[complex]:
    """Yield values that are simpler than one, the simplest first."""
    real = float(np.real(value))
    sign = -1.0 if real < 0 else 1.0
    yield from (0.0, sign, -sign, 2 * sign)
    if not np.imag(value) and abs(real) < 1e15:
        yield from (sign * np.floor(abs(real)), sign * np.ceil(abs(real)))
    if real and np.isfinite(real):
        yield from (float(f"{real:.{digits}e}") for digits in range(6))


def complexity(values: np.ndarray) -> tuple[float, ...]:
    """Return how complicated values are, to be compared: fractions, different values, digits, size, minus signs."""
    real = np.real(values).astype(float)
    fractions = (real != np.floor(real)) | (np.imag(values) != 0)
    length = sum(len(repr(v)) for v in real[fractions].tolist())
    different = len(np.unique(np.abs(values)))
    size = float(np.minimum(np.abs(values).astype(float), 1e300).sum())
    return (
        float(fractions.sum()),
        float(length),
        float(np.count_nonzero(values)),
        size,
        different,
        float((real < 0).sum()),
    )
