"""Probe: check a claim along directions, and locate the elements that make one disagree.

Elements for which the directions give too weak a bound get directions of their own. If there are few elements, each is
estimated by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..claims.claim import OutOfCallsError
from .directions import Directions, Probed
from .estimate import PER_ESTIMATE
from .locate import CLOSE, ONE_BY_ONE, PER_DOUBT, Locator
from .verdict import FAIL, OPEN, PASS, Entries

if TYPE_CHECKING:
    from .nearby import Nearby

CLOSE_POINTS = 3  # points at the distance CLOSE at which claims jump next to a kink: a choice
JUMPS_CLOSE = 0.01  # claims that differ by more than this fraction between these points jump: a smooth one, by 2e-6


class Probe:
    """The course of a check. out_of_calls: whether the call budget ended it."""

    def __init__(self, entries: Entries, seed: int, restrict: Callable[[], None] = lambda: None, near: bool = True):
        """restrict: raises an error to end the probe if f is defined on a subspace only (symmetric matrices).

        near: whether to look next to kinks; otherwise they stay undecided.
        """
        self.seed, self.restrict, self.symmetry_tested, self.near = seed, restrict, False, near
        self.entries, self.flat, self.rows = entries, entries.flat, entries.rows
        self.sampler, self.directions = entries.sampler, Directions(entries, seed)
        self.locator = Locator(self.directions)
        self.out_of_calls = False

    @property
    def proven(self) -> Probed | None:
        """A direction that disagrees beyond doubt, if any."""
        return self.locator.proven

    def run(self, every: bool = False) -> None:
        """Probe, and accept entries by their bounds. every: estimate each element by itself instead."""
        live = np.flatnonzero(~self.flat.fixed)
        roomy = self.flat.claim.budget.left >= len(live) * PER_ESTIMATE
        try:
            if every or (len(live) <= ONE_BY_ONE and (roomy or len(live) == 1)):
                self.entries.compare_elements(
                    live, f"element (about {PER_ESTIMATE * len(live)} calls)" if every else "element"
                )
                if (self.entries.state != PASS).any():
                    self.test_symmetry()
            else:
                self.along_directions()
        except OutOfCallsError:  # what one direction says has a resolution, too
            self.out_of_calls = not (self.directions.probed and self.directions.settle())

    def along_directions(self) -> None:
        """Compare along directions until every entry has a state."""
        for family in ("relative", "array", "relative"):
            if not self.directions.families[family].any():
                break
            probed = self.directions.compare(self.directions.draw(family), family)
            if probed.wrong.any():
                if self.find_wrong(probed) and not self.kinks_explain(probed):
                    return
            elif not probed.agrees.all():
                self.test_symmetry()
                if family == "array":
                    self.directions.families["array"] = self.directions.families["relative"]
                    self.directions.probed.remove(probed)
                    continue
                if self.settle_open(probed):
                    return
            else:
                self.directions.bound_by(probed)
            if len(self.directions.probed) > 1 and self.directions.settle():
                return
        self.groups()

    def settle_open(self, probed: Probed) -> bool:
        """Deal with a direction that decides nothing; return whether the check has ended."""
        for j in probed.found.in_steps:
            self.directions.leave_open(probed.found.reason(j))
            return True
        near = self.nearby() if self.near and not probed.is_noisy else None
        few = np.zeros(0, int) if near is None else near.kinked
        if not 0 < len(few) <= ONE_BY_ONE:
            few = self.rough_elements(probed) if "kink" not in probed.found.words else few[:0]
        if len(few) and self.take_out(few, probed):
            return bool((self.entries.state == FAIL).any())
        if near is not None and near.settles(~probed.agrees):
            self.directions.bound_by(probed)
            if not self.directions.settle():
                self.directions.leave_open()
            return True
        self.locator.compare_all_or_some(probed)
        return True

    def kinks_explain(self, probed: Probed) -> bool:
        """Return whether a shared kink explains a disagreement if no element is wrong by itself.

        The slope along any direction has no kink at the ties of a median, but it is not linear in the direction.
        """
        if not self.near or not self.rows.known or (self.entries.state == FAIL).any() or self.out_of_calls:
            return False
        near = self.nearby()
        if not near.jumps.any() or len(near.kinked) > ONE_BY_ONE or near.bound_there is None:
            return False
        proven, self.locator.proven = self.locator.proven, None
        if self.take_out(near.kinked, probed) and not (self.entries.state == FAIL).any():
            self.entries.proven = False
            return True
        self.locator.proven = self.locator.proven or proven
        return False

    def look_next_to_kinks(self) -> None:
        """Look next to kinks for entries that are undecided there, or seem wrong where claims jump from point to point.

        If several elements share a kink, the slopes to both sides of a single one do not bound its claim: near ties, a
        median does not depend on it at all.
        """
        entries, before = self.entries, self.entries.state.copy()
        open_ = entries.unknown_at_kinks
        failed = (before == FAIL) & np.isfinite(entries.claimed) if entries.nearby is None else np.zeros_like(open_)
        if failed.any() and not (self.rows.known and self.jumps_close(failed)):
            failed[:] = False
        if not ((open_ | failed).any() and self.rows.known):
            return
        near = self.nearby()
        explained = near.explains_jumps(failed)
        open_ = (open_ & ~failed.any(axis=1, keepdims=True)) | (failed & explained[:, None])
        open_[near.constant] = False
        rows = np.any(open_, axis=1)
        if near.is_known and rows.any():
            entries.state[open_] = OPEN
            try:
                near.settles(rows)
            finally:
                entries.state = np.where(entries.state == OPEN, before, entries.state)
            if failed.any() and not (entries.state == FAIL).any():
                entries.proven, self.locator.proven = False, None

    def jumps_close(self, places: np.ndarray) -> bool:
        """Return whether all these entries of the claim, a mask, jump from point to point as close as CLOSE."""
        drawn = self.rows.draw(np.random.default_rng(0), CLOSE_POINTS, CLOSE * self.directions.families["relative"])
        claims = np.array([self.rows.claimed, *(claim for _, claim in drawn)])
        largest = np.abs(claims).max(axis=(0, 2), initial=0.0)[:, None]
        return bool((np.ptp(claims, axis=0) > JUMPS_CLOSE * largest)[places].all())

    def nearby(self) -> Nearby:
        from .nearby import Nearby

        return Nearby(self)

    def test_symmetry(self) -> None:
        if not self.symmetry_tested:
            self.symmetry_tested = True
            self.restrict()

    def groups(self) -> None:
        """Use further directions for elements whose claimed effect is too small for their bound; then compare a few."""
        for _ in range(3):
            group = self.open_elements()
            if group.sum() < 2:
                break
            probed = self.directions.compare(self.directions.draw("relative", group), "relative")
            if probed.wrong.any() and self.find_wrong(probed):
                return
            self.directions.bound_by(probed)
            self.directions.settle()
        group = self.open_elements()
        count = int(group.sum())
        if 0 < count <= ONE_BY_ONE and self.locator.has_calls(count * PER_ESTIMATE):
            for i in np.flatnonzero(group):  # an element limited by rounding may take many calls
                if self.locator.has_calls(PER_ESTIMATE):
                    self.entries.compare_element(int(i))
            self.entries.mark_negligible()
        self.directions.leave_open()

    def open_elements(self) -> np.ndarray:
        """Return a mask of the open elements, without those that are small compared with others if there are any."""
        open_ = self.entries.state == OPEN
        large = (open_ & ~self.directions.small_effects()).any(axis=0)
        return large if large.any() else open_.any(axis=0)

    def find_wrong(self, probed: Probed) -> bool:
        """Find elements that explain a disagreement; return whether any is wrong.

        In the array family, a disagreement is only a hint: if the element found is right by itself, the family is not
        local and is not used again.
        """
        self.test_symmetry()
        try:
            wrong = self.locator.search(probed)
        except OutOfCallsError:
            self.out_of_calls = True
            if probed.family == "relative" and probed.proves.any():
                self.locator.proven = probed
            wrong = self.proven is not None or bool((self.entries.state == FAIL).any())
            if not wrong and probed.may_be_slight.any():  # an element may be wrong, or all may differ slightly
                return True
        if wrong:
            return True
        if probed.family == "array":
            self.directions.families["array"] = self.directions.families["relative"]
            self.directions.probed.remove(probed)
        else:
            probed.accept()
        return False

    def rough_elements(self, probed: Probed) -> np.ndarray:
        """Return the element that seems to make a direction undecided, in an array, or none."""
        i = self.locator.locate_rough(probed.line.direction) if self.locator.has_calls(PER_DOUBT) else None
        return np.zeros(0, int) if i is None else np.array([i])

    def settle_shared_kinks(self, few: np.ndarray) -> None:
        """Decide rows in which several of a few elements have kinks, if they share one."""
        rows = self.entries.rows_at_kinks | self.entries.unknown_at_kinks.any(axis=1)
        if rows.any() and len(few) > 1 and not np.isnan(self.entries.value[:, few]).any():
            from .kink import settle_kinks

            settle_kinks(self.entries, np.flatnonzero(rows).tolist(), self.seed, few)

    def take_out(self, few: np.ndarray, probed: Probed) -> bool:
        """Compare a few elements alone, and remove them from all directions; return whether that settles the others."""
        for i in few.tolist():
            self.rows.fill_column(i)
        self.entries.compare_elements(few)
        self.settle_shared_kinks(few)
        failed = bool((self.entries.state == FAIL).any())
        if failed:
            self.locator.proven = self.locator.proven or (probed if probed.proves.any() else None)
        rest = probed.line.direction.copy()
        rest[few] = 0.0
        for name, sizes in self.directions.families.items():
            self.directions.families[name] = np.where(rest != 0, sizes, 0.0)
        if not rest.any():
            return True
        probed = self.directions.compare(rest, probed.family)
        if probed.wrong.any() and self.find_wrong(probed):
            return True
        self.directions.bound_by(probed)
        if failed:
            self.directions.settle()
        return failed or bool(probed.agrees.all())
