"""The reference Jacobian, as precise as each element needs: a cheap look at all, a close one where it matters.

The cheap look takes ten points per input: three symmetric pairs within a few hundredths of the scale of x,
extrapolated as in Romberg's method, and two narrow pairs that must agree with them. An element that is settled
by that is left alone; the others are sampled by `line.Fits`.

What is even, a kink at the point among it, cancels in these differences. Eight pairs, at Chebyshev nodes, show by the
decay of their coefficients where the noise begins (see `fit`).
"""

import functools
from typing import NamedTuple

import numpy as np

from .fit import AT_CENTRE, FLAT, NODES, POINTS, SAFETY, Estimate, chebyshev_matrix, mean_of_fits, rounding_of
from .flat import Flat
from .line import Fits
from .noise import scatter_of_values

REACH = 0.05  # the half-width of the cheap look, in units of the scale of x
PAIRS = np.cos(np.pi * np.array([1, 3, 5]) / 14)
OTHER_REACHES = (0.01, 0.3, 0.002)
"""Looked at next where the first reach leaves too large an error: from its series, or from rounding."""
NARROW = (1e-3, 3e-7)
SMALL_SCALE = 1e-3  # the scale of x below which a function that does not change is looked at further away, ...
FAR_REACH = 0.3  # ... so far
SETTLED_ERROR = 3e-7  # the relative error that settles an element in the cheap look
CLEARLY = 30.0  # how many times its noise a change of the function is one
ENOUGH = 10  # elements found wrong by a close look, after which the others are not looked at closely
MARGIN = 2.5  # an analytic value further away than so many error estimates is wrong
WATCHED = 0.2  # seconds of calls after which who watches is told how far it is
SURE = 30.0  # a cheap look is trusted to accuse only beyond so many


def even_weights(ratios: np.ndarray, term: int = 0) -> np.ndarray:
    """Return the weights of central slopes over steps `ratios` that give the coefficient of step**(2 term).

    Term 0 is the derivative without its even error terms.
    """
    powers = ratios[None, :] ** (2 * np.arange(len(ratios)))[:, None]
    return np.linalg.solve(powers, np.eye(len(ratios))[:, term])


