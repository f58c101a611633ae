"""Estimate the slope of a function along a line, and its error, from fits at many scales that must agree.

Scale consistency: a wide fit sharpens a narrow one only if the two agree; otherwise, the wide one has missed
structure: a kink, a pole, or a step next to the point. A step may also be the function's own rounding, of which a
narrow fit sees nothing. `Line.measure_rounding` tells the two apart.

Source: Moré and Wild, "Estimating computational noise", SIAM J. Sci. Comput. 33 (2011). Constants whose comments give
no other source are calibrated (see verdict.py).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from .chain import FEW, FIRST, PAIRS, RATIO, WANTED, WIDE, Chain
from .fit import QUICK, Fit, fit
from .sampler import TINY, Line

PER_ESTIMATE = FEW + 2 * len(PAIRS) + 1  # calls for one estimate of a smooth function: a fit, PAIRS, and the point
UNCLEAR = 0.05  # relative error above which an estimate may be at a kink
CLOSE_SIDE = 1e-6  # width of the first fit on one side of a kink: rounding leaves ten digits, and few kinks are closer


@dataclass
class Estimate:
    """Slopes of R functions along a line at t = 0, with their uncertainty: arrays of shape (R,).

    value, error: the estimate and the half-width of its interval, infinite if the slope is unknown. kind: "smooth",
    "kink", "edge" (the function ends here), "jump" or "none". left, right, side_error: one-sided slopes and their error
    at a "kink" or "edge". noise: scatter of the values. width: that of the most precise fit. change: the function's
    change over its scale. limit: width of the first fit that contradicts narrower ones, infinite if none does. lost:
    whether the values are equal close to the point, but not further away. settled: whether the interval is narrow
    enough, and close points agree with it. fits: all fits, the narrowest first; side_fits: those on one side of it.
    """

    value: np.ndarray
    error: np.ndarray
    kind: np.ndarray
    left: np.ndarray
    right: np.ndarray
    side_error: np.ndarray
    noise: np.ndarray
    width: np.ndarray
    change: np.ndarray
    limit: np.ndarray
    lost: np.ndarray
    settled: np.ndarray
    fits: tuple[Fit, ...] = ()
    side_fits: tuple[Fit, ...] = ()

    @classmethod
    def unknown(cls, count: int) -> Estimate:
        nan, inf = (functools.partial(np.full, count, x) for x in (np.nan, np.inf))
        zeros = functools.partial(np.zeros, count)
        kind = np.full(count, "none", dtype=object)
        never = functools.partial(np.zeros, count, bool)
        return cls(nan(), inf(), kind, nan(), nan(), inf(), zeros(), nan(), zeros(), inf(), never(), never())

    @property
    def known(self) -> np.ndarray:
        """Mask of slopes with a single known value: no kink, jump or edge."""
        return (self.kind == "smooth") & np.isfinite(self.error)

    def excluded_by(self, slope: np.ndarray, own: np.ndarray, margin: float) -> np.ndarray:
        """Count the fits that agree with the interval and exclude a slope, each by itself: (R,).

        own, margin: a slope may be off by this, plus so many errors of the fit. A fit of equal values does not count if
        the values are not equal further away.
        """
        count = np.zeros(len(self.value), int)
        for f in (*self.fits, *self.side_fits):
            with np.errstate(invalid="ignore"):
                agrees = (np.abs(f.value - self.value) <= f.error + self.error) & (f.width < self.limit)
                count += agrees & (np.abs(f.value - slope) > margin * f.error + own) & ~(f.constant & self.lost)
        return count


def estimate(line: Line, enough: np.ndarray | float = 0.0) -> Estimate:
    """Return the slopes along a line, for each of its outputs or combinations of them.

    enough: absolute error that is good enough, even if the relative error is above WANTED.
    """
    chain = Chain(line, 0, enough).run()
    result = estimate_from(chain)
    against = (chain.against >= 0) & np.isfinite(chain.error)
    if chain.fits and (constant := chain.constant()).any():
        result.value[constant] = 0.0
        result.error[constant] = (line.rounding(line.base[None]) / max(WIDE, 1 / (3 * min(line.scale, 1.0))))[constant]
    if chain.fits and (lost := (result.kind == "smooth") & chain.seems_constant()).any():
        widest = np.max([np.where(f.constant, f.width, 0.0) for f in chain.fits], axis=0)
        lost &= result.width <= widest
        known = line.measured_rounding
        least = (line.rounding(line.base[None]) if known is None else known) / np.maximum(widest, TINY)
        result.error[lost] = (least if known is not None else np.maximum(result.error, least))[lost]
        result.value[lost & (known is not None)] = 0.0
        result.lost = lost
    result.settled = settled = chain.settled
    if settled.all():
        return result
    open_ = ~against & ~(result.lost & (line.measured is not None))  # equal values without rounding have slope 0
    unclear = open_ & ~(result.error <= UNCLEAR * np.abs(result.value)) & ~chain.good()
    blurred = result.known & open_ & ~chain.good() & (result.width < FIRST) & line.alone
    blurred |= open_ & ~settled & chain.shows_kink()
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
    """Return the estimate that the fits agree on."""
    result = Estimate.unknown(chain.count)
    result.value, result.error, result.change = chain.value, chain.error, chain.change
    result.noise, result.width, result.fits = chain.noise, chain.width, tuple(chain.fits)
    result.kind[np.isfinite(chain.error)] = "smooth"
    widths = np.array([*(f.width for f in chain.fits), np.inf])
    result.limit = widths[np.where(chain.against < 0, len(chain.fits), chain.against)]
    return result


def estimate_sides(line: Line, result: Estimate, where: np.ndarray) -> None:
    """Estimate slopes from the left and from the right where no symmetric fit can be trusted."""
    sides, jump = [], np.zeros(len(result.value), bool)
    settled = []
    for side in (-1, 1):
        chain = Chain(line, side).run()
        found = estimate_from(chain)
        value, error = found.value, found.error
        result.side_fits += found.fits
        settled.append(chain.settled)
        for j in np.flatnonzero(where & ~settled[-1]):
            noise = min((float(f.noise[j]) for f in chain.fits), default=0.0)
            limit, growth = limit_from_side(line, side, int(j), noise, chain.least)
            jump[j] |= growth == "jump"
            if growth:
                value[j], error[j] = limit
        sides.append((value, error))
    (left, left_error), (right, right_error) = sides
    tolerance = left_error + right_error
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(left), np.abs(right))
        apart = (left != right) & ~(np.abs(left - right) <= tolerance)
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
            result.settled[j] = settled[0 if has_left[j] else 1][j]
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
FLAT, STEEP = 0.02, 0.95  # powers of the distance with which a function grows: below, at a jump; above, with a slope
STEPS = 10.0 ** -np.arange(2.0, 16.0)  # steps of one-sided slopes that may have an infinite limit


def limit_from_side(line: Line, side: int, j: int, noise: float, least: float) -> tuple[tuple[float, float], str]:
    """Return the limit and error of one-sided slopes, and "jump" or "infinite" if they keep growing, else "".

    least: width of the narrowest fits. If slopes still grow there, a singularity is closer: "steep".
    """
    t, values = line.values(side * STEPS[4 * line.unit_of_x < STEPS])
    _, ends = line.values(STEPS[0] * np.array([-1.0, 1.0]))
    change = float(np.max(np.abs(ends[:, j] - line.base[j]), where=np.isfinite(ends[:, j]), initial=0.0)) / STEPS[0]
    gaps = values[:, j] - line.base[j]
    rounding = float(line.rounding(line.base[None])[j])
    usable = np.isfinite(gaps) & (np.abs(gaps) > max(100 * rounding, 10 * noise)) & (t != 0)
    if usable.sum() < 5:
        return (np.nan, np.inf), ""
    gaps, t = gaps[usable], t[usable]
    powers = np.diff(np.log(np.abs(gaps))) / np.diff(np.log(np.abs(t)))
    if (powers[-4:] < FLAT).all():
        return (np.nan, np.inf), "jump" if abs(gaps[-1]) > LEAST_JUMP * change else ""
    if (np.abs(powers[-4:] - (FLAT + STEEP) / 2) < (STEEP - FLAT) / 2).all() and np.ptp(powers[-4:]) < 0.2:
        return (float(np.sign(gaps[-1]) * side) * np.inf, 0.0), "infinite"
    wide = powers[np.abs(t[1:]) >= least]
    return (np.nan, np.inf), "steep" if (wide[-2:] < STEEP).all() and len(wide) > 1 else ""
