"""The reference Jacobian, as precise as each element needs: a cheap look at all, a close one where it matters.

The cheap look takes ten points per input: three symmetric pairs within a few hundredths of the scale of x,
extrapolated as in Romberg's method, and two narrow pairs that must agree with them. An element that is settled
by that is left alone; the others are sampled by `reference.estimate`.
"""

from __future__ import annotations

import numpy as np

from .flat import Flat
from .reference import SAFETY, Estimate, estimate

REACH = 0.05
"""The half-width of the cheap look, in units of the scale of x."""
PAIRS = np.cos(np.pi * np.array([1, 3, 5]) / 14)
NARROW = (1e-3, 3e-7)
CLEAR = 1e-7
"""The relative error that settles an element in the cheap look."""
ENOUGH = 20
"""Elements found wrong by a close look, after which the others are not looked at closely."""
MARGIN = 2.5
"""An analytic value further away than so many error estimates is wrong."""
SURE = 30.0
"""A cheap look is trusted to accuse only beyond so many."""


def even_weights(ratios: np.ndarray) -> np.ndarray:
    """Return the weights of central slopes over steps `ratios` that cancel their even error terms."""
    powers = ratios[None, :] ** (2 * np.arange(len(ratios)))[:, None]
    return np.linalg.solve(powers, np.eye(len(ratios))[:, 0])


WEIGHTS = even_weights(PAIRS)
INNER = np.concatenate([[0.0], even_weights(PAIRS[1:])])


class Reference:
    """The reference Jacobian of a Flat: arrays of shape (m, n), and what is special about single elements.

    value, error: the reference and the half-width of its interval. close: which columns were looked at
    closely, with their Estimate in `estimates`. settled: entries that the cheap look settled.
    """

    def __init__(self, flat: Flat):
        m, n = len(flat.f0), flat.size
        self.flat = flat
        self.value = np.full((m, n), np.nan)
        self.error = np.full((m, n), np.inf)
        self.settled = np.zeros((m, n), bool)
        self.same = np.zeros((m, n), bool)
        self.estimates: dict[int, Estimate] = {}

    def look(self) -> None:
        """Take the cheap look at all elements."""
        flat = self.flat
        coordinates = np.array([float(flat.coordinate(i)) for i in range(flat.size)])
        steps = np.concatenate([PAIRS * REACH, NARROW])
        chunk = max(1, 50_000_000 // (16 * len(steps) * max(len(flat.f0), 1)))
        for start in range(0, flat.size, chunk):
            self._look(np.arange(start, min(start + chunk, flat.size)), coordinates, steps)

    def _look(self, elements: np.ndarray, coordinates: np.ndarray, steps: np.ndarray) -> None:
        flat = self.flat
        kinds = np.array([flat.coordinate(i).dtype.type for i in elements[:1]])
        x = coordinates[elements]
        away = np.where(x < 0, -1.0, 1.0)[:, None]
        wanted = steps * flat.scales[elements][:, None]
        single = kinds.size and kinds[0] is np.float32
        kind = np.float32 if single else np.float64
        column = x[:, None].astype(kind)
        h = np.abs((column + (away * wanted).astype(kind)) - column).astype(float)
        h = np.where(h > 0, h, wanted)
        k = len(steps)
        values = flat.along(np.repeat(elements, 2 * k), np.concatenate([h, -h], axis=1).reshape(-1)).reshape(
            (len(elements), 2 * k, len(flat.f0))
        )
        up, down = values[:, :k], values[:, k:]
        with np.errstate(all="ignore"):
            self._judge(elements, h[:, :, None], up, down)

    def _judge(self, elements: np.ndarray, h: np.ndarray, up: np.ndarray, down: np.ndarray) -> None:
        flat, f0 = self.flat, self.flat.f0
        slopes = (up - down) / (2 * h)
        value = (WEIGHTS[:, None] * slopes[:, :3]).sum(axis=1)
        inner = (INNER[:, None] * slopes[:, :3]).sum(axis=1)
        largest = np.maximum(np.maximum(np.abs(up), np.abs(down)), np.abs(f0))
        noise = flat.unit * largest.max(axis=1)
        rounding = SAFETY * noise * (np.abs(WEIGHTS)[:, None] / h[:, :3]).sum(axis=1)
        last, before = np.abs(value - inner), np.abs(inner - slopes[:, 2])
        error = last * np.clip(10 * last / np.maximum(before, np.finfo(float).tiny), 0.02, 1) + rounding
        curve = (slopes[:, 0] - slopes[:, 2]) / (h[:, 0] ** 2 - h[:, 2] ** 2)
        visible = 2 * flat.unit * largest[:, 3:] / h[:, 3:]
        expected = value[:, None] + curve[:, None] * h[:, 3:] ** 2
        agree = (np.abs(slopes[:, 3:] - expected) <= 3 * (2 * visible + error[:, None])).all(axis=1)
        gaps = np.abs((up - f0) / h - (f0 - down) / h)[:, 3:]
        smooth = gaps[:, 1] <= 8 * visible[:, 1] + 1e-2 * gaps[:, 0]
        finite = np.isfinite(up).all(axis=1) & np.isfinite(down).all(axis=1)
        same = ((up == f0) & (down == f0)).all(axis=1)
        settled = finite & agree & smooth & (error <= CLEAR * np.abs(value))
        self.value[:, elements] = np.where(finite, value, np.nan).T
        self.error[:, elements] = np.where(finite & agree & smooth, error, np.inf).T
        self.settled[:, elements] = (settled | same).T
        self.same[:, elements] = same.T

    def look_closely(self, i: int) -> Estimate:
        """Sample along element i as closely as its derivatives need."""
        flat = self.flat

        def line(offsets: np.ndarray) -> np.ndarray:
            return flat.along(np.full(len(offsets), i), offsets)

        with np.errstate(all="ignore"):
            found = estimate(line, flat.coordinate(i), float(flat.scales[i]), flat.f0, flat.unit)
        self.estimates[i] = found
        use = found.kind != "none"
        self.value[use, i], self.error[use, i] = found.value[use], found.error[use]
        self.error[~use, i] = np.inf
        return found
