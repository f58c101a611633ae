"""Estimate the slope of a function along a line, and its error, from fits at many scales that must agree.

Scale consistency: a wide fit sharpens a narrow one only if the two agree; otherwise, the wide one has missed
structure. There is one exception: if the values jump between neighbouring points, the function is computed in pieces.
Pieces as short as those of rounding are limited precision, and the slope is that of the trend. Longer pieces are a
staircase, and the slope is that of the piece.

Source: More and Wild, "Estimating computational noise", SIAM J. Sci. Comput. 33 (2011). Constants whose comments give
no other source are calibrated (see verdict.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .fit import QUICK, Fit, fit
from .sampler import TINY, Line

FIRST, WIDE = 0.02, 0.6  # half-widths of the first fit and of the widest ordinary one, in units of the scale
RATIO = 30.0  # ratio of the widths of successive fits
PAIRS = (1e-4, 1e-6, 1e-8)  # widths of the central differences that the first fits must agree with
FEW, MANY = 8, 16  # degrees of fits for little and for much curvature: powers of 2, so that Chebyshev points nest
PAIR_SIGMAS = 8.0  # rounding units by which a value at a close point may be off
MISSED_SIGMAS = 30.0  # error allowed at a narrower fit's points, times the noise: 12 dropped terms of ABOVE_NOISE each
NOISE_UNITS = 100.0  # noise up to this many rounding units is attributed to rounding: more may be structure
WANTED = 3e-7  # relative error at which an estimate is good enough: MARGIN times this leaves six digits
WANTED_OF_CHANGE = 1e-6  # the same for slopes near 0, relative to the change of the function over its scale
NARROWEST = 2e5  # least width of a fit, in rounding units of x: below that, rounding inside f looks like structure
UNRESOLVED_LEAST = 0.01  # unresolved structure is followed down to this fraction of the least width
SMALL_X = 1e-5  # below this size of x, rounding of a number near 1 may make pieces wider than a fit
ROUGHER = 1e3  # a wider fit with this many times the noise of the narrowest one sees pieces, or a curve
STEEPER = 2.0  # a slope that grows this much when points are 100 times closer, as of x**0.85, may be infinite
KINK_ALIKE = 0.1  # at a kink, gaps and slopes at close points differ by at most this fraction of the gap
PER_ESTIMATE = FEW + 2 * len(PAIRS) + 1  # calls for one estimate of a smooth function: a fit, PAIRS, and the point
MOST_WIDTHS, MOST_WIDER = 16, 8  # maximum number of fits in a row: a choice, as 30**16 exceeds the digits of float64
MOST_REACH = 40.0  # width of the widest fit, in units of the scale or of 1, whichever is larger
CHANGE_UNITS = 4.0  # least error times width, in rounding units of the change over the scale: SAFETY * NOISE_SIGMAS / 3
MUCH_NOISE = 30.0  # a fit with more than this many times the least noise of all fits is limited by its degree
STEADY = 10.0  # noise that grows by at most this factor from one fit to the next is not yet structure
MOST_MISSED = 1e3  # steady noise may be this many times what a fit of few coefficients shows of it
UNCLEAR = 0.05  # relative error above which an estimate may be at a kink
FINE = 1e-5  # pieces shorter than this fraction of the scale are limited precision
FINE_AT_ONE = 3e-7  # the same for small x, as a length: 5 rounding units of a number near 1 in float32
CLOSE_SIDE = 1e-6  # width of the first fit on one side of a kink: rounding leaves ten digits, and few kinks are closer
SCAN = 65  # points at which to look for jumps: four per interval of the widest fit, plus one
JUMP_UNITS = 50.0  # a jump is larger than this many rounding units of the value
JUMP_BISECTIONS = 50  # halvings that narrow a jump down to the resolution of float64 (53 bits)
HALVINGS, STAYS = 10, 0.3  # a jump keeps 0.3 of its size over ten halvings; a steep slope keeps 1/1000
MOST_SCANNED = 3  # maximum number of outputs with different jumps to bisect: a choice


@dataclass
class Estimate:
    """Slopes of R functions along a line at t = 0, with their uncertainty: arrays of shape (R,).

    value, error: the estimate and the half-width of its interval, infinite if the slope is unknown. kind: "smooth",
    "limited" (limited precision: the slope is that of the trend), "staircase" (the slope is that of a piece, and
    `trend` that over many), "kink", "edge" (the function ends here), "jump" or "none". left, right, side_error:
    one-sided slopes and their error at a "kink" or "edge". noise: scatter of the values. width: that of the most
    precise fit. change: lower bound of the function's change over its scale.
    """

    value: np.ndarray
    error: np.ndarray
    kind: np.ndarray
    left: np.ndarray
    right: np.ndarray
    side_error: np.ndarray
    trend: np.ndarray
    noise: np.ndarray
    width: np.ndarray
    change: np.ndarray

    @classmethod
    def unknown(cls, count: int) -> Estimate:
        nan = lambda: np.full(count, np.nan)  # noqa: E731
        kind = np.full(count, "none", dtype=object)
        infinite = np.full(count, np.inf), np.full(count, np.inf)
        return cls(nan(), infinite[0], kind, nan(), nan(), infinite[1], nan(), np.zeros(count), nan(), np.zeros(count))

    @property
    def known(self) -> np.ndarray:
        """Mask of slopes with a single known value: no kink, jump or edge."""
        one_value = (self.kind == "smooth") | (self.kind == "limited") | (self.kind == "staircase")
        return one_value & np.isfinite(self.error)

    def row(self, j: int) -> dict[str, Any]:
        return {field.name: getattr(self, field.name).item(j) for field in fields(self)}


class Chain:
    """Fits of growing width, on both sides of the point or on one, and the interval that they agree on.

    low, high: the interval; against: the index of the first fit that contradicts narrower ones, -1 if none does.
    """

    def __init__(self, line: Line, side: int, enough: np.ndarray | float = 0.0):
        self.line, self.side, self.enough = line, side, enough
        self.fits: list[Fit] = []
        self.count = len(line.base)
        x = line.unit_of_x
        self.least = max(NARROWEST * x, 1e-290 / line.scale)
        self.change = np.zeros(self.count)

    def add(self, width: float, degree: int) -> None:
        new = fit(self.line, width, degree, self.side)
        if new is None:
            return
        narrower = max((f for f in self.fits if f.width < width), key=lambda f: f.width, default=None)
        if narrower is not None:
            new = new._replace(error=np.where(self.misses(new, narrower.points), np.inf, new.error))
        self.fits = sorted([f for f in self.fits if f.width != width] + [new], key=lambda f: f.width)
        if FIRST <= width <= WIDE:
            seen = np.abs(new.series[1:]).sum(axis=0) / width
            self.change = np.maximum(self.change, np.where(np.isfinite(new.error), seen, 0.0))

    def misses(self, wide: Fit, points: np.ndarray) -> np.ndarray:
        """Return where a wide fit contradicts values that a narrower one sampled, and so has missed structure."""
        t, values = self.line.values(points)
        off = np.abs(values - self.line.base - wide.change(t))
        noise = np.maximum(wide.noise, self.line.rounding(self.line.base[None]))
        with np.errstate(invalid="ignore"):
            return (off > MISSED_SIGMAS * noise).any(axis=0)

    def intersect(self) -> None:
        """Intersect the intervals from narrow to wide.

        If large values cancel, results have the rounding error of the large ones, even if a narrow fit sees no noise.
        If intervals are apart by less than their own widths, the gap is noise: the tighter one is kept.
        """
        self.low, self.high = np.full(self.count, -np.inf), np.full(self.count, np.inf)
        self.against = np.full(self.count, -1)
        self.width = np.full(self.count, np.nan)
        self.noise = np.zeros(self.count)
        best = np.full(self.count, np.inf)
        rounding = CHANGE_UNITS * self.line.flat.unit * self.change
        narrower: list[np.ndarray] = []
        rises = self.rises_of_noise()
        for k, (width, value, error, noise, *_) in enumerate(self.fits):
            if narrower:  # wider fits do not have less noise: few nodes may miss it by chance
                least = 0.5 * np.sort(narrower, axis=0)[(len(narrower) - 1) // 2]
                error = error * np.maximum(least / np.maximum(noise, TINY), 1.0)
            narrower.append(noise)
            error = np.maximum(error * rises[k], rounding / width)
            open_ = (self.against < 0) & np.isfinite(error)
            with np.errstate(invalid="ignore"):
                span = self.high - self.low
                gap = np.maximum(self.low - value - error, value - error - self.high)
                contradicts = open_ & (gap > error + span / 2)
                self.against[contradicts] = k
                open_ &= ~contradicts
                apart, tighter = gap > 0, 2 * error < span
            low = np.where(apart, np.where(tighter, value - error, self.low), np.maximum(self.low, value - error))
            high = np.where(apart, np.where(tighter, value + error, self.high), np.minimum(self.high, value + error))
            self.low, self.high = np.where(open_, low, self.low), np.where(open_, high, self.high)
            better = open_ & (error < best)
            best = np.where(better, error, best)
            self.width, self.noise = np.where(better, width, self.width), np.where(better, noise, self.noise)

    def rises_of_noise(self) -> list[np.ndarray]:
        """Return, for each fit, how many times more noise wider fits have, if it may have missed that; else 1.

        Noise stays the same as fits widen. Structure grows with the width: a kink 30-fold, a curve at least 900-fold.
        """
        rises: list[np.ndarray] = []
        seen: list[np.ndarray] = []  # the noise of wider fits, including what these have missed
        for fit_ in reversed(self.fits):
            rise = np.ones(self.count)
            if seen:
                wider, widest = seen[-1], seen[-2:][0]
                steady = (widest <= STEADY * wider) & (len(seen) > 1)
                rise = np.where(steady, np.maximum(wider, widest), wider) / np.maximum(fit_.noise, TINY)
                rise = np.where(rise <= np.where(steady, MOST_MISSED, STEADY), np.maximum(rise, 1.0), 1.0)
            rises.append(rise)
            seen.append(fit_.noise * rise)
        return rises[::-1]

    @property
    def value(self) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return (self.low + self.high) / 2

    @property
    def error(self) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            error = (self.high - self.low) / 2
        return np.where(np.isnan(error), np.inf, error)

    def differences(self, widths: Sequence[float] = PAIRS) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the values at pairs of close points (up, down), half their distances, and the error of the values."""
        steps = np.array([w for w in widths if w > self.least] or [self.least])
        t, values = self.line.values(np.concatenate([steps, -steps]))
        up, down = np.split(values, 2)
        with np.errstate(invalid="ignore"):
            rounding = PAIR_SIGMAS * self.line.rounding(np.where(np.isfinite(values), values, 0.0))
        return up, down, (t[: len(steps)] - t[len(steps) :]) / 2, rounding

    def agrees_with_close_points(self) -> np.ndarray:
        """Return where values at close points agree with the interval to within their noise."""
        signs = np.resize([1.0, -1.0], len(PAIRS)) if self.side == 0 else self.side
        t, values = self.line.values(signs * np.maximum(PAIRS, self.least))
        rounding = PAIR_SIGMAS * self.line.rounding(np.where(np.isfinite(values), values, 0.0))
        noise = np.maximum(rounding, np.minimum(PAIR_SIGMAS * self.noise, NOISE_UNITS * rounding))
        value, error, agree = self.value, self.error, np.ones(self.count, bool)
        for offset, close in zip(t.tolist(), values, strict=True):
            wider = next((f for f in self.fits if f.width >= abs(offset)), None)
            if wider is None or offset == 0:
                continue
            expected = self.line.base + wider.change(np.array([offset]))[0] + offset * (value - wider.value)
            with np.errstate(invalid="ignore"):
                agree &= (np.abs(close - expected) <= noise + abs(offset) * error) | (self.width < wider.width)
        return agree

    def good(self) -> np.ndarray:
        """Return where the interval is narrow enough."""
        value, error = self.value, self.error
        zero = (np.abs(value) <= 2 * error) & (error <= WANTED_OF_CHANGE * self.change)
        wanted = np.maximum(WANTED * np.abs(value), self.enough)
        return np.isfinite(error) & ((error <= wanted) | zero)

    def run(self) -> Chain:
        """Add fits until all intervals are good, or no further fit would help."""
        self.add(FIRST, FEW)
        self.intersect()
        settled = self.settled()
        if settled.all() or (self.side == 0 and (settled | self.shows_kink()).all()):
            return self
        for width, degree in ((FIRST, MANY), (WIDE, MANY)):
            if self.done():
                return self
            self.add(width, degree)
            self.intersect()
        if self.fits and (self.settled() | self.rounding_limits()).all():
            self.widen()
            return self
        width = FIRST / RATIO
        for _ in range(MOST_WIDTHS):
            if self.done() or width < (self.least * UNRESOLVED_LEAST if self.unresolved() else self.least):
                break
            self.add(width, FEW)
            self.intersect()
            width /= RATIO
        self.widen()
        return self

    def settled(self) -> np.ndarray:
        """Return where the interval is narrow enough, and close points agree with it."""
        if not self.fits:
            return np.zeros(self.count, bool)
        good = self.good() | self.constant()
        return good & self.agrees_with_close_points() & ~self.seems_constant() if good.any() else good

    def rounding_limits(self) -> np.ndarray:
        """Return where only rounding of the result limits the first fits, and close points agree with them."""
        rounding = self.line.rounding(self.line.base[None])
        few = np.all([f.noise <= MUCH_NOISE * rounding for f in self.fits if f.width <= FIRST], axis=0)
        return few & np.isfinite(self.fits[0].error) & self.agrees_with_close_points()

    def done(self) -> bool:
        return bool(self.settled().all())

    def constant(self) -> np.ndarray:
        """Return where all values are equal, out to a distance of about 1 or the scale of x, whichever is larger."""
        constant = np.all([fit_.constant for fit_ in self.fits], axis=0)
        return constant & ~self.seems_constant() if constant.any() else constant

    def unresolved(self) -> bool:
        """Return whether the narrowest fit sees structure rather than noise: a narrower one may resolve it."""
        if not self.fits:
            return False
        first = self.fits[0]
        size = np.abs(first.series[1:]).max(axis=0) if len(first.series) > 1 else first.noise
        return bool(
            (
                np.isfinite(first.error)
                & (first.noise > 0.01 * size)
                & (first.noise > 1e6 * self.line.rounding(self.line.base[None]))
            ).any()
        )

    def steepens(self) -> np.ndarray:
        """Return where slopes between close points grow as these come closer: the slope may be infinite."""
        up, down, half, rounding = self.differences()
        with np.errstate(invalid="ignore"):
            slopes = np.abs(up - down) / (2 * half[:, None])
            seen = slopes > 100 * rounding / half[:, None]
            grows = (seen & (slopes > 0)).all(axis=0) & (len(half) == len(PAIRS))
            return grows & (slopes[1:] > STEEPER * slopes[:-1]).all(axis=0)

    def shows_kink(self) -> np.ndarray:
        """Return where one-sided slopes differ by the same amount at all pairs of close points."""
        up, down, half, rounding = self.differences()
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = np.abs(up + down - 2 * self.line.base) / half[:, None]
            slopes = (up - down) / (2 * half[:, None])
            close = KINK_ALIKE * gaps[-1]
            alike = (np.ptp(gaps, axis=0) <= close) & (np.ptp(slopes, axis=0) <= close)
        return alike & (gaps > 2 * rounding / half[:, None]).all(axis=0) & (len(half) == len(PAIRS))

    def has_sides(self, widths: Sequence[float]) -> np.ndarray:
        """Return where one-sided slopes may differ at the point: the part that is even in t falls no faster than t."""
        up, down, half, rounding = self.differences(widths)
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = np.abs(up + down - 2 * self.line.base) / half[:, None]
            size = np.maximum(np.abs(up - down) / half[:, None], gaps)
            sharp = (gaps > 2 * rounding / half[:, None]) & (gaps > 0.01 * size)
            falls = gaps[1:] < 0.3 * (half[1:] / half[:-1])[:, None] ** 0.25 * gaps[:-1]
        missing = ~np.isfinite(up).all(axis=0) | ~np.isfinite(down).all(axis=0)
        return missing | (sharp[:-1] & sharp[1:] & ~falls).any(axis=0)

    def seems_constant(self) -> np.ndarray:
        """Return where values are equal in the narrowest fit, but not further away: lost in rounding, or a stair."""
        constant = self.fits[0].constant
        if not constant.any():
            return constant
        reach = np.array([WIDE, max(1.0, self.line.scale) / self.line.scale / 3])
        _, values = self.line.values(np.concatenate([reach, -reach]) if self.side == 0 else self.side * reach)
        return constant & (np.isfinite(values) & (values != self.line.base)).any(axis=0)

    def widen(self) -> None:
        """Add fits wider than the scale if noise limits all others: values cancel, or do not change at all."""
        width, open_ = WIDE, ~(self.good() & ~self.seems_constant()) if self.fits else np.zeros(self.count, bool)
        for _ in range(MOST_WIDER):
            width *= RATIO
            if width * self.line.scale > MOST_REACH * max(1.0, self.line.scale) or not (open_ & self.limited()).any():
                break
            self.add(width, MANY)
            self.intersect()

    def sample_wider(self) -> None:
        """Sample wider around a small x: rounding of a number near 1 may make pieces wider than the other fits."""
        first = self.fits[0] if self.fits else None
        self.add(WIDE, FEW)
        wide = self.fits[-1] if self.fits else None
        self.intersect()
        if first is None or wide is None or wide.width < WIDE:
            return
        rougher = np.isfinite(wide.error) & (wide.noise > ROUGHER * first.noise) & (self.against < 0)
        if rougher.any():
            self.widen()
            self.against[rougher & (self.against < 0)] = next(k for k, f in enumerate(self.fits) if f.width >= WIDE)

    def limited(self) -> np.ndarray:
        """Return where the widest fit is limited by noise rather than by its degree."""
        if not self.fits:
            return np.zeros(self.count, bool)
        noise = np.array([np.where(f.constant | ~np.isfinite(f.error), np.inf, f.noise) for f in self.fits]).min(axis=0)
        top = self.fits[-1]
        return np.isfinite(top.error) & (top.error > WANTED * np.abs(top.value)) & (top.noise <= MUCH_NOISE * noise)