def extrapolate(ratios: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what central slopes over falling steps tend to, its last two changes, and the weights (Romberg's method).

    slopes: with the steps along the first axis; ratios: of the steps. The last change is that by the largest step, the
    one before that by the next.
    """
    weights = [even_weights(ratios[k:]) for k in range(min(3, len(ratios)))]
    values = [sum(w * s for w, s in zip(weights[k], slopes[k:], strict=True)) for k in range(len(weights))]
    return values[0], np.abs(values[0] - values[1]), np.abs(values[1] - values[-1]), weights[0]  # type: ignore


class Differences(NamedTuple):
    """Slopes from symmetric pairs of values, with what is known of them: arrays of the same shape.

    error: with `rounding`, its part that is rounding. noise: of the values. agree: whether two narrow pairs give the
    same slope; smooth: whether their one-sided slopes are the same, or no kink shows.
    """

    value: np.ndarray
    error: np.ndarray
    rounding: np.ndarray
    noise: np.ndarray
    agree: np.ndarray
    smooth: np.ndarray


def compare_pairs(
    pairs: np.ndarray, h: np.ndarray, up: np.ndarray, down: np.ndarray, f0: np.ndarray, unit: float, scatter: np.ndarray
) -> Differences:
    """Extrapolate slopes over steps h, which are as `pairs` and then two narrow ones, as in Romberg's method.

    up, down: values at +h and -h; like h, they have the steps along their first axis. f0: the value; scatter: what
    it is known to scatter by.
    """
    count, slopes = len(pairs), (up - down) / (2 * h)
    value, last, before, weights = extrapolate(pairs, slopes[:count])
    largest = np.maximum(np.maximum(np.abs(up), np.abs(down)).max(axis=0), np.abs(f0))
    noise = np.maximum(rounding_of(largest, unit), scatter)
    rounding = SAFETY * noise * sum(abs(w) / step for w, step in zip(weights, h[:count], strict=True))
    error = last * np.clip(10 * last / np.maximum(before, np.finfo(float).tiny), 0.02, 1) + rounding
    curve = sum(w * slope for w, slope in zip(even_weights(pairs, 1), slopes[:count], strict=True))
    curve /= (h[0] / pairs[0]) ** 2
    narrow, visible = h[count:], 2 * noise / h[count:]
    agree = (np.abs(slopes[count:] - value - curve * narrow**2) <= 3 * (2 * visible + error)).all(axis=0)
    gaps = np.abs((up[count:] - f0) / narrow - (f0 - down[count:]) / narrow)
    smooth = gaps[1] <= 8 * visible[1] + 1e-2 * gaps[0]
    return Differences(value, error, rounding, noise, agree, smooth)


class Reference:
    """The reference Jacobian of a Flat: arrays of shape (m, n), and what is special about single elements.

    value, error: the reference and the half-width of its interval, infinite where nothing is known or looks
    contradict each other. sides: left and right derivatives at the kinks that close looks found. same: where the
    function does not change at all; limited: where the error is the rounding of the function. changes: by output, how
    much it is seen to change at most when an element changes by its scale.
    """

    def __init__(self, flat: Flat):
        m, n = len(flat.f0), flat.size
        self.flat = flat
        self.value = np.full((m, n), np.nan)
        self.error = np.full((m, n), np.inf)
        self.changes = np.zeros(m)
        self.same = np.zeros((m, n), bool)
        self.limited = np.zeros((m, n), bool)
        self.sides: dict[tuple[int, int], tuple[float, float]] = {}

    @functools.cached_property
    def noise(self) -> np.ndarray:
        """How much values scatter, by output: it costs calls, and is looked at when it is first needed."""
        return self.scatter.max(axis=0)

    @functools.cached_property
    def scatter(self) -> np.ndarray:
        """How much values scatter over three spacings: (3, m); what grows with them is a kink's, no noise."""
        return scatter_of_values(self.flat)

    @property
    def settled(self) -> np.ndarray:
        """Where the reference is known so well that no closer look is needed."""
        return ~self.same & (self.error <= SETTLED_ERROR * np.abs(self.value))

    def look(self, columns: np.ndarray | None = None, reach: float = REACH) -> None:
        """Take the cheap look at some elements (all unless given); keep what is better than before."""
        flat = self.flat
        chosen = np.arange(flat.size) if columns is None else columns
        steps = np.concatenate([PAIRS * reach, NARROW])
        chunk = max(1, 50_000_000 // (16 * len(steps) * max(len(flat.f0), 1)))
        if flat.claim.progress.callback is not None:
            chunk = max(1, min(chunk, int(WATCHED / (2 * len(steps) * max(flat.seconds, 1e-6)))))
        for start in range(0, len(chosen), chunk):
            flat.claim.progress.report_progress("element", start, len(chosen))
            elements = chosen[start : start + chunk]
            h = self.steps(elements, steps)
            offsets = np.concatenate([h, -h], axis=1)
            values = flat.along(np.repeat(elements, offsets.shape[1]), offsets.reshape(-1))
            values = values.reshape((*offsets.shape, len(flat.f0)))
            up, down = np.swapaxes(values, 0, 1).reshape((2, len(steps), *values.shape[::2]))
            self.take_in(elements, h.T[..., None], up, down)
        small = chosen[(flat.scales[chosen] < SMALL_SCALE) & self.same[:, chosen].any(axis=0)]
        if small.size:
            far = flat.along(np.repeat(small, 2), np.tile([FAR_REACH, -FAR_REACH], len(small)))
            far = far.reshape((len(small), 2, -1))
            still = (far == flat.f0).any(axis=1) | ~np.isfinite(far).any(axis=1)
            self.same[:, small] &= still.T  # small steps may change the function by less than it rounds

    def steps(self, elements: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return steps by element, in units of its scale, such that x + h and x - h are exact."""
        flat = self.flat
        x = np.array([flat.coordinate(int(i)) for i in elements])[:, None]
        wanted = steps * flat.scales[elements][:, None]
        moved = x + (np.where(x < 0, -1.0, 1.0) * wanted).astype(x.dtype)
        h = np.abs(moved - x).astype(float)
        return np.where(h > 0, h, wanted)

    def take_in(self, elements: np.ndarray, h: np.ndarray, up: np.ndarray, down: np.ndarray) -> None:
        """Take in values at x + h and x - h: shapes (steps, elements, m)."""
        flat, f0 = self.flat, self.flat.f0
        slopes = compare_pairs(PAIRS, h, up, down, f0, flat.unit, self.noise)
        good = slopes.agree & slopes.smooth & np.isfinite(up).all(axis=0) & np.isfinite(down).all(axis=0)
        same = ((up == f0) & (down == f0)).all(axis=0)
        change = np.fmax(np.abs(up[0] - f0), np.abs(down[0] - f0)) - CLEARLY * slopes.noise
        change *= flat.scales[elements, None] / h[0] * good
        self.changes = np.fmax(self.changes, np.fmax.reduce(np.where(np.isfinite(change), change, 0.0), axis=0))
        good, value, error = good.T, slopes.value.T, slopes.error.T
        limited = error <= 2 * slopes.rounding.T
        old_value, old_error = self.value[:, elements], self.error[:, elements]
        known = np.isfinite(old_error)
        fits = ~known | (np.abs(value - old_value) <= MARGIN * (error + old_error))
        better = good & fits & ~(known & (old_error <= error))
        self.value[:, elements] = np.where(better, value, old_value)
        self.error[:, elements] = np.where(better, error, np.where(known & good & ~fits, np.inf, old_error))
        self.limited[:, elements] = np.where(better, limited, self.limited[:, elements])
        self.same[:, elements] |= same.T

    def look_closely(self, i: int, rows: np.ndarray) -> Estimate:
        """Sample some rows along element i as closely as their derivatives need; entry k is that of rows[k]."""
        fit = Fits(self.flat, i, lambda values: values[:, rows]).result()
        for k in np.flatnonzero(fit.kind == "kink"):
            self.sides[int(rows[k]), i] = float(fit.left[k]), float(fit.right[k])
        use = fit.kind != "none"
        self.value[rows[use], i] = fit.value[use]
        self.error[rows, i] = np.where(use, fit.error, np.inf)
        return fit

    def hidden_by_rounding(self) -> np.ndarray:
        """Return slopes that a function may have which does not change where it was looked at."""
        scales = self.flat.scales
        reach = np.where(scales < SMALL_SCALE, FAR_REACH, REACH * scales)
        return self.flat.unit * np.abs(self.flat.f0)[:, None] / reach

    def rounding_at(self, j: int, i: int) -> float:
        """Return what rounding hides of output j beside element i.

        Where it does not change at all, what it was computed from may be as large as it is a few scales away.
        """
        flat = self.flat
        largest = abs(float(flat.f0[j]))
        if self.same[j, i]:
            reach = max(float(flat.scales[i]), 1.0)
            around = flat.along(np.full(6, i), reach * np.array([-3.0, -1.0, -0.3, 0.3, 1.0, 3.0]))[:, j]
            largest = max(largest, float(np.abs(around[np.isfinite(around)]).max(initial=0.0)))
        return flat.unit * largest


WIDTHS = tuple(0.3 / 4**k for k in range(7))
POSITIVE_NODES = POINTS[: NODES // 2]
CHEBYSHEV = np.linalg.inv(chebyshev_matrix(POSITIVE_NODES)[:, 1::2])
"""From odd values at positive nodes to odd coefficients."""
NEAREST_NODES = POINTS[NODES // 2 - 1 : NODES // 2 - 6 : -1]
"""The nodes next to the point, by which one side of it is judged ..."""
TO_POINT = tuple(np.linalg.inv(np.vander(nodes, increasing=True))[0] for nodes in (NEAREST_NODES, NEAREST_NODES[:-1]))
"""... and what all of them, and all but one, extrapolate to at the point."""
ODD_TAIL = 3
PER_FIT = NODES - 1  # calls of a fit
PLATEAU = 0.1
"""The part of its size that a plateau of noise keeps in the narrowest fit; one of an edge or a kink does not."""
AVERAGED_FITS, MOST_AVERAGED = 10, 30
"""Fits that are averaged where noise hides what is wanted, and how many at most without a budget."""
LIMIT = 300_000  # calls beyond which averaging noise is given up
KINK_GAP = 1e-3  # a gap between one-sided slopes, relative to the slopes, from which on it is looked at


class Slope(NamedTuple):
    """Derivatives along a line, one per combination of outputs.

    value, error: with the half-width of its interval. kinked: where one-sided slopes seem to differ. noise: how far
    values scatter about a smooth curve; resolved: whether the error is that of noise, and not of a series cut too
    early. rough: an error that trusts no extrapolation.
    """

    value: np.ndarray
    error: np.ndarray
    kinked: np.ndarray
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

    def displacement(self, h: float) -> float:
        """Return how far slopes are off because x + h d is rounded, for inputs narrower than double precision."""
        unit = self.flat.input_unit
        return 0.0 if unit < 1e-12 else SAFETY * unit / h

    def romberg(self, h: np.ndarray, trust: np.ndarray | float | None = None) -> Slope:
        """Extrapolate the slopes over falling steps h. trust: for two steps, the part of the last change to fear."""
        up, down = self.pairs(h)
        noise, base = self.floor(up, down), self.weights @ self.flat.f0
        up, down = up @ self.weights.T, down @ self.weights.T
        value, last, before, weights = extrapolate(h / h[0], (up - down) / (2 * h)[:, None])
        if trust is None:
            trust = np.maximum(10 * last / np.maximum(before, np.finfo(float).tiny), 0.02)
        rounding = SAFETY * noise * (np.abs(weights) / h).sum()
        error = last * np.clip(trust, 1e-3, 1) + rounding + self.displacement(h[-1]) * np.abs(value)
        rough = np.maximum(last, before) + rounding
        # what is even in h grows like h, and not like its square, beside a kink or a jump
        first, second = np.linalg.solve(h[:, None] ** np.array([1, 2, 4])[: len(h)], up + down - 2 * base)[:2]
        kinked = np.abs(first) > 20 * noise / h[-1] + KINK_GAP * np.abs(value)
        kinked &= np.abs(first) > 0.3 * np.abs(second) * h[-1]
        return Slope(value, error, kinked, noise, np.zeros(len(value), bool), rough)

    def best(self, h: np.ndarray) -> Slope:
        return functools.reduce(better, (self.romberg(h[k : k + 3]) for k in range(len(h) - 2)))

    def fit(self, width: float, more: int = 0) -> Slope:
        """Fit odd Chebyshev polynomials to eight pairs. more: coefficients to keep that single fits do not show."""
        up, down = self.pairs(POSITIVE_NODES * width)
        floor = self.floor(up, down)
        odd = (up - down) @ self.weights.T / 2
        coefficients = CHEBYSHEV @ odd
        size = np.abs(coefficients)
        tail = np.maximum(size[-ODD_TAIL:].max(axis=0), 0.3 * floor)
        noise = np.maximum(np.sqrt((size[-ODD_TAIL:] ** 2).mean(axis=0)), 0.3 * floor)
        above = size > 2.5 * tail
        last = np.where(above.any(axis=0), len(size) - 1 - np.argmax(above[::-1], axis=0), 0)
        last = np.minimum(np.maximum(last, 1) + more, len(size) - 1)
        used = np.arange(len(size))[:, None] <= last
        slopes = AT_CENTRE[1::2, None] / width
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
        for width in (w for w in WIDTHS if float(NEAREST_NODES[0] * w) in self.kept):
            up, down = self.pairs(NEAREST_NODES * width)
            rounding = SAFETY * self.floor(up, down) * (np.abs(TO_POINT[0]) / (NEAREST_NODES * width)).sum()
            gaps = np.stack([self.flat.f0 - down, up - self.flat.f0]) @ self.weights.T
            slopes = gaps / (NEAREST_NODES * width)[:, None]
            value, other = TO_POINT[0] @ slopes, TO_POINT[1] @ slopes[:, :-1]
            error = np.abs(value - other) + rounding
            best, least = np.where(error < least, value, best), np.fmin(error, least)
        return best, least

    def is_straight(self) -> np.ndarray:
        """Return where slopes from the left and from the right are seen to be the same: (R,)."""
        (left, right), errors = self.one_sided()
        room = errors.sum(axis=0)
        return (np.abs(right - left) <= room) & (room <= KINK_GAP * np.maximum(np.abs(left), np.abs(right)))

    def sides_confirm(self, claimed: np.ndarray | float, gap: np.ndarray) -> np.ndarray:
        """Return where slopes from the sides, known to half the gap that claims are off by, explain it: (R,).

        The odd part of a kink next to the point is smooth, so that symmetric fits take the mean of both sides. Claims
        lie between the sides, or, of several kinks, beyond them by what the sides are apart.
        """
        (left, right), errors = self.one_sided()
        room = MARGIN * errors.max(axis=0)
        inside = (claimed >= np.minimum(left, right) - room) & (claimed <= np.maximum(left, right) + room)
        return (room <= gap / 2) & (inside | (np.abs(right - left) > gap / 2))

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
        most, claim = MOST_AVERAGED, self.flat.claim
        if claim.budget.allowed is not None:
            most = min((claim.budget.allowed - claim.budget.made) // PER_FIT, LIMIT // PER_FIT)
        count = int(min(max(1.5 * wanted, AVERAGED_FITS), most))
        more = [self.fit(WIDTHS[place] * part, more=1) for part in np.linspace(0.55, 0.95, max(count, 1))]
        mean, error, agree = mean_of_fits(np.array([fit.value for fit in more]), np.array([fit.error for fit in more]))
        use = (agree.mean(axis=0) >= 0.95) & np.isfinite(mean) & best.resolved & (error < best.error)
        return best._replace(value=np.where(use, mean, best.value), error=np.where(use, error, best.error))


def better(one: Slope, other: Slope) -> Slope:
    """Return of two slopes the one with the smaller error, where it is resolved, for each combination."""
    first, second = (np.where(s.resolved, s.error, np.inf) for s in (one, other))
    use = (second < first) | (np.isinf(first) & np.isinf(second) & (other.error < one.error))
    parts = [np.where(use, b, a) for a, b in zip(one, other, strict=True)]
    return Slope(*parts)._replace(noise=np.minimum(one.noise, other.noise))
