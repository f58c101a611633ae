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

from typing import Any

import numpy as np

from .fit import Fit, Line, centred, one_sided, representable, rounding_of

FINE = 1e-7
MORE = 10
"""Fits that are averaged where noise hides more than FINE of a derivative."""
SINGLE = 5e-7
"""The noise, relative to the value, that intermediate results in float32 may leave."""
RATIO = 4.0
"""Between the half-widths of consecutive fits."""
TOP = 0.3
"""The first half-width, in units of the scale of x."""
LEVELS = 24
UPWARD = 8


class Estimate:
    """Derivatives of m functions at 0 along a line.

    value, error: the reference and the half-width of its interval, infinite where there is none. other,
    other_error: a second candidate where small and large steps disagree, nan where there is none. left, right
    and their errors: one-sided derivatives where `kind` is "kink" or "edge". kind: "smooth", "noise" (the
    plateau is far above rounding), "kink", "jump", "edge" (the function ends here), "none".
    """

    def __init__(self, m: int):
        self.value = np.full(m, np.nan)
        self.error = np.full(m, np.inf)
        self.other = np.full(m, np.nan)
        self.other_error = np.full(m, np.nan)
        self.left, self.left_error = np.full(m, np.nan), np.full(m, np.inf)
        self.right, self.right_error = np.full(m, np.nan), np.full(m, np.inf)
        self.kind = np.full(m, "none", dtype=object)
        self.noise = np.zeros(m)
        self.width = np.full(m, np.nan)

    def put(self, where: np.ndarray, value: Any, error: Any, kind: str) -> None:
        """Set value, error and kind at some places."""
        self.value[where], self.error[where], self.kind[where] = value[where], error[where], kind


def smallest_step(x: float, scale: float, unit: float) -> float:
    """Return the smallest half-width that still spans enough numbers around x."""
    return 64 * unit * (abs(x) if x else scale * unit**0.5)


def estimate(line: Line, x: Any, scale: float, f0: np.ndarray, unit: float, enough: float = 1e-9) -> Estimate:
    """Return the derivatives at 0 of the m functions of a line.

    x: the coordinate that varies, a NumPy float of its own type; scale: its size (positive). f0: phi(0). unit:
    the rounding unit of the values. enough: a relative error below which no better estimate is looked for.
    """
    fits: list[Fit] = []
    least = smallest_step(float(x), scale, unit)
    width = TOP * scale
    best = np.full(len(f0), np.inf)
    worse = 0
    while width >= least and len(fits) < LEVELS and not (np.isfinite(best).all() and worse >= 2):
        fit = centred(line, x, width, unit)
        fits.append(fit)
        usable = np.where(fit.rounded, fit.error, np.inf)
        worse = 0 if (usable < best).any() else worse + 1
        best = np.minimum(best, usable)
        width /= RATIO
    width = TOP * scale
    for _ in range(UPWARD):
        top = fits[0]
        coarse = top.error > enough * np.maximum(np.abs(top.value), np.finfo(float).tiny)
        if not (top.rounded & top.finite & coarse).any():
            break
        width *= RATIO
        fits.insert(0, centred(line, x, width, unit))
    small = small_steps(line, x, scale, least, f0, unit)
    decision = Decision(line, x, scale, f0, unit, least, fits, small)
    result = decision.result()
    decision.average(result)
    return result


class Small:
    """Slopes over small symmetric steps: steps (k,), central, right and left slopes (k, m), visible error (k, m)."""

    def __init__(self, steps: np.ndarray, up: np.ndarray, down: np.ndarray, f0: np.ndarray, unit: float):
        self.steps = steps
        column = steps[:, None]
        self.central = (up - down) / (2 * column)
        self.right = (up - f0) / column
        self.left = (f0 - down) / column
        largest = np.fmax(np.fmax(np.abs(up), np.abs(down)), np.abs(f0))
        self.visible = 2 * rounding_of(largest, unit) / column
        self.constant = (up == f0) & (down == f0)
        self.up_gap, self.down_gap = up - f0, f0 - down
        self.largest = largest