def estimate(line: Line, enough: np.ndarray | float = 0.0) -> Estimate:
    """Return the slopes along a line, for each of its outputs or combinations of them.

    enough: absolute error that is good enough, even if the relative error is above WANTED.
    """
    chain = Chain(line, 0, enough).run()
    if line.alone and line.scale < SMALL_X:
        chain.sample_wider()
    result = estimate_from(chain)
    against = (chain.against >= 0) & np.isfinite(chain.error)
    if chain.fits and (constant := chain.constant()).any():
        result.value[constant] = 0.0
        result.error[constant] = (line.rounding(line.base[None]) / max(WIDE, 1 / (3 * min(line.scale, 1.0))))[constant]
    if chain.fits and (lost := (result.kind == "smooth") & chain.seems_constant()).any():
        every = np.array([line.combine(row[None])[0] for row in line.kept.values()])
        widest = np.max([np.where(f.constant, f.width, 0.0) for f in chain.fits], axis=0)
        least = line.rounding(np.where(np.isfinite(every), every, 0.0))
        lost &= result.width <= widest
        result.error[lost] = np.maximum(result.error, least / np.maximum(widest, TINY))[lost]
    settled = chain.settled()
    if settled.all():
        return result
    unclear = ~against & ~(result.error <= UNCLEAR * np.abs(result.value)) & ~chain.good()
    blurred = result.known & ~against & ~chain.good() & (result.width < FIRST) & line.alone
    steep = chain.steepens() & (result.kind == "smooth") & ~settled
    unclear |= steep
    if unclear.any():
        best = float(np.nanmax(np.where(unclear, result.width, np.nan), initial=FIRST))
        sided = chain.has_sides(PAIRS) | chain.has_sides((RATIO * best, best, best / RATIO))
        blurred |= unclear & (sided | steep | ~np.isfinite(result.error))
    if blurred.any():
        estimate_sides(line, result, blurred)
    return result


