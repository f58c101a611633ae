"""The state of every entry of a claimed Jacobian, from comparisons of single elements and bounds of directions.

In this package, `calibrated` in the comment on a constant means that counts of right verdicts on banks of claims
justify it (`make calibrate`; table in gradcli-verdict(7)). `A choice` limits effort or output, or is a convention.
"""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..claims.claim import OutOfCallsError
from ..errors import GradcliError
from . import decide
from .chain import FIRST
from .compare import COARSE, FINE, MARGIN, Comparison, Limits, allowed
from .decide import Observation
from .estimate import Estimate, estimate
from .flat import Flat
from .integral import Claimed
from .rows import ClaimedRows, draw_signs
from .sampler import TINY, Line, Sampler, rounding_of

CAP = 15.95  # number of digits of float64: -log10 of its rounding unit, 2**-53
ROUNDING = 32  # how many of its own rounding units a claimed value may be off by (calibrated)
HALF_COARSE = 0.01  # relative limit of the same in float16, where it would be 2 %: half of COARSE
LEAST_ACCUSED = {8: 2e-9, 4: 4e-6, 2: 8e-3}
"""Relative differences that are attributed to rounding in the claim (calibrated), by bytes of its type; see LEEWAY."""
SMALL_EFFECT = 0.01  # below this fraction of the largest effect on an output, an element does not matter: a choice
NO_EFFECT = 1e-12  # below this fraction of its largest effect, an element does not affect an output (calibrated)
ZERO_UNITS = 1000.0  # rounding units by which the value may change if a zero is claimed (calibrated)
NEGLIGIBLE_PART = 2e-14  # effects below this fraction of a value (calibrated), or 4 of its units, are not seen
OWN_NOISE = 10.0  # a claim off by at most this many times its scatter between close points is not wrong (calibrated)
SAME_CALL = 1e-12  # relative differences of two calls at one point from which on they differ: a choice
BEYOND_DOUBT = 100.0  # of entries off by more errors, the one with the largest relative error is reported: a choice
JUMPS = 1e-3  # a claim with more relative change over a few rounding units has a jump, not noise (calibrated)

PASS, FAIL, UNDECIDED, NEGLIGIBLE, OPEN = 0, 1, 2, 3, 4
VERDICTS = np.array([decide.PASS, decide.FAIL, decide.OPEN, "negligible", decide.PASS])
STATES = {decide.PASS: PASS, decide.FAIL: FAIL, decide.OPEN: UNDECIDED}
KINKS_MEET = "kinks meet here: the claimed values lie in the generalized gradient"
AT_KINK = "a kink: the claimed value lies between the one-sided derivatives"
NOT_REGULAR = "elements meet at this kink, and the function is neither convex nor concave"
UNDERFLOW = 1e-290  # changes below this may have lost all digits to underflow: 2.2e-308 / 2**-53 is 2e-292


def state_by(**seen: str) -> int:
    """Return the state of an entry by what was seen of it: words of the table in decide.py, by source."""
    return STATES[decide.decide(seen).verdict]


def differ_by(relative: float) -> str:
    return f"non-deterministic: two calls at the same point differ by {relative:.2g} relative"


def digits_of(relative: float) -> float:
    """Return the number of digits to which two numbers agree, from their relative difference: 0 to CAP."""
    return float(np.clip(-np.log10(max(relative, 10**-CAP)), 0, CAP)) + 0.0


def least_accused(unit: float) -> float:
    return LEAST_ACCUSED[8 if unit < 1e-12 else 4 if unit < 1e-5 else 2]


def change_between_ends(line: Line) -> np.ndarray:
    """Return how much functions change over their scale, from the values at both ends of the first fit: (R,)."""
    ends = line.values(FIRST * np.array([-1.0, 1.0]))[1] - line.base
    return np.nan_to_num(np.abs(ends), nan=0.0, posinf=0.0).max(axis=0) / FIRST


