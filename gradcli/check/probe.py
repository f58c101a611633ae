"""Probe: compare a claim with the function along random directions, in which all elements move together.

There are two families of directions. One is relative to |x_i|: a disagreement is proof. The other is relative to the
typical size of each array: it is sensitive to tiny inputs, but a disagreement is only a hint, since no width is local
if one array has units from 1e-12 to 1e12. Every element moves by at least half its size, so its best direction gives
it a bound: a larger error would have been seen. Elements with too weak a bound get directions of their own.

If there are few elements, each is estimated by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..claims.claim import OutOfCallsError
from ..results.checks import Direction, Evidence, InputCheck
from .estimate import FIRST, PER_ESTIMATE, RATIO, WANTED, Estimate, estimate
from .fit import QUICK, Fit, fit
from .rows import draw_signs
from .sampler import TINY, Line
from .verdict import (
    COARSE,
    FAIL,
    MARGIN,
    NEGLIGIBLE,
    OPEN,
    PASS,
    ROUNDING,
    SMALL_EFFECT,
    UNDECIDED,
    ZERO_UNITS,
    Judgement,
    digits_of,
    least_accused,
    room,
)

ONE_BY_ONE = 8  # maximum number of elements to estimate one by one: 8 PER_ESTIMATE are 120 calls, less than PASS_CALLS
SOME = 64  # the same if directions do not decide: a choice, as this takes about a thousand calls
SAMPLE = 64  # elements estimated to explain a fail: if 5 % are wrong, these include one in 1 - 0.95**64 = 96 %
ADDS_UP = 1e-6  # relative error to within which slopes must add up: a few times WANTED
MIXED_UNITS = 1e3
"""How many times more the output may change if elements move by the typical size of their array, not their own sizes.
Above this, elements have different units, and no step suits all of them (calibrated)."""
PASS_CALLS, FAIL_CALLS = 200, 600  # calls after which nothing optional begins, without and with a disagreement: choices
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


class Probe:
    """The probes of one judgement; `Locator` adds the search. out_of_calls: whether the call budget ended them."""

    def __init__(self, judgement: Judgement, seed: int, restrict: Callable[[], None] = lambda: None):
        """restrict: raises an error to end the probe if f is defined on a subspace only (symmetric matrices)."""
        self.restrict, self.symmetry_tested = restrict, False
        self.judgement, self.flat, self.rows = judgement, judgement.flat, judgement.rows
        self.sampler, self.rng = judgement.sampler, np.random.default_rng(seed)
        self.probed: list[Probed] = []
        self.proven: Probed | None = None
        self.out_of_calls = False
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

    def bound_by(self, probed: Probed) -> None:
        """Tighten the bounds of all elements that moved along a direction."""
        judgement, direction = self.judgement, probed.line.direction
        moved = direction != 0
        most = np.where(probed.agrees, np.abs(probed.off) + probed.beyond, np.inf)
        bound = most[:, None] / np.abs(direction[moved])
        judgement.bound[:, moved] = np.minimum(judgement.bound[:, moved], bound)

    def run(self, every: bool = False) -> None:
        """Probe, and accept entries by their bounds. every: estimate each element by itself instead."""
        live = np.flatnonzero(~self.flat.held)
        roomy = self.flat.claim.budget.left >= len(live) * PER_ESTIMATE
        try:
            if every or (len(live) <= ONE_BY_ONE and (roomy or len(live) == 1)):
                self.judgement.judge_elements(
                    live, f"element (about {PER_ESTIMATE * len(live)} calls)" if every else "element"
                )
                if (self.judgement.state != PASS).any():
                    self.test_symmetry()
            else:
                self.along_directions()
        except OutOfCallsError:
            self.out_of_calls = True

    def along_directions(self) -> None:
        for family in ("relative", "array", "relative"):
            if not self.families[family].any():
                break
            probed = self.compare(self.draw(family), family)
            if probed.wrong.any():
                if self.find_wrong(probed):
                    return
            elif not probed.slopes.known.all():
                self.test_symmetry()
                if family == "array" and self.flat.size > SOME:
                    self.families["array"] = self.families["relative"]
                    self.probed.remove(probed)
                    continue
                if self.flat.size <= SOME or not self.resolve(probed):
                    self.judge_all_or_some()
                    return
            self.bound_by(probed)
            if len(self.probed) > 1 and self.settle():
                return
        self.groups()

    def test_symmetry(self) -> None:
        if not self.symmetry_tested:
            self.symmetry_tested = True
            self.restrict()

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

    def groups(self) -> None:
        """Use further directions for elements whose claimed effect is too small for their bound."""
        for _ in range(3):
            group = (self.judgement.state == OPEN).any(axis=0)
            count = int(group.sum())
            if not count:
                return
            if count <= ONE_BY_ONE and self.has_calls(count * PER_ESTIMATE):
                for i in np.flatnonzero(group):  # an element limited by rounding may take many calls
                    if self.has_calls(PER_ESTIMATE):
                        self.judgement.judge_element(int(i))
                self.judgement.mark_negligible()
                break
            probed = self.compare(self.draw("relative", group), "relative")
            if probed.wrong.any() and self.find_wrong(probed):
                return
            self.bound_by(probed)
            self.settle()
        self.leave_open()

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

    @property
    def calls_needed(self) -> int:
        """Number of calls that is enough for a pass, or a fail with its element; at least twice the number allowed."""
        return max(int(self.most_calls), 2 * (self.flat.claim.budget.allowed or 0))

    @property
    def most_calls(self) -> float:
        """Number of calls after which a check of this size begins nothing optional."""
        return (PASS_CALLS if self.proven is None else FAIL_CALLS) + 20 * np.log2(max(self.flat.size, 2))

    def text_of_disagreement(self) -> str:
        """Describe how claimed and numeric products differ along the direction where they differ most."""
        probed = max((p for p in self.probed if p.wrong.any()), key=lambda p: float(p.excess.max()), default=None)
        if probed is None:
            return ""
        j = int(np.argmax(probed.excess))
        numeric = f"{probed.slopes.value[j]:.9g} ± {probed.slopes.error[j]:.2g}"
        return f"along a random direction the claimed product is {probed.claimed[j]:.9g}, the numeric one {numeric}"

    def directions(self) -> tuple[Direction, ...]:
        """Return the claimed and numeric product and the numeric error along each direction, of the worst row."""
        rows = []
        for p in self.probed:
            j = int(np.argmax(p.excess))
            rows.append(Direction(float(p.claimed[j]), float(p.slopes.value[j]), float(p.slopes.error[j])))
        return tuple(rows)

    def evidence(self, verdict: str) -> Evidence:
        flat, judgement = self.flat, self.judgement
        needed = self.calls_needed if verdict == "inconclusive" and self.out_of_calls else None
        alone = len(judgement.estimates) * len(flat.f0)
        return Evidence(len(flat.f0) * flat.size, alone, flat.claim.budget.made, self.directions(), needed)

    def limit_digits(self, item: InputCheck, k: int) -> InputCheck:
        """Return the result for input k, with no more digits than the directions agree to.

        If outputs are combined, the worst element gets the output that is furthest off.
        """
        if item.verdict == "fail" and item.worst is not None and not self.rows.single:
            item = self.with_output(item, k)
        known = [p for p in self.probed if p.agrees.all() and p.line.direction[self.flat.columns(k)].any()]
        if not known or not np.isnan(self.judgement.value[:, self.flat.columns(k)]).any():
            return item
        p = min(known, key=lambda p: float(np.max(p.room)))
        size = np.maximum(self.rows.size(p.line.direction, p.claimed), TINY)
        digits = digits_of(float((np.abs(p.off) / size).max()))
        most = max(item.max_abs_error, float(np.abs(p.off).max()) if item.verdict == "pass" else 0.0)
        if not self.rows.known:
            columns = self.flat.columns(k)
            effect = np.abs(p.claimed) / np.sqrt(np.count_nonzero(p.line.direction))
            unseen = (self.judgement.bound[:, columns] * self.flat.scales[columns]).max(axis=1)
            item = replace(item, resolution=float((unseen / np.maximum(effect, TINY)).max()))
        return replace(
            item, digits=min(item.digits, digits) if item.verdict == "pass" else item.digits, max_abs_error=most
        )

    def with_output(self, item: InputCheck, k: int) -> InputCheck:
        """Return the result for input k, with the output that is furthest off."""
        raise NotImplementedError

    def search(self, probed: Probed) -> bool:
        """Search for elements that explain a disagreement; return whether any is wrong."""
        raise NotImplementedError

    def resolve(self, probed: Probed) -> bool:
        """Resolve a direction of unknown slope; return whether the slope is known then."""
        raise NotImplementedError

    def scatters(self) -> bool:
        """Return whether values scatter by far more than their rounding, along any line that was sampled."""
        lines = [*self.judgement.estimates.values(), *((p.line, p.slopes) for p in self.probed)]
        return any((slopes.noise > SCATTERED * line.rounding(line.base[None])).any() for line, slopes in lines)

    def has_calls(self, count: int) -> bool:
        """Return whether a check may make `count` more calls."""
        return self.sampler.calls + count <= self.most_calls

    def judge_all_or_some(self) -> None:
        """Estimate single elements: all of them if they are few, else a sample."""
        live = np.flatnonzero(~self.flat.held)
        if len(live) > SOME:
            live = self.sample(live)
        for i in live:
            self.rows.fill_column(int(i))
        self.judgement.judge_elements(live)
        if (self.judgement.state == OPEN).any() and not (self.judgement.state == FAIL).any():
            self.settle()
            self.leave_open()

    def sample(self, elements: np.ndarray, count: int = SAMPLE) -> np.ndarray:
        """Return elements spread over all inputs."""
        if len(elements) <= count:
            return elements
        chosen: set[int] = set()
        inputs = [
            elements[(elements >= a) & (elements < b)]
            for a, b in zip(self.flat.edges, self.flat.edges[1:], strict=False)
        ]
        inputs = [part for part in inputs if len(part)]
        for part in inputs:
            chosen.update(self.rng.choice(part, min(len(part), max(1, count // len(inputs))), replace=False).tolist())
        return np.array(sorted(chosen))

    def find_wrong(self, probed: Probed) -> bool:
        """Find elements that explain a disagreement; return whether any is wrong.

        In the array family, a disagreement is only a hint: if the element found is right by itself, the family is not
        local and is not used again.
        """
        self.test_symmetry()
        with np.errstate(invalid="ignore"):
            proven = probed.slopes.known & ~(np.abs(probed.off) <= probed.beyond)
        if probed.family == "relative" and proven.any():
            self.proven = probed
        try:
            wrong = self.search(probed)
        except OutOfCallsError:
            self.out_of_calls = True
            wrong = self.proven is not None or bool((self.judgement.state == FAIL).any())
        if wrong:
            return True
        if probed.family == "array":
            self.families["array"] = self.families["relative"]
            self.probed.remove(probed)
        else:
            self.probed[self.probed.index(probed)] = probed._replace(room=probed.beyond)
        return False