def small_steps(line: Line, x: Any, scale: float, least: float, f0: np.ndarray, unit: float) -> Small:
    """Return slopes over steps from the smallest sensible one up to a hundredth of the scale."""
    steps = np.geomspace(max(least / 4, 4 * np.finfo(float).tiny), 0.01 * scale, 13)
    away = -1.0 if float(x) < 0 else 1.0
    steps = np.abs(representable(x, away * steps))
    values = line(np.concatenate([steps, -steps]))
    return Small(steps, values[: len(steps)], values[len(steps) :], f0, unit)


def longest_run(rows: np.ndarray) -> np.ndarray:
    """Return, per column, the length of the longest run of true rows."""
    run = np.zeros(rows.shape[1], int)
    longest = run.copy()
    for row in rows:
        run = np.where(row, run + 1, 0)
        longest = np.maximum(longest, run)
    return longest


class Decision:
    """Chooses among the fits of one line, and looks closer where they do not settle it."""

    def __init__(
        self,
        line: Line,
        x: Any,
        scale: float,
        f0: np.ndarray,
        unit: float,
        least: float,
        fits: list[Fit],
        small: Small,
    ):
        self.line, self.x, self.scale, self.f0, self.unit, self.least = line, x, scale, f0, unit, least
        self.small = small
        self.columns = np.arange(len(f0))
        self.values = np.stack([fit.value for fit in fits])
        self.errors = np.stack([fit.error for fit in fits])
        self.noise = np.stack([np.where(fit.finite, fit.noise, np.nan) for fit in fits])
        self.rounded = np.stack([fit.rounded & fit.finite for fit in fits])
        self.constant = np.stack([fit.constant for fit in fits])
        self.orders = np.stack([fit.order for fit in fits])
        self.spreads = np.stack([fit.spread for fit in fits])
        self.widths = np.array([fit.width for fit in fits])

    def result(self) -> Estimate:
        """Return the estimate."""
        result = Estimate(len(self.f0))
        usable = np.where(self.rounded, self.errors, np.inf)
        chosen = usable.argmin(axis=0)
        found = np.isfinite(usable[chosen, self.columns])
        result.put(found, self.values[chosen, self.columns], self.errors[chosen, self.columns], "smooth")
        result.noise = self.noise[chosen, self.columns]
        result.width = np.where(found, self.widths[chosen], np.nan)
        sharp, jump = self.kinked(), self.jumps()
        found &= ~sharp & ~jump
        self.settle_noise(result, found, chosen, sharp | jump)
        self.compare_small_steps(result, found, self.widths[chosen])
        open_ = (result.kind == "none") | sharp | jump
        if open_.any():
            self.look_aside(result, open_, jump)
        return result

    def average(self, result: Estimate) -> None:
        """Take the mean of more fits where noise hides more than a millionth of the derivative."""
        plain = (result.kind == "smooth") | (result.kind == "noise")
        with np.errstate(all="ignore"):
            poor = plain & (result.error > FINE * np.abs(result.value)) & np.isfinite(result.width)
        for width in np.unique(result.width[poor])[:3]:
            mine = poor & (result.width == width)
            more = [centred(self.line, self.x, width * factor, self.unit) for factor in np.linspace(0.55, 0.95, MORE)]
            values = np.stack([result.value, *(fit.value for fit in more)])
            errors = np.stack([result.error, *(fit.error for fit in more)])
            with np.errstate(all="ignore"):
                weights = 1 / errors**2
                mean = (weights * values).sum(axis=0) / weights.sum(axis=0)
                error = 1.5 / np.sqrt(weights.sum(axis=0))
                agree = (np.abs(values - mean) <= errors).all(axis=0)
            better = mine & agree & np.isfinite(mean) & (error < result.error)
            result.value[better], result.error[better] = mean[better], error[better]

    def kinked(self) -> np.ndarray:
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

    def jumps(self) -> np.ndarray:
        """Return where the function does not approach its value at 0 from both sides."""
        found = np.zeros(len(self.f0), bool)
        for gaps in (self.small.up_gap[:7], self.small.down_gap[:7]):
            middle = np.median(gaps, axis=0)
            with np.errstate(all="ignore"):
                steady = (np.abs(gaps - middle) <= 0.05 * np.abs(middle)).all(axis=0)
            found |= steady & (np.abs(middle) > 1e3 * self.unit * self.small.largest[0])
        return found

    def settle_noise(self, result: Estimate, found: np.ndarray, chosen: np.ndarray, skip: np.ndarray) -> None:
        """Where wide fits share one plateau far above rounding, that is noise, or structure that they do not resolve.

        It is structure where a narrower fit resolves a curve (four coefficients and more), where few steps make
        the plateau (a jump, a spike), or where the function is constant over more than float32 rounds away.
        Elsewhere a narrow fit may sit within one stair of rounded intermediate results, and does not see the
        noise: then what wide fits say counts, and the narrow one is a second candidate.
        """
        with np.errstate(all="ignore"):
            steady = (self.noise[1:] > 0.4 * self.noise[:-1]) & (self.noise[1:] < 2.5 * self.noise[:-1])
        steady &= ~self.rounded[1:] & ~self.rounded[:-1]
        noisy = (longest_run(steady) >= 2) & ~skip
        if not noisy.any():
            return
        member = np.zeros_like(self.rounded)
        member[1:] |= steady
        member[:-1] |= steady
        pick = np.where(member, self.errors, np.inf).argmin(axis=0)
        value, error = self.values[pick, self.columns], self.errors[pick, self.columns]
        level = self.noise[pick, self.columns]
        wide = self.spread_of(member)
        below = np.cumsum(member, axis=0) == member.sum(axis=0)
        first = np.argmax(self.rounded & below, axis=0)
        flat = self.constant[chosen, self.columns]
        single = flat & (level <= SINGLE * self.small.largest[-1])
        resolved = found & (
            ((self.orders[first, self.columns] >= 4) & ~flat)
            | ((wide < 4) & ~single)
            | (flat & ~single & (self.widths[chosen] > 3e-7 * abs(float(self.x))))
        )
        noisy &= ~resolved
        conflict = noisy & found & (self.widths[chosen] < self.widths[pick])
        conflict &= np.abs(value - result.value) > error + result.error
        other = conflict & ~flat
        result.other[other], result.other_error[other] = result.value[other], result.error[other]
        changed = conflict | (noisy & ~found)
        result.put(changed, value, error, "noise")
        result.noise[changed] = level[changed]
        result.width[changed] = self.widths[pick][changed]

    def spread_of(self, member: np.ndarray) -> np.ndarray:
        """Return in how many steps the fits that share a plateau change, on average."""
        return (self.spreads * member).sum(axis=0) / np.maximum(member.sum(axis=0), 1)

    def compare_small_steps(self, result: Estimate, found: np.ndarray, widths: np.ndarray) -> None:
        """Where slopes over steps inside a smooth fit contradict it, note them as a second candidate."""
        small = self.small
        for j in np.flatnonzero(found & (result.kind == "smooth")):
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
            apart = ~(np.abs(left - right) <= left_error + right_error)
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


def limit(slopes: np.ndarray, visible: np.ndarray) -> tuple[float, float]:
    """Return the limit of slopes over falling steps, and its error: for ends where no power series holds.

    slopes, visible: over rising steps. Aitken's extrapolation; slopes that keep growing have an infinite limit
    with error 0.
    """
    usable = np.isfinite(slopes) & (visible < 0.01 * np.maximum(np.abs(slopes), 1e-300))
    falling = slopes[usable][::-1]
    if len(falling) < 5:
        return np.nan, np.inf
    ratios = falling[1:] / falling[:-1]
    if (ratios[-4:] > 1.2).all() and np.ptp(ratios[-4:]) < 0.5 * ratios[-1]:
        return float(np.sign(falling[-1]) * np.inf), 0.0
    first, second = falling[-2] - falling[-3], falling[-1] - falling[-2]
    if second == first:
        return float(falling[-1]), abs(float(second)) + float(visible[usable][0]) * 4
    end = falling[-1] - second**2 / (second - first)
    return float(end), 2 * abs(float(falling[-1] - end)) + 4 * float(visible[usable][0])
