"""The reference Jacobian, as precise as each element needs: a cheap look at all, a close one where it matters.

The cheap look takes ten points per input: three symmetric pairs within a few hundredths of the scale of x,
extrapolated as in Romberg's method, and two narrow pairs that must agree with them. An element that is settled
by that is left alone; the others are sampled by `reference.estimate`.
"""

from __future__ import annotations

import functools

import numpy as np

from ..subjects.flatten import Flat
from .estimate import Estimate
from .fit import SAFETY, rounding_of
from .line import estimate

REACH = 0.05
"""The half-width of the cheap look, in units of the scale of x."""
PAIRS = np.cos(np.pi * np.array([1, 3, 5]) / 14)
OTHER_REACHES = (0.01, 0.3, 0.002)
"""Looked at next where the first reach leaves too large an error: from its series, or from rounding."""
NARROW = (1e-3, 3e-7)
SMALL = 1e-3
"""The scale of x below which a function that does not change is looked at further away, ..."""
WIDE = 0.3
"""... so far."""
CLEAR = 3e-7
"""The relative error that settles an element in the cheap look."""
CLEARLY = 30.0
"""How many times its noise a change of the function is one."""
ENOUGH = 20
"""Elements found wrong by a close look, after which the others are not looked at closely."""
MARGIN = 2.5
"""An analytic value further away than so many error estimates is wrong."""
WATCHED = 0.2
"""Seconds of calls after which who watches is told how far it is."""
SURE = 30.0
"""A cheap look is trusted to accuse only beyond so many."""


def even_weights(ratios: np.ndarray, term: int = 0) -> np.ndarray:
    """Return the weights of central slopes over steps `ratios` that give the coefficient of step**(2 term).

    Term 0 is the derivative without its even error terms.
    """
    powers = ratios[None, :] ** (2 * np.arange(len(ratios)))[:, None]
    return np.linalg.solve(powers, np.eye(len(ratios))[:, term])


WEIGHTS = even_weights(PAIRS)
CURVE = even_weights(PAIRS, 1)
INNER = np.concatenate([[0.0], even_weights(PAIRS[1:])])


