"""Compare claimed slopes along a line with the function, by a numeric derivative and by the integral of the claim.

Where the numeric derivative agrees and is precise, it is enough. Otherwise the rounding of the values is measured, if
the function can be computed in another type, and the claim is integrated along the same line. What both say is decided
by the table in decide.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .chain import FEW, FIRST, NOISE_UNITS, PAIR_SIGMAS, RATIO
from .decide import FAIL, PASS, Observation, Row, decide
from .estimate import Estimate, estimate
from .fit import QUICK, fit
from .integral import CLEAR, STAGES, Answer, Claimed, Window, conclude, is_rough, look
from .sampler import TINY, Line

MARGIN = 2.5  # how many error estimates a claim may be off by (calibrated)
COARSE = 0.02  # relative error above which an interval does not decide an element: a choice
SLIGHT = 1e-6  # relative differences below this pass with a note, as a solver's tolerance may explain them: a choice
OVERFLOWING = 1e100  # above this size, an uncertain estimate is treated as overflow: a choice
LEEWAY = 1000.0  # `Limits.least` counts only up to this many times the error of the estimate (calibrated)
MOST_INTEGRATED = 4  # functions whose claims are integrated along one line, those furthest off: a choice
SEVERAL = 2  # scales at which fits must exclude a claim that the numeric derivative alone contradicts
MOST_OF_TOLERANCE = 0.03  # relative differences above this are never blamed on a tolerance (calibrated)
ALIKE = 10.0  # how many times more than its jumps elsewhere a slope may be off because of a tolerance: a choice
PAIRED = (1e-4, 1e-6)  # half-widths of central differences, for a second scale if one fit excludes a claim: a choice
USUAL = tuple(width for widths in STAGES for width in widths)  # half-widths at which every claim in doubt is tested
BESIDE = tuple(min(USUAL) / RATIO**k for k in (-1, 0, 1, 2))  # where a claim may be right on one side of a jump
FINE = 1e-4  # structure closer than this, in units of the scale, may be steps of few digits: a choice
FLAT_UNITS = 4.0  # rounding units of its values by which a constant function may seem to change: a choice
SETTLED = ("agrees", "negligible", "differs slightly", "kink")


class Limits(NamedTuple):
    """By how much claimed slopes along a line may be off without being wrong: arrays of shape (R,).

    own: the error from the claim's own rounding. least: differences that are attributed to rounding in the claim. zero:
    a claimed zero passes if the slope is known to within this. negligible: slopes below this have no effect that could
    be seen.
    """

    own: np.ndarray
    least: np.ndarray
    zero: np.ndarray
    negligible: np.ndarray

    def around(self, error: np.ndarray) -> np.ndarray:
        """Return how far a claim may be from a numeric derivative of the given error."""
        return allowed(error, self.own, self.least)


def allowed(error: np.ndarray, own: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return how far claims may be from numeric derivatives of a given error without being wrong."""
    return MARGIN * error + own + np.minimum(least, LEEWAY * error)


