"""Compare a claim with the function along random directions, in which all elements move together.

There are two families of directions. One is relative to |x_i|: a disagreement is proof. The other is relative to the
typical size of each array: it is sensitive to tiny inputs, but a disagreement is only a hint, since no width is local
if one array has units from 1e-12 to 1e12. Every element moves by at least half its size, so its best direction gives
it a bound: a larger error would have been seen.
"""

from __future__ import annotations

import functools

import numpy as np

from .chain import FIRST, RATIO, WANTED
from .compare import COARSE, MARGIN, SLIGHT, Comparison, Limits
from .decide import FAIL as FAILS
from .decide import PASS as PASSES
from .decide import Observation
from .estimate import Estimate, estimate
from .fit import QUICK, Fit, fit
from .integral import Claimed
from .rows import draw_signs, norms
from .sampler import TINY, Line
from .verdict import (
    NEGLIGIBLE,
    OPEN,
    ROUNDING,
    SMALL_EFFECT,
    ZERO_UNITS,
    Entries,
    change_between_ends,
    least_accused,
    state_by,
)

ADDS_UP = 1e-6  # relative error to within which slopes must add up: a few times WANTED
MIXED_UNITS = 1e3
"""How many times more the output may change if elements move by the typical size of their array, not their own sizes.
Above this, elements have different units, and no step suits all of them (calibrated)."""
MOST_REASONS = 1000  # maximum number of undecided entries with a reason of their own: a choice
MOST_SIGMAS = 6.0
"""How many norms of its terms a sum with random signs may reach: it exceeds these with a probability below
2 exp(-6**2 / 2) = 3e-8 (Hoeffding's inequality)."""
SCATTERED = 1e4  # values that scatter by more rounding units are computed to fewer digits (calibrated)


class Probed:
    """One direction along which the claim was compared. found: the comparison; beyond: see `accept`."""

    def __init__(self, family: str, found: Comparison, beyond: np.ndarray, slight: np.ndarray):
        """beyond: what the rounding of all elements together may explain: (R,). slight: see `Directions.slight`."""
        self.family, self.found, self.beyond, self.slight, self.accepted = family, found, beyond, slight, False
        verdicts = np.array(found.verdicts)
        self.wrong, self.agrees = verdicts == FAILS, verdicts == PASSES
        self.bound = found.bound

    @property
    def line(self) -> Line:
        return self.found.line

    @property
    def claimed(self) -> np.ndarray:
        return self.found.claimed.here

    @property
    def slopes(self) -> Estimate:
        return self.found.slopes

    @property
    def off(self) -> np.ndarray:
        return self.claimed - self.slopes.value

    @property
    def tolerance(self) -> np.ndarray:
        """How far each claim may be off without being wrong: (R,)."""
        return self.found.limits.around(self.slopes.error)

    @property
    def is_noisy(self) -> bool:
        """Whether only noise leaves claims open: fits of all widths agree."""
        open_ = ~self.agrees & ~self.wrong
        return bool(((self.slopes.kind == "smooth") & np.isinf(self.slopes.limit))[open_].all())

    @property
    def exceeds_rounding(self) -> np.ndarray:
        """Where the rounding of all elements together does not explain that the claim is wrong."""
        with np.errstate(invalid="ignore"):
            return self.wrong & ~(np.abs(self.off) <= self.beyond)

    @property
    def may_be_slight(self) -> np.ndarray:
        """Where slight differences of all elements may add up to the disagreement: it proves nothing."""
        with np.errstate(invalid="ignore"):
            return self.wrong & (np.abs(self.off) <= self.slight)

    @property
    def proves(self) -> np.ndarray:
        """Where the disagreement proves that some element is wrong."""
        return self.exceeds_rounding & ~self.may_be_slight

    def accept(self) -> None:
        """Accept that no element explains a disagreement: it may be the rounding of all elements together."""
        self.bound = np.where(self.wrong, np.abs(self.off) + self.beyond, self.bound)
        self.agrees, self.wrong = self.agrees | self.wrong, np.zeros_like(self.wrong)

    @property
    def excess(self) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.where(self.wrong, np.abs(self.off) / np.maximum(self.tolerance, TINY), 0.0)


