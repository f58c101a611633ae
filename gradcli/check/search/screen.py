"""A cheap look at a claim along one direction, and a long look along one element."""

from __future__ import annotations

import numpy as np

from ..subjects.flatten import Flat

WIDE, HALF = 0.05, 0.025
"""Two steps whose slopes are extrapolated, in units of the scale; two more follow from the rounding unit."""
CLOSE = 1e-6
"""The relative difference from a claim that no filter holds against it."""
INFORMED = 1e-2
"""The relative error beyond which a slope says nothing."""
HIDING = 1e-9
"""An error of a slope beside the slopes over a large step, that is more than rounding."""
MATTERS = 1e-4
"""A claimed effect, beside the value and the largest one, that is looked at where no slope is seen."""
NEAR, GROWTH = 1e-6, 10.0
"""Steps so small beside the largest show slopes so many times larger where the function is singular."""


def compare_along_line(flat: Flat, rng: np.random.Generator) -> tuple[float, bool]:
    """Return the relative distance between claim and slopes along a random direction, and whether there is a kink.

    Slopes over four steps, of a random sum of the outputs. A slope that is known well and agrees is enough; at a
    kink, whatever lies between the one-sided ones.
    """
    unit = max(flat.unit, *(float(np.finfo(part.dtype).eps) / 2 for part in flat.parts))
    direction = rng.choice([-1.0, 1.0], flat.size) * rng.uniform(0.5, 1.0, flat.size) * flat.scales
    weights = np.ones(1) if len(flat.f0) == 1 else rng.standard_normal(len(flat.f0))
    parts = claimed_parts(flat, weights) * direction
    claim, size = float(parts.sum()), float(np.abs(parts).max())
    x = flat.x
    steps = np.array([WIDE, HALF, 4 * unit ** (1 / 3), 4 * unit**0.5])
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
    if not np.isfinite(claim):
        return (np.inf if sided else 0.0), False
    if not largest:
        return 0.0, False
    jump = np.abs(right - left)
    kink = bool((jump[2:] > 1e-3 * largest + 4 * rounding[2:]).all() and jump[3] > 0.5 * jump[2])
    if kink:
        low, high = min(right[3], left[3]), max(right[3], left[3])
        outside = max(low - claim, claim - high) - CLOSE * largest - 4 * rounding[3]
        return max(0.0, outside / largest), True
    known &= errors <= INFORMED * largest
    if not known.any():
        return 0.0, False
    gaps = np.abs(claim - slopes[known])
    if (gaps <= CLOSE * largest + errors[known]).any():
        return 0.0, False
    return float(gaps.min() / largest), False


def claimed_parts(flat: Flat, weights: np.ndarray) -> np.ndarray:
    """Return the claimed derivative of a weighted sum of the outputs. Raises CheckError."""
    subject = flat.subject
    real = flat.out_dtype.kind == "f" and all(x.dtype.kind == "f" for x in flat.arrays)
    if real and subject.has_pull:
        cotangent = weights.astype(flat.out_dtype).reshape(flat.out_shape)
        pulled = subject.pull(subject.at, cotangent)
        return np.concatenate([np.ravel(pulled[name]).astype(float) for name in subject.wrt])
    return weights @ flat.jacobian(subject.jacobian(subject.at))


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

    def agrees(self, claim: float) -> bool:
        """Return whether a claim is the slope over two steps, one after the other: then it is so at some scale."""
        if not np.isfinite(claim) or not claim:
            return False
        near = (np.abs(self.central - claim) <= INFORMED * abs(claim)) & (self.rounding <= INFORMED * abs(claim))
        return bool((near[1:] & near[:-1]).any())

    def has_no_slope(self, claim: float, error: float) -> bool:
        """Return whether values say that there is no slope at any scale, though a claim has one that would matter.

        None that grows towards small steps, as beside a pole, and none nearly as large as the claim; a wave that is
        faster than numbers are close has any.
        """
        flat, subject = self.flat, self.flat.subject
        near = float(np.nanmax(self.sided[self.steps < NEAR * self.steps[0]], initial=0.0))
        if near > GROWTH * float(np.nanmax(self.sided[:4], initial=0.0)):
            return False
        size = abs(claim)
        jacobian = flat.jacobian(subject.jacobian(subject.at))[self.row]
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
        name, x = subject.wrt[k], flat.arrays[k]
        beside = {**subject.at, name: x * (1 + 2 * np.finfo(x.dtype).eps)}
        moved = flat.jacobian(subject.jacobian(beside))[self.row, self.place]
        return bool(abs(moved - claim) <= 1e-3 * size)
