"""The derivative along a line from few values: symmetric pairs, whose differences are odd in the step.

What is even, a kink at the point among it, cancels in these differences. Three pairs are extrapolated as in Romberg's
method; eight, at Chebyshev nodes, show by the decay of their coefficients where the noise begins (see `fit`).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ..subjects.flatten import Flat
from .fit import FLAT, NODES, POINTS, SAFETY, rounding_of
from .jacobian import even_weights

REACH = 0.05
"""The half-width of the first look, in units of the scale of x."""
PAIRS = np.cos(np.pi * np.array([1, 3, 5]) / 14)
WIDTHS = tuple(0.3 / 4**k for k in range(7))
HALF = POINTS[: NODES // 2]
CHEBYSHEV = np.linalg.inv(np.polynomial.chebyshev.chebvander(HALF, NODES - 1)[:, 1:NODES:2])
"""From odd values at positive nodes to odd coefficients."""
AT_CENTRE = np.array([k if k % 4 == 1 else -k for k in range(1, NODES, 2)], float)
CLOSE = POINTS[NODES // 2 - 1 : NODES // 2 - 6 : -1]
"""The nodes next to the point, by which one side of it is judged ..."""
TO_POINT = tuple(np.linalg.inv(np.vander(nodes, increasing=True))[0] for nodes in (CLOSE, CLOSE[:-1]))
"""... and what all of them, and all but one, extrapolate to at the point."""
TAIL = 3
PER_FIT = NODES - 1
"""Calls of a fit."""
PLATEAU = 0.1
"""The part of its size that a plateau of noise keeps in the narrowest fit; one of an edge or a kink does not."""
MORE, MOST = 10, 30
"""Fits that are averaged where noise hides what is wanted, and how many at most without a budget."""
LIMIT = 300_000
"""Calls beyond which averaging noise is given up."""
BENT = 1e-3
"""A gap between one-sided slopes, relative to the slopes, from which on it is looked at."""


class Slope(NamedTuple):
    """Derivatives along a line, one per combination of outputs.

    value, error: with the half-width of its interval. bent: where one-sided slopes seem to differ. noise: how far
    values scatter about a smooth curve; resolved: whether the error is that of noise, and not of a series cut too
    early. rough: an error that trusts no extrapolation.
    """

    value: np.ndarray
    error: np.ndarray
    bent: np.ndarray
    noise: np.ndarray
    resolved: np.ndarray
    rough: np.ndarray


class SampledLine:
    """Values of combinations of outputs along x + t d.

    weights: (R, m), the combinations. noise: what values are known to scatter by at least. All values that were asked
    for are kept, so that other combinations of them need no calls.
    """

    def __init__(self, flat: Flat, direction: np.ndarray, weights: np.ndarray, noise: np.ndarray):
        self.flat, self.direction, self.weights, self.noise = flat, direction, weights, noise
        self.kept: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def pairs(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs at +h and -h: shape (steps, m) each."""
        new = np.array([t for t in h if float(t) not in self.kept])
        if len(new):
            offsets = np.concatenate([new, -new])
            values = self.flat.points(self.flat.x + offsets[:, None] * self.direction)
            for k, t in enumerate(new):
                self.kept[float(t)] = values[k], values[len(new) + k]
        pairs = [self.kept[float(t)] for t in h]
        return np.array([up for up, _ in pairs]), np.array([down for _, down in pairs])

    def change(self) -> np.ndarray:
        """Return how much outputs are seen to change at most beside the point, over the whole direction: (m,)."""
        gaps = [np.fmax(abs(up - self.flat.f0), abs(down - self.flat.f0)) / t for t, (up, down) in self.kept.items()]
        return np.fmax.reduce(gaps)

    def floor(self, up: np.ndarray, down: np.ndarray) -> np.ndarray:
        """Return what the combined values scatter by at least: rounding, and noise that is known of."""
        largest = np.maximum(np.maximum(np.abs(up), np.abs(down)).max(axis=0), np.abs(self.flat.f0))
        return np.abs(self.weights) @ np.maximum(rounding_of(largest, self.flat.unit), self.noise)

    def displacement(self, h: float) -> np.ndarray:
        """Return how far slopes are off because x + h d is rounded, for inputs narrower than double precision."""
        unit = max(float(np.finfo(part.dtype).eps) / 2 for part in self.flat.parts)
        return np.zeros(len(self.weights)) if unit < 1e-12 else np.full(len(self.weights), SAFETY * unit / h)

    def romberg(self, h: np.ndarray, trust: np.ndarray | float | None = None) -> Slope:
        """Extrapolate the slopes over falling steps h. trust: for two steps, the part of the last change to fear."""
        up, down = self.pairs(h)
        noise, base = self.floor(up, down), self.weights @ self.flat.f0
        up, down = up @ self.weights.T, down @ self.weights.T
        slopes = (up - down) / (2 * h)[:, None]
        weights = even_weights(h / h[0])
        value = weights @ slopes
        inner = even_weights(h[1:] / h[0]) @ slopes[1:]
        last, before = np.abs(value - inner), np.abs(inner - slopes[-1])
        if trust is None:
            trust = np.maximum(10 * last / np.maximum(before, np.finfo(float).tiny), 0.02)
        rounding = SAFETY * noise * (np.abs(weights) / h).sum()
        error = last * np.clip(trust, 1e-3, 1) + rounding + self.displacement(h[-1]) * np.abs(value)
        bent, rough = self.bends(h, up + down - 2 * base, value, noise), np.maximum(last, before) + rounding
        return Slope(value, error, bent, noise, np.zeros(len(value), bool), rough)

    def best(self, h: np.ndarray) -> Slope:
        """Return the best extrapolation of three consecutive steps among many."""
        return functools.reduce(better, (self.romberg(h[k : k + 3]) for k in range(len(h) - 2)))

    def bends(self, h: np.ndarray, even: np.ndarray, value: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return where what is even in h grows like h, and not like its square, as beside a kink or a jump."""
        powers = h[:, None] ** np.array([1, 2, 4])[: len(h)]
        first, second = np.linalg.solve(powers, even)[:2]
        clear = np.abs(first) > 20 * noise / h[-1] + BENT * np.abs(value)
        return clear & (np.abs(first) > 0.3 * np.abs(second) * h[-1])

    def fit(self, width: float, more: int = 0) -> Slope:
        """Fit odd Chebyshev polynomials to eight pairs. more: coefficients to keep that single fits do not show."""
        up, down = self.pairs(HALF * width)
        floor = self.floor(up, down)
        odd = (up - down) @ self.weights.T / 2
        coefficients = CHEBYSHEV @ odd
        size = np.abs(coefficients)
        tail = np.maximum(size[-TAIL:].max(axis=0), 0.3 * floor)
        noise = np.maximum(np.sqrt((size[-TAIL:] ** 2).mean(axis=0)), 0.3 * floor)
        above = size > 2.5 * tail
        last = np.where(above.any(axis=0), len(size) - 1 - np.argmax(above[::-1], axis=0), 0)
        last = np.minimum(np.maximum(last, 1) + more, len(size) - 1)
        used = np.arange(len(size))[:, None] <= last
        slopes = AT_CENTRE[:, None] / width
        value = (slopes * coefficients * used).sum(axis=0)
        spread = np.sqrt(((slopes * used) ** 2).sum(axis=0))
        following = np.abs(slopes[np.minimum(last + 1, len(size) - 1), 0])
        error = SAFETY * noise * spread + tail * following + self.displacement(width) * np.abs(value)
        error = np.where(np.isfinite(value), error, np.inf)
        return Slope(value, error, np.zeros(len(value), bool), noise, tail <= FLAT * floor, error)

    def one_sided(self) -> tuple[np.ndarray, np.ndarray]:
        """Return slopes from the left and from the right, and their errors, from fits that were made: (2, R)."""
        best = np.full((2, len(self.weights)), np.nan)
        least = np.full(best.shape, np.inf)
        for width in (w for w in WIDTHS if float(CLOSE[0] * w) in self.kept):
            up, down = self.pairs(CLOSE * width)
            rounding = SAFETY * self.floor(up, down) * (np.abs(TO_POINT[0]) / (CLOSE * width)).sum()
            gaps = np.stack([self.flat.f0 - down, up - self.flat.f0]) @ self.weights.T
            slopes = gaps / (CLOSE * width)[:, None]
            value, other = TO_POINT[0] @ slopes, TO_POINT[1] @ slopes[:, :-1]
            error = np.abs(value - other) + rounding
            best, least = np.where(error < least, value, best), np.fmin(error, least)
        return best, least

    def is_straight(self) -> np.ndarray:
        """Return where slopes from the left and from the right are seen to be the same: (R,)."""
        (left, right), errors = self.one_sided()
        room = errors.sum(axis=0)
        return (np.abs(right - left) <= room) & (room <= BENT * np.maximum(np.abs(left), np.abs(right)))

    def search(self, enough: np.ndarray) -> Slope:
        """Return the best of fits of falling widths, down to where noise, and not their degree, limits them.

        A plateau that does not fall with the width is noise, unless the narrowest fit is without it: then it is an
        edge or a kink beside the point. enough: errors below which no better is looked for. Raises OutOfCallsError.
        """
        fits: list[Slope] = []
        for width in WIDTHS:
            fits.append(self.fit(width))
            if len(fits) > 1:
                same = fits[-1].noise > 0.5 * fits[-2].noise
                if (same & ~fits[-1].resolved).any():
                    same &= fits[-1].resolved | (self.fit(WIDTHS[-1]).noise > PLATEAU * fits[-1].noise)
                fits[-2:] = [fit._replace(resolved=fit.resolved | same) for fit in fits[-2:]]
            if np.any([fit.resolved for fit in fits], axis=0).all():
                break
        best = functools.reduce(better, fits)
        if fits[0].resolved.all():
            best = self.widen(best, enough)
        return self.average(best, fits, enough) if (best.error > enough)[best.resolved].any() else best

    def widen(self, best: Slope, enough: np.ndarray) -> Slope:
        """Try wider fits while noise is what limits, and they know more."""
        width = WIDTHS[0]
        while (best.error > enough).any() and width < 20:
            width *= 4
            fit = self.fit(width)
            wider = better(best, fit._replace(resolved=fit.resolved | (fit.noise <= 2 * best.noise)))
            if not (wider.error < 0.7 * best.error).any():
                break
            best = wider
        return best

    def average(self, best: Slope, fits: list[Slope], enough: np.ndarray) -> Slope:
        """Return the mean of more fits about as wide as the best one, where these agree."""
        place = int(np.argmin([np.where(fit.resolved, fit.error, np.inf).max() for fit in fits]))
        wanted = float(np.nan_to_num((best.error / enough)[best.resolved].max(initial=0.0), posinf=1e9)) ** 2
        most, subject = MOST, self.flat.subject
        if subject.most_calls is not None:
            most = min((subject.most_calls - subject.calls) // PER_FIT, LIMIT // PER_FIT)
        count = int(min(max(1.5 * wanted, MORE), most))
        more = [self.fit(WIDTHS[place] * part, more=1) for part in np.linspace(0.55, 0.95, max(count, 1))]
        values, errors = np.array([fit.value for fit in more]), np.array([fit.error for fit in more])
        with np.errstate(all="ignore"):
            weights = 1 / errors**2
            mean = (weights * values).sum(axis=0) / weights.sum(axis=0)
            error = 1.5 / np.sqrt(weights.sum(axis=0))
            agree = (np.abs(values - mean) <= errors).mean(axis=0) >= 0.95
        use = agree & np.isfinite(mean) & best.resolved & (error < best.error)
        return best._replace(value=np.where(use, mean, best.value), error=np.where(use, error, best.error))


def better(one: Slope, other: Slope) -> Slope:
    """Return of two slopes the one with the smaller error, where it is resolved, for each combination."""
    first, second = (np.where(s.resolved, s.error, np.inf) for s in (one, other))
    use = (second < first) | (np.isinf(first) & np.isinf(second) & (other.error < one.error))
    parts = [np.where(use, b, a) for a, b in zip(one, other, strict=True)]
    return Slope(*parts)._replace(noise=np.minimum(one.noise, other.noise))
