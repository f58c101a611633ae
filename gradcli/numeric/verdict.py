"""Decide every entry of a claimed Jacobian by the interval of an estimate, never by a fixed tolerance.

In this package, `calibrated` in the comment on a constant means that counts of right verdicts on banks of claims
justify it (`make calibrate`; table in gradcli-verdict(7)). `A choice` limits effort or output, or is a convention.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import GradcliError
from .chain import WIDE
from .estimate import Estimate, estimate
from .flat import Flat
from .observation import Observation
from .rows import ClaimedRows
from .sampler import Line, Sampler

CAP = 15.95  # number of digits of float64: -log10 of its rounding unit, 2**-53
MARGIN = 2.5  # how many error estimates a claim may be off by (calibrated)
ROUNDING = 32  # how many of its own rounding units a claimed value may be off by (calibrated)
HALF_COARSE = 0.01  # relative limit of the same in float16, where it would be 2 %: half of COARSE
LEAST_ACCUSED = {8: 2e-9, 4: 4e-6, 2: 8e-3}
"""Relative differences that are attributed to rounding in the claim (calibrated), by bytes of its type; see LEEWAY."""
LEEWAY = 1000.0  # LEAST_ACCUSED counts only up to this many times the error of the estimate (calibrated)
COARSE = 0.02  # relative error above which an interval does not decide an element: a choice
SMALL_EFFECT = 0.01  # below this fraction of the largest effect on an output, an element does not matter: a choice
NO_EFFECT = 1e-12  # below this fraction of its largest effect, an element does not affect an output (calibrated)
ZERO_UNITS = 1000.0  # rounding units by which the value may change if a zero is claimed (calibrated)
OVERFLOWING = 1e100  # above this size, an uncertain estimate is treated as overflow: a choice
NEGLIGIBLE_PART = 2e-14  # effects below this fraction of a value (calibrated), or 4 of its units, are not seen
SCATTERS = 5  # a claim may be off by this many times its scatter between points rounding units apart (calibrated)
OWN_NOISE = 10.0  # a claim off by at most this many times its scatter between close points is not wrong (calibrated)
SAME_CALL = 1e-12  # relative differences of two calls at one point from which on they differ: a choice
BEYOND_DOUBT = 100.0  # of entries off by more errors, the one with the largest relative error is reported: a choice
JUMPS = 1e-3  # a claim with more relative change over a few rounding units has a jump, not noise (calibrated)

PASS, FAIL, UNDECIDED, NEGLIGIBLE, OPEN = 0, 1, 2, 3, 4
VERDICTS = np.array(["pass", "fail", "inconclusive", "hidden", "pass"])
AT_KINK = "a kink: the claimed value lies between the one-sided derivatives"
UNDERFLOW = 1e-290  # changes below this may have lost all digits to underflow: 2.2e-308 / 2**-53 is 2e-292


def differ_by(relative: float) -> str:
    return f"non-deterministic: two calls at the same point differ by {relative:.2g} relative"


def digits_of(relative: float) -> float:
    """Return the number of digits to which two numbers agree, from their relative difference: 0 to CAP."""
    return float(np.clip(-np.log10(max(relative, 10**-CAP)), 0, CAP)) + 0.0


def least_accused(unit: float) -> float:
    return LEAST_ACCUSED[8 if unit < 1e-12 else 4 if unit < 1e-5 else 2]


def room(error: Any, own_rounding: Any, least: Any) -> Any:
    """Return how far a claim may be from an estimate of the given error without being wrong.

    own_rounding: error from the claim's own rounding. least: see LEAST_ACCUSED.
    """
    return MARGIN * error + own_rounding + np.minimum(least, LEEWAY * error)


class Judgement:
    """State of the decision on every entry of the claimed rows.

    claimed, value, error, state: arrays of shape (R, n); value is nan for entries that were not estimated themselves.
    bound: how far entries may be off according to the directions. sides: one-sided slopes at kinks; reasons: why
    entries are undecided; kinks: columns with a kink, by row. coarse: relative uncertainty of the claim.
    """

    def __init__(self, flat: Flat, sampler: Sampler, rows: ClaimedRows, coarse: float = 0.0):
        self.flat, self.sampler, self.rows, self.coarse = flat, sampler, rows, coarse
        self.claimed, shape = rows.claimed, rows.claimed.shape
        self.value, self.error = np.full(shape, np.nan), np.full(shape, np.inf)
        self.bound = np.full(shape, np.inf)
        self.state = np.full(shape, OPEN, np.int8)
        self.state[:, flat.held] = PASS
        self.estimates: dict[int, tuple[Line, Estimate]] = {}
        self.sides: dict[tuple[int, int], tuple[float, float]] = {}
        self.reasons: dict[tuple[int, int], Observation] = {}
        self.kinks: dict[int, list[int]] = {}
        self.notes: list[str] = []
        self.rough = False
        self.changes = np.zeros(shape[0])
        self.sampled: np.ndarray | None = None
        size = np.where(np.isfinite(self.claimed), np.abs(self.claimed), 0.0)
        unit = flat.claim_unit
        own = ROUNDING * unit * size
        scatter = rows.scatter
        largest = size.max(axis=1, keepdims=True, initial=0.0)
        own += np.minimum(SCATTERS * scatter, least_accused(unit) * 50 * size + 1e3 * unit * largest)
        self.own_rounding = (np.minimum(own, HALF_COARSE * size) if unit > 1e-5 else own) + coarse * size
        self.excusable = OWN_NOISE * np.where(scatter <= JUMPS * size, scatter, 0.0)
        self.least_accused = least_accused(unit) * size

    def room(self, where: Any = ...) -> Any:
        """Return how far claimed entries may be from their estimates without being wrong."""
        return room(self.error[where], self.own_rounding[where], self.least_accused[where])

    @property
    def effects(self) -> np.ndarray:
        """Claimed change of each row over the scale of each element: (R, n)."""
        size = np.where(np.isfinite(self.claimed), np.abs(self.claimed), 0.0)
        return size * self.flat.scales

    def judge_element(self, i: int) -> None:
        """Estimate the derivative along element i by itself, and decide its entries."""
        line = self.sampler.element(i, self.rows.weights)
        slopes = estimate(line)
        self.estimates[i] = line, slopes
        scale = float(self.flat.scales[i])
        self.value[:, i], self.error[:, i] = slopes.value / scale, slopes.error / scale
        self.changes = np.maximum(self.changes, slopes.change)
        for j in range(len(self.claimed)):
            self.state[j, i] = self.classify_element(j, i, slopes)

    def judge_elements(self, elements: Any, what: str = "element") -> None:
        """Check several elements, then mark negligible entries. what: their name in progress reports."""
        for count, i in enumerate(elements):
            self.flat.claim.progress.report_progress(what, count, len(elements))
            self.judge_element(int(i))
            self.report_partial()
        self.mark_negligible()

    def report_partial(self) -> None:
        claim, wrong = self.flat.claim, (self.state == FAIL).any(axis=0)
        names = [name for k, name in enumerate(claim.wrt) if wrong[self.flat.columns(k)].any()]
        if names:
            claim.progress.report_partial(f"elements wrong so far in {' and '.join(names)}")

    def classify_element(self, j: int, i: int, slopes: Estimate) -> int:
        """Return the state of entry (j, i) according to its own estimate."""
        a, kind = float(self.claimed[j, i]), slopes.kind[j]
        value, error = float(self.value[j, i]), float(self.error[j, i])
        scale = float(self.flat.scales[i])
        if kind == "jump":
            return self.undecided(j, i, "jump", "the function jumps at this point")
        if kind == "none":
            trouble = self.flat.claim.trouble
            why = f"near the point, {trouble}" if trouble else "nan, infinity or a singularity nearby"
            return self.undecided(j, i, "no slope", f"the numeric derivative does not exist here: {why}")
        if kind == "kink":
            self.sides[j, i] = slopes.left[j] / scale, slopes.right[j] / scale
        if np.isinf(value) and (kind != "kink" or a == value):
            infinite = "the derivative is infinite at this point"
            return self.undecided(j, i, "infinite slope", infinite) if a == value else FAIL
        if np.isinf(a) and MARGIN * error > COARSE * abs(value) and abs(value) + error > OVERFLOWING:
            overflow = "the derivative overflows, or its size is unknown"
            return self.undecided(j, i, "infinite slope", overflow)
        if not np.isfinite(a):
            return FAIL
        if kind == "kink":
            return self.at_kink(j, i, float(slopes.side_error[j]) / scale)
        if abs(a - value) <= self.room((j, i)):
            return self.within(j, i)
        trend = float(slopes.trend[j]) / scale
        if kind == "staircase" and abs(a - trend) <= SMALL_EFFECT * abs(trend):
            step = value if abs(value) > MARGIN * error else 0.0
            slopes_of_both = f"the slope is {step:.6g} on the step here and {trend:.6g} over many steps"
            return self.undecided(j, i, "staircase", f"a staircase: {slopes_of_both}")
        if self.is_negligible(j, i):
            return NEGLIGIBLE
        return FAIL

    def is_negligible(self, j: int, i: int) -> bool:
        """Return whether the effect of an element is below the rounding of the function's own values."""
        size = max(abs(float(self.claimed[j, i])), abs(float(self.value[j, i])))
        units = max(4.0, NEGLIGIBLE_PART / self.flat.unit)
        return size * max(float(self.flat.scales[i]), 1.0) <= units * self.rounding_at(j, i)

    def rounding_at(self, j: int, i: int) -> float:
        """Return the rounding of row j at the point, and one scale of element i (or 1) away: a pole may be between."""
        line, _ = self.estimates[i]
        near = [t for t in line.kept if abs(t) <= WIDE * max(1.0, 1 / line.scale)]
        values = line.combine(np.array([line.kept[t] for t in (min(near), 0.0, max(near))]))
        return float(line.rounding(np.where(np.isfinite(values), values, 0.0))[j])

    def at_kink(self, j: int, i: int, error: float) -> int:
        low, high = sorted(self.sides[j, i])
        allowed = float(room(error, self.own_rounding[j, i], self.least_accused[j, i]))
        if not low - allowed <= self.claimed[j, i] <= high + allowed:
            return FAIL
        if allowed > COARSE * (high - low):
            known = f"the one-sided derivatives at this kink are known only to within {allowed:.2g}"
            return self.undecided(j, i, "kink", known)
        self.kinks.setdefault(j, []).append(i)
        return PASS

    def within(self, j: int, i: int) -> int:
        """Return the state of an entry inside its estimate's interval: PASS only if the interval is narrow enough."""
        a, value, error = float(self.claimed[j, i]), float(self.value[j, i]), float(self.error[j, i])
        allowed, scale = float(self.room((j, i))), float(self.flat.scales[i])
        if allowed <= COARSE * max(abs(a), abs(value)):
            return PASS
        rounding = self.rounding_at(j, i)
        if a == 0 and allowed * scale <= max(SMALL_EFFECT * self.changes[j], ZERO_UNITS * rounding) + UNDERFLOW:
            return PASS
        if self.is_negligible(j, i):
            return NEGLIGIBLE
        trouble = self.flat.claim.trouble
        nearby = f"; near the point, {trouble}" if trouble else ""
        lost = f"the derivative is lost in rounding or noise: {value:.3g} ± {MARGIN * error:.2g}{nearby}"
        return self.undecided(j, i, "noise", lost)

    def undecided(self, j: int, i: int, kind: str, text: str) -> int:
        """Record why an entry is undecided; return UNDECIDED."""
        self.reasons[j, i] = Observation(kind, text)
        return UNDECIDED

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
            agrees = (self.state == UNDECIDED) & (np.abs(self.claimed - self.value) <= self.room())
        effect = (np.abs(self.claimed) + MARGIN * self.error) * scales
        small = effect <= SMALL_EFFECT * known.max(axis=1, initial=0.0)[:, None]
        nothing = effect <= NO_EFFECT * known.max(axis=0, initial=0.0)
        self.state[agrees & (small | nothing)] = NEGLIGIBLE

    def settle_kinks(self, answers: Any, j: int) -> None:
        """Record whether the values of row j at columns that share kinks lie in the generalized gradient."""
        for columns, inside in answers.items():
            places = list(columns)
            if inside is None:
                unknown = "it is not known whether the claimed values lie in its generalized gradient"
                for i in places:
                    meeting = f"{len(places)} elements meet at a kink, and {unknown}"
                    self.state[j, i] = self.undecided(j, i, "kink", meeting)
            elif inside:
                if (self.state[j, places] == FAIL).any():
                    self.notes.append("kinks meet here: the claimed values lie in the generalized gradient")
                self.state[j, places] = PASS
            else:
                self.state[j, places] = FAIL
                self.notes.append("taken together, the values at this kink lie outside the generalized gradient")

    def forgive_rounding(self, scatter: np.ndarray, sigmas: float) -> None:
        """Withdraw fails of entries that are off by no more than their scatter between close points."""
        off = np.abs(self.claimed - self.value)
        own = (self.state == FAIL) & (off <= sigmas * scatter)
        effect = (off + scatter) * self.flat.scales
        small = effect <= SMALL_EFFECT**3 * self.changes[:, None]
        known = off + scatter <= COARSE * np.abs(self.value)
        again = self.claimed if self.rows.again is None or not self.rows.single else self.rows.again
        for j, i in np.argwhere(own):
            size, repeat = max(abs(self.claimed[j, i]), abs(self.value[j, i])), abs(again[j, i] - self.claimed[j, i])
            reason = f"lost in rounding: between close points, it scatters by about {scatter[j, i] / size:.1g}"
            if repeat > SAME_CALL * size:
                reason = f"not deterministic: two calls at the same point differ by about {repeat / size:.1g}"
            settled = PASS if known[j, i] else NEGLIGIBLE
            reason = f"the claimed derivative is {reason} (relative)"
            self.state[j, i] = settled if small[j, i] else self.undecided(j, i, "noise", reason)
        self.excusable = np.where(own, np.fmax(self.excusable, sigmas * scatter), self.excusable)

    def reason(self) -> Observation:
        """Return the most common reason for undecided entries."""
        reasons = Counter(reason for place, reason in self.reasons.items() if self.state[place] == UNDECIDED)
        return (
            reasons.most_common(1)[0][0] if reasons else Observation("undecided", "not all elements could be estimated")
        )

    @property
    def verdict(self) -> str:
        """The overall verdict. Negligible entries do not count; the caller handles the case that all are."""
        if (self.state == FAIL).any():
            return "fail"
        return "inconclusive" if (self.state == UNDECIDED).any() else "pass"


