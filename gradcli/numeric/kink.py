"""Test at a kink of several elements whether their claimed values lie together in Clarke's generalized gradient.

The generalized gradient is the convex hull of limits of gradients (Clarke, "Optimization and Nonsmooth Analysis",
1983, theorem 2.5.1). The test depends on the form of h(d), the directional derivatives of a row:

- h adds up over the elements, or over blocks of them: the hull is a product, and each factor is tested by itself.
- h minus its odd part is the root of a quadratic form: the hull is an ellipsoid, as for a norm at 0.
- There are few gradients nearby, and all were seen more than once: the hull is their convex hull.
- h is convex or concave: use support functions, and add the direction that separates best until one decides (Wolfe,
  "Finding the nearest point in a polytope", Math. Programming 11, 1976).

In all other cases, values far outside the range of the gradients seen nearby are wrong, and the others are undecided.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable

import numpy as np

from .chain import WANTED
from .estimate import slope_to_the_right
from .verdict import FAIL, MARGIN, Entries


def components(count: int, pairs: np.ndarray) -> list[list[int]]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    number, labels = connected_components(graph, directed=False)
    return [np.flatnonzero(labels == k).tolist() for k in range(number)]


def distinct(points: np.ndarray, close: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the points (rows) that are more than `close` apart, and how often each was seen."""
    kept: list[np.ndarray] = []
    counts: list[int] = []
    for point in points:
        place = next((k for k, other in enumerate(kept) if np.abs(point - other).max() <= close), len(kept))
        if place == len(kept):
            kept.append(point)
            counts.append(0)
        counts[place] += 1
    return np.array(kept), np.array(counts)


