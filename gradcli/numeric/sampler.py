"""Sample a function along lines through the point. Only this code calls the function during a check."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from .flat import Flat, real_view

TINY = float(np.finfo(float).tiny)  # the smallest normal float64; divisors are at least this
MEASURED_POINTS = 8  # points close to x at which rounding is measured: a choice, as for other errors of few numbers
CHANGES_OVER = 1e-2  # distance over which outputs are seen to change, in units of the scale: a choice
MOST_BYTES = 1 << 27  # memory limit for the points of one batch


def rounding_of(size: np.ndarray, unit: float) -> np.ndarray:
    """Return the error of values of a given size from rounding and underflow (a few of the smallest numbers)."""
    return unit * size + 16 * float(np.finfo(np.float32 if unit > 1e-10 else np.float64).smallest_subnormal)


class Sampler:
    """Calls the function of a `Flat` at real vectors, in batches, and counts the calls.

    drift: difference between two calls at the point, shape (m,).
    """

    def __init__(self, flat: Flat):
        self.flat, self.calls = flat, 1
        self.again: np.ndarray | None = None

    @property
    def drift(self) -> np.ndarray:
        if self.again is None:
            self.again = real_view(self.flat.claim.value(self.flat.claim.at)).astype(float)
            self.calls += 1
        return np.abs(self.flat.f0 - self.again)

    @property
    def noise(self) -> np.ndarray:
        """Difference between two calls at the point, 0 if it was not measured: (m,)."""
        return self.drift if self.again is not None else np.zeros(len(self.flat.f0))

    def changes(self, rng: np.random.Generator) -> np.ndarray:
        """Return how much each output changes next to x if all elements move, (m,); their sizes if that is unknown."""
        flat = self.flat
        signs = np.where(flat.fixed, 0.0, rng.choice([-1.0, 1.0], flat.size))
        ends = self.along(None, CHANGES_OVER * signs * flat.scales, np.array([-1.0, 1.0]))
        changes = np.abs(ends - flat.f0).max(axis=0)
        return np.where(np.isfinite(changes), changes, np.abs(flat.f0))

    def line(self, direction: np.ndarray, weights: np.ndarray | None = None, origin: np.ndarray | None = None) -> Line:
        """Return the line x + t direction.

        direction: shape (n,); weights: (R, m), combinations of outputs; origin: point to use instead of x.
        """
        return Line(self, direction, weights, origin)

    def element(self, i: int, weights: np.ndarray | None = None, origin: np.ndarray | None = None) -> Line:
        """Return the line along element i, in units of its scale."""
        direction = np.zeros(self.flat.size)
        direction[i] = self.flat.scales[i]
        return Line(self, direction, weights, origin)

    def points(self, xs: np.ndarray, moved: Sequence[int] | None = None) -> np.ndarray:
        """Return f at real vectors xs (points, n): shape (points, m). moved: the inputs in xs, None for all."""
        flat, stacks = self.flat, {}
        chosen = range(len(flat.arrays)) if moved is None else moved
        begin = flat.edges[chosen[0]] if len(chosen) else 0
        for k in chosen:
            x = flat.arrays[k]
            part = xs[:, flat.edges[k] - begin : flat.edges[k + 1] - begin].astype(flat.parts[k].dtype, copy=False)
            stacks[flat.claim.wrt[k]] = np.ascontiguousarray(part).view(x.dtype).reshape((len(xs), *x.shape))
        return self.evaluate(stacks, len(xs))

    def along(self, origin: np.ndarray | None, direction: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return f at origin + t direction for several t: shape (points, m)."""
        flat, start = self.flat, self.flat.x if origin is None else origin
        moved = range(len(flat.arrays))
        if origin is None:
            inputs = [k for k in moved if direction[flat.columns(k)].any()] or [0]
            moved = range(inputs[0], inputs[-1] + 1)
        first, last = (int(flat.edges[k]) for k in (moved[0], moved[-1] + 1)) if len(moved) else (0, 0)
        x, d = start[first:last], direction[first:last]
        step = max(1, MOST_BYTES // (32 * len(x) + 32 * len(flat.f0) + 64))
        batches = (offsets[begin : begin + step] for begin in range(0, len(offsets), step))
        return np.concatenate([self.points(x + batch[:, None] * d, moved) for batch in batches])

    def rounding_along(
        self, origin: np.ndarray | None, direction: np.ndarray, offsets: Sequence[float], values: np.ndarray
    ) -> np.ndarray | None:
        """Return how far values of f at origin + t direction are off by rounding, (m,); None if that is unknown."""
        flat, start = self.flat, self.flat.x if origin is None else origin
        points = [{**flat.claim.at, **flat.arrays_at(start + t * direction)} for t in offsets]
        shaped = values.astype(flat.out.real.dtype).view(flat.out_dtype).reshape((len(offsets), *flat.out_shape))
        found = flat.claim.rounding(points, shaped)
        if found is None:
            return None
        off = np.repeat(found.reshape((len(offsets), -1)), 2 if flat.out_dtype.kind == "c" else 1, axis=1)
        return np.where(np.isfinite(off), off, 0.0).max(axis=0)

    def evaluate(self, stacks: Mapping[str, np.ndarray], count: int) -> np.ndarray:
        flat = self.flat
        self.calls += count
        flat.claim.progress.report_progress("call", self.calls, 0)
        out = flat.claim.values(stacks, count, flat.out)
        return real_view(out.astype(flat.out_dtype)).astype(float).reshape((count, -1))


class Line:
    """The function along x + t direction, with every value kept. weights: (R, m), combinations of outputs to return."""

    def __init__(
        self,
        sampler: Sampler,
        direction: np.ndarray,
        weights: np.ndarray | None = None,
        origin: np.ndarray | None = None,
    ):
        self.sampler, self.flat, self.direction, self.weights = sampler, sampler.flat, direction, weights
        self.origin, self.places = origin, np.flatnonzero(direction)
        self.alone = len(self.places) == 1 and origin is None
        self.kept: dict[float, np.ndarray] = {0.0: self.flat.f0} if origin is None else {}
        self.measured: np.ndarray | None = None  # rounding of each output near the point, if it was measured
        self.largest: np.ndarray | float = 0.0  # sizes of the outputs, at most, in the first `seen` values of `kept`
        self.seen = 0

    def with_weights(self, weights: np.ndarray | None) -> Line:
        """Return the same line, with its values, for other combinations of outputs."""
        other = Line(self.sampler, self.direction, weights, self.origin)
        other.kept, other.measured = self.kept, self.measured
        return other

    def measure_rounding(self) -> bool:
        """Measure the rounding of values close to the point; return whether it is known.

        Values that are equal there tell nothing of it: then, it is that of the closest ones that differ.
        """
        if self.measured is None:
            near = sorted((t for t, row in self.kept.items() if np.isfinite(row).all()), key=abs)
            close = near[:MEASURED_POINTS]
            self.measured = self.rounding_at(close)
            equal = (np.array([self.kept[t] for t in close]) == self.flat.f0).all(axis=0)
            differing = [t for t in near[MEASURED_POINTS:] if (self.kept[t] != self.flat.f0)[equal].any()]
            further = self.rounding_at(differing[:MEASURED_POINTS]) if differing else None
            if self.measured is not None and further is not None:
                self.measured = np.where(equal, further, self.measured)
        return self.measured is not None

    def rounding_at(self, offsets: Sequence[float]) -> np.ndarray | None:
        """Return how far the values at some offsets are off by rounding, (m,); None if that is unknown."""
        values = np.array([self.kept[t] for t in offsets])
        return self.sampler.rounding_along(self.origin, self.direction, offsets, values)

    @property
    def unit_of_x(self) -> float:
        """Largest rounding unit of the inputs that move, relative to the direction; for zeros, that of 1e-9."""
        flat = self.flat
        size = np.abs(flat.x[self.places]) / np.abs(self.direction[self.places])
        return float(np.max(size, initial=1e-9)) * flat.input_unit

    @property
    def scale(self) -> float:
        """Largest change of an element over one unit of t; 1 if no element moves."""
        moved = np.abs(self.direction[self.places]).max(initial=0.0)
        return float(moved) or 1.0

    def representable(self, offsets: np.ndarray) -> np.ndarray:
        """Return the offsets after rounding x + t direction if a single element moves; else the same offsets."""
        if not self.alone:
            return offsets
        i = int(self.places[0])
        x, d = self.flat.coordinate(i), float(self.direction[i])
        kind = x.dtype.type
        return ((x + (offsets * d).astype(kind)) - x).astype(float) / d

    def values(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the offsets as represented, and the combined values there: (points,), (points, R)."""
        offsets = self.representable(np.asarray(offsets, float))
        new = np.array([t for t in dict.fromkeys(offsets.tolist()) if t not in self.kept])
        if len(new):
            for t, row in zip(new.tolist(), self.sampler.along(self.origin, self.direction, new), strict=True):
                self.kept[t] = row
        values = np.array([self.kept[t] for t in offsets.tolist()])
        return offsets, self.combine(values)

    def known_values(self, j: int, reach: float) -> dict[float, float]:
        """Return the values of row j that are known within a distance, by offset."""
        return {t: float(self.combine(row[None])[0, j]) for t, row in self.kept.items() if abs(t) <= reach}

    def combine(self, values: np.ndarray) -> np.ndarray:
        return values if self.weights is None else values @ self.weights.T

    @property
    def base(self) -> np.ndarray:
        return self.combine(self.flat.f0[None])[0]

    @property
    def measured_rounding(self) -> np.ndarray | None:
        """Rounding of combined values near the point, (R,); None if it was not measured."""
        if self.measured is None or self.weights is None:
            return self.measured
        return np.abs(self.weights) @ self.measured

    def rounding(self, values: np.ndarray) -> np.ndarray:
        """Return the error of combined values from rounding, or from differences between calls. values: (points, R)."""
        least = self.sampler.noise if self.measured is None else np.maximum(self.sampler.noise, self.measured)
        if self.weights is None:
            return np.maximum(rounding_of(np.abs(values).max(axis=0), self.flat.unit), least)
        for row in itertools.islice(self.kept.values(), self.seen, None):  # few are new since the call before
            self.largest = np.maximum(self.largest, np.where(np.isfinite(row), np.abs(row), 0.0))
        self.seen = len(self.kept)
        return np.abs(self.weights) @ np.maximum(rounding_of(np.asarray(self.largest), self.flat.unit), least)