def entries_that_count(claimed: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return a mask of the entries to count: only the diagonal for an elementwise function."""
    diagonal: np.ndarray = np.eye(*claimed.shape) > 0
    square = claimed.shape[0] == claimed.shape[1] > 1
    return diagonal if square and not ((claimed != 0) | wrong)[~diagonal].any() else np.ones_like(diagonal)


EPS, ATOL, RTOL = 1e-6, 1e-5, 1e-3  # PyTorch's defaults


def judge_by_tolerances(judgement: Judgement, tolerances: Sequence[float | None]) -> None:
    """Decide by PyTorch's rule, with differences over one step. tolerances: eps, atol, rtol; None for defaults."""
    eps, atol, rtol = (d if x is None else x for x, d in zip(tolerances, (EPS, ATOL, RTOL), strict=True))
    flat = judgement.flat
    if (flat.x + eps == flat.x).any():
        hint = f"leave out --eps, or use a step such as {EPS:g}"
        raise GradcliError(f"--eps {eps:g} is too small: it does not change all inputs", hint=hint)
    for i in np.flatnonzero(~flat.held):
        direction = np.eye(1, flat.size, int(i))[0]
        up, down = judgement.rows.combine(judgement.sampler.along(None, direction, np.array([eps, -eps])))
        judgement.value[:, i] = (up - down) / (2 * eps)
    judgement.error = (atol + rtol * np.abs(judgement.value)) / MARGIN
    judgement.own_rounding = np.zeros_like(judgement.value)
    judgement.least_accused = np.zeros_like(judgement.value)
    off = np.abs(judgement.claimed - judgement.value)
    judgement.state = np.where(off <= MARGIN * judgement.error, PASS, FAIL).astype(np.int8)
