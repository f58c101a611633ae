"""Fit a Chebyshev series to samples on one interval, to get a slope and its error.

The function is sampled at the Chebyshev points of [-w, w]. If it is smooth, the coefficients of its Chebyshev series
fall geometrically until they reach the noise level; if they do not, w is too large. The slope is a weighted sum of the
odd coefficients. Its error follows from the noise level and from where the series was cut.

Source: Trefethen, "Approximation Theory and Approximation Practice" (2013), chapters 3, 4 and 7.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from .sampler import TINY, Line

QUICK = 4  # the degree of the fit with the fewest calls
TAILS = {4: 1, 8: 3, 16: 5}  # number of last coefficients that give the noise, by degree: up to a third of all
ABOVE_NOISE = 2.5  # a coefficient counts if it is this many times the noise level (calibrated)
FOLLOWING = 4  # dropped coefficients, from the first on, that may be as large as the noise level: a choice
NOISE_SIGMAS = 3.0  # standard deviations of the noise that an error covers
SAFETY = 4.0  # factor of each error, as only a few coefficients give the noise (prototype: 0 of 464 errors too small)


class Nodes(NamedTuple):
    """Chebyshev points of one degree, and the arrays that turn values there into coefficients and slopes."""

    points: np.ndarray
    transform: np.ndarray
    at_centre: np.ndarray  # derivatives of the Chebyshev polynomials at 0
    at_end: np.ndarray  # and at -1


@functools.cache
def nodes(degree: int) -> Nodes:
    k = np.arange(degree + 1)
    points = np.cos(np.pi * k / degree)
    points[degree // 2] = 0.0
    odd = k % 2 == 1
    at_centre = np.where(odd, k * np.where(k % 4 == 1, 1.0, -1.0), 0.0)
    return Nodes(points, np.linalg.inv(chebyshev_matrix(points)), at_centre, k**2 * np.where(odd, 1.0, -1.0))


def next_odd(series: np.ndarray) -> np.ndarray:
    """Return how large the first odd coefficient after a series is, if the last one counts and they fall geometrically.

    The even ones, which give the noise of a fit of degree 4, are 0 for an odd function. On n + 1 points, T_(n+1) equals
    T_(n-1); their slopes differ by 2 n at the centre and by 4 n at the ends.
    """
    last, before = np.abs(series[-2]), np.abs(series[-4])
    return last**2 / np.maximum(np.maximum(last, before), TINY)


def chebyshev_matrix(points: np.ndarray) -> np.ndarray:
    """Return a square matrix of Chebyshev polynomials (columns) at points: importing chebvander takes 2 ms."""
    columns = [np.ones_like(points), points]
    while len(columns) < len(points):
        columns.append(columns[-1] * (2 * points) - columns[-2])
    return np.stack(columns, axis=-1)


class Fit(NamedTuple):
    """One fit: value, error, noise, constant have shape (R,). The error is infinite where values are not finite."""

    width: float
    value: np.ndarray
    error: np.ndarray
    noise: np.ndarray
    constant: np.ndarray
    series: np.ndarray  # the coefficients that count
    points: np.ndarray  # where the function was sampled
    side: int

    def change(self, t: np.ndarray) -> np.ndarray:
        """Return f(t) - f(0) according to the fit: (points, R)."""
        start = math.pi / 2 if self.side == 0 else math.pi
        part = np.clip(np.asarray(t) / self.width, -1, 1)
        angle = np.arcsin(part) if self.side == 0 else 2 * np.arcsin(np.sqrt(np.abs(part)))
        k, angle = np.arange(len(self.series)), angle[:, None]
        # cos(k (start - angle)) - cos(k start), without cancellation
        return (2 * np.sin(k * (start - angle / 2)) * np.sin(k * angle / 2)) @ self.series


def fit(line: Line, width: float, degree: int, side: int = 0, start: float = 0.0) -> Fit | None:
    """Fit the function on [-width, width], or on [0, width] times a side; return None if x cannot resolve the points.

    start: position on the line of the interval's 0.
    """
    at = nodes(degree)
    wanted = at.points * width if side == 0 else side * (1 + at.points) / 2 * width
    t, values = line.values(start + wanted)
    t = t - start
    if len(set(t.tolist())) <= degree:
        return None
    places, weights = (
        (t / width, at.at_centre / width) if side == 0 else (side * 2 * t / width - 1, at.at_end * side * 2 / width)
    )
    finite = np.isfinite(values).all(axis=0)
    values = np.where(finite, values, 0.0)
    exact = np.abs(places - at.points).max() < 1e-13
    series = (at.transform if exact else np.linalg.inv(chebyshev_matrix(places))) @ values
    size, rounding, tail = np.abs(series), line.rounding(values), TAILS[degree]
    with np.errstate(under="ignore"):
        largest = size[-tail:].max(axis=0)
        relative = size[-tail:] / np.maximum(largest, TINY)
        noise = np.maximum(largest * np.sqrt((relative**2).mean(axis=0)), 0.3 * rounding)
    noise_level = np.maximum(largest, 0.3 * rounding)
    above = size > ABOVE_NOISE * noise_level
    last = np.maximum(np.where(above.any(axis=0), degree - np.argmax(above[::-1], axis=0), 0), 2)
    used = np.arange(degree + 1)[:, None] <= last
    series = series * used
    value = weights @ series
    spread = np.sqrt((weights[:, None] ** 2 * used).sum(axis=0))
    following = sum(np.abs(weights[np.minimum(last + k, degree)]) for k in range(1, FOLLOWING + 1))
    cut = next_odd(series) * (2 if side == 0 else 8) * degree / width
    error = np.where(finite, SAFETY * (NOISE_SIGMAS * noise * spread + noise_level * following + cut), np.inf)
    constant = finite & (values == values[:1]).all(axis=0)
    return Fit(width, value, np.where(np.isfinite(error), error, np.inf), noise, constant, series, t, side)