class Comparison:
    """The claimed slopes of R functions along a line, and what is known of them.

    slopes: the numeric derivative. decisions: the row of the table that decides each function. bound: how far the claim
    may be off, (R,); infinite where that is not known. reasons: why a function is undecided.
    """

    def __init__(
        self,
        line: Line,
        claimed: Claimed,
        limits_of: Callable[[Line, Estimate], Limits],
        enough: np.ndarray | float = 0.0,
        strict: bool = False,
        tolerance_of: Callable[[int], float] | None = None,
        scale: float = 1.0,
    ):
        """enough: an error of the numeric derivative that is small enough. strict: see `Entries`. scale: change of
        the element over one unit of the line, by which slopes in reasons are divided.

        tolerance_of: by how much the slope of a function jumps because of a tolerance inside it, over the scale; None
        along directions, where a single wrong element makes small differences, too.
        """
        self.tolerance_of, self.scale = tolerance_of, scale
        self.line, self.claimed, self.limits_of, self.enough, self.strict = line, claimed, limits_of, enough, strict
        self.windows: list[Window] = []
        self.looked = 0  # windows that were tried
        self.tried = False  # whether the rounding was measured, or could not be
        self.answers: dict[int, Answer] = {}
        self.estimate()

    def estimate(self) -> None:
        """Estimate the slopes from the values, and compare the claim with them."""
        self.slopes = estimate(self.line, self.enough)
        self.limits = self.limits_of(self.line, self.slopes)
        self.reasons: dict[int, Observation] = {}
        excluded = self.excluded()
        self.words = [self.word(j, bool(excluded[j])) for j in range(len(self.claimed.here))]

    @property
    def unsettled(self) -> list[int]:
        """The functions whose numeric derivative does not agree with the claim, or with itself next to the point."""
        close = (self.slopes.limit <= FINE) & (self.slopes.kind == "smooth")
        return [j for j, word in enumerate(self.words) if word not in SETTLED or (word == "agrees" and close[j])]

    @property
    def in_doubt(self) -> bool:
        """Whether more has to be known: a function is unsettled, or there is structure near the point."""
        slopes = self.slopes
        rough = [(f.width > slopes.width) & (f.error > np.abs(slopes.value)) & (f.noise > 0) for f in slopes.fits]
        near = (slopes.limit < np.inf) | np.any(rough, axis=0)
        return bool(self.unsettled or (near & (slopes.kind == "smooth")).any())

    def measure_rounding(self) -> None:
        """Measure the rounding of the values, if possible, and estimate the slopes with it."""
        self.tried = True
        if self.line.measured is None:
            self.line.measure_rounding()
            self.estimate()

    def integrate(self, functions: Sequence[int]) -> None:
        """Integrate the claim for some functions, in windows of more and more widths until it is clear."""
        chosen = sorted(functions, key=lambda j: -self.excess(j))[:MOST_INTEGRATED]
        noise = self.line.rounding(self.line.base[None])
        for widths in (*STAGES, self.deciding_widths(chosen)):
            for width in widths:
                window = look(self.line, width, self.claimed, noise, chosen)
                self.looked += 1
                if window is not None:
                    self.windows.append(window)
            self.answers = {j: self.answer(j) for j in chosen}
            if not any(map(self.is_open, chosen)):
                return

    def deciding_widths(self, chosen: Sequence[int]) -> list[float]:
        """Return the widths of fits that disagree with a claim, if these are wider or narrower than all windows.

        Steps may be wider than all of them, too, if values are equal close to the point only.
        """
        known = np.sort([float(self.slopes.width[j]) for j in chosen if self.words[j] == "disagrees"])
        wide, narrow = known[known > max(USUAL)][-1:], known[known < min(USUAL)][:1]
        reach = [max(1.0, self.line.scale) / self.line.scale / 3] if self.slopes.lost[chosen].any() else []
        far = [w / k for w in reach for k in (1, 10, 100) if w / k > max(USUAL)]
        return [*(w / k for w in wide for k in (1, 3, 10)), *(w / k for w in narrow for k in (1, 3)), *far]

    def gap(self, j: int) -> float:
        """Return how far claim j is from the numeric derivative."""
        return abs(float(self.claimed.here[j]) - float(self.slopes.value[j]))

    def excess(self, j: int) -> float:
        """Return how many times more than allowed claim j differs from the numeric derivative."""
        gap = self.gap(j)
        return gap / float(self.limits.around(self.slopes.error)[j] + TINY) if np.isfinite(gap) else np.inf

    def answer(self, j: int) -> Answer:
        """Return what the integral says of function j, as far as it bears on the difference from the slope."""
        word, size = self.words[j], float(self.claimed.size[j])
        if word == "unknown" and self.slopes.lost[j]:  # narrow windows see a single step, or rounding
            constant = max((f.width for f in self.slopes.fits if f.constant[j]), default=0.0)
            beyond = [w for w in self.windows if w.width > constant]
            usual = [w for w in beyond if w.width <= max(USUAL)]  # others tell only of steps that are wider
            answer = conclude(usual or beyond, j, size)
            return answer if answer.says == "agrees" else answer._replace(says="unclear")
        answer = conclude(self.windows, j, size)
        if answer.says in ("disagrees", "wrong at the point", "unclear") and self.is_right_in_a_fit(j):
            return answer._replace(says="right on one step")
        if answer.says in ("disagrees", "wrong at the point", "unclear") and self.is_right_too_close(j):
            return answer._replace(says="right only very near")
        if word in ("disagrees", "contradicts") and self.agrees_with_trend(j):
            return answer._replace(says="right over many steps")
        if word in ("disagrees", "contradicts") and answer.says in ("disagrees", "unclear") and self.is_right_beside(j):
            return answer._replace(says="right on one step")
        if answer.says.startswith("right in") or (answer.says == "disagrees" and self.may_be_tolerance(j)):
            answer = answer._replace(says=self.kind_of_structure(j, answer))
        limit = float(self.slopes.limit[j])
        if word == "agrees" and answer.says == "disagrees" and limit < np.inf:  # by windows wider than what is there
            on_step = self.jumps(j, float(self.slopes.value[j]), limit)
            return answer._replace(says=self.on_a_step(j, limit) if on_step else "unclear")
        if answer.says == "agrees" and word in ("disagrees", "contradicts") and not answer.bound <= self.gap(j) / 2:
            return answer._replace(says="unclear")
        return answer

    def jumps(self, j: int, slope: float, reach: float) -> bool:
        """Return whether function j, which has this slope between its jumps, jumps within a distance."""
        from .steps import jumps

        return jumps(self.line, j, slope, reach)

    def is_right_in_a_fit(self, j: int) -> bool:
        """Return whether the claim is the slope in a precise fit, which does not see what the others agree on."""
        a, value, error = (float(x[j]) for x in (self.claimed.here, self.slopes.value, self.slopes.error))
        precise = [f for f in self.slopes.fits if f.error[j] <= SLIGHT * abs(a) and not f.constant[j]]
        unknown = self.slopes.kind[j] in ("jump", "none")
        others = [f for f in precise if unknown or abs(f.value[j] - value) > f.error[j] + error]
        return any(abs(f.value[j] - a) <= f.error[j] for f in others)

    @property
    def narrowest(self) -> float:
        return min((f.width for f in self.slopes.fits), default=np.inf)

    def reach(self, j: int) -> float:
        """Return the distance over which function j changes by its own size if the claim is right."""
        a = abs(float(self.claimed.here[j]))
        return abs(float(self.line.base[j])) / a if 0 < a < np.inf else np.inf

    def is_right_too_close(self, j: int) -> bool:
        """Return whether the claim is the slope in a fit that is narrower than all that can be trusted, unlike these.

        Next to a singularity, a right claim says that the function changes by its own size within all other fits.
        """
        a, width = float(self.claimed.here[j]), self.reach(j) / RATIO
        found = fit(self.line, width, FEW) if width < self.narrowest else None
        if found is None or not found.error[j] <= COARSE * abs(a):
            return False
        agrees = abs(found.value[j] - self.slopes.value[j]) <= found.error[j] + self.slopes.error[j]
        return bool(abs(found.value[j] - a) <= found.error[j] + self.limits.own[j] and not agrees)

    def is_right_beside(self, j: int) -> bool:
        """Return whether the claim is the slope on one side of the point, next to which the function jumps."""
        if self.looked < len(USUAL) or not self.scatters(j) or not np.isfinite(self.slopes.value[j]):
            return False
        a, value = float(self.claimed.here[j]), float(self.slopes.value[j])
        fits = (fit(self.line, width, QUICK, side) for width in BESIDE for side in (-1, 1))
        clear = (f for f in fits if f is not None and f.error[j] <= CLEAR * abs(a - value))
        return any(abs(f.value[j] - a) <= f.error[j] + self.limits.own[j] for f in clear)

    def agrees_with_trend(self, j: int) -> bool:
        """Return whether the claim agrees with fits that are wide enough to see many steps of the function."""
        a, value, limit = float(self.claimed.here[j]), float(self.slopes.value[j]), float(self.slopes.limit[j])
        if self.looked < len(USUAL) or not limit < np.inf:
            return False
        clear = [f for f in self.slopes.fits if f.width >= limit and f.error[j] <= CLEAR * abs(a - value)]
        right = [f for f in clear if abs(f.value[j] - a) <= f.error[j]]
        return bool(right) and len(right) == len(clear) and self.jumps(j, value, right[0].width)

    def is_small(self, j: int) -> bool:
        """Return whether the claim differs by so little that a tolerance inside the function may be the reason."""
        a, value = float(self.claimed.here[j]), float(self.slopes.value[j])
        return abs(a - value) <= MOST_OF_TOLERANCE * abs(value)

    def may_be_tolerance(self, j: int) -> bool:
        return self.tolerance_of is not None and self.is_small(j)

    def is_open(self, j: int) -> bool:
        """Return whether more windows may change what is known of function j."""
        answer = self.answers[j]
        steps = (bool(self.slopes.lost[j]) and answer.says != "agrees") or self.scatters(j)
        return not answer.final or self.may_be_tolerance(j) or steps

    def scatters(self, j: int) -> bool:
        """Return whether the values scatter by more than their measured rounding, as those of real steps do."""
        rounding = float(self.line.rounding(self.line.base[None])[j])
        return self.line.measured is not None and bool(self.slopes.noise[j] > NOISE_UNITS * rounding)

    @property
    def proves(self) -> bool:
        """Whether a claim is wrong according to both tests, and no tolerance explains it."""
        wrong = [j for j in self.answers if self.decision(j).verdict == FAIL]
        return any(self.tolerance_of is not None or not self.is_small(j) for j in wrong)

    def kind_of_structure(self, j: int, answer: Answer) -> str:
        """Return the answer for a claim that is right in some windows only, or wrong by a small amount."""
        if self.looked < len(USUAL):
            return "unclear"  # there are more windows to look at first
        a, value = float(self.claimed.here[j]), float(self.slopes.value[j])
        if answer.says == "right in wide windows":
            return "right over many steps" if self.jumps(j, value, answer.reach) else "disagrees"
        if answer.says == "right in narrow windows":
            return self.on_a_step(j, answer.reach) if self.jumps(j, value, answer.reach) else "agrees"
        small = self.tolerance_of is not None and abs(a - value) <= ALIKE * self.tolerance_of(j)
        return "right but for a tolerance" if small else "disagrees"

    def on_a_step(self, j: int, reach: float) -> str:
        """Return the answer for a claim that is right on the step here: whether wider windows see many steps.

        Many steps follow the same slope in windows of any width; a single one has a slope that falls as they widen.
        """
        wider = [w for w in self.windows if w.width >= reach]
        low = max((float(w.slope[j] - w.error[j]) for w in wider), default=-np.inf)
        high = min((float(w.slope[j] + w.error[j]) for w in wider), default=np.inf)
        return "right on one step" if low <= high else "agrees"

    def reason(self, j: int) -> Observation:
        """Return why function j is undecided."""
        answer, value, claimed = self.answers.get(j), float(self.slopes.value[j]), float(self.claimed.here[j])
        if answer is not None and self.windows and answer.says in ("right over many steps", "right on one step"):
            here, far = (claimed, self.trend(j)) if answer.says == "right on one step" else (value, claimed)
            steps = f"the slope is {here / self.scale:.6g} on the step here and {far / self.scale:.6g} over many steps"
            return Observation("staircase", f"a staircase: {steps}")
        if answer is not None and answer.says == "right only very near":
            near = f"the claim says that the function changes much within {self.reach(j) * self.scale:.1g}"
            return Observation("no slope", f"{near} of the point, which is too close for a numeric derivative")
        if answer is not None and answer.says == "right but for a tolerance":
            off = abs(claimed / value - 1)
            text = f"claim and values differ by {off:.1g}, and the slope of the values jumps nearby"
            return Observation("solver", f"{text}, as for an iteration that stops at a tolerance: use a smaller one")
        if j in self.reasons:
            return self.reasons[j]
        text = f"the numeric derivative, {self.text_of_slope(value, float(self.slopes.error[j]), 6)}, is uncertain"
        return Observation("noise", f"{text}, and so is the integral of the claim")

    def trend(self, j: int) -> float:
        """Return the slope of function j over the widest window."""
        widest = max(self.windows, key=lambda w: w.width)
        return float(self.claimed.here[j] + widest.slope[j])

    def decision(self, j: int) -> Row:
        """Return the row of the table that decides function j."""
        answer = self.answers.get(j)
        return decide({"values": self.words[j], "integral": "" if answer is None else answer.says})

    def is_rough(self, j: int) -> bool:
        """Return whether the claim for function j jumps from point to point."""
        return j in self.answers and is_rough(self.windows, j, self.gap(j))

    @property
    def in_steps(self) -> list[int]:
        """The functions that are computed in steps, or to a tolerance."""
        return [j for j, answer in self.answers.items() if answer.says.startswith("right")]

    @property
    def decisions(self) -> list[Row]:
        return [self.decision(j) for j in range(len(self.words))]

    @property
    def verdicts(self) -> list[str]:
        return [row.verdict for row in self.decisions]

    @property
    def bound(self) -> np.ndarray:
        """How far claims that pass may be off: (R,)."""
        gaps = np.abs(self.claimed.here - self.slopes.value) + self.limits.around(self.slopes.error)
        bound = np.full(len(gaps), np.inf)
        for j, (word, verdict) in enumerate(zip(self.words, self.verdicts, strict=True)):
            if verdict == PASS:
                bound[j] = gaps[j] if word in SETTLED else self.answers[j].bound
        return bound

    def excluded(self) -> np.ndarray:
        """Return where fits at several scales, each by itself, exclude the claim: (R,)."""
        slopes, a = self.slopes, self.claimed.here
        own = self.limits.own + np.minimum(self.limits.least, LEEWAY * slopes.error)
        count = slopes.excluded_by(a, own, MARGIN)
        for width in PAIRED if (count == 1).any() else ():
            value, error = self.central_difference(width)
            with np.errstate(invalid="ignore"):
                agrees = (np.abs(value - slopes.value) <= error + slopes.error) & (width < slopes.limit)
                count += agrees & (np.abs(value - a) > error + own)
        return (count >= SEVERAL) | ((count > 0) & slopes.settled)

    def central_difference(self, width: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the slopes between two points, and their errors: of the values, and of a curve of the same size."""
        t, values = self.line.values(np.array([width, -width]))
        with np.errstate(invalid="ignore"):
            value = (values[0] - values[1]) / (t[0] - t[1])
        noise = np.maximum(self.line.rounding(self.line.base[None]), self.slopes.noise)
        return value, PAIR_SIGMAS * noise / width + 10 * width**2 * np.abs(value)

    def may_be_steep(self, j: int) -> bool:
        """Return whether the slope of function j overflows, or its error exceeds the slopes over the whole scale."""
        value, error = float(self.slopes.value[j]), float(self.slopes.error[j])
        if abs(value) + error > OVERFLOWING:
            return True
        values = np.array([*self.line.known_values(j, 1.0).values()])
        change = np.nanmax(np.abs(values - float(self.line.base[j])), initial=0.0)
        return bool(error > MARGIN * change)

    def word(self, j: int, excluded: bool) -> str:
        """Return what the numeric derivative of function j says of the claim: a word of the table."""
        slopes, a = self.slopes, float(self.claimed.here[j])
        value, error, kind = float(slopes.value[j]), float(slopes.error[j]), slopes.kind[j]
        if kind in ("jump", "none"):
            return self.unknown(j, *self.why_no_slope(kind))
        if kind == "kink" and not (np.isinf(value) and a == value):
            return "kink"
        if np.isinf(value):
            infinite = "the derivative is infinite at this point"
            return self.unknown(j, "infinite slope", infinite) if a == value else "contradicts"
        if np.isinf(a) and MARGIN * error > COARSE * abs(value) and self.may_be_steep(j):
            return self.unknown(j, "infinite slope", "the derivative overflows, or its size is unknown")
        if not np.isfinite(a):
            return "contradicts"
        constant = all(f.constant[j] for f in slopes.fits)
        lost = slopes.lost[j] and self.line.measured is None
        flat = bool(lost) and self.tried and self.is_flat(j)
        if (lost and not flat) or (constant and not self.tried):
            known = slopes.lost[j] and not self.is_hidden(j)
            if known and max(abs(a), abs(value)) + MARGIN * error <= self.limits.negligible[j]:
                return "negligible"
            return self.unknown(j, "noise", self.text_of_noise(value, error))  # rounding may hide what changes
        gap, tolerance = abs(a - value), float(self.limits.around(slopes.error)[j])
        if gap <= tolerance:
            return "agrees" if flat else self.word_within(j, tolerance)
        if max(abs(a), abs(value)) <= self.limits.negligible[j]:
            return "negligible"
        if gap < SLIGHT * abs(value) and not self.strict:
            return "differs slightly"
        return "contradicts" if excluded else "disagrees"

    def known_error(self, j: int) -> float:
        """Return the error of slope j; infinite if it is hidden, so that nothing can be said of the claim."""
        said = self.words[j] in ("agrees", "differs slightly", "disagrees", "contradicts")
        return np.inf if not said and self.is_hidden(j) else float(self.slopes.error[j])

    def is_hidden(self, j: int) -> bool:
        """Return whether equal values close to x hide how function j changes."""
        return bool(self.slopes.lost[j]) and self.line.measured is None and not self.steps_are_rounding(j)

    def steps_are_rounding(self, j: int) -> bool:
        """Return whether function j, equal close to x, changes further away in steps of its own rounding."""
        rounding = float(self.line.rounding(self.line.base[None])[j])
        noise = [float(f.noise[j]) for f in self.slopes.fits if not f.constant[j] and np.isfinite(f.error[j])]
        return min(noise, default=np.inf) <= NOISE_UNITS * rounding

    def is_flat(self, j: int) -> bool:
        """Return whether function j is constant next to x for another reason than rounding inside it.

        Steps from rounding are shorter than FIRST, and end with a jump.
        """
        tolerance = FLAT_UNITS * self.line.rounding(self.line.base[None])[j]
        wide = [f for f in self.slopes.fits if f.width >= FIRST]
        still = any(abs(f.value[j]) <= f.error[j] < np.inf and f.noise[j] <= tolerance for f in wide)
        return still or not self.jumps(j, 0.0, max(USUAL))  # it ends at a kink

    def word_within(self, j: int, tolerance: float) -> str:
        """Return the word for a claim inside the interval: it agrees only if the interval is narrow enough."""
        a, value = float(self.claimed.here[j]), float(self.slopes.value[j])
        if tolerance <= COARSE * max(abs(a), abs(value)) or (a == 0 and tolerance <= self.limits.zero[j]):
            return "agrees"
        if max(abs(a), abs(value)) <= self.limits.negligible[j]:
            return "negligible"
        return self.unknown(j, "noise", self.text_of_noise(value, float(self.slopes.error[j])))

    def text_of_noise(self, value: float, error: float) -> str:
        trouble = self.line.flat.claim.trouble
        nearby = f"; near the point, {trouble}" if trouble else ""
        return f"the derivative is lost in rounding or noise: {self.text_of_slope(value, error)}{nearby}"

    def text_of_slope(self, value: float, error: float, digits: int = 3) -> str:
        return f"{value / self.scale:.{digits}g} ± {MARGIN * error / self.scale:.2g}"

    def why_no_slope(self, kind: str) -> tuple[str, str]:
        if kind == "jump":
            return "jump", "the function jumps at this point"
        why = self.line.flat.claim.trouble
        why = f"near the point, {why}" if why else "nan, infinity or a singularity nearby"
        return "no slope", f"the numeric derivative does not exist here: {why}"

    def unknown(self, j: int, kind: str, text: str) -> str:
        self.reasons[j] = Observation(kind, text)
        return "unknown"
