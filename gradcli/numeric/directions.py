"""Compare a claim with the function along random directions, in which all elements move together.

There are two families of directions. One is relative to |x_i|: a disagreement is proof. The other is relative to the
typical size of each array: it is sensitive to tiny inputs, but a disagreement is only a hint, since no width is local
if one array has units from 1e-12 to 1e12. Every element moves by at least half its size, so its best direction gives
it a bound: a larger error would have been seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .chain import FIRST, RATIO, WANTED
from .estimate import Estimate, estimate
from .fit import QUICK, Fit, fit
from .rows import draw_signs
from .sampler import TINY, Line
from .verdict import (
    COARSE,
    MARGIN,
    NEGLIGIBLE,
    OPEN,
    PASS,
    ROUNDING,
    SMALL_EFFECT,
    UNDECIDED,
    ZERO_UNITS,
    Judgement,
    least_accused,
    room,
)

ADDS_UP = 1e-6  # relative error to within which slopes must add up: a few times WANTED
MIXED_UNITS = 1e3
"""How many times more the output may change if elements move by the typical size of their array, not their own sizes.
Above this, elements have different units, and no step suits all of them (calibrated)."""
MOST_REASONS = 1000  # maximum number of undecided entries with a reason of their own: a choice
SCATTERED = 1e4  # values that scatter by more rounding units are computed to fewer digits (calibrated)


class Probed(NamedTuple):
    """One direction: claimed products, estimates, and allowed differences between them, all (R,) except the line.

    room: a larger difference is located; beyond: a larger difference is a disagreement even if no element is found,
    since the rounding of all elements together does not explain it.
    """

    family: str
    line: Line
    claimed: np.ndarray
    slopes: Estimate
    room: np.ndarray
    beyond: np.ndarray

    @property
    def off(self) -> np.ndarray:
        return self.claimed - self.slopes.value

    @property
    def wrong(self) -> np.ndarray:
        """Where claim and values disagree."""
        with np.errstate(invalid="ignore"):
            return self.slopes.known & ~(np.abs(self.off) <= self.room)

    @property
    def agrees(self) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return self.slopes.known & (np.abs(self.off) <= self.room)

    @property
    def excess(self) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.where(self.wrong, np.abs(self.off) / np.maximum(self.room, TINY), 0.0)


class Directions:
    """The directions along which a claim was compared. probed: each of them; families: the sizes of its moves."""

    def __init__(self, judgement: Judgement, seed: int):
        self.judgement, self.flat, self.rows = judgement, judgement.flat, judgement.rows
        self.sampler, self.rng = judgement.sampler, np.random.default_rng(seed)
        self.probed: list[Probed] = []
        self.families = self.sizes_of_elements()

    def sizes_of_elements(self) -> dict[str, np.ndarray]:
        flat = self.flat
        typical = np.ones(flat.size)
        for k, part in enumerate(flat.parts):
            x = np.abs(part[np.isfinite(part)].astype(float))
            largest = float(x.max(initial=0.0))
            size = largest * np.sqrt(np.mean((x / largest) ** 2)) if largest > 0 else 1.0
            slopes = np.abs(self.judgement.claimed[:, flat.columns(k)])
            own = flat.scales[flat.columns(k)]
            with np.errstate(invalid="ignore", over="ignore"):
                mixed = self.rows.known and np.nanmax(slopes, initial=0.0) * size > MIXED_UNITS * np.nanmax(
                    slopes * own, initial=0.0
                )
            typical[flat.columns(k)] = own if mixed else size
        relative = np.where(flat.x == 0, np.minimum(flat.scales, typical), flat.scales)
        families = {"array": typical, "relative": relative}
        return {name: np.where(flat.held, 0.0, sizes) for name, sizes in families.items()}

    def draw(self, family: str, group: np.ndarray | None = None) -> np.ndarray:
        direction = draw_signs(self.rng, self.flat.size) * self.families[family]
        return direction if group is None else np.where(group, direction, 0.0)

    def compare(self, direction: np.ndarray, family: str) -> Probed:
        line = self.sampler.line(direction, self.rows.weights)
        claimed = self.rows.along(direction)
        size = self.rows.size(direction, claimed)
        largest = np.abs(self.rows.claimed * direction).max(axis=1) if self.rows.known else np.abs(claimed)
        slopes = estimate(line, WANTED / 10 * np.where(np.isfinite(largest), largest, 0.0))
        unit = self.flat.claim_unit
        # x + t direction is rounded in each element, which shifts the points of narrow fits
        shifted = np.nan_to_num(0.0 if line.alone else line.unit_of_x / slopes.width)
        own_rounding = (ROUNDING * unit + self.judgement.coarse + shifted) * size
        least = least_accused(unit) * size
        probed = Probed(
            family,
            line,
            claimed,
            slopes,
            room(slopes.error, own_rounding, least_accused(unit) * largest),
            room(slopes.error, own_rounding, least),
        )
        self.probed.append(probed)
        self.judgement.changes = np.maximum(self.judgement.changes, slopes.change)
        return probed

    def bound_by(self, probed: Probed) -> None:
        """Tighten the bounds of all elements that moved along a direction."""
        judgement, direction = self.judgement, probed.line.direction
        moved = direction != 0
        most = np.where(probed.agrees, np.abs(probed.off) + probed.beyond, np.inf)
        bound = most[:, None] / np.abs(direction[moved])
        judgement.bound[:, moved] = np.minimum(judgement.bound[:, moved], bound)

    def settle(self) -> bool:
        """Accept entries whose bounds are tight enough; return whether no entry is left open."""
        judgement = self.judgement
        with np.errstate(invalid="ignore"):
            size, bound = np.abs(judgement.claimed), judgement.bound
            if not self.rows.known:  # assume elements of a typical size
                moved = max(np.count_nonzero(p.line.direction) for p in self.probed)
                size = (
                    np.max([np.abs(p.claimed) for p in self.probed], axis=0)[:, None]
                    / np.sqrt(moved)
                    / self.flat.scales
                )
            open_ = judgement.state == OPEN
            effects = bound * self.flat.scales
            rounding = ZERO_UNITS * np.max([p.line.rounding(p.line.base[None]) for p in self.probed], axis=0)
            changes = np.maximum(judgement.effects.max(axis=1, initial=0.0), judgement.changes)
            least = np.maximum(SMALL_EFFECT**2 * changes, rounding)
            zero = (judgement.claimed == 0) & (effects <= least[:, None] + TINY)
            passes = open_ & np.isfinite(bound) & ((bound <= COARSE * size) | zero)
        judgement.state[passes] = PASS
        return not (judgement.state == OPEN).any()

    def leave_open(self) -> None:
        """Mark open entries negligible if they are small compared with others even at their bounds, else undecided."""
        judgement = self.judgement
        open_ = judgement.state == OPEN
        with np.errstate(invalid="ignore"):
            effect = (np.abs(judgement.claimed) + judgement.bound) * self.flat.scales
            small = effect <= SMALL_EFFECT * judgement.effects.max(axis=1, initial=0.0)[:, None]
        judgement.state[open_ & small] = NEGLIGIBLE
        for j, i in np.argwhere(open_ & ~small)[:MOST_REASONS].tolist():
            unseen = f"but an error of {judgement.bound[j, i]:.2g} could not be seen"
            reason = f"the derivative is lost in rounding or noise: {judgement.claimed[j, i]:.3g} is claimed, {unseen}"
            judgement.state[j, i] = judgement.undecided(j, i, "noise", reason)
        judgement.state[judgement.state == OPEN] = UNDECIDED

    def adds_up(self) -> bool:
        """Return whether the slopes of all elements add up to that along a random direction, so that no kinks meet."""
        judgement, direction = self.judgement, self.draw("relative")
        line, moved = self.sampler.line(direction, self.rows.weights), direction != 0
        with np.errstate(invalid="ignore"):
            total = judgement.value[:, moved] @ direction[moved]
            size = np.abs(judgement.value[:, moved]) @ np.abs(direction[moved])
            errors = judgement.error[:, moved] @ np.abs(direction[moved])

        def near(slopes: Fit | Estimate) -> bool:
            with np.errstate(invalid="ignore"):
                gap = np.abs(slopes.value - total)
            return bool(((gap <= MARGIN * (slopes.error + errors) + ADDS_UP * size) | ~np.isfinite(total)).all())

        quick = fit(line, FIRST / RATIO, QUICK)
        if quick is not None and (quick.error <= ADDS_UP * size).all() and near(quick):
            return True
        slopes = estimate(line)
        return near(slopes) and not (slopes.kind == "kink").any()

    def scatters(self) -> bool:
        """Return whether values scatter by far more than their rounding, along any line that was sampled."""
        lines = [*self.judgement.estimates.values(), *((p.line, p.slopes) for p in self.probed)]
        return any((slopes.noise > SCATTERED * line.rounding(line.base[None])).any() for line, slopes in lines)