class Entries:
    """State of the decision on every entry of the claimed rows.

    claimed, value, error, state: arrays of shape (R, n); value is nan for entries that were not estimated themselves.
    bound: how far entries may be off according to directions and integrals. sides: one-sided slopes at kinks; reasons:
    why entries are undecided; kinks: columns with a kink, by row. wrong_together: rows, and columns whose values are
    not possible together. products_rounding: relative uncertainty of the claim.
    left_out: by how much entries may be off because a claim leaves out small terms.
    slight: columns that pass although they differ by more than rounding, with the relative difference. proven: whether
    some entry is wrong according to both tests. rough: whether a wrong claim jumps from point to point.
    """

    def __init__(
        self, flat: Flat, sampler: Sampler, rows: ClaimedRows, products_rounding: float = 0.0, strict: bool = False
    ):
        """strict: whether differences below 1e-6 of an element are wrong, too."""
        self.flat, self.sampler, self.rows = flat, sampler, rows
        self.products_rounding, self.strict = products_rounding, strict
        self.claimed, shape = rows.claimed, rows.claimed.shape
        self.value, self.error = np.full(shape, np.nan), np.full(shape, np.inf)
        self.bound = np.full(shape, np.inf)
        self.state = np.full(shape, OPEN, np.int8)
        self.state[:, flat.fixed] = PASS
        self.estimates: dict[int, tuple[Line, Estimate]] = {}
        self.sides: dict[tuple[int, int], tuple[float, float]] = {}
        self.reasons: dict[tuple[int, int], Observation] = {}
        self.kinks: dict[int, list[int]] = {}
        self.wrong_together: list[tuple[int, list[int]]] = []
        self.slight: dict[int, float] = {}
        self.tolerances: dict[int, float] = {}  # by row
        self.notes: list[str] = []
        self.proven = self.rough = False
        self.nearby: Any = None  # the Nearby of the check, once it looks next to a kink
        self.changes = np.zeros(shape[0])
        self.sampled: np.ndarray | None = None
        size, unit = self.size, flat.claim_unit
        own = ROUNDING * unit * size
        self.own_rounding = (np.minimum(own, HALF_COARSE * size) if unit > 1e-5 else own) + products_rounding * size
        self.left_out = np.broadcast_to(0.0, shape) if strict or not flat.claim.left_out else self.terms_left_out()
        self.own_rounding += OWN_NOISE * rows.between_calls + self.left_out
        self.least_accused = least_accused(unit) * size
        self.scatter_known = False
        self.scattered = np.zeros(shape, bool)  # where the claim scatters by too much to agree with anything

    def tolerance(self, where: Any = ...) -> Any:
        """Return how far claimed entries may be from their estimates without being wrong."""
        return allowed(self.error[where], self.own_rounding[where], self.least_accused[where])

    @property
    def size(self) -> np.ndarray:
        """Sizes of the claimed entries, 0 for those that are not finite: (R, n)."""
        return np.where(np.isfinite(self.claimed), np.abs(self.claimed), 0.0)

    @property
    def effects(self) -> np.ndarray:
        """Claimed change of each row over the scale of each element: (R, n)."""
        return self.size * self.flat.scales

    def terms_left_out(self) -> np.ndarray:
        """Return by how much entries may be off because a claim leaves out small terms: (R, n)."""
        found, claim = np.zeros(self.claimed.shape), self.flat.claim
        for k, name in enumerate(claim.wrt):
            if part := claim.left_out.get(name, 0.0):
                columns = self.flat.columns(k)
                largest = self.effects[:, columns].max(axis=1, initial=0.0)
                found[:, columns] = part * largest[:, None] / self.flat.scales[columns]
        return found

    def limits_of(self, i: int, line: Line, slopes: Estimate) -> Limits:
        """Return by how much the entries of element i may be off, along its line."""
        scale = float(self.flat.scales[i])
        self.changes = np.maximum(self.changes, slopes.change)
        reach = min(FIRST, float(np.nanmax(slopes.width, initial=0.0)) or FIRST)  # values further away may be huge
        near = np.array([x for t, x in line.kept.items() if abs(t) <= reach])
        rounding = line.rounding(np.where(np.isfinite(near), near, 0.0) if line.weights is None else line.base[None])
        unit = rounding_of(np.abs(line.base), self.flat.unit)
        zero = np.maximum(SMALL_EFFECT * np.maximum(self.changes, change_between_ends(line)), ZERO_UNITS * unit)
        units = max(4.0, NEGLIGIBLE_PART / self.flat.unit)
        own, least = self.own_rounding[:, i] * scale, self.least_accused[:, i] * scale
        return Limits(own, least, zero + UNDERFLOW, units * rounding * min(scale, 1.0))

    def compare_element(self, i: int) -> None:
        """Compare the claim with the function along element i by itself, and decide its entries."""
        line, scale = self.sampler.element(i, self.rows.weights), float(self.flat.scales[i])
        at = functools.partial(self.rows.slopes_at, line)
        claimed = Claimed(at, self.claimed[:, i] * scale, self.size[:, i] * scale, self.left_out[:, i] * scale)
        limits = functools.partial(self.limits_of, i)
        found = Comparison(line, claimed, limits, strict=self.strict, tolerance_of=self.tolerance_of, scale=scale)
        self.look_again(found)
        slopes = found.slopes
        self.estimates[i] = line, slopes
        self.value[:, i] = slopes.value / scale
        self.error[:, i] = [found.known_error(j) / scale for j in range(len(self.claimed))]
        for j in range(len(self.claimed)):
            self.state[j, i] = self.state_of(found, j, i)

    def look_again(self, found: Comparison, slight: np.ndarray | None = None) -> None:
        """Integrate the claim where the numeric derivative does not agree.

        slight: differences that prove nothing, whose integrals are not needed: (R,).
        """
        if not found.in_doubt:
            return
        with contextlib.suppress(OutOfCallsError):  # then, what was seen decides
            self.measure_scatter()
            found.measure_rounding()
            left = found.unsettled
            if self.proven:  # one entry that both tests find wrong is enough
                left = [j for j in left if found.words[j] != "contradicts"]
            if slight is not None:
                left = [j for j in left if found.words[j] != "contradicts" or not found.gap(j) <= slight[j]]
            if left:
                found.integrate(left)
        self.proven |= found.proves

    def tolerance_of(self, j: int) -> float:
        """Return by how much the slope of row j jumps along a random direction where the claim does not."""
        if j not in self.tolerances:
            from .steps import Differences

            signs = draw_signs(np.random.default_rng(0), self.flat.size)
            direction = np.where(self.flat.fixed, 0.0, signs * self.flat.scales)
            line = self.sampler.line(direction, self.rows.weights)
            claimed = Claimed(functools.partial(self.rows.slopes_at, line), np.zeros(0), np.zeros(0))
            off = float(estimate(line).value[j] - self.rows.along(direction)[j])
            self.tolerances[j] = Differences(line, claimed, j).jump(off)
        return self.tolerances[j]

    def measure_scatter(self) -> None:
        """Measure how far the claim scatters between close points: that is its own rounding, and no mistake."""
        if self.scatter_known:
            return
        self.scatter_known = True
        scatter, size = self.rows.measure_scatter(), self.size
        largest = size.max(axis=1, keepdims=True, initial=0.0)
        steady = OWN_NOISE * np.where(scatter <= JUMPS * np.maximum(size, JUMPS * largest), scatter, 0.0)
        steady = np.maximum(steady, OWN_NOISE * self.rows.measure_rounding())
        self.own_rounding = np.maximum(self.own_rounding, steady)
        self.scattered = steady > JUMPS * largest

    def state_of(self, found: Comparison, j: int, i: int) -> int:
        """Return the state of entry (j, i) by the comparison along its element."""
        scale, word, slopes = float(self.flat.scales[i]), found.words[j], found.slopes
        if word == "agrees" and self.scattered[j, i]:
            by = self.own_rounding[j, i] / OWN_NOISE / max(abs(self.claimed[j, i]), TINY)
            lost = f"the claimed derivative is lost in rounding: between close points, it scatters by about {by:.1g}"
            self.reasons[j, i] = Observation("noise", f"{lost} (relative)")
            return state_by(values="unknown")
        if word == "kink":
            self.sides[j, i] = slopes.left[j] / scale, slopes.right[j] / scale
            return self.at_kink(j, i, float(slopes.side_error[j]) / scale)
        state = STATES[found.decision(j).verdict]
        if state == FAIL and self.nearby is not None and self.nearby.explains(j, i):
            return self.unknown_at_kink(j, i, NOT_REGULAR)
        if state == FAIL:
            self.rough |= found.is_rough(j)
        if state == UNDECIDED:
            self.reasons[j, i] = found.reason(j)
        if state != PASS:
            return state
        if word == "negligible":
            return NEGLIGIBLE
        if word == "differs slightly":
            relative = abs(float(self.claimed[j, i] / self.value[j, i]) - 1)
            self.slight[i] = max(self.slight.get(i, 0.0), relative)
        elif word != "agrees":  # by its integral
            self.value[j, i], self.bound[j, i] = np.nan, found.answers[j].bound / scale
        return PASS

    def compare_elements(self, elements: Any, what: str = "element") -> None:
        """Check several elements, then mark negligible entries. what: their name in progress reports."""
        for count, i in enumerate(elements):
            self.flat.claim.progress.report_progress(what, count, len(elements))
            self.compare_element(int(i))
            self.report_partial()
        self.mark_negligible()

    @property
    def value_if_smooth(self) -> np.ndarray:
        """The numeric derivatives, (R, n), with nan at kinks, where they are between the one-sided derivatives."""
        value = self.value.copy()
        for place in self.sides:
            value[place] = np.nan
        return value

    def report_partial(self) -> None:
        claim, wrong = self.flat.claim, (self.state == FAIL).any(axis=0)
        names = [name for k, name in enumerate(claim.wrt) if wrong[self.flat.columns(k)].any()]
        if names:
            claim.progress.report_partial(f"elements wrong so far in {' and '.join(names)}")

    @property
    def may_be_kinks(self) -> np.ndarray:
        """Rows with claims that seem wrong but may be slopes at a kink: they are finite, and no structure is closer."""
        limits = [slopes.limit for _, slopes in self.estimates.values()]
        near = np.min(limits, axis=0, initial=np.inf) <= FINE
        return ((self.state == FAIL) & np.isfinite(self.claimed)).any(axis=1) & ~near

    @property
    def rows_at_kinks(self) -> np.ndarray:
        """Rows in which several elements have kinks, or claims seem wrong that may be slopes at one: a mask, (R,)."""
        rows = self.may_be_kinks
        rows[[j for j, columns in self.kinks.items() if len(columns) > 1]] = True
        return rows

    @property
    def is_constant(self) -> np.ndarray:
        """Rows that no element changes by itself, although several together may, as at the ties of a median: (R,)."""
        return (np.abs(self.value) <= MARGIN * self.error).all(axis=1)

    @property
    def unknown_at_kinks(self) -> np.ndarray:
        """A mask of the entries that are undecided because of a kink: (R, n)."""
        mask = np.zeros(self.state.shape, bool)
        for place, reason in self.reasons.items():
            mask[place] = reason.kind == "kink" and self.state[place] == UNDECIDED
        return mask

    def at_kink(self, j: int, i: int, error: float) -> int:
        low, high = sorted(self.sides[j, i])
        tolerance = float(allowed(np.array(error), self.own_rounding[j, i], self.least_accused[j, i]))
        if not low - tolerance <= self.claimed[j, i] <= high + tolerance:
            if self.nearby is not None and self.nearby.explains(j, i):
                return self.unknown_at_kink(j, i, NOT_REGULAR)
            return state_by(kink="outside")
        if tolerance > COARSE * (high - low):
            known = f"the one-sided derivatives at this kink are known only to within {tolerance:.2g}"
            return self.unknown_at_kink(j, i, known)
        self.kinks.setdefault(j, []).append(i)
        return state_by(kink="inside")

    def outside(self, j: int, columns: np.ndarray, why: str) -> None:
        """Record that the claimed values of row j for some columns, a mask, cannot all be right at this kink."""
        if (j, i := int(np.argmax(np.where(columns, self.effects[j], -1.0)))) not in self.sides:
            self.compare_element(i)  # the report shows the slopes of one of them
        self.state[j, columns] = state_by(kink="outside")
        self.notes.append(f"taken together, the values at this kink lie outside the generalized gradient: {why}")

    def accept_near_kink(self, rows: np.ndarray, jumps: np.ndarray) -> None:
        """Accept the open entries of some rows at a kink. jumps: mask of entries whose claims jump nearby."""
        for j in np.flatnonzero(rows):
            self.kinks.setdefault(int(j), []).extend(np.flatnonzero(jumps[j]).tolist())
        open_ = (self.state == OPEN) & rows[:, None]
        self.state[open_ & np.isfinite(self.bound)] = state_by(bound="is tight")

    def unknown_at_kink(self, j: int, i: int, text: str) -> int:
        """Record why an entry at a kink is undecided; return its state."""
        self.reasons[j, i] = Observation("kink", text)
        return state_by(kink="unknown")

    def mark_negligible(self) -> None:
        """Mark undecided entries NEGLIGIBLE if they agree with their interval and are small compared with known ones.

        Over the scale of its element, such an entry changes the output by less than a hundredth of the change by an
        entry that passed, or by almost nothing compared with the change of another output by the same element.
        """
        scales, passed = self.flat.scales, self.state == PASS
        least = np.where(np.isnan(self.value), self.bound, MARGIN * self.error)
        size = np.where(np.isnan(self.value), np.abs(self.claimed), np.abs(self.value))
        known = np.where(passed & np.isfinite(least), size - np.where(np.isfinite(least), least, 0.0), 0.0) * scales
        with np.errstate(invalid="ignore"):
            agrees = (self.state == UNDECIDED) & (np.abs(self.claimed - self.value) <= self.tolerance())
        effect = (np.abs(self.claimed) + MARGIN * self.error) * scales
        small = effect <= SMALL_EFFECT * known.max(axis=1, initial=0.0)[:, None]
        nothing = effect <= NO_EFFECT * known.max(axis=0, initial=0.0)
        self.state[agrees & (small | nothing)] = NEGLIGIBLE

    def settle_kinks(self, answers: Any, j: int) -> None:
        """Record whether the values of row j at columns that share kinks lie in the generalized gradient."""
        for columns, inside in answers.items():
            places = list(columns)
            for i in places:
                # what is right for this element alone is possible here, so it must not be called wrong by itself
                if inside or abs(self.claimed[j, i] - self.value[j, i]) <= self.tolerance((j, i)):
                    self.sides.setdefault((j, i), (self.value[j, i],) * 2)
            if inside is None:
                unknown = "it is not known whether the claimed values lie in its generalized gradient"
                for i in places:
                    meeting = f"{len(places)} elements meet at a kink, and {unknown}"
                    self.state[j, i] = self.unknown_at_kink(j, i, meeting)
            elif inside:
                if (self.state[j, places] == FAIL).any():
                    self.notes.append(KINKS_MEET)
                self.state[j, places] = state_by(kink="inside")
            else:
                self.state[j, places] = state_by(kink="outside")
                self.wrong_together.append((j, places))
                self.notes.append("taken together, the values at this kink lie outside the generalized gradient")

    def fail_together(self) -> None:
        """Fail all elements whose values are not possible together at a kink, in rows in which an entry still fails."""
        for j, places in self.wrong_together:
            if (self.state[j] == FAIL).any():
                self.state[j, places] = state_by(kink="outside")

    def in_steps(self, j: int, i: int) -> Observation | None:
        """Return why entry (j, i) is undecided if the function is computed in steps, or to a tolerance."""
        reason = self.reasons.get((j, i))
        return reason if reason is not None and reason.kind in ("staircase", "solver") else None

    def reason(self) -> Observation:
        """Return the most common reason for undecided entries."""
        reasons = Counter(reason for place, reason in self.reasons.items() if self.state[place] == UNDECIDED)
        return (
            reasons.most_common(1)[0][0] if reasons else Observation("undecided", "not all elements could be estimated")
        )

    @property
    def word(self) -> str:
        """What is known of all entries: a word of the table in decide.py."""
        if (self.state == FAIL).any():
            return "wrong"
        if (self.state == UNDECIDED).any():
            return "undecided"
        live = self.state[:, ~self.flat.fixed]
        return "below rounding" if live.size and (live == NEGLIGIBLE).all() else "right"


