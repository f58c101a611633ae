"""Probe: check a claim along directions, and locate the elements that make one disagree.

Elements for which the directions give too weak a bound get directions of their own. If there are few elements, each is
estimated by itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..claims.claim import OutOfCallsError
from .directions import Directions, Probed
from .estimate import PER_ESTIMATE
from .locate import MOST_LOCATED, ONE_BY_ONE, SOME, Locator
from .verdict import FAIL, OPEN, PASS, Judgement


class Probe:
    """The course of a check. out_of_calls: whether the call budget ended it."""

    def __init__(self, judgement: Judgement, seed: int, restrict: Callable[[], None] = lambda: None):
        """restrict: raises an error to end the probe if f is defined on a subspace only (symmetric matrices)."""
        self.restrict, self.symmetry_tested = restrict, False
        self.judgement, self.flat, self.rows = judgement, judgement.flat, judgement.rows
        self.directions = Directions(judgement, seed)
        self.locator = Locator(self.directions)
        self.out_of_calls = False

    @property
    def proven(self) -> Probed | None:
        """A direction that disagrees beyond doubt, if any."""
        return self.locator.proven

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
            if not self.directions.families[family].any():
                break
            probed = self.directions.compare(self.directions.draw(family), family)
            if probed.wrong.any():
                if self.find_wrong(probed):
                    return
            elif not probed.slopes.known.all():
                self.test_symmetry()
                if family == "array" and self.flat.size > SOME:
                    self.directions.families["array"] = self.directions.families["relative"]
                    self.directions.probed.remove(probed)
                    continue
                if self.flat.size <= SOME or not self.resolve(probed):
                    self.locator.judge_all_or_some()
                    return
            self.directions.bound_by(probed)
            if len(self.directions.probed) > 1 and self.directions.settle():
                return
        self.groups()

    def test_symmetry(self) -> None:
        if not self.symmetry_tested:
            self.symmetry_tested = True
            self.restrict()

    def groups(self) -> None:
        """Use further directions for elements whose claimed effect is too small for their bound."""
        for _ in range(3):
            group = (self.judgement.state == OPEN).any(axis=0)
            count = int(group.sum())
            if not count:
                return
            if count <= ONE_BY_ONE and self.locator.has_calls(count * PER_ESTIMATE):
                for i in np.flatnonzero(group):  # an element limited by rounding may take many calls
                    if self.locator.has_calls(PER_ESTIMATE):
                        self.judgement.judge_element(int(i))
                self.judgement.mark_negligible()
                break
            probed = self.directions.compare(self.directions.draw("relative", group), "relative")
            if probed.wrong.any() and self.find_wrong(probed):
                return
            self.directions.bound_by(probed)
            self.directions.settle()
        self.directions.leave_open()

    def find_wrong(self, probed: Probed) -> bool:
        """Find elements that explain a disagreement; return whether any is wrong.

        In the array family, a disagreement is only a hint: if the element found is right by itself, the family is not
        local and is not used again.
        """
        self.test_symmetry()
        with np.errstate(invalid="ignore"):
            proven = probed.slopes.known & ~(np.abs(probed.off) <= probed.beyond)
        if probed.family == "relative" and proven.any():
            self.locator.proven = probed
        try:
            wrong = self.locator.search(probed)
        except OutOfCallsError:
            self.out_of_calls = True
            wrong = self.proven is not None or bool((self.judgement.state == FAIL).any())
        if wrong:
            return True
        if probed.family == "array":
            self.directions.families["array"] = self.directions.families["relative"]
            self.directions.probed.remove(probed)
        else:
            self.directions.probed[self.directions.probed.index(probed)] = probed._replace(room=probed.beyond)
        return False

    def resolve(self, probed: Probed) -> bool:
        """Remove elements from a direction of unknown slope until the slope is known; return whether it is.

        Removed elements, and those of the same value, are checked one by one, or only some if they are many.
        """
        judgement, taken = self.judgement, np.zeros(self.flat.size, bool)
        direction = probed.line.direction
        for _ in range(MOST_LOCATED):
            i = self.locator.locate_rough(np.where(taken, 0.0, direction))
            if i is None:
                return False
            k = self.flat.input_of(i)
            same = np.zeros(self.flat.size, bool)
            same[self.flat.columns(k)] = self.flat.x[self.flat.columns(k)] == self.flat.x[i]
            taken |= same
            some = np.flatnonzero(same)
            some = some if len(some) <= ONE_BY_ONE else np.unique([i, *some[:: max(1, len(some) // ONE_BY_ONE)]])
            for place in some:
                self.rows.fill_column(int(place))
            judgement.judge_elements(some)
            if (judgement.state == FAIL).any():
                self.locator.proven = probed
                return True
            rest = np.where(taken, 0.0, direction)
            if rest.any():
                probed = self.directions.compare(rest, probed.family)
                if probed.wrong.any():
                    return self.find_wrong(probed)
                self.directions.bound_by(probed)
            if not rest.any() or probed.slopes.known.all():
                self.take_out(taken)
                return True
            if not self.locator.has_calls(2 * PER_ESTIMATE):
                return False
        return False

    def take_out(self, taken: np.ndarray) -> None:
        """Remove elements from all directions; those that were not estimated pass, like those that were."""
        judgement = self.judgement
        for name in self.directions.families:
            self.directions.families[name] = np.where(taken, 0.0, self.directions.families[name])
        open_ = taken & (judgement.state == OPEN).all(axis=0)
        if open_.any():
            some = int(taken.sum() - open_.sum())
            judgement.notes.append(f"{int(taken.sum())} elements are at a kink; {some} of them were estimated")
            judgement.state[:, open_] = PASS