def estimate_from(chain: Chain) -> Estimate:
    """Return the estimate that the fits agree on; if wide fits contradict narrow ones, look for pieces."""
    result = Estimate.unknown(chain.count)
    result.value, result.error, result.change = chain.value, chain.error, chain.change
    result.noise, result.width = chain.noise, chain.width
    result.kind[np.isfinite(chain.error)] = "smooth"
    judge_pieces(chain, result, np.flatnonzero((chain.against >= 0) & np.isfinite(chain.error)))
    return result


def judge_pieces(chain: Chain, result: Estimate, places: np.ndarray) -> None:
    """Decide outputs whose wide fits contradict narrow ones: only a jump shows that a function consists of pieces."""
    line = chain.line
    jumps: dict[tuple[int, int], bool] = {}
    for j in places:
        k = int(chain.against[j])
        fits, value = chain.fits, float(result.value[j])
        least = max(JUMP_UNITS * float(line.rounding(line.base[None])[j]), 10 * float(fits[0].noise[j]), 1e-300)
        t, steps = steps_between(line, int(j), value, fits[k].points)
        place = int(np.argmax(steps))
        clear = max((f.width for f in fits[:k] if f.noise[j] <= MUCH_NOISE * fits[0].noise[j]), default=0.0)
        if (k, place) not in jumps and len(jumps) < MOST_SCANNED and steps[place] > least:
            jumps[k, place] = jumps_between(line, int(j), t[place], t[place + 1], least, value, clear)
        alike = steps[place] > least and any(jumps.values())  # assume that outputs not scanned are like the others
        if not jumps.get((k, place), alike):
            continue
        width = fits[k].width
        _, steps = steps_between(line, int(j), value, np.linspace(t[0], t[-1], SCAN))
        edges = np.count_nonzero(steps > 0.3 * steps.max())
        length = max(clear, width / edges if edges <= SCAN // 4 else 0.0)
        wide = [f for f in fits[k:] if np.isfinite(f.error[j])]
        trend = min(wide, key=lambda f: f.error[j])
        result.trend[j] = trend.value[j]
        if length < max(FINE, FINE_AT_ONE / min(line.scale, 1.0)):
            result.value[j], result.error[j], result.kind[j] = trend.value[j], trend.error[j], "limited"
            result.noise[j], result.width[j] = trend.noise[j], trend.width
        else:
            result.kind[j] = "staircase"


def steps_between(line: Line, j: int, slope: float, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted points, and the change of the values between neighbours after subtracting a slope."""
    t, values = line.values(np.sort(points))
    steps = np.abs(np.diff(values[:, j] - slope * t))
    return t, np.where(np.isfinite(steps), steps, 0.0)


def jumps_between(line: Line, j: int, a: float, b: float, least: float, slope: float, smooth: float) -> bool:
    """Bisect; return whether the values, less the slope, still differ by `least` when a and b are neighbours.

    smooth: the width of a fit that saw no jump. Pieces are about as long, so a jump keeps its size if b - a is shorter.
    """
    ends = {}

    def at(t: float) -> float:
        if t not in ends:
            (real,), values = line.values(np.array([t]))
            ends[t] = float(values[0, j]) - slope * float(real)
        return ends[t]

    history, closer = [abs(at(b) - at(a))], 0
    for _ in range(JUMP_BISECTIONS):
        middle = (a + b) / 2
        (real,) = line.representable(np.array([middle]))
        if middle in (a, b) or (line.alone and real in line.representable(np.array([a, b]))):
            break
        a, b = (a, middle) if abs(at(middle) - at(a)) >= abs(at(b) - at(middle)) else (middle, b)
        history.append(abs(at(b) - at(a)))
        closer += b - a <= smooth
        falls = closer > 2 * HALVINGS and history[-1] < STAYS * history[-HALVINGS]
        if history[-1] < least or falls:
            return False
    before = history[max(-len(history), -HALVINGS)]
    return history[-1] >= max(least, STAYS * before)


def estimate_sides(line: Line, result: Estimate, where: np.ndarray) -> None:
    """Estimate slopes from the left and from the right where no symmetric fit can be trusted."""
    sides, jump = [], np.zeros(len(result.value), bool)
    for side in (-1, 1):
        chain = Chain(line, side).run()
        found = estimate_from(chain)
        value, error = found.value, found.error
        for j in np.flatnonzero(where & ~chain.settled()):
            noise = min((float(f.noise[j]) for f in chain.fits), default=0.0)
            limit, growth = limit_from_side(line, side, int(j), float(result.change[j]), noise)
            jump[j] |= growth == "jump"
            if growth:
                value[j], error[j] = limit
        sides.append((value, error))
    (left, left_error), (right, right_error) = sides
    room = left_error + right_error
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(left), np.abs(right))
        apart = (left != right) & ~(np.abs(left - right) <= room)
        clear = np.maximum(left_error, right_error) <= UNCLEAR * size
    has_left, has_right = np.isfinite(left_error), np.isfinite(right_error)
    for j in np.flatnonzero(where):
        result.left[j], result.right[j] = left[j], right[j]
        if has_left[j] and has_right[j]:
            result.side_error[j] = max(left_error[j], right_error[j])
            best, error = (left, left_error) if left_error[j] <= right_error[j] else (right, right_error)
            if apart[j] and clear[j]:
                result.kind[j] = "kink"
                with np.errstate(invalid="ignore"):
                    result.value[j] = (left[j] + right[j]) / 2
                result.error[j] = abs(right[j] - left[j]) / 2 + result.side_error[j]
            elif np.isinf(best[j]) or (
                error[j] < result.error[j] and not abs(best[j] - result.value[j]) > error[j] + result.error[j]
            ):
                result.value[j], result.error[j], result.kind[j] = best[j], error[j], "smooth"
        elif has_left[j] or has_right[j]:
            value, error = (left, left_error) if has_left[j] else (right, right_error)
            result.value[j], result.error[j], result.kind[j] = value[j], error[j], "jump" if jump[j] else "edge"
            result.side_error[j] = error[j]
        else:
            result.value[j], result.error[j], result.kind[j] = np.nan, np.inf, "jump" if jump[j] else "none"


def slope_to_the_right(line: Line, enough: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the one-sided slopes in the direction of a line, and their errors: from four calls if these suffice.

    enough: absolute error that is good enough, even if the relative error is above WANTED.
    """
    quick = fit(line, CLOSE_SIDE, QUICK, 1)
    if quick is not None and (quick.error <= np.maximum(WANTED * np.abs(quick.value), enough)).all():
        return quick.value, quick.error
    chain = Chain(line, 1, enough).run()
    return chain.value, chain.error


LEAST_JUMP = 1e-9  # least jump, relative to the change over the scale: less is a kink very close to the point
STEPS = 10.0 ** -np.arange(2.0, 10.0)  # steps of one-sided slopes that may have an infinite limit


def limit_from_side(line: Line, side: int, j: int, change: float, noise: float) -> tuple[tuple[float, float], str]:
    """Return the limit and error of one-sided slopes, and "jump" or "infinite" if they keep growing, else ""."""
    t, values = line.values(side * STEPS)
    gaps = values[:, j] - line.base[j]
    rounding = float(line.rounding(line.base[None])[j])
    usable = np.isfinite(gaps) & (np.abs(gaps) > max(100 * rounding, 10 * noise)) & (t != 0)
    if usable.sum() < 5:
        return (np.nan, np.inf), ""
    gaps, t = gaps[usable], t[usable]
    powers = np.diff(np.log(np.abs(gaps))) / np.diff(np.log(np.abs(t)))
    if (powers[-4:] < 0.02).all():
        return (np.nan, np.inf), "jump" if abs(gaps[-1]) > LEAST_JUMP * change else ""
    if (powers[-4:] < 0.95).all() and np.ptp(powers[-4:]) < 0.2:
        return (float(np.sign(gaps[-1]) * side) * np.inf, 0.0), "infinite"
    return (np.nan, np.inf), ""
