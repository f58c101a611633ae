"""Kinks: whether a vector belongs to the generalized gradient of Clarke, the convex hull of nearby gradients.

Clarke, "Optimization and Nonsmooth Analysis" (1983), theorem 2.5.1. Gradients are sampled at points near x, and
where they do not reach the claimed vector, once more on both sides of x along the direction that separates the
two (Burke, Lewis and Overton, "A robust gradient sampling algorithm", SIAM J. Optim. 15, 2005).
"""

from __future__ import annotations

import itertools

import numpy as np

from .flat import Flat
from .measure import Reference

RADIUS = 1e-5
"""How far the sampled points are from x, in units of its scale."""
STEP = 1e-8
ROUNDS = 8
MANY = 40
"""Elements with a kink up to which the hull itself is computed; beyond, support functions are compared."""
CORNERS = 6
"""Elements with a kink up to which every side of every kink is looked at."""
TOLERANCE = 1e-5
CLOSE = 1e-10
"""Kinks that meet are to be seen at steps so small, in units of the scale."""


class Hull:
    """The gradients of row j of a Flat near x, restricted to the elements `columns`."""

    def __init__(self, flat: Flat, j: int, columns: list[int], rng: np.random.Generator):
        self.flat, self.j, self.columns, self.rng = flat, j, np.array(columns), rng
        self.x = np.concatenate([p.astype(float) for p in flat.parts])
        self.scale = flat.scales[self.columns]

    def gradients(self, signs: np.ndarray) -> np.ndarray:
        """Return numeric gradients at x + RADIUS * signs (one row each)."""
        bases = np.repeat(self.x[None], len(signs), axis=0)
        bases[:, self.columns] += RADIUS * signs * self.scale
        return self.differences(bases, STEP * self.scale)

    def differences(self, bases: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return central differences at points (one row each), with a step for each element."""
        k = len(self.columns)
        points = np.repeat(bases[:, None], 2 * k, axis=1)
        places = np.arange(k)
        points[:, places, self.columns] += steps
        points[:, k + places, self.columns] -= steps
        values = self.flat.points(points.reshape((-1, len(self.x))))[:, self.j].reshape((len(bases), 2, k))
        widths = points[:, places, self.columns] - points[:, k + places, self.columns]
        return (values[:, 0] - values[:, 1]) / widths

    def bends(self, axis: np.ndarray, noise: float) -> bool:
        """Return whether slopes from x along other directions are not what those along the axes make of them.

        axis: the derivatives along the axes. They must differ down to the smallest step that rounding lets see, by
        the same amount: else the kink is beside x, not at it.
        """
        steps = 10.0 ** np.arange(-13, -5)
        for signs in self.corners(8):
            direction = signs * self.flat.scales
            ahead = self.flat.points(self.x + steps[:, None] * direction)[:, self.j]
            apart = (ahead - self.flat.f0[self.j]) / steps - axis @ direction
            size = np.median(np.abs(apart))
            if size < 0.01 * float(np.abs(axis) @ np.abs(direction)):
                continue
            seen = 20 * noise / steps < size
            if seen[steps <= CLOSE].any() and (np.abs(apart[seen] - np.median(apart[seen])) <= 0.3 * size).all():
                return True
        return False

    def joint(self, claimed: np.ndarray) -> bool:
        """Return whether the hull of gradients close to x has the claimed vector.

        They differ as much at a thousandth of the distance: in a curve they come closer together, and in noise they
        fly apart.
        """
        count = 2 * len(self.columns) + 12
        found = []
        for radius in (RADIUS, 1e-3 * RADIUS):
            bases = self.x + radius * self.corners(count) * self.flat.scales
            found.append(self.differences(bases, 1e-3 * radius * self.scale))
        wide, narrow = (np.ptp(g, axis=0).max() for g in found)
        both = np.concatenate(found)
        if not np.isfinite(both).all() or not 0.5 * narrow < wide < 2 * narrow or wide < 0.01 * np.abs(both).max():
            return False
        gap = np.abs(claimed - nearest_in_hull(both, claimed)).max()
        return bool(gap <= 10 * TOLERANCE * np.abs(both).max())

    def contains(self, claimed: np.ndarray) -> bool:
        """Return whether the claimed vector lies in the hull."""
        k = len(self.columns)
        count = 2 * k + 12
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=k))) if k <= CORNERS else np.empty((0, k))
        found = self.gradients(np.concatenate([corners * self.rng.uniform(0.5, 1, corners.shape), self.signs(count)]))
        for _ in range(ROUNDS):
            found = found[np.isfinite(found).all(axis=1)]
            if not len(found):
                return True
            room = TOLERANCE * max(np.abs(found).max(), 1e-300)
            nearest = nearest_in_hull(found, claimed)
            gap = claimed - nearest
            if np.abs(gap).max() <= 10 * room:
                return True
            direction = gap / np.abs(gap).max()
            around = 0.05 * self.signs(6)
            more = np.concatenate([direction + around, -direction + around, self.signs(6)])
            found = np.concatenate([found, self.gradients(more)])
        return False

    def supports(self, claimed: np.ndarray, left: np.ndarray, right: np.ndarray) -> bool:
        """Return whether no direction tells the claimed vector from the hull: for many elements at once."""
        convex = np.where(right >= left, 1.0, -1.0)
        k = len(self.columns)
        for direction in (np.ones(k), -np.ones(k), claimed / max(np.abs(claimed).max(), 1e-300), *self.signs(4)):
            bases = [convex * direction, direction, -direction, *self.signs(12)]
            slopes = [self.slope(RADIUS * base, direction) for base in bases]
            most = max((s for s in slopes if np.isfinite(s)), default=np.inf)
            if float(claimed @ (direction * self.scale)) > most + 0.05 * abs(most) + 1e-6 * np.abs(self.scale).max():
                return False
        return True

    def slope(self, shift: np.ndarray, direction: np.ndarray) -> float:
        """Return the slope along a direction (in units of the scale) at x + shift."""
        base = self.x.copy()
        base[self.columns] += shift * self.scale
        ahead = base.copy()
        ahead[self.columns] += 1e-3 * RADIUS * direction * self.scale
        first, second = self.flat.points(np.stack([base, ahead]))[:, self.j]
        return float((second - first) / (1e-3 * RADIUS))

    def corners(self, count: int) -> np.ndarray:
        """Return random directions close to the corners of a cube, in which all inputs move."""
        shape = (count, len(self.x))
        return self.rng.choice([-1.0, 1.0], shape) * self.rng.uniform(0.5, 1, shape)

    def signs(self, count: int) -> np.ndarray:
        """Return random directions, half of them corners of a cube."""
        k = len(self.columns)
        smooth = self.rng.uniform(-1, 1, (count, k))
        return np.where(np.arange(count)[:, None] % 2, smooth, np.sign(smooth) * self.rng.uniform(0.5, 1, (count, k)))


def nearest_in_hull(points: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the point of the convex hull of `points` (rows) that is nearest to the target."""
    from scipy.optimize import nnls

    size = max(np.abs(points).max(), np.abs(target).max(), 1e-300)
    heavy = 1e4
    matrix = np.concatenate([points.T / size, heavy * np.ones((1, len(points)))])
    weights, _ = nnls(matrix, np.concatenate([target / size, [heavy]]))
    return points.T @ (weights / max(weights.sum(), 1e-300))


def in_hull(flat: Flat, analytic: np.ndarray, kinks: dict[int, list[int]], sides: dict, seed: int) -> dict[int, bool]:
    """Return for every row with kinks whether its claimed values lie together in the generalized gradient.

    sides: left and right derivatives by row and column.
    """
    rng = np.random.default_rng(seed)
    found = {}
    for j, columns in list(kinks.items())[:20]:
        if len(columns) < 2:
            continue
        hull = Hull(flat, j, columns, rng)
        claimed = analytic[j, columns]
        if len(columns) <= MANY:
            found[j] = hull.contains(claimed)
        else:
            left, right = (np.array([sides[j, i][k] for i in columns]) for k in (0, 1))
            found[j] = hull.supports(claimed, left, right)
    return found


def at_joint_kinks(
    flat: Flat, analytic: np.ndarray, reference: Reference, wrong: dict[int, list[int]], seed: int
) -> list[int]:
    """Return the rows whose entries seem wrong along the axes, but belong to the generalized gradient.

    At a median of equal numbers no single one moves it, yet close by one of them is the median. Few inputs are
    looked at all together, of many only those that seem wrong.
    """
    rng = np.random.default_rng(seed)
    found = []
    for j, columns in list(wrong.items())[:20]:
        chosen = list(range(flat.size)) if flat.size <= MANY else columns
        known = np.isfinite(analytic[j, chosen]).all() and np.isfinite(reference.value[j]).all()
        if len(chosen) > MANY or not known:
            continue
        hull = Hull(flat, j, chosen, rng)
        if (
            flat.size > 1
            and hull.bends(reference.value[j], flat.unit * abs(float(flat.f0[j])))
            and hull.joint(analytic[j, chosen])
        ):
            found.append(j)
    return found