class Reference:
    """The reference Jacobian of a Flat: arrays of shape (m, n), and what is special about single elements.

    value, error: the reference and the half-width of its interval, infinite where nothing is known or looks
    contradict each other. estimates: what close looks found, by column. same: where the function does not change at
    all; limited: where the error is the rounding of the function. changes: by output, how much it is seen to change
    at most when an element changes by its scale.
    """

    def __init__(self, flat: Flat):
        m, n = len(flat.f0), flat.size
        self.flat = flat
        self.value = np.full((m, n), np.nan)
        self.error = np.full((m, n), np.inf)
        self.changes = np.zeros(m)
        self.same = np.zeros((m, n), bool)
        self.limited = np.zeros((m, n), bool)
        self.estimates: dict[int, tuple[np.ndarray, Estimate]] = {}

    @functools.cached_property
    def noise(self) -> np.ndarray:
        """How much values scatter, by output: it costs calls, and is looked at when it is first needed."""
        return scatter_of_values(self.flat)

    @property
    def settled(self) -> np.ndarray:
        """Where the reference is known so well that no closer look is needed."""
        with np.errstate(all="ignore"):
            return ~self.same & (self.error <= CLEAR * np.abs(self.value))

    def look(self, columns: np.ndarray | None = None, reach: float = REACH) -> None:
        """Take the cheap look at some elements (all unless given); keep what is better than before."""
        flat = self.flat
        chosen = np.arange(flat.size) if columns is None else columns
        steps = np.concatenate([PAIRS * reach, NARROW])
        chunk = max(1, 50_000_000 // (16 * len(steps) * max(len(flat.f0), 1)))
        if flat.subject.watch is not None:
            chunk = max(1, min(chunk, int(WATCHED / (2 * len(steps) * max(flat.seconds, 1e-6)))))
        for start in range(0, len(chosen), chunk):
            flat.subject.tell("element", start, len(chosen))
            elements = chosen[start : start + chunk]
            h = self.steps(elements, steps)
            offsets = np.concatenate([h, -h], axis=1)
            values = flat.along(np.repeat(elements, offsets.shape[1]), offsets.reshape(-1))
            values = values.reshape((*offsets.shape, len(flat.f0)))
            with np.errstate(all="ignore"):
                self.judge(elements, h[:, :, None], values[:, : h.shape[1]], values[:, h.shape[1] :])
        small = chosen[(flat.scales[chosen] < SMALL) & self.same[:, chosen].any(axis=0)]
        if small.size:
            self.same[:, small] &= self.stands_still(small)

    def stands_still(self, elements: np.ndarray) -> np.ndarray:
        """Return where the function is the same far away on a side: small steps may change less than it rounds."""
        flat = self.flat
        far = flat.along(np.repeat(elements, 2), np.tile([WIDE, -WIDE], len(elements)))
        far = far.reshape((len(elements), 2, -1))
        same = far == flat.f0
        return (same.any(axis=1) | ~np.isfinite(far).any(axis=1)).T

    def steps(self, elements: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return steps by element, in units of its scale, such that x + h and x - h are exact."""
        flat = self.flat
        x = np.array([flat.coordinate(int(i)) for i in elements])[:, None]
        wanted = steps * flat.scales[elements][:, None]
        moved = x + (np.where(x < 0, -1.0, 1.0) * wanted).astype(x.dtype)
        h = np.abs(moved - x).astype(float)
        return np.where(h > 0, h, wanted)

    def judge(self, elements: np.ndarray, h: np.ndarray, up: np.ndarray, down: np.ndarray) -> None:
        """Take in values at x + h and x - h: shapes (elements, steps, m)."""
        flat, f0 = self.flat, self.flat.f0
        slopes = (up - down) / (2 * h)
        value = (WEIGHTS[:, None] * slopes[:, :3]).sum(axis=1)
        inner = (INNER[:, None] * slopes[:, :3]).sum(axis=1)
        largest = np.maximum(np.maximum(np.abs(up), np.abs(down)), np.abs(f0))
        noise = np.maximum(rounding_of(largest.max(axis=1), flat.unit), self.noise)
        rounding = SAFETY * noise * (np.abs(WEIGHTS)[:, None] / h[:, :3]).sum(axis=1)
        last, before = np.abs(value - inner), np.abs(inner - slopes[:, 2])
        error = last * np.clip(10 * last / np.maximum(before, np.finfo(float).tiny), 0.02, 1) + rounding
        curve = (CURVE[:, None] * slopes[:, :3]).sum(axis=1) / (h[:, 0] / PAIRS[0]) ** 2
        visible = 2 * noise[:, None] / h[:, 3:]
        expected = value[:, None] + curve[:, None] * h[:, 3:] ** 2
        agree = (np.abs(slopes[:, 3:] - expected) <= 3 * (2 * visible + error[:, None])).all(axis=1)
        gaps = np.abs((up - f0) / h - (f0 - down) / h)[:, 3:]
        smooth = gaps[:, 1] <= 8 * visible[:, 1] + 1e-2 * gaps[:, 0]
        finite = np.isfinite(up).all(axis=1) & np.isfinite(down).all(axis=1)
        same = ((up == f0) & (down == f0)).all(axis=1)
        change = np.fmax(np.abs(up - f0), np.abs(down - f0))[:, 0] - CLEARLY * noise
        change *= flat.scales[elements, None] / h[:, 0] * (finite & agree & smooth)
        self.changes = np.fmax(self.changes, np.fmax.reduce(np.where(np.isfinite(change), change, 0.0), axis=0))
        good = (finite & agree & smooth).T
        value, error, limited = value.T, error.T, (error <= 2 * rounding).T
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
        flat = self.flat

        def line(offsets: np.ndarray) -> np.ndarray:
            return flat.along(np.full(len(offsets), i), offsets)[:, rows]

        with np.errstate(all="ignore"):
            fit = estimate(line, flat.coordinate(i), float(flat.scales[i]), flat.f0[rows], flat.unit)
        self.estimates[i] = (rows, fit)
        use = fit.kind != "none"
        self.value[rows[use], i] = fit.value[use]
        self.error[rows, i] = np.where(use, fit.error, np.inf)
        return fit

    def hidden_by_rounding(self) -> np.ndarray:
        """Return slopes that a function may have which does not change where it was looked at."""
        scales = self.flat.scales
        reach = np.where(scales < SMALL, WIDE, REACH * scales)
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

    def sides(self, j: int, i: int) -> tuple[float, float] | None:
        """Return the left and the right derivative of entry (j, i), None where no kink was seen."""
        rows, fit = self.estimates.get(i, (np.zeros(0, int), None))
        for k in np.flatnonzero(rows == j):
            if fit is not None and fit.kind[k] == "kink":
                return float(fit.left[k]), float(fit.right[k])
        return None


def scatter_of_values(flat: Flat) -> np.ndarray:
    """Return the noise of each output: how far values at close points scatter about a smooth curve.

    Fourth differences along a random direction, at three spacings; More and Wild (2011), equation 1.4.
    """
    rng = np.random.default_rng(5)
    x = flat.x
    direction = rng.choice([-1.0, 1.0], flat.size) * flat.scales
    steps = np.arange(-4, 5)
    unit = max(float(np.finfo(part.dtype).eps) / 2 for part in flat.parts)
    spacings = (64 * unit, 4096 * unit, 2.0**20 * unit)
    offsets = np.concatenate([steps * spacing for spacing in spacings])
    values = flat.points(x + offsets[:, None] * direction).reshape((len(spacings), len(steps), -1))
    with np.errstate(all="ignore"):
        fourth = np.diff(values, n=4, axis=1) / np.sqrt(70.0)
        noise = np.sqrt((fourth**2).mean(axis=1)).max(axis=0)
    return np.where(np.isfinite(noise), noise, 0.0)