def entries_that_count(claimed: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return a mask of the entries to count: only the diagonal for an elementwise function."""
    diagonal: np.ndarray = np.eye(*claimed.shape) > 0
    square = claimed.shape[0] == claimed.shape[1] > 1
    return diagonal if square and not ((claimed != 0) | wrong)[~diagonal].any() else np.ones_like(diagonal)


EPS, ATOL, RTOL = 1e-6, 1e-5, 1e-3  # PyTorch's defaults


def compare_by_tolerances(entries: Entries, tolerances: Sequence[float | None]) -> None:
    """Decide by PyTorch's rule, with differences over one step. tolerances: eps, atol, rtol; None for defaults."""
    eps, atol, rtol = (d if x is None else x for x, d in zip(tolerances, (EPS, ATOL, RTOL), strict=True))
    flat = entries.flat
    if (flat.x + eps == flat.x).any():
        hint = f"leave out --eps, or use a step such as {EPS:g}"
        raise GradcliError(f"--eps {eps:g} is too small: it does not change all inputs", hint=hint)
    for i in np.flatnonzero(~flat.fixed):
        direction = np.eye(1, flat.size, int(i))[0]
        up, down = entries.rows.combine(entries.sampler.along(None, direction, np.array([eps, -eps])))
        entries.value[:, i] = (up - down) / (2 * eps)
    entries.error = (atol + rtol * np.abs(entries.value)) / MARGIN
    entries.own_rounding = np.zeros_like(entries.value)
    entries.least_accused = np.zeros_like(entries.value)
    off = np.abs(entries.claimed - entries.value)
    kept, exceeded = state_by(tolerances="kept"), state_by(tolerances="exceeded")
    entries.state = np.where(off <= MARGIN * entries.error, kept, exceeded).astype(np.int8)
