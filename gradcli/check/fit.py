"""Chebyshev fits along a line: the derivative at a point, and its error, from the decay of the coefficients.

Trefethen, "Approximation Theory and Approximation Practice" (2013), chapters 3, 4 and 7 (series and their decay).
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

NODES = 17  # nodes of a fit, 0 among them
TAIL = 5  # the last coefficients of a fit, which show the plateau
HIGH = 6  # from this coefficient on they count as high: an analytic function that no wider fit resolves has them
CLEAR = 30.0  # how many times larger than the plateau a coefficient is beyond doubt
UNSEEN = 4  # coefficients after the last that counts which may be as large as the plateau, without being noise
SAFETY = 3.0  # how many standard deviations of the noise an error covers
FLAT = 40.0  # a plateau up to so many units of rounding is rounding ...
HIGH_PLATEAU = 0.02
"""... unless it is this part of the values: rounding to few digits, and structure that no node sees, look alike."""

ANGLES = np.pi * (2 * np.arange(NODES) + 1) / (2 * NODES)
POINTS = np.cos(ANGLES)
POINTS[NODES // 2] = 0.0
TRANSFORM = 2 / NODES * np.cos(np.outer(np.arange(NODES), ANGLES))
TRANSFORM[0] /= 2
ODD = np.arange(NODES) % 2 == 1
AT_CENTRE = np.where(ODD, np.arange(NODES) * np.where(np.arange(NODES) % 4 == 1, 1.0, -1.0), 0.0)
"""The derivatives of the Chebyshev polynomials at 0."""
AT_END = np.arange(NODES) ** 2.0 * np.where(np.arange(NODES) % 2 == 1, 1.0, -1.0)  # their derivatives at -1


def rounding_of(size: np.ndarray, unit: float) -> np.ndarray:
    """Return how far values of some size are off by rounding, and by underflow: a few of the smallest numbers."""
    return unit * size + 16 * float(np.finfo(np.float32 if unit > 1e-10 else np.float64).smallest_subnormal)


class Fit:
    """One Chebyshev fit: derivative and error at 0 for each of m functions.

    width: how far the interval reaches. noise: the size of the last coefficients; rounded: whether that is no
    more than rounding; finite: whether all samples were finite; constant: whether all were equal. at_end: the
    fit's value at its first end, where a one-sided fit touches the point. curved: whether high coefficients count
    beyond doubt; spread: in how many of its steps the function changes much, apart from its trend. variation: the
    size of the largest coefficient but the constant one.
    """

    def __init__(self, places: np.ndarray, values: np.ndarray, width: float, unit: float, weights: np.ndarray):
        self.width = width
        self.finite = np.isfinite(values).all(axis=0)
        values = np.where(self.finite, values, 0.0)
        at_nodes = np.abs(places - POINTS).max() < 1e-15
        coefficients = (TRANSFORM if at_nodes else np.linalg.inv(chebyshev_matrix(places))) @ values
        size = np.abs(coefficients)
        floor = rounding_of(np.abs(values).max(axis=0), unit)
        self.constant = (values == values[:1]).all(axis=0)
        tail = size[-TAIL:].max(axis=0)
        relative = size[-TAIL:] / np.maximum(tail, np.finfo(float).tiny)
        self.noise = np.maximum(tail * np.sqrt((relative**2).mean(axis=0)), 0.3 * floor)
        plateau = np.maximum(tail, 0.3 * floor)
        self.rounded = plateau <= min(FLAT, HIGH_PLATEAU / unit) * np.maximum(floor, np.finfo(float).tiny)
        above = size > 2.5 * plateau
        last = np.where(above.any(axis=0), NODES - 1 - np.argmax(above[::-1], axis=0), 1)
        last = np.maximum(last, 2)
        used = np.arange(NODES)[:, None] <= last
        self.value = (weights[:, None] * coefficients * used).sum(axis=0)
        spread = np.sqrt(((weights[:, None] * used) ** 2).sum(axis=0))
        following = sum(np.abs(weights[np.minimum(last + k, NODES - 1)]) for k in range(1, UNSEEN + 1))
        self.error = np.where(self.finite, SAFETY * self.noise * spread + plateau * following, np.inf)
        self.curved = (size[HIGH:-TAIL] > CLEAR * plateau).any(axis=0)
        self.variation = size[1:].max(axis=0)
        steps = np.abs(np.diff(values, axis=0) - np.diff(places)[:, None] * coefficients[1])
        self.spread = (steps > 0.25 * steps.max(axis=0)).sum(axis=0)
        signs = np.where(ODD, -1.0, 1.0)[:, None]
        self.at_end = (signs * coefficients * used).sum(axis=0)


def chebyshev_matrix(places: np.ndarray) -> np.ndarray:
    """Return the Chebyshev polynomials, columns, at places, rows: NumPy's chebvander takes 2 ms to import."""
    columns = [np.ones_like(places), places]
    for _ in range(NODES - 2):
        columns.append(columns[-1] * (2 * places) - columns[-2])
    return np.stack(columns, axis=-1)


