"""Check a claim at a kink by looking next to it, for calls that depend neither on the size nor on the number of kinks.

At generic points nearby, f is smooth, and the claim is checked there as anywhere else. If it is right there, the claims
at a few such points show which elements have kinks: theirs jump from point to point. Then, at the kink itself,

- elements without kinks are compared along directions in which only they move;
- elements whose claim lies outside the claims nearby are compared alone;
- along a direction without a kink, such as equal moves for ties, the claim must have the slope of f;
- if f is convex along random pairs of directions, the claim must not exceed the one-sided slope along any direction
  (Clarke, "Optimization and Nonsmooth Analysis", 1983, proposition 2.2.7); if it is concave, not fall below it.

A claim that holds at this point only, such as a constant, tells nothing nearby.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..claims.claim import CallError
from .compare import MARGIN
from .estimate import slope_to_the_right
from .flat import Flat, median_of
from .rows import ClaimedRows, draw_signs
from .sampler import Sampler
from .verdict import FAIL, Judgement

DISTANCE = 1e-3  # of the points nearby, in units of the scale: a choice; kinks closer than that are seen as if at x
POINTS = 8  # points nearby: an element that is as often on either side of a kink shows it with 1 - 2**-7
JUMPS_NEARBY = 0.05
"""A claim that differs by more than this fraction between points nearby has a kink: a smooth one, by 0.002."""
OUTSIDE = 0.01  # a claim at a kink may lie outside the claims nearby by this fraction: a smooth one changes by 0.002
MOST_SUSPECTS = 8  # suspects to compare alone, those furthest outside first: a choice
MOST_TESTED = 2  # rows whose claims are tested as directions: a choice
DIRECTION_PAIRS = 4
"""Random pairs of directions along which a convex function shows itself: one of a few kinks, with 1 - 2**-4."""
WITHIN = 1e-5  # relative error of one-sided slopes that is not a difference: ten times what they are known to


class Nearby:
    """The check of one claim next to a kink, and then at it. States and bounds go into the judgement.

    low, high: the claims nearby, (R, n), or None if some cannot be computed. jumps: where they jump.
    """

    def __init__(self, probe: Any):
        """probe: the Probe of the check at the point."""
        self.probe, self.judgement, self.directions = probe, probe.judgement, probe.directions
        self.flat, self.rows, self.sampler = probe.flat, probe.rows, probe.sampler
        self.rng = self.directions.rng
        self.points = [self.flat.x + DISTANCE * self.directions.draw("relative") for _ in range(POINTS)]
        at = self.flat.claim.at
        claims = [self.rows.try_at({**at, **self.flat.arrays_at(x)}) for x in self.points] if self.rows.known else []
        known = [claim for claim in claims if claim is not None and np.isfinite(claim).all()]
        self.is_known = len(known) == POINTS
        some = known if self.is_known else [self.judgement.claimed]
        self.low: np.ndarray = np.min(some, axis=0)
        self.high: np.ndarray = np.max(some, axis=0)
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        self.jumps = self.high - self.low > JUMPS_NEARBY * size.max(axis=1, keepdims=True, initial=0.0)

    def settles(self, open_rows: np.ndarray) -> bool:
        """Decide all open entries; return False if some may stay open. open_rows: a mask of rows."""
        there = self.check_at(self.points[0]) if self.is_known else None
        if (self.judgement.state == FAIL).any():
            return True
        if there is not None:
            bound = np.fmin(there, np.inf) + (self.high - self.low)
            self.judgement.bound = np.minimum(self.judgement.bound, bound)
            if self.compare_rest() or self.compare_suspects():
                return True
        if self.contradicts_slopes(open_rows):
            return True
        if there is not None:
            self.judgement.accept_near_kink(open_rows, self.jumps | (self.outside > 0))
        return there is not None

    @property
    def outside(self) -> np.ndarray:
        """How far claims at the kink lie outside those nearby, beyond what a smooth claim changes by: (R, n)."""
        claimed = self.judgement.claimed
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        room = np.where(self.jumps, OUTSIDE * size, self.high - self.low)
        room = room + self.judgement.own_rounding + self.judgement.least_accused
        with np.errstate(invalid="ignore"):
            outside = np.maximum(self.low - claimed, claimed - self.high) - room
        return np.where(np.isfinite(claimed), outside, np.inf)

    def check_at(self, x: np.ndarray) -> np.ndarray | None:
        """Check the claim at another point; return bounds of its errors there, None unless it passes."""
        flat = Flat(self.flat.claim.moved(self.flat.arrays_at(x)))
        rows = ClaimedRows(flat, np.random.default_rng(0), weights=self.rows.weights)
        judgement = Judgement(flat, Sampler(flat), rows, self.judgement.coarse)
        judgement.proven = self.judgement.proven
        probe = type(self.probe)(judgement, 1, near=False)
        self.sampler.calls += 1
        try:
            probe.along_directions()
        except CallError:
            return None
        finally:
            self.sampler.calls += judgement.sampler.calls
        if judgement.word != "right" or probe.proven is not None:
            self.suspect_elements_of(judgement)
            return None
        own = MARGIN * judgement.error + judgement.own_rounding
        return np.where(np.isnan(judgement.value), judgement.bound, np.where(np.isfinite(own), own, judgement.bound))

    def suspect_elements_of(self, there: Judgement) -> None:
        """Compare elements alone that are wrong nearby: they are wrong here, too, unless the claim is special here."""
        for i in np.flatnonzero((there.state == FAIL).any(axis=0))[:MOST_SUSPECTS]:
            self.judgement.judge_element(int(i))

    def compare_rest(self) -> bool:
        """Compare along directions in which only elements without kinks move; return whether any is wrong."""
        smooth = ~self.jumps.any(axis=0) & ~self.flat.held
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
            claimed = self.judgement.claimed[:, i] * self.flat.scales[i]
            room = WITHIN * (np.abs(right) + np.abs(left)) + MARGIN * error
            if ((claimed < np.minimum(left, right) - room) | (claimed > np.maximum(left, right) + room)).any():
                self.judgement.judge_element(i)
        return bool((self.judgement.state == FAIL).any())

    def contradicts_slopes(self, open_rows: np.ndarray) -> bool:
        """Return whether the claims contradict the slopes of f along a few directions at the kink."""
        tests = self.tests(open_rows)
        sides = [self.sides(direction) for direction in tests]
        for direction, (right, left, error) in zip(tests, sides, strict=True):
            no_kink = np.abs(right - left) <= WITHIN * (np.abs(right) + np.abs(left)) + error
            if (no_kink & (np.abs(self.rows.along(direction) - right) > self.room(direction, right, error))).any():
                along = self.directions.compare(direction, "relative")
                if along.wrong.any() and self.probe.find_wrong(along):
                    return True
        for j in np.flatnonzero(open_rows)[:MOST_TESTED].tolist():
            sign = self.curvature(j)
            for direction, (right, left, error) in zip(tests, sides, strict=True) if sign else ():
                claimed, room = self.rows.along(direction)[j], self.room(direction, right, error)[j]
                most, least = (right[j], left[j]) if sign > 0 else (left[j], right[j])
                if claimed > most + room or claimed < least - room:
                    slope = most if claimed > most else least
                    self.judgement.outside(
                        j, f"along a direction the slope is {slope:.6g}, but {claimed:.6g} is claimed"
                    )
                    return True
        return False

    def room(self, direction: np.ndarray, slope: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Return how far claimed products with a direction may be from one-sided slopes: (R,)."""
        size = np.abs(np.where(direction != 0, self.judgement.claimed * direction, 0.0)).sum(axis=1)
        return WITHIN * (size + np.abs(slope)) + MARGIN * error

    def tests(self, open_rows: np.ndarray) -> list[np.ndarray]:
        """Return directions that may have no kink, or show that a claim is too large: ones, and the claims."""
        live = ~self.flat.held
        found = [np.where(live, median_of(self.flat.scales[live]), 0.0)]
        for j in np.flatnonzero(open_rows)[:MOST_TESTED]:
            sizes = np.where(live, self.judgement.claimed[j] * self.flat.scales, 0.0)
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
        """Return 1 if row j seems convex at the point, -1 if it seems concave, and 0 otherwise."""
        bends, size = [], 0.0
        for _ in range(DIRECTION_PAIRS):
            u, v = (draw_signs(self.rng, self.flat.size) * self.directions.families["relative"] for _ in "uv")
            one, other, both = (float(self.right(d)[0][j]) for d in (u, v, u + v))
            bends.append(one + other - both)
            size = max(size, abs(one), abs(other), abs(both))
        least = 10 * WITHIN * size
        if min(bends) >= -least:
            return 1 if max(bends) > least else 0
        return -1 if max(bends) <= least else 0
