"""Compare the derivative as it is now with numeric slopes at one point, which are computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..claims.claim import CallError, Claim, OutOfCallsError
from ..explain.evidence import slopes_along
from ..explain.points import faraway, fresh, nearby, resized
from ..numeric.compare import MARGIN
from ..numeric.flat import Flat, real_view
from ..numeric.rows import combinations, draw_signs
from ..numeric.sampler import Sampler

TRIAL_DIRECTIONS = 2  # random directions at each point, each of all elements
MOST_ALONE = 24  # most elements that are also moved one by one; of more, each input is moved: a choice
ALONG_TOLERANCE = 1e-6  # relative error that a candidate may have along a direction: a choice
KNOWN_SLOPE = 1e-5  # relative error up to which a numeric slope counts: a choice
TRIAL_UNITS = 100  # rounding units of a claim that it may be off by, for types of few digits: a choice
FRESH = 3  # other points with new numbers


class Trial:
    """A point: numeric slopes of combinations of outputs along directions, and the claim's products with both.

    cotangents: (R, m); directions: (K, n); slopes, errors: (K, R). The first two directions move all elements, further
    ones a single input or element. recorded: whether the function is recorded once for all candidates; a rule for
    forward mode runs while it is recorded.
    """

    def __init__(self, claim: Claim, seed: int, recorded: bool = True, in_parts: bool = False):
        """Compute the slopes. in_parts: also along single inputs and elements. Raises CallError, OutOfCallsError."""
        rng = np.random.default_rng(seed)
        self.recorded = recorded
        self.claim, self.flat = claim, Flat(claim)
        m, n = len(self.flat.f0), self.flat.size
        self.cotangents = np.ones((1, 1)) if m == 1 else combinations(rng, np.abs(self.flat.f0))
        moves = np.where(self.flat.fixed, 0.0, self.flat.scales)
        self.directions = draw_signs(rng, (TRIAL_DIRECTIONS, n)) * moves
        if in_parts:
            self.directions = np.concatenate([self.directions, parts_to_repair(self.flat) * moves])
        sampler = Sampler(self.flat)
        found = [slopes_along(sampler.line(d, self.cotangents)) for d in self.directions]
        self.slopes, self.errors = (np.array(part) for part in zip(*found, strict=True))
        self.pullback: Callable | None = None

    @property
    def is_known(self) -> bool:
        """Whether at least one slope is known well enough."""
        with np.errstate(invalid="ignore"):
            return bool(np.isfinite(self.flat.f0).all() and self.known(np.abs(self.slopes)).any())

    def known(self, size: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.isfinite(self.slopes) & (MARGIN * self.errors <= KNOWN_SLOPE * size)

    def products(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the claimed products, (K, R), and the size of their terms, for each mode. Raises CallError."""
        claim, flat, can = self.claim, self.flat, self.claim.capabilities
        if can.pull:
            if self.pullback is None or not self.recorded:
                self.pullback = claim.pullback(claim.at)
            rows = np.array([self.row_of(self.pullback(flat.as_output(u))) for u in self.cotangents])
            yield self.along(rows)
        elif not can.push:
            yield self.along(self.cotangents @ flat.matrix())
        if (not can.pull or getattr(claim, "jvp_fn", None) is not None) and can.push:
            pushed = flat.push(self.directions) @ self.cotangents.T
            yield pushed, np.abs(pushed)

    def row_of(self, products: Mapping[str, Any]) -> np.ndarray:
        return np.concatenate([real_view(np.asarray(products[n])).astype(float) for n in self.claim.wrt])

    def along(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.directions @ rows.T, np.sqrt(self.directions**2 @ (rows**2).T)

    def accepts(self) -> bool:
        """Report whether the claim, as it is now, agrees with all known slopes. An error is a no."""
        return bool(self.agreeing()[:TRIAL_DIRECTIONS].all())

    def agreeing(self) -> np.ndarray:
        """Return along which directions the claim, as it is now, agrees with all known slopes: (K,)."""
        try:
            with np.errstate(all="ignore"):
                return np.all([self.agrees(claimed, size) for claimed, size in self.products()], axis=0)
        except (CallError, OutOfCallsError):
            return np.zeros(len(self.directions), bool)

    def agrees(self, claimed: np.ndarray, size: np.ndarray) -> np.ndarray:
        largest = np.maximum(size, np.abs(self.slopes))
        tolerance = MARGIN * self.errors + (ALONG_TOLERANCE + TRIAL_UNITS * self.flat.claim_unit) * largest
        known = self.known(np.where(largest > 0, largest, 1.0))
        if not known[:TRIAL_DIRECTIONS].any() or not np.isfinite(claimed).all():
            return np.zeros(len(claimed), bool)
        return np.all((np.abs(claimed - self.slopes) <= tolerance) | ~known, axis=1)

    def runs(self) -> bool:
        """Report whether the claim can be evaluated here at all."""
        try:
            return all(claimed.shape == self.slopes.shape for claimed, _ in self.products())
        except (CallError, OutOfCallsError):
            return False


def parts_to_repair(flat: Flat) -> np.ndarray:
    """Return the masks of single elements if there are few, else those of the inputs: (parts, n)."""
    if flat.size <= MOST_ALONE:
        return np.eye(flat.size)
    inputs = np.repeat(np.arange(len(flat.parts)), [part.size for part in flat.parts])
    return np.asarray(inputs == np.arange(len(flat.parts))[:, None], float)


def other_trials(claim: Claim, recorded: bool = True) -> Iterator[Trial]:
    """Yield other points at which candidates are tried: near and far, with new numbers, and in another shape."""
    rng = np.random.default_rng(0)
    points = [nearby(claim.at, claim.wrt, 1.0), faraway(claim.at, claim.wrt), nearby(claim.at, claim.wrt, -1.0)]
    points += [fresh(claim.at, claim.wrt, rng) for _ in range(FRESH)]
    for seed, at in enumerate(points, 1):
        trial = trial_at(claim, at, seed, recorded)
        if trial is not None:
            yield trial


def reshaped_trial(claim: Claim, recorded: bool = True) -> Trial | None:
    """Return a point in another shape, the first in which function and claim can be evaluated, if there is one."""
    points = enumerate(resized(claim.at, claim.wrt), 100)
    several = (trial_at(claim, at, seed, recorded) for seed, at in points)
    return next((trial for trial in several if trial is not None and trial.runs()), None)


def trial_at(claim: Claim, at: Mapping[str, np.ndarray], seed: int, recorded: bool) -> Trial | None:
    """Return another point; None if the function has no known slopes there."""
    moved = claim.moved(dict(at))
    if any(x.shape != claim.at[name].shape for name, x in at.items()):
        moved.shape = None
    try:
        with np.errstate(all="ignore"):
            trial = Trial(moved, seed, recorded)
        return trial if trial.is_known else None
    except (CallError, OutOfCallsError):
        return None
