"""Fits of growing width at a point, and the interval of slopes that they agree on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .fit import Fit, fit
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
STEEPER = 2.0  # a slope that grows this much when points are 100 times closer, as of x**0.85, may be infinite
KINK_ALIKE = 0.1  # at a kink, gaps and slopes at close points differ by at most this fraction of the gap
MOST_WIDTHS, MOST_WIDER = 16, 8  # maximum number of fits in a row: a choice, as 30**16 exceeds the digits of float64
MOST_REACH = 40.0  # width of the widest fit, in units of the scale or of 1, whichever is larger
CHANGE_UNITS = 4.0  # least error times width, in rounding units of the change over the scale: SAFETY * NOISE_SIGMAS / 3
RESOLVED = 1e-3  # noise of a fit that resolves the function, as a fraction of what it changes: a choice
MUCH_NOISE = 30.0  # a fit with more than this many times the least noise of all fits is limited by its degree
STEADY = 10.0  # noise that grows by at most this factor from one fit to the next is not yet structure
MOST_MISSED = 1e3  # steady noise may be this many times what a fit of few coefficients shows of it


class Chain:
    """Fits of growing width, on both sides of the point or on one, and the interval that they agree on.

    low, high: the interval; against: the index of the first fit that contradicts narrower ones, -1 if none does.
    """

    def __init__(self, line: Line, side: int, enough: np.ndarray | float = 0.0):
        self.line, self.side, self.enough = line, side, enough
        self.fits: list[Fit] = []
        self.settled = np.zeros(len(line.base), bool)
        self.count = len(line.base)
        x = line.unit_of_x
        self.least = max(NARROWEST * x, 1e-290 / line.scale)
        self.change = np.zeros(self.count)

    def add(self, width: float, degree: int) -> None:
        """Add a fit, intersect the intervals of all fits, and note which are settled."""
        self.add_fit(width, degree)
        self.intersect()
        self.settled = self.find_settled()

    def add_fit(self, width: float, degree: int) -> None:
        new = fit(self.line, width, degree, self.side)
        if new is None:
            return
        narrower = max((f for f in self.fits if f.width < width), key=lambda f: f.width, default=None)
        if narrower is not None:
            new = new._replace(error=np.where(self.misses(new, narrower.points), np.inf, new.error))
        self.fits = sorted([f for f in self.fits if f.width != width] + [new], key=lambda f: f.width)
        self.change = self.change_of_resolved()

    def change_of_resolved(self) -> np.ndarray:
        """Return how much the function changes over its scale, by fits that resolve it: 0 if there is none.

        Those of FIRST to WIDE count, and the widest narrower one if none of these resolves it.
        """
        change = np.zeros(self.count)
        for f in self.fits:
            if f.width <= WIDE:
                seen = np.abs(f.series[1:]).sum(axis=0)
                resolved = np.isfinite(f.error) & (f.noise <= RESOLVED * seen)
                seen = seen / f.width
                change = np.where(resolved, np.maximum(change, seen) if f.width > FIRST else seen, change)
        return change

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
        if self.done() or (self.side == 0 and (self.settled | self.shows_kink()).all()):
            return self
        for width, degree in ((FIRST, MANY), (WIDE, MANY)):
            if self.done():
                return self
            self.add(width, degree)
        if self.fits and (self.settled | self.rounding_limits()).all():
            self.widen()
            return self
        width = FIRST / RATIO
        for _ in range(MOST_WIDTHS):
            if self.done() or width < (self.least * UNRESOLVED_LEAST if self.unresolved() else self.least):
                break
            self.add(width, FEW)
            width /= RATIO
        self.widen()
        return self

    def find_settled(self) -> np.ndarray:
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
        return bool(self.settled.all())

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

    @property
    def noise_of_narrowest(self) -> np.ndarray:
        """The noise of the narrowest fit: what kinks and infinite slopes add to it falls with the width."""
        return self.fits[0].noise if self.fits else np.zeros(self.count)

    def steepens(self) -> np.ndarray:
        """Return where slopes between close points grow as these come closer: the slope may be infinite."""
        up, down, half, rounding = self.differences()
        with np.errstate(invalid="ignore"):
            gaps, noise = up - down, PAIR_SIGMAS * self.noise_of_narrowest
            size = np.abs(gaps)
            jumps = (np.ptp(np.sign(gaps), axis=0) == 0) & (size.max(axis=0) <= STEEPER * size.min(axis=0))
            slopes = size / (2 * half[:, None])
            seen = slopes > np.maximum(100 * rounding, np.where(jumps, 0.0, noise)) / half[:, None]
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
        rounding = np.fmax(rounding, PAIR_SIGMAS * self.noise_of_narrowest)
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

    def limited(self) -> np.ndarray:
        """Return where the widest fit is limited by noise rather than by its degree."""
        if not self.fits:
            return np.zeros(self.count, bool)
        noise = np.array([np.where(f.constant | ~np.isfinite(f.error), np.inf, f.noise) for f in self.fits]).min(axis=0)
        top = self.fits[-1]
        return np.isfinite(top.error) & (top.error > WANTED * np.abs(top.value)) & (top.noise <= MUCH_NOISE * noise)
