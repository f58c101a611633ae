"""Numeric derivatives with an error estimate, along one line at a time.

A line is a function t -> phi(t) in R^m around t = 0. On an interval [-H, H] it is sampled at Chebyshev nodes. The
coefficients of its Chebyshev series tell everything at once: for a smooth function they fall geometrically until
they reach a plateau, which is the noise of phi; where they have not reached one, H is too large for the function
(or there is a kink in reach). The derivative at 0 is a weighted sum of the odd coefficients, and its error follows
from the plateau and from where the series was cut.

Sources: Trefethen, "Approximation Theory and Approximation Practice" (2013), chapters 3, 4 and 7 (series and
their decay); More and Wild, "Estimating computational noise", SIAM J. Sci. Comput. 33 (2011).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .estimate import Estimate, limit, small_steps
from .fit import Fit, Line, fit_centred, one_sided
from .plateau import Plateaus, longest_run

FINE = 1e-7
MORE = 10
"""Fits that are averaged where noise hides more than FINE of a derivative."""
BESIDE = 10.0
"""Fits up to so many scales of x wide are averaged: in wider ones it is not noise alone that they are off by."""
RATIO = 4.0
"""Between the half-widths of consecutive fits."""
LEAST_POWER = 0.05
"""The powers of a step that slopes grow with which are neither those of a smooth function, 0, nor of a jump, 1."""
TOP = 0.3
"""The first half-width, in units of the scale of x."""
LEVELS = 24
UPWARD = 8


def smallest_step(x: float, scale: float, unit: float) -> float:
    """Return the smallest half-width that still spans enough numbers around x."""
    return 64 * unit * (abs(x) if x else scale * unit**0.5)


def estimate(line: Line, x: Any, scale: float, f0: np.ndarray, unit: float, enough: float = 1e-9) -> Estimate:
    """Return the derivatives at 0 of the m functions of a line.

    x: the coordinate that varies, a NumPy float of its own type; scale: its size (positive). f0: phi(0). unit:
    the rounding unit of the values. enough: a relative error below which no better estimate is looked for.
    """
    fits: list[Fit] = []
    least = smallest_step(float(x), scale, max(unit, float(np.finfo(np.asarray(x).dtype).eps) / 2))
    width = TOP * scale
    best = np.full(len(f0), np.inf)
    worse = 0
    while width >= least and len(fits) < LEVELS and not (np.isfinite(best).all() and worse >= 2):
        fit = fit_centred(line, x, width, unit)
        fits.append(fit)
        usable = np.where(fit.rounded, fit.error, np.inf)
        worse = 0 if (usable < best).any() else worse + 1
        best = np.minimum(best, usable)
        width /= RATIO
    width = TOP * scale
    first = len(fits)
    upward = max(UPWARD, math.ceil(math.log(1 / min(scale, 1.0), RATIO)))
    for _ in range(min(upward, LEVELS)):
        if not wider_may_tell(fits, enough).any():
            break
        width *= RATIO
        fits.insert(0, fit_centred(line, x, width, unit))
    small = small_steps(line, x, scale, least, f0, unit)
    decision = Decision(line, x, scale, f0, unit, least, fits, small, len(fits) - first)
    result = decision.result()
    decision.average(result)
    return result


def wider_may_tell(fits: list[Fit], enough: float) -> np.ndarray:
    """Return where a fit wider than the first may know more: that is rounded but coarse, constant, or over noise."""
    top = fits[0]
    coarse = top.error > enough * np.maximum(np.abs(top.value), np.finfo(float).tiny)
    least = np.min([np.where(fit.rounded, np.inf, fit.noise) for fit in fits], axis=0)
    return top.finite & ((top.rounded & coarse) | top.constant | (~top.rounded & (top.noise <= 30 * least)))


class Decision(Plateaus):
    """Chooses among the fits of one line, and looks closer where they do not settle it."""

    def result(self) -> Estimate:
        """Return the estimate."""
        result = Estimate(len(self.f0))
        usable = np.where(self.rounded, self.errors, np.inf)
        chosen = usable.argmin(axis=0)
        fitted = np.isfinite(usable[chosen, self.columns])
        result.put(fitted, self.values[chosen, self.columns], self.errors[chosen, self.columns], "smooth")
        result.noise = self.noise[chosen, self.columns]
        result.width = np.where(fitted, self.widths[chosen], np.nan)
        self.hear_wider(result, chosen)
        self.doubt_hidden_kinks(result, chosen)
        stairs = self.on_stairs(result)
        if self.far:
            self.doubt_constants(result, ~stairs)
        sharp, jump = (self.kinks() | self.steepens()) & ~stairs, self.jumps() & ~stairs
        fitted &= ~sharp & ~jump
        self.settle_noise(result, fitted, chosen, sharp | jump | stairs)
        self.compare_small_steps(result, fitted & ~stairs, self.widths[chosen])
        open_ = (result.kind == "none") | sharp | jump
        if open_.any():
            self.look_aside(result, open_, jump)
        return result

    def average(self, result: Estimate) -> None:
        """Take the mean of more fits where noise hides more than a millionth of the derivative."""
        plain = (result.kind == "smooth") | (result.kind == "noise")
        with np.errstate(all="ignore"):
            near = result.width <= BESIDE * self.scale
            poor = (
                plain & near & ~self.hiding & (result.error > FINE * np.abs(result.value)) & np.isfinite(result.width)
            )
        for width in np.unique(result.width[poor])[:3]:
            mine = poor & (result.width == width)
            more = [
                fit_centred(self.line, self.x, width * factor, self.unit) for factor in np.linspace(0.55, 0.95, MORE)
            ]
            values = np.stack([result.value, *(fit.value for fit in more)])
            errors = np.stack([result.error, *(fit.error for fit in more)])
            with np.errstate(all="ignore"):
                weights = 1 / errors**2
                mean = (weights * values).sum(axis=0) / weights.sum(axis=0)
                error = 1.5 / np.sqrt(weights.sum(axis=0))
                agree = (np.abs(values - mean) <= errors).all(axis=0)
            better = mine & agree & np.isfinite(mean) & (error < result.error)
            result.value[better], result.error[better] = mean[better], error[better]

    def kinks(self) -> np.ndarray:
        """Return where the one-sided slopes stay apart down to the smallest step that can show it."""
        gap = self.small.right - self.small.left
        noise = 4 * self.small.visible
        clear = np.isfinite(gap) & (np.abs(gap) > 4 * noise)
        same = clear[1:] & clear[:-1] & (np.abs(gap[1:] - gap[:-1]) <= 0.2 * np.abs(gap[1:]) + noise[:-1])
        lowest = np.argmax(clear, axis=0)
        begins = same[np.minimum(lowest, len(same) - 1), self.columns]
        size = np.abs(gap[lowest, self.columns])
        below = np.arange(len(gap))[:, None] < lowest
        could_show = below & (4 * noise < 0.3 * size) & np.isfinite(gap)
        return (longest_run(same) >= 3) & begins & ~could_show.any(axis=0)

    def steepens(self) -> np.ndarray:
        """Return where slopes from one side grow like a power of the step, as those of a root at 0."""
        steep = np.zeros(len(self.f0), bool)
        small = self.small
        with np.errstate(all="ignore"):
            apart = np.diff(np.log(small.steps))[:, None]
            for slopes in (small.left, small.right):
                power = -np.diff(np.log(np.abs(slopes)), axis=0) / apart
                seen = (small.visible < 0.01 * np.abs(slopes)).all(axis=0)
                steep |= seen & (power.min(axis=0) > LEAST_POWER) & (power.max(axis=0) < 1 - LEAST_POWER)
        return steep

    def jumps(self) -> np.ndarray:
        """Return where the function does not approach its value at 0 from both sides."""
        jumps = np.zeros(len(self.f0), bool)
        for gaps in (self.small.up_gap[:7], self.small.down_gap[:7]):
            middle = np.sort(gaps, axis=0)[3]  # the median, which would load numpy.ma
            with np.errstate(all="ignore"):
                steady = (np.abs(gaps - middle) <= 0.05 * np.abs(middle)).all(axis=0)
            jumps |= steady & (np.abs(middle) > 1e3 * self.unit * self.small.largest[0])
        return jumps

    def compare_small_steps(self, result: Estimate, fitted: np.ndarray, widths: np.ndarray) -> None:
        """Where slopes over steps inside a smooth fit contradict it, note them as a second candidate."""
        small = self.small
        for j in np.flatnonzero(fitted & (result.kind == "smooth")):
            inside = (small.steps < 0.5 * widths[j]) & np.isfinite(small.central[:, j]) & ~small.constant[:, j]
            bounds = 4 * small.visible[:, j]
            slack = np.abs(result.value[j]) * (small.steps / widths[j]) ** 2
            apart = inside & (np.abs(small.central[:, j] - result.value[j]) > 3 * (bounds + result.error[j]) + slack)
            if apart.any():
                place = np.flatnonzero(apart)[np.argmin(bounds[apart])]
                result.other[j], result.other_error[j] = small.central[place, j], 3 * bounds[place]

    def look_aside(self, result: Estimate, where: np.ndarray, jump: np.ndarray) -> None:
        """Differentiate from the left and from the right where no symmetric fit is to be trusted."""
        left, left_error = self.from_side(-1, where)
        right, right_error = self.from_side(1, where)
        result.left[where], result.left_error[where] = left[where], left_error[where]
        result.right[where], result.right_error[where] = right[where], right_error[where]
        has_left, has_right = np.isfinite(left_error) & ~jump, np.isfinite(right_error) & ~jump
        with np.errstate(all="ignore"):
            apart = (left != right) & ~(np.abs(left - right) <= left_error + right_error)
            both = where & has_left & has_right
            result.put(both & ~apart, (left + right) / 2, np.maximum(left_error, right_error), "smooth")
            half = np.abs(left - right) / 2 + left_error + right_error
            result.put(both & apart, (left + right) / 2, half, "kink")
        result.put(where & has_left & ~has_right, left, left_error, "edge")
        result.put(where & has_right & ~has_left, right, right_error, "edge")
        nothing = np.full(len(self.f0), np.nan), np.full(len(self.f0), np.inf)
        result.put(where & jump, *nothing, "jump")

    def from_side(self, side: int, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return one-sided derivatives and their errors, infinite where there is none."""
        value, error = np.full(len(self.f0), np.nan), np.full(len(self.f0), np.inf)
        width, worse = TOP * self.scale, 0
        for _ in range(LEVELS):
            if width < self.least or (np.isfinite(error[where]).all() and worse >= 2):
                break
            fit = one_sided(self.line, self.x, width, self.unit, side)
            joined = np.abs(fit.at_end - self.f0) <= 20 * fit.noise
            usable = np.where(fit.rounded & fit.finite & joined, fit.error, np.inf)
            better = usable < error
            value = np.where(better, fit.value, value)
            error = np.minimum(error, usable)
            worse = 0 if better[where].any() else worse + 1
            width /= RATIO
        slopes = self.small.right if side == 1 else self.small.left
        for j in np.flatnonzero(where & ~np.isfinite(error)):
            value[j], error[j] = limit(slopes[:, j], self.small.visible[:, j])
        return value, error