def nearest(points: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the point of the convex hull of `points` (rows) that is nearest to the target."""
    from scipy.optimize import nnls

    size = max(np.abs(points).max(), np.abs(target).max(), 1e-300)
    heavy = 1e4
    matrix = np.concatenate([points.T / size, heavy * np.ones((1, len(points)))])
    weights, _ = nnls(matrix, np.concatenate([target / size, [heavy]]))
    return points.T @ (weights / max(weights.sum(), 1e-300))


def distance(points: np.ndarray, target: np.ndarray) -> float:
    """Return the largest difference, over the elements, between the target and the nearest point of the hull."""
    return float(np.abs(target - nearest(points, target)).max())


RADIUS = 1e-4  # distance from x at which gradients are taken, and at half of it, in units of the scale: a choice
MOST_MEETING = 60  # maximum number of elements at a kink that is examined in full: a choice, as this takes n**2 calls
PROBES = 8  # random directions along which derivatives must add up: a choice, as a single failure is proof
LAW_PAIRS = 4  # random pairs of directions that must obey the parallelogram law: a choice, like PROBES
SLOPES_WITHIN = 1e-6  # relative error of derivatives along directions, and of nearby gradients
SURE = 10.0  # numbers that differ by more than this many SLOPES_WITHIN, or errors, are different (calibrated)
LEAST_STRAIGHT = 0.8  # fraction of nearby gradients that must reproduce the directional derivatives: a choice
MOST_SUPPORTS = 60  # maximum number of directions to try to separate a claim from a hull: a choice


def settle_kinks(entries: Entries, rows: Iterable[int], seed: int, among: np.ndarray | None = None) -> None:
    """Decide rows in which several elements have kinks, or seem wrong where kinks may meet.

    among: the elements that may have kinks, if only these were compared alone.
    """
    slopes = Slopes(entries, np.random.default_rng(seed), among)
    for j in sorted(rows):
        row = KinkRow(slopes, entries, j)
        if row.adds_up() or (len(slopes.among) <= MOST_MEETING and row.measure_at_x().adds_up()):
            continue
        columns = row.meeting_columns()
        if columns is None:
            kinked = entries.kinks.get(j, [])
            if kinked and not (entries.state[j] == FAIL).any():
                entries.settle_kinks({tuple(kinked): None}, j)
            continue
        blocks = [columns] if row.is_round(columns) else row.blocks(columns)
        entries.settle_kinks({tuple(block): row.contains(block) for block in blocks}, j)


class Slopes:
    """Directional derivatives of a Flat at x; directions are in units of the scale, one per row.

    among: the elements that move, by number.
    """

    def __init__(self, entries: Entries, rng: np.random.Generator, among: np.ndarray | None = None):
        self.flat, self.sampler, self.rng = entries.flat, entries.sampler, rng
        self.among = np.arange(self.flat.size) if among is None else among
        self.weights = entries.rows.weights
        size = np.nan_to_num(np.abs(entries.value), nan=0.0, posinf=0.0)
        for place, sides in entries.sides.items():
            size[place] = np.abs(sides).max()
        self.enough = WANTED * (size * self.flat.scales).max(axis=1)

    def along(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return one-sided derivatives and their errors: shapes (directions, R)."""
        scaled = directions * self.flat.scales
        sides = [slope_to_the_right(self.sampler.line(d, self.weights), self.enough) for d in scaled]
        return np.array([value for value, _ in sides]), np.array([error for _, error in sides])

    @functools.cached_property
    def probes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random directions in which all elements of `among` move, and the derivatives along them."""
        directions = self.random(PROBES, self.among)
        return directions, *self.along(directions)

    def random(self, count: int, columns: np.ndarray) -> np.ndarray:
        """Return random directions in which some elements move: half of them near corners of a cube."""
        directions = np.zeros((count, self.flat.size))
        smooth = self.rng.uniform(-1, 1, (count, len(columns)))
        corners = self.rng.choice([-1.0, 1.0], smooth.shape) * self.rng.uniform(0.5, 1, smooth.shape)
        directions[:, columns] = np.where(np.arange(count)[:, None] % 2, smooth, corners)
        return directions

    def gradients(self, directions: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the limits of gradients along directions towards x: (directions, columns, R), scaled."""
        flat, limits = self.flat, []
        for direction in directions * flat.scales:
            wide, narrow = (
                np.array([self.slope_at(flat.x + radius * direction, int(i), radius / 100) for i in columns])
                for radius in (RADIUS, RADIUS / 2)
            )
            limits.append(2 * narrow - wide)
        return np.array(limits)

    def slope_at(self, origin: np.ndarray, i: int, width: float) -> np.ndarray:
        t, (up, down) = self.sampler.element(i, self.weights, origin).values(np.array([width, -width]))
        return np.where(np.isfinite(up - down), (up - down) / (t[0] - t[1]), np.nan)


class KinkRow:
    """One output at a kink: its one-sided derivatives along the axes, and the claimed values."""

    def __init__(self, slopes: Slopes, entries: Entries, j: int):
        flat, error = slopes.flat, entries.error[j]
        self.slopes, self.flat, self.j = slopes, flat, j
        self.claimed = entries.claimed[j] * flat.scales
        sides = [entries.sides.get((j, i)) or (entries.value[j, i],) * 2 for i in range(flat.size)]
        moves = np.isin(np.arange(flat.size), slopes.among)
        self.left, self.right = (np.where(moves, side, 0.0) * flat.scales for side in zip(*sides, strict=True))
        self.round: dict[tuple[int, ...], bool] = {}  # results of is_round, by elements
        self.uncertain = np.where(np.isfinite(error), error, 0.0) * flat.scales
        self.uncertain[[i for row, i in entries.sides if row == j]] = 0.0  # the error there is the jump of the slope

    def measure_at_x(self) -> KinkRow:
        """Measure the derivatives along the axes again, by steps as small as in other directions; return this row."""
        among = self.slopes.among
        unit = np.eye(self.flat.size)[among]
        value, error = self.along(np.concatenate([unit, -unit]))
        self.right[among], left = np.split(value, 2)
        self.left[among] = -left
        self.uncertain[among] = np.maximum(*np.split(error, 2))
        return self

    def add_up(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of the derivatives along the axes, one per direction, and the sizes of their terms."""
        terms = np.where(directions > 0, directions * self.right, directions * self.left)
        size = np.abs(terms) + SURE / SLOPES_WITHIN * np.abs(directions) * self.uncertain
        return terms.sum(axis=1), size.sum(axis=1)

    def along(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, error = self.slopes.along(directions)
        return value[:, self.j], error[:, self.j]

    def adds_up(self) -> bool:
        """Return whether the derivatives along random directions are the sums of those along the axes."""
        directions, value, error = self.slopes.probes
        total, size = self.add_up(directions)
        gap = np.abs(value[:, self.j] - total)
        return bool((gap <= SLOPES_WITHIN * size + SURE * error[:, self.j]).all() or not np.isfinite(total).all())

    def meeting_columns(self) -> np.ndarray | None:
        """Return the elements in which nearby gradients differ; None if too many, fewer than two, or not finite."""
        kinked, candidates = np.flatnonzero(self.left != self.right), self.slopes.among
        if len(candidates) > MOST_MEETING:
            if self.is_round(kinked):
                return kinked
            candidates = candidates[((self.left != self.right) | (self.claimed != self.right))[candidates]]
            if len(candidates) > MOST_MEETING:
                return None
        gradients = self.slopes.gradients(self.slopes.random(16, candidates), candidates)[..., self.j]
        spread = np.ptp(gradients, axis=0) + np.abs(self.left - self.right)[candidates]
        meeting = candidates[spread > 100 * SLOPES_WITHIN * np.abs(gradients).max(initial=0.0)]
        return meeting if len(meeting) > 1 and np.isfinite(gradients).all() else None

    def blocks(self, columns: np.ndarray) -> list[np.ndarray]:
        """Return the elements that meet, in groups whose derivatives add up."""
        if len(columns) > MOST_MEETING:
            return [columns]
        pairs = np.array(list(itertools.combinations(range(len(columns)), 2)))
        directions = np.zeros((len(pairs), 4, self.flat.size))
        for s, (first, second) in enumerate(itertools.product((-1.0, 1.0), repeat=2)):
            directions[np.arange(len(pairs)), s, columns[pairs[:, 0]]] = first
            directions[np.arange(len(pairs)), s, columns[pairs[:, 1]]] = 0.7 * second
        directions = directions.reshape((-1, self.flat.size))
        value, error = self.along(directions)
        total, size = self.add_up(directions)
        apart = (np.abs(value - total) > SLOPES_WITHIN * size + SURE * error).reshape((-1, 4)).any(axis=1)
        groups = components(len(columns), pairs[apart])
        blocks = [columns[group] for group in groups]
        probes = self.slopes.random(PROBES, columns)
        together, error = self.along(probes)
        parts = np.zeros(PROBES)
        for group in blocks:
            inside = np.zeros_like(probes)
            inside[:, group] = probes[:, group]
            value, more = self.along(inside)
            parts, error = parts + value, error + more
        slopes = float(np.maximum(np.abs(self.left), np.abs(self.right))[columns].sum())
        tolerance = SURE * SLOPES_WITHIN * np.abs(probes).max() * slopes + SURE * error
        return blocks if (np.abs(together - parts) <= tolerance).all() else [columns]

    def contains(self, block: np.ndarray) -> bool | None:
        """Return whether the claimed values of a block lie in its generalized gradient; None if undecided."""
        claimed = self.claimed[block]
        if not np.isfinite(claimed).all():
            return False
        if len(block) == 1:
            low, high = sorted((float(self.left[block[0]]), float(self.right[block[0]])))
            tolerance = SURE * SLOPES_WITHIN * max(abs(low), abs(high)) + MARGIN * float(self.uncertain[block[0]])
            return low - tolerance <= claimed[0] <= high + tolerance
        if self.is_round(block):
            return self.in_ellipsoid(block, claimed)
        if len(block) > MOST_MEETING:
            return None
        probes = self.slopes.random(min(24 + 6 * len(block), 200), block)
        gradients = self.slopes.gradients(probes, block)[..., self.j]
        if not np.isfinite(gradients).all():
            return None
        value, error = self.along(probes)
        tolerance = SURE * SLOPES_WITHIN * np.abs(gradients).sum(axis=1).max()
        straight = np.abs((gradients * probes[:, block]).sum(axis=1) - value) <= tolerance + SURE * error
        if straight.mean() > LEAST_STRAIGHT:  # the others were taken across a kink
            close = SURE * SLOPES_WITHIN * np.abs(gradients).max()
            seen, counts = distinct(gradients[straight], close)
            corners = seen[counts > 1]
            # a gradient seen only once is a mean across a kink, or a corner, and then others may be missing
            if len(corners) and all(distance(corners, once) <= close for once in seen[counts == 1]):
                return bool(distance(corners, claimed) <= close)
        return self.by_supports(block, claimed, gradients)

    def is_round(self, block: np.ndarray) -> bool:
        """Return whether the even part of h is the root of a quadratic form, so that the parallelogram law holds."""
        key = tuple(block.tolist())
        if key not in self.round:
            self.round[key] = len(block) > 1 and self.obeys_parallelogram_law(block)
        return self.round[key]

    def obeys_parallelogram_law(self, block: np.ndarray) -> bool:
        u, v = (self.slopes.random(LAW_PAIRS, block) for _ in range(2))
        even, odd, error = self.even_and_odd(np.concatenate([u + v, u - v, u, v]))
        (a, b, c, d), (p, q, r, _) = (x.reshape((4, LAW_PAIRS)) for x in (even, odd))
        tolerance = 1e-5 * (c**2 + d**2) + 100 * error.reshape((4, LAW_PAIRS)).max(axis=0) * np.abs(even).max()
        law = np.abs(a**2 + b**2 - 2 * c**2 - 2 * d**2) <= tolerance
        linear = np.abs(p + q - 2 * r) <= 1e-5 * (np.abs(c) + np.abs(r)) + 100 * error.max()
        return bool(law.all() and linear.all() and (np.abs(even) > SURE * error).any())

    def even_and_odd(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        value, error = self.along(np.concatenate([directions, -directions]))
        forward, backward = np.split(value, 2)
        return (forward + backward) / 2, (forward - backward) / 2, np.maximum(*np.split(error, 2))

    def in_ellipsoid(self, block: np.ndarray, claimed: np.ndarray) -> bool | None:
        k = len(block)
        unit = np.zeros((k, self.flat.size))
        unit[np.arange(k), block] = 1
        own, middle, error = self.even_and_odd(unit)
        form = np.diag(own**2)
        probes = self.slopes.random(PROBES, block)
        even, _, _ = self.even_and_odd(probes)
        if not np.allclose(even**2, probes[:, block] ** 2 @ own**2, rtol=SLOPES_WITHIN, atol=0.0):
            if k > MOST_MEETING:
                return None
            pairs = list(itertools.combinations(range(k), 2))
            both, _, _ = self.even_and_odd(np.array([unit[a] + unit[b] for a, b in pairs]))
            for (a, b), value in zip(pairs, both, strict=True):
                form[a, b] = form[b, a] = (value**2 - own[a] ** 2 - own[b] ** 2) / 2
        if not np.isfinite(form).all():  # a slope is infinite, or unknown
            return None
        values, vectors = np.linalg.eigh(form)
        wide = values > 1e-6 * values.max()
        parts = vectors.T @ (claimed - middle)
        tolerance = SURE * SLOPES_WITHIN * float(np.sqrt(values.max())) + SURE * float(error.max())
        if not wide.all():
            width, _, _ = self.even_and_odd(vectors.T[~wide] @ unit)
            if (np.abs(parts[~wide]) > np.abs(width) + tolerance).any():
                return False
        length = float(np.sqrt((parts[wide] ** 2 / values[wide]).sum()))
        return length <= 1 + tolerance / float(np.sqrt(values[wide].min()))

    def by_supports(self, block: np.ndarray, claimed: np.ndarray, gradients: np.ndarray) -> bool | None:
        """Return whether no direction separates the claim from a convex (or concave) h; None if h is neither.

        A claim that is further outside the gradients seen nearby than these are apart is wrong in any case.
        """
        u, v = (self.slopes.random(4 * PROBES, block) for _ in range(2))
        value, error = self.along(np.concatenate([u, v, u + v]))
        first, second, both = value.reshape((3, -1))
        excess = both - first - second
        tolerance = SURE * SLOPES_WITHIN * (np.abs(first) + np.abs(second)) + SURE * error.reshape((3, -1)).sum(axis=0)
        convex, concave = (excess <= tolerance).all(), (excess >= -tolerance).all()
        if not (convex or concave):
            low, high = gradients.min(axis=0), gradients.max(axis=0)
            beyond = np.maximum(low - claimed, claimed - high).max()
            return False if beyond > (high - low).max() else None
        sign = 1.0 if convex else -1.0
        close = SURE * SLOPES_WITHIN * np.abs(gradients).max()
        for _ in range(MOST_SUPPORTS):
            gap = claimed - nearest(gradients, claimed)
            if np.abs(gap).max() <= close:
                return True
            direction = np.zeros((1, self.flat.size))
            direction[0, block] = gap / np.abs(gap).max()
            (value,), (error,) = self.along(sign * direction)
            support = sign * value
            if claimed @ direction[0, block] > support + close * len(block) + SURE * error:
                return False
            around = direction + 1e-3 * self.slopes.random(4, block)
            more = self.slopes.gradients(sign * around, block)[..., self.j]
            if not np.isfinite(more).all():
                return None
            gradients = np.concatenate([gradients, more])
        return None
