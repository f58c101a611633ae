"""Check a claim at a kink by looking next to it, for calls that depend neither on the size nor on the number of kinks.

At generic points nearby, f is smooth, and the claim is checked there as anywhere else. If it is right there, the claims
at a few such points show which elements have kinks: theirs jump from point to point. Then, at the kink itself,

- elements without kinks are compared along directions in which only they move;
- elements whose claim lies outside the claims nearby are compared alone;
- along equal moves of all elements, if they have no kink, as for ties, the claim must have the slope of f;
- if f is convex along random pairs of directions, and the claims nearby grow along the way from point to point, the
  claim must not exceed the one-sided slope along any direction (Clarke, "Optimization and Nonsmooth Analysis", 1983,
  proposition 2.2.7); if f is concave, not fall below it. If the slope is the sum of those of random halves of the
  elements, they share no kink, and the interval of each element by itself is all that is known.

A claim that holds at this point only, such as a constant, tells nothing nearby.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from ..claims.claim import CallError
from .compare import MARGIN
from .estimate import slope_to_the_right
from .flat import Flat, median_of
from .rows import ClaimedRows, draw_signs
from .sampler import Sampler
from .verdict import FAIL, Entries

DISTANCE = 1e-3  # of the points nearby, in units of the scale: a choice; kinks closer than that are seen as if at x
POINTS = 8  # points nearby: an element that is as often on either side of a kink shows it with 1 - 2**-7
JUMPS_NEARBY = 0.05
"""A claim that differs by more than this fraction between points nearby has a kink: a smooth one, by 0.002."""
OUTSIDE = 0.01  # a claim at a kink may lie outside the claims nearby by this fraction: a smooth one changes by 0.002
MOST_SUSPECTS = 8  # suspects to compare alone, those furthest outside first: a choice
MOST_TESTED = 2  # rows whose claims are tested as directions: a choice
FURTHER_POINTS = 24  # more points nearby if claims lie outside: at a tie of many, claims take many values; a choice
DIRECTION_PAIRS = 4
"""Random pairs of directions along which a convex function shows itself: one of a few kinks, with 1 - 2**-4."""
HALVES = 8  # random halves of the elements: of kinks that bend both ways, a third of the halves bend the other way
WITHIN = 1e-5  # relative error of one-sided slopes that is not a difference: ten times what they are known to


class Nearby:
    """The check of one claim next to a kink, and then at it. States and bounds go into the entries.

    low, high: the claims nearby, (R, n), or None if some cannot be computed. jumps: where they jump.
    """

    def __init__(self, probe: Any):
        """probe: the Probe of the check at the point."""
        self.probe, self.entries, self.directions = probe, probe.entries, probe.directions
        self.flat, self.rows, self.sampler = probe.flat, probe.rows, probe.sampler
        self.sizes = probe.directions.families["relative"]  # of all elements, even if some are taken out later
        self.rng = np.random.default_rng(0)  # its own: directions that follow do not depend on this
        self.curvatures: dict[int, int] = {}  # by row
        self.points: list[np.ndarray] = []
        self.claims: list[np.ndarray] = []
        if self.rows.known:
            self.look(POINTS)
        self.is_known = len(self.claims) == POINTS
        self.set_range([self.entries.claimed])
        if self.is_known:
            self.set_range(self.claims)
            if (self.outside > 0).any():
                self.look(FURTHER_POINTS)
                self.set_range(self.claims)
            self.entries.nearby = self

    def set_range(self, claims: list[np.ndarray]) -> None:
        """Set the range of some claims, and where it is wide enough for a jump."""
        self.low, self.high = np.min(claims, axis=0), np.max(claims, axis=0)
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        self.jumps = self.high - self.low > JUMPS_NEARBY * size.max(axis=1, keepdims=True, initial=0.0)

    def look(self, count: int) -> None:
        for x, claim in self.rows.draw(self.rng, count, DISTANCE * self.sizes):
            self.points.append(x)
            self.claims.append(claim)

    def settles(self, open_rows: np.ndarray) -> bool:
        """Decide all open entries; return False if some may stay open. open_rows: a mask of rows."""
        there = self.bound_there
        if (self.entries.state == FAIL).any():
            return True
        if there is not None:
            bound = np.fmin(there, np.inf) + (self.high - self.low)
            self.entries.bound = np.minimum(self.entries.bound, bound)
            if self.compare_rest() or self.compare_suspects():
                return True
        if self.contradicts_slopes(open_rows):
            return True
        if there is not None:
            self.entries.accept_near_kink(open_rows, self.at_kinks)
        return there is not None

    @property
    def at_kinks(self) -> np.ndarray:
        """A mask of the entries that have kinks, or claims unlike those nearby: (R, n)."""
        return self.jumps | (self.outside > 0)

    @property
    def kinked(self) -> np.ndarray:
        """The elements with such entries, by number."""
        return np.flatnonzero(self.at_kinks.any(axis=0))

    @functools.cached_property
    def bound_there(self) -> np.ndarray | None:
        """Bounds of the errors of the claim at a point nearby, (R, n); None unless it passes there."""
        return self.check_at(self.points[0]) if self.is_known else None

    def explains(self, j: int, i: int) -> bool:
        """Return whether entry (j, i) may be right although it lies outside the slopes to both sides of its element.

        These are the ends of the element's interval if f is convex or concave, or if no elements share a kink.
        Otherwise, a claim that is right nearby may have any of its values nearby; if many elements share the kink, as
        the ties of a median do, also any of those of other elements, as few points do not show all.
        """
        here, scales = self.entries.claimed[j, i], self.flat.scales
        if self.bound_there is None:
            return False
        if self.low[j, i] <= here <= self.high[j, i]:
            return True
        low, high = (self.low[j] * scales).min(), (self.high[j] * scales).max()
        like_others = bool(low <= here * scales[i] <= high)
        return not self.curvature(j) and (self.shares(j, i) or (like_others and self.shares_kinks(j)))

    def explains_jumps(self, failed: np.ndarray) -> np.ndarray:
        """Return the rows in which claims that seem wrong differ from the numeric derivative as they jump nearby: (R,).

        failed: a mask of these entries, (R, n).
        """
        gaps = np.abs(self.entries.claimed - self.entries.value)
        least = JUMPS_NEARBY * np.maximum(np.abs(self.low), np.abs(self.high)).max(axis=1, keepdims=True, initial=0.0)
        like = self.jumps & (gaps > least) & (gaps <= self.high - self.low + self.entries.tolerance())
        rows = np.any(failed, axis=1) & np.all(like | ~failed, axis=1)
        return rows if not rows.any() or self.passes_where_alike(failed & rows[:, None]) else np.zeros_like(rows)

    def passes_where_alike(self, places: np.ndarray) -> bool:
        """Report whether the claim passes at the point nearby where these entries, a mask, are most like those here."""
        off = [float(np.abs(claim - self.entries.claimed)[places].max()) for claim in self.claims]
        k = int(np.argmin(off)) if self.is_known else 0
        return (self.bound_there if k == 0 else self.check_at(self.points[k])) is not None

    @property
    def constant(self) -> np.ndarray:
        """A mask of the rows whose claims are the same nearby, and may be meant for the point only: (R,)."""
        return (self.low == self.high).all(axis=1)

    def shares(self, j: int, i: int) -> bool:
        """Return whether element i shares a kink of row j with others: slopes do not add up."""
        alone = np.eye(1, self.flat.size, i)[0] * self.flat.scales
        slope = float(self.right(alone)[0][j])
        for _ in range(HALVES):
            others = draw_signs(self.rng, self.flat.size) * self.sizes
            others[i] = 0.0
            one, both = (float(self.right(d)[0][j]) for d in (others, others + alone))
            if abs(both - one - slope) > WITHIN * (abs(one) + abs(both) + abs(slope)):
                return True
        return False

    def slopes_of_halves(self, j: int, direction: np.ndarray) -> tuple[float, float]:
        """Return the slopes of row j along a random half of the elements of a direction, and along the others."""
        half = np.where(self.rng.random(self.flat.size) < 0.5, direction, 0.0)
        return float(self.right(half)[0][j]), float(self.right(direction - half)[0][j])

    def shares_kinks(self, j: int) -> bool:
        """Return whether elements share a kink of row j: the slopes along halves of a direction do not add up."""
        for _ in range(HALVES):
            whole = draw_signs(self.rng, self.flat.size) * self.sizes
            slope, one, other = float(self.right(whole)[0][j]), *self.slopes_of_halves(j, whole)
            if abs(slope - one - other) > WITHIN * (abs(slope) + abs(one) + abs(other)):
                return True
        return False

    @property
    def outside(self) -> np.ndarray:
        """How far claims at the kink lie outside those nearby, beyond what a smooth claim changes by: (R, n)."""
        claimed = self.entries.claimed
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        tolerance = np.where(self.jumps, OUTSIDE * size, self.high - self.low)
        tolerance = tolerance + self.entries.own_rounding + self.entries.least_accused
        with np.errstate(invalid="ignore"):
            outside = np.maximum(self.low - claimed, claimed - self.high) - tolerance
        return np.where(np.isfinite(claimed), outside, np.inf)

    def check_at(self, x: np.ndarray) -> np.ndarray | None:
        """Check the claim at another point; return bounds of its errors there, None unless it passes."""
        flat = Flat(self.flat.claim.moved(self.flat.arrays_at(x)))
        rows = ClaimedRows(flat, np.random.default_rng(0), weights=self.rows.weights)
        entries = Entries(flat, Sampler(flat), rows, self.entries.products_rounding)
        entries.proven = self.entries.proven
        probe = type(self.probe)(entries, 1, near=False)
        self.sampler.calls += 1
        try:
            probe.along_directions()
        except CallError:
            return None
        finally:
            self.sampler.calls += entries.sampler.calls
        if entries.word != "right" or probe.proven is not None:
            self.suspect_elements_of(entries)
            return None
        own = MARGIN * entries.error + entries.own_rounding
        return np.where(np.isnan(entries.value), entries.bound, np.where(np.isfinite(own), own, entries.bound))

    def suspect_elements_of(self, there: Entries) -> None:
        """Compare elements alone that are wrong nearby: they are wrong here, too, unless the claim is special here."""
        self.entries.nearby = None  # these elements must not wait for an answer
        for i in np.flatnonzero((there.state == FAIL).any(axis=0))[:MOST_SUSPECTS]:
            self.entries.compare_element(int(i))
        self.entries.nearby = self

    def compare_rest(self) -> bool:
        """Compare along directions in which only elements without kinks move; return whether any is wrong."""
        smooth = ~self.jumps.any(axis=0) & ~self.flat.fixed
        if not (smooth.any() and self.jumps.any()):
            return False
        rest = self.directions.compare(self.directions.draw("relative", smooth), "relative")
        if rest.wrong.any() and self.probe.find_wrong(rest):
            return True
        self.directions.bound_by(rest)
        return False

    def compare_suspects(self) -> bool:
        """Compare elements alone whose claim lies outside those nearby; return whether any is wrong."""
        outside = self.outside.max(axis=0)
        suspects = np.argsort(-outside)[:MOST_SUSPECTS]
        for i in suspects[outside[suspects] > 0].tolist():
            right, left, error = self.sides(np.eye(1, self.flat.size, i)[0] * self.flat.scales)
            claimed = self.entries.claimed[:, i] * self.flat.scales[i]
            tolerance = WITHIN * (np.abs(right) + np.abs(left)) + MARGIN * error
            inside = (np.minimum(left, right) - tolerance <= claimed) & (claimed <= np.maximum(left, right) + tolerance)
            if not inside.all():  # or not a number
                self.entries.compare_element(i)
        return bool((self.entries.state == FAIL).any())

    def contradicts_slopes(self, open_rows: np.ndarray) -> bool:
        """Return whether the claims contradict the slopes of f along a few directions at the kink."""
        tests = self.tests(open_rows)
        sides = [self.sides(direction) for direction in tests]
        equal, (right, left, error) = tests[0], sides[0]
        no_kink = np.abs(right - left) <= WITHIN * (np.abs(right) + np.abs(left)) + error
        if (no_kink & (np.abs(self.rows.along(equal) - right) > self.tolerance(equal, right, error))).any():
            along = self.directions.compare(equal, "relative")
            if along.wrong.any() and self.probe.find_wrong(along):
                return True
        for j in np.flatnonzero(open_rows)[:MOST_TESTED].tolist():
            sign = self.curvature(j)
            for direction, (right, left, error) in zip(tests, sides, strict=True) if sign else ():
                claimed, tolerance = self.rows.along(direction)[j], self.tolerance(direction, right, error)[j]
                most, least = (right[j], left[j]) if sign > 0 else (left[j], right[j])
                if not least - tolerance <= claimed <= most + tolerance and self.bends(
                    j, direction, right[j], tolerance
                ):
                    slope = most if claimed > most else least
                    why = f"along a direction the slope is {slope:.6g}, but {claimed:.6g} is claimed"
                    self.entries.outside(j, self.meeting(j, direction), why)
                    self.directions.settle()
                    return True
        return False

    def meeting(self, j: int, direction: np.ndarray) -> np.ndarray:
        """Return a mask of the elements with kinks of row j that move along a direction; of all if none is known."""
        moved = (direction != 0) & ~self.flat.fixed
        kinked = self.at_kinks[j]
        kinked[self.entries.kinks.get(j, [])] = True
        return moved & kinked if (moved & kinked).any() else moved

    def bends(self, j: int, direction: np.ndarray, slope: float, tolerance: float) -> bool:
        """Return whether slopes of row j along halves of a direction confirm its curvature, and do not just add up."""
        bends = []
        for _ in range(HALVES):
            one, other = self.slopes_of_halves(j, direction)
            bends.append(self.curvature(j) * (one + other - slope))
        return min(bends) >= -tolerance and max(bends) > tolerance

    def tolerance(self, direction: np.ndarray, slope: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Return how far claimed products with a direction may be from one-sided slopes: (R,)."""
        size = np.abs(np.where(direction != 0, self.entries.claimed * direction, 0.0)).sum(axis=1)
        return WITHIN * (size + np.abs(slope)) + MARGIN * error

    def tests(self, open_rows: np.ndarray) -> list[np.ndarray]:
        """Return directions that may have no kink, or show that a claim is too large: ones, and the claims."""
        live = ~self.flat.fixed
        found = [np.where(live, median_of(self.flat.scales[live]), 0.0)]
        for j in np.flatnonzero(open_rows)[:MOST_TESTED]:
            sizes = np.where(live, self.entries.claimed[j] * self.flat.scales, 0.0)
            largest = np.abs(sizes).max()
            if 0 < largest < np.inf:
                found.append(sizes / largest * self.flat.scales)
        return found

    def right(self, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the one-sided slopes in a direction, and their errors: (R,) each."""
        line = self.sampler.line(direction, self.rows.weights)
        return slope_to_the_right(line, np.full(len(self.rows.claimed), np.inf))

    def sides(self, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the slopes to the right and to the left, and their error: (R,) each."""
        (right, right_error), (left, left_error) = self.right(direction), self.right(-direction)
        return right, -left, np.maximum(right_error, left_error)

    def curvature(self, j: int) -> int:
        if j not in self.curvatures:
            self.curvatures[j] = self.measure_curvature(j)
        return self.curvatures[j]

    def measure_curvature(self, j: int) -> int:
        """Return 1 if row j seems convex at the point, -1 if it seems concave, and 0 otherwise."""
        bends, size = [], 0.0
        for _ in range(DIRECTION_PAIRS):
            u, v = (draw_signs(self.rng, self.flat.size) * self.sizes for _ in "uv")
            one, other, both = (float(self.right(d)[0][j]) for d in (u, v, u + v))
            bends.append(one + other - both)
            size = max(size, abs(one), abs(other), abs(both))
        least = 10 * WITHIN * size
        if min(bends) >= -least:
            return 1 if max(bends) > least and self.grows(j, 1) else 0
        return -1 if max(bends) <= least and self.grows(j, -1) else 0

    def grows(self, j: int, sign: int) -> bool:
        """Return whether the claims nearby for row j, times the sign, grow along the way from each point to another.

        Those of a convex function do (Rockafellar, "Convex Analysis", 1970, theorem 24.9).
        """
        pairs = itertools.combinations(zip(self.points, self.claims, strict=True), 2)
        return all(
            sign * (b[j] - a[j]) @ (y - x) >= -WITHIN * np.abs(b[j] - a[j]) @ np.abs(y - x) for (x, a), (y, b) in pairs
        )