class Line:
    """A function along a line through x: `values` takes offsets (k,) and returns values (k, m), rounded to `unit`."""

    def __init__(self, values: Callable[[np.ndarray], np.ndarray], x: np.floating, unit: float):
        self.values, self.x, self.unit = values, x, unit

    def representable(self, offsets: np.ndarray) -> np.ndarray:
        """Return the offsets that x + offset really has in x's type."""
        kind = self.x.dtype.type
        return ((self.x + offsets.astype(kind)) - self.x).astype(float)

    def fit(self, width: float) -> Fit:
        offsets = self.representable(POINTS * width)
        return Fit(offsets / width, self.values(offsets), width, self.unit, AT_CENTRE / width)

    def fit_side(self, width: float, side: int) -> Fit:
        """Fit on [0, width] (side 1) or [-width, 0] (side -1), and differentiate at 0."""
        offsets = self.representable(side * (1 + POINTS) / 2 * width)
        weights = AT_END * (side * 2 / width)
        return Fit(side * offsets * 2 / width - 1, self.values(offsets), width, self.unit, weights)


def mean_of_fits(values: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean of fits (rows) whose errors are noise, its error, and which fits agree with it."""
    weights = 1 / errors**2
    mean = (weights * values).sum(axis=0) / weights.sum(axis=0)
    return mean, 1.5 / np.sqrt(weights.sum(axis=0)), np.abs(values - mean) <= errors


class Estimate:
    """Derivatives of m functions at 0 along a line.

    value, error: the reference and the half-width of its interval, infinite where there is none. other,
    other_error: a second candidate where small and large steps disagree, nan where there is none. left, right
    and their errors: one-sided derivatives where `kind` is "kink" or "edge". kind: "smooth", "noise" (the
    plateau is far above rounding), "kink", "jump", "edge" (the function ends here), "none".
    """

    def __init__(self, m: int):
        self.value = np.full(m, np.nan)
        self.error = np.full(m, np.inf)
        self.other = np.full(m, np.nan)
        self.other_error = np.full(m, np.nan)
        self.left, self.left_error = np.full(m, np.nan), np.full(m, np.inf)
        self.right, self.right_error = np.full(m, np.nan), np.full(m, np.inf)
        self.kind = np.full(m, "none", dtype=object)
        self.noise = np.zeros(m)
        self.width = np.full(m, np.nan)

    def put(self, where: np.ndarray, value: Any, error: Any, kind: str) -> None:
        self.value[where], self.error[where], self.kind[where] = value[where], error[where], kind

    def entry(self, k: int) -> Any:
        """Return derivative k alone: the same names, with numbers."""
        return SimpleNamespace(**{name: array.item(k) for name, array in vars(self).items()})


class SmallSteps:
    """Slopes over small symmetric steps: steps (k,), central, right and left slopes (k, m), visible error (k, m)."""

    def __init__(self, line: Line, scale: float, least: float, f0: np.ndarray):
        steps = np.geomspace(max(least / 4, 4 * np.finfo(float).tiny), 0.01 * scale, 13)
        self.steps = np.abs(line.representable((-1.0 if line.x < 0 else 1.0) * steps))
        up, down = np.split(line.values(np.concatenate([self.steps, -self.steps])), 2)
        column = self.steps[:, None]
        self.central = (up - down) / (2 * column)
        self.right = (up - f0) / column
        self.left = (f0 - down) / column
        self.largest = np.fmax(np.fmax(np.abs(up), np.abs(down)), np.abs(f0))
        self.visible = 2 * rounding_of(self.largest, line.unit) / column
        self.constant = (up == f0) & (down == f0)
        self.up_gap, self.down_gap = up - f0, f0 - down


def limit(slopes: np.ndarray, visible: np.ndarray) -> tuple[float, float]:
    """Return the limit of slopes over falling steps, and its error: for ends where no power series holds.

    slopes, visible: over rising steps. Aitken's extrapolation; slopes that keep growing have an infinite limit
    with error 0.
    """
    usable = np.isfinite(slopes) & (visible < 0.01 * np.maximum(np.abs(slopes), 1e-300))
    falling = slopes[usable][::-1]
    if len(falling) < 5:
        return np.nan, np.inf
    ratios = falling[1:] / falling[:-1]
    if (ratios[-4:] > 1.2).all() and np.ptp(ratios[-4:]) < 0.5 * ratios[-1]:
        return float(np.sign(falling[-1]) * np.inf), 0.0
    first, second = falling[-2] - falling[-3], falling[-1] - falling[-2]
    if second == first:
        return float(falling[-1]), abs(float(second)) + float(visible[usable][0]) * 4
    end = falling[-1] - second**2 / (second - first)
    return float(end), 2 * abs(float(falling[-1] - end)) + 4 * float(visible[usable][0])