class Directions:
    """The directions along which a claim was compared. probed: each of them; families: the sizes of its moves."""

    def __init__(self, entries: Entries, seed: int):
        self.entries, self.flat, self.rows = entries, entries.flat, entries.rows
        self.sampler, self.rng = entries.sampler, np.random.default_rng(seed)
        self.probed: list[Probed] = []
        self.families = self.sizes_of_elements()

    def sizes_of_elements(self) -> dict[str, np.ndarray]:
        flat = self.flat
        typical = np.ones(flat.size)
        for k, part in enumerate(flat.parts):
            x = np.abs(part[np.isfinite(part)].astype(float))
            largest = float(x.max(initial=0.0))
            size = largest * np.sqrt(np.mean((x / largest) ** 2)) if largest > 0 else 1.0
            slopes = np.abs(self.entries.claimed[:, flat.columns(k)])
            own = flat.scales[flat.columns(k)]
            with np.errstate(invalid="ignore", over="ignore"):
                mixed = self.rows.known and np.nanmax(slopes, initial=0.0) * size > MIXED_UNITS * np.nanmax(
                    slopes * own, initial=0.0
                )
            typical[flat.columns(k)] = own if mixed else size
        relative = np.where(flat.x == 0, np.minimum(flat.scales, typical), flat.scales)
        families = {"array": typical, "relative": relative}
        return {name: np.where(flat.fixed, 0.0, sizes) for name, sizes in families.items()}

    def draw(self, family: str, group: np.ndarray | None = None) -> np.ndarray:
        direction = draw_signs(self.rng, self.flat.size) * self.families[family]
        return direction if group is None else np.where(group, direction, 0.0)

    def compare(self, direction: np.ndarray, family: str) -> Probed:
        """Compare along a direction. Of the array family, only the numeric derivative is used, since it is a hint."""
        entries, line = self.entries, self.sampler.line(direction, self.rows.weights)
        here = self.rows.along(direction)
        size = self.rows.size(direction, here)
        left_out = norms(entries.left_out * direction) if self.flat.claim.left_out else 0.0
        size_known = np.where(np.isfinite(size), size, 0.0)
        claimed = Claimed(functools.partial(self.rows.slopes_at, line), here, size_known, left_out)
        largest = np.abs(self.rows.claimed * direction).max(axis=1) if self.rows.known else np.abs(here)
        largest = np.where(np.isfinite(largest), largest, 0.0)
        limits = functools.partial(self.limits_of, size, largest)
        found = Comparison(line, claimed, limits, WANTED / 10 * largest, True)
        slight = self.slight(direction, size)
        if family == "relative":
            known = entries.slight or any(p.may_be_slight.any() for p in self.probed)
            entries.look_again(found, slight if known else None)  # one integral is enough for slight differences
        elif found.unsettled:
            found.measure_rounding()
        slopes = found.slopes
        beyond = Limits(found.limits.own, least_accused(self.flat.claim_unit) * size, *found.limits[2:])
        probed = Probed(family, found, beyond.around(slopes.error), slight)
        self.probed.append(probed)
        entries.changes = np.maximum(entries.changes, slopes.change)
        return probed

    def slight(self, direction: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return what differences below SLIGHT of each element may add up to: (R,). 0 if these are wrong, too.

        size: of the claimed sums for random signs.
        """
        most = MOST_SIGMAS * size
        if self.rows.known:
            most = np.fmin(most, np.nansum(np.abs(self.rows.claimed * direction), axis=1))
        return np.zeros_like(size) if self.entries.strict else SLIGHT * most

    def limits_of(self, size: np.ndarray, largest: np.ndarray, line: Line, slopes: Estimate) -> Limits:
        """Return by how much claimed products with a direction may be off. largest: of the terms of each."""
        unit = self.flat.claim_unit
        # x + t direction is rounded in each element, which shifts the points of narrow fits
        shifted = np.nan_to_num(0.0 if line.alone else line.unit_of_x / slopes.width)
        own = (ROUNDING * unit + self.entries.products_rounding + shifted) * size
        if self.rows.known:
            with np.errstate(invalid="ignore", over="ignore"):
                own = np.fmax(own, norms(self.entries.own_rounding * line.direction) + shifted * size)
        least, none = least_accused(unit) * largest, np.zeros_like(largest)
        zero = np.maximum(SMALL_EFFECT**2 * change_between_ends(line), ZERO_UNITS * line.rounding(line.base[None]))
        return Limits(own, least, zero, none)

    def bound_by(self, probed: Probed) -> None:
        """Tighten the bounds of all elements that moved along a direction."""
        entries, direction = self.entries, probed.line.direction
        moved = direction != 0
        bound = np.where(probed.agrees, probed.bound, np.inf)[:, None] / np.abs(direction[moved])
        entries.bound[:, moved] = np.minimum(entries.bound[:, moved], bound)

    def settle(self) -> bool:
        """Accept entries whose bounds are tight enough; return whether no entry is left open."""
        entries = self.entries
        with np.errstate(invalid="ignore"):
            size, bound = np.abs(entries.claimed), entries.bound
            if not self.rows.known:  # assume elements of a typical size
                moved = max(np.count_nonzero(p.line.direction) for p in self.probed)
                size = (
                    np.max([np.abs(p.claimed) for p in self.probed], axis=0)[:, None]
                    / np.sqrt(moved)
                    / self.flat.scales
                )
            open_ = entries.state == OPEN
            effects = bound * self.flat.scales
            rounding = ZERO_UNITS * np.max([p.line.rounding(p.line.base[None]) for p in self.probed], axis=0)
            changes = np.maximum(entries.effects.max(axis=1, initial=0.0), entries.changes)
            least = np.maximum(SMALL_EFFECT**2 * changes, rounding)
            zero = (entries.claimed == 0) & (effects <= least[:, None] + TINY)
            passes = open_ & np.isfinite(bound) & ((bound <= COARSE * size) | zero)
        entries.state[passes] = state_by(bound="is tight")
        return not (entries.state == OPEN).any()

    def leave_open(self, because: Observation | None = None) -> None:
        """Mark open entries negligible if they are small compared with others even at their bounds, else undecided.

        because: why they are undecided; by default, because of their bounds.
        """
        entries, small = self.entries, self.small_effects()
        open_ = entries.state == OPEN
        entries.state[open_ & small] = NEGLIGIBLE
        for j, i in np.argwhere(open_ & ~small)[:MOST_REASONS].tolist():
            hidden = f"rounding or noise hides any error below {entries.bound[j, i]:.2g}"
            reason = f"{entries.claimed[j, i]:.3g} is claimed, and {hidden}"
            entries.reasons[j, i] = because or Observation("noise", reason)
        entries.state[entries.state == OPEN] = state_by(bound="is wide")

    def small_effects(self) -> np.ndarray:
        """Return a mask of the entries that are small compared with others even at their bounds: (R, n)."""
        entries = self.entries
        with np.errstate(invalid="ignore"):
            effect = (np.abs(entries.claimed) + entries.bound) * self.flat.scales
            return effect <= SMALL_EFFECT * entries.effects.max(axis=1, initial=0.0)[:, None]

    def adds_up(self) -> bool:
        """Return whether the slopes of all elements add up to that along a random direction, so that no kinks meet."""
        entries, direction = self.entries, self.draw("relative")
        line, moved = self.sampler.line(direction, self.rows.weights), direction != 0
        with np.errstate(invalid="ignore"):
            total = entries.value[:, moved] @ direction[moved]
            size = np.abs(entries.value[:, moved]) @ np.abs(direction[moved])
            errors = entries.error[:, moved] @ np.abs(direction[moved])

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
        """Return whether values scatter by far more than their rounding, or in steps, along any sampled line."""
        lines = [*self.entries.estimates.values(), *((p.line, p.slopes) for p in self.probed)]
        return any(
            ((slopes.noise > SCATTERED * line.rounding(line.base[None])) | np.isfinite(slopes.limit)).any()
            for line, slopes in lines
        )
