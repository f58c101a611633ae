"""Numeric derivatives with an error estimate, along one line at a time.

Wide fits of a function with rounded intermediate results end in one plateau, and so do those of a function that
swings or jumps faster than they resolve; narrow fits may sit on one stair and see no noise at all.

A line is a function t -> phi(t) in R^m around t = 0. On an interval [-H, H] it is sampled at Chebyshev nodes. The
coefficients of its Chebyshev series tell everything at once: for a smooth function they fall geometrically until
they reach a plateau, which is the noise of phi; where they have not reached one, H is too large for the function
(or there is a kink in reach). The derivative at 0 is a weighted sum of the odd coefficients, and its error follows
from the plateau and from where the series was cut.

Sources: as in `fit`, and More and Wild, "Estimating computational noise", SIAM J. Sci. Comput. 33 (2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .fit import FLAT, Estimate, Fit, Line, SmallSteps, limit, mean_of_fits
from .flat import Flat

SINGLE = 5e-7  # the noise, relative to the value, that intermediate results in float32 may leave
STAIR = 30.0  # how many times the noise of a fit the edges of stairs, that its rounding makes, may be high
SUDDEN_GROWTH = 1e6
"""How many times the noise of an analytic curve's fit may grow at twice the width (coefficients grow 2**16 times)."""
MANY_FITS, LEVEL_GROWTH = 6, 0.2
"""Noise over so many fits, that grows with less than this power of their width, is a plateau however it scatters."""
HALF_GAP = 106.0  # half the gap of a kink at the middle of a fit, in units of the fit's noise over its width
SEES_THROUGH = 1e-3  # a fit whose noise is so small beside a plateau sees through it
MISSED = 0.3
"""A fit that changes by less than this part of what a narrower one does has missed something between its nodes."""
CONTRADICTED = 2.5  # how many of their errors fits may be apart
NOISE_STEPS = 4  # a function that changes in fewer steps of a fit than this, has edges and no noise
EDGE_SPACING = 3e-7
"""Edges closer together than this, in units of x or of 1, are rounding: of x, or of 1 beside a small x."""
AVERAGED_FITS, PRECISE = 10, 1e-7  # so many fits are averaged where noise hides more than this part of a derivative
WIDEST_AVERAGED = 10.0
"""Fits up to so many scales of x wide are averaged: in wider ones it is not noise alone that they are off by."""
RATIO = 4.0  # between the half-widths of consecutive fits
LEAST_POWER = 0.05
"""The powers of a step that slopes grow with which are neither those of a smooth function, 0, nor of a jump, 1."""
FIRST_WIDTH = 0.3  # the first half-width, in units of the scale of x
MOST_FITS = 24
WIDER_FITS = 8
PRECISE_ENOUGH = 1e-9  # a relative error below which no better estimate is looked for


def in_step(growth: np.ndarray) -> np.ndarray:
    """Return where noise grows with the width of fits, as that of a kink does."""
    return (growth > 2.5) & (growth < 8)


def longest_run(rows: np.ndarray) -> np.ndarray:
    """Return, per column, the length of the longest run of true rows."""
    run = np.zeros(rows.shape[1], int)
    longest = run.copy()
    for row in rows:
        run = np.where(row, run + 1, 0)
        longest = np.maximum(longest, run)
    return longest


class Fits:
    """The fits of a line, by falling width, as arrays of shape (fits, m): the choice among them, and what it hides."""

    def __init__(self, flat: Flat, i: int, combine: Callable[[np.ndarray], np.ndarray]):
        """Fit along element i of x; `far` fits are wider than its scale. combine: takes outputs (points, m)."""
        self.line = line = Line(
            lambda offsets: combine(flat.along(np.full(len(offsets), i), offsets)), flat.coordinate(i), flat.unit
        )
        self.scale, size = float(flat.scales[i]), abs(float(line.x))
        self.f0 = f0 = combine(flat.f0[None])[0]
        narrowest = max(line.unit, float(np.finfo(line.x.dtype).eps) / 2)
        # the least width still spans enough numbers around x
        self.least = 64 * narrowest * (size or self.scale * narrowest**0.5)
        fits = self.fit_downward()
        self.far = self.fit_upward(fits)
        self.small = SmallSteps(line, self.scale, self.least, f0)
        self.hiding = np.zeros(len(f0), bool)
        self.columns = np.arange(len(f0))
        self.values = np.stack([fit.value for fit in fits])
        self.errors = np.stack([fit.error for fit in fits])
        self.noise = np.stack([np.where(fit.finite, fit.noise, np.nan) for fit in fits])
        self.rounded = np.stack([fit.rounded & fit.finite for fit in fits])
        self.constant = np.stack([fit.constant for fit in fits])
        self.curved = np.stack([fit.curved for fit in fits])
        self.changes = np.stack([np.where(fit.finite, fit.variation, np.inf) for fit in fits])
        self.spreads = np.stack([fit.spread for fit in fits])
        narrower = np.maximum.accumulate(np.where(np.isfinite(self.changes), self.changes, 0.0)[::-1])[::-1]
        missed = np.zeros(self.rounded.shape, bool)  # a wide fit whose nodes saw less than narrower ones
        missed[:-1] = self.changes[:-1] < MISSED * narrower[1:]
        self.rounded &= ~missed
        self.constant &= ~missed
        self.widths = np.array([fit.width for fit in fits])
        self.refuse_contradicted()
        self.unit_of_x = max(1.0, size)
        self.stair = FLAT * line.unit * np.maximum(self.unit_of_x, np.abs(f0))

    def fit_downward(self) -> list[Fit]:
        """Return fits of falling width, until narrower ones know no more."""
        fits: list[Fit] = []
        width, worse = FIRST_WIDTH * self.scale, 0
        best = np.full(len(self.f0), np.inf)
        while width >= self.least and len(fits) < MOST_FITS and not (np.isfinite(best).all() and worse >= 2):
            fit = self.line.fit(width)
            fits.append(fit)
            usable = np.where(fit.rounded, fit.error, np.inf)
            worse = 0 if (usable < best).any() else worse + 1
            best = np.minimum(best, usable)
            width /= RATIO
        return fits

    def fit_upward(self, fits: list[Fit]) -> int:
        """Put wider fits before the others while these may tell more; return how many."""
        width, first = FIRST_WIDTH * self.scale, len(fits)
        upward = max(WIDER_FITS, math.ceil(math.log(1 / min(self.scale, 1.0), RATIO)))
        for _ in range(min(upward, MOST_FITS)):
            top = fits[0]  # a wider fit may know more where this is rounded but coarse, constant, or over noise
            coarse = top.error > PRECISE_ENOUGH * np.maximum(np.abs(top.value), np.finfo(float).tiny)
            least = np.min([np.where(fit.rounded, np.inf, fit.noise) for fit in fits], axis=0)
            over_noise = ~top.rounded & (top.noise <= 30 * least)
            if not (top.finite & ((top.rounded & coarse) | top.constant | over_noise)).any():
                break
            width *= RATIO
            fits.insert(0, self.line.fit(width))
        return len(fits) - first

    def refuse_contradicted(self) -> None:
        """Take back the fits beyond the scale of x that narrower ones there contradict: a step that none resolves."""
        for k in range(self.far - 1):
            narrower = slice(k + 1, self.far)
            apart = np.abs(self.values[k] - self.values[narrower])
            room = CONTRADICTED * (self.errors[k] + self.errors[narrower])
            self.rounded[k] &= ~(self.rounded[narrower] & (apart > room)).any(axis=0)

    def take(self, result: Estimate, where: np.ndarray, place: np.ndarray, error: np.ndarray, kind: str) -> None:
        """Let one fit of each column, with an error, be the estimate at some columns."""
        result.put(where, self.values[place, self.columns], error, kind)
        result.noise[where] = self.noise[place, self.columns][where]
        result.width[where] = self.widths[place][where]

    def on_stairs(self, result: Estimate) -> np.ndarray:
        """Take a far wider fit where all that narrow ones see are stairs that rounding makes; return where.

        So it is with 1 - cos(x) at 1e-7: the function changes by less than the rounding of cos(x) over the whole
        scale of x. The wider fit resolves it, and its noise explains where the narrow ones contradict it.
        """
        if not self.far:
            return np.zeros(len(self.f0), bool)
        usable = np.where(self.rounded[: self.far] & ~self.constant[: self.far], self.errors[: self.far], np.inf)
        wide = usable.argmin(axis=0)
        value, error = self.values[wide, self.columns], self.errors[wide, self.columns]
        noise = STAIR * self.noise[wide, self.columns]
        apart = np.abs(value - result.value)
        stairs = ~(apart <= error + result.error) & ~(apart * result.width > noise)
        gaps = np.maximum(np.abs(self.small.up_gap[:7]), np.abs(self.small.down_gap[:7])).max(axis=0)
        stairs &= np.isfinite(usable[wide, self.columns]) & (gaps <= noise)
        self.take(result, stairs, wide, error, "smooth")
        return stairs

    def compare_with_wider(self, result: Estimate, chosen: np.ndarray) -> None:
        """Add how far the next wider fit is to the error: where both are rounded, or wider than the scale of x."""
        wider = np.maximum(chosen - 1, 0)
        beyond = (chosen < self.far) & (chosen > 0)
        change = np.abs(self.values[wider, self.columns] - result.value)
        apart = change > self.errors[wider, self.columns] + result.error
        beyond |= (chosen > 0) & self.rounded[wider, self.columns] & apart
        result.error[beyond] = np.maximum(result.error, change / 2)[beyond]
        self.hiding |= beyond & apart

    def doubt_hidden_kinks(self, result: Estimate, chosen: np.ndarray) -> None:
        """Add what rounding hides of a kink, or of a jump of a higher derivative, to the error of narrow fits.

        Its noise grows as a power of the width: the width itself for a kink, of which half the gap is missing, more
        for jumps of higher derivatives, of which wider fits show more.
        """
        if len(self.noise) < 4:
            return
        above = np.cumsum(~self.rounded[::-1], axis=0)[::-1] == 0  # rounded, and all narrower ones too
        last = np.argmax(above, axis=0) - 1
        where = above.any(axis=0) & (last >= 2) & (last < chosen)
        last = np.clip(last, 2, len(self.noise) - 2)
        growth = self.noise[last - 1, self.columns] / self.noise[last, self.columns]
        before = self.noise[last - 2, self.columns] / self.noise[last - 1, self.columns]
        power = where & (growth > 2.5) & (growth < 300) & (np.abs(np.log(before / growth)) < 0.5)
        power &= self.noise[last + 1, self.columns] > 0.1 * self.noise[last, self.columns] / growth
        gap = HALF_GAP * self.noise[last, self.columns] / self.widths[last]
        change = np.abs(self.values[last, self.columns] - result.value)
        missing = np.where(growth < 8, np.maximum(gap, change), change)
        result.error[power] = np.maximum(result.error, missing)[power]
        self.hiding |= power

    def doubt_constants(self, result: Estimate, where: np.ndarray) -> None:
        """Give constants on a tiny interval the error that rounding of its size may hide there."""
        same = self.constant & self.rounded
        widest = np.argmax(same, axis=0)
        beyond = np.maximum(widest - 1, 0)
        change = 2 * self.changes[beyond, self.columns]
        doubtful = where & same.any(axis=0) & (widest > 0) & (change <= self.stair) & (result.value == 0)
        doubtful &= self.widths[widest] < EDGE_SPACING * self.unit_of_x
        result.error[doubtful] = np.maximum(result.error, change / self.widths[widest])[doubtful]

    def settle_noise(self, result: Estimate, fitted: np.ndarray, chosen: np.ndarray, skip: np.ndarray) -> None:
        """Where wide fits share one plateau far above rounding, that is noise, or structure that they do not resolve.

        It is structure where narrower fits resolve a curve that goes on beside them, and where few steps make the
        plateau (a jump, a spike). Elsewhere a narrow fit may sit within one stair of rounded intermediate results,
        and does not see the noise: then what wide fits say counts. The narrow one is a second candidate, unless
        it is a constant that rounding explains.
        """
        next_width = RATIO * self.widths[chosen]
        far_apart = fitted & (next_width > EDGE_SPACING * self.unit_of_x)  # the next one has seen an edge
        member = self.plateau(np.where(far_apart, self.far, 0))
        noisy = member.any(axis=0) & ~skip
        if not noisy.any():
            return
        counted = np.where(member | ~member.any(axis=0), np.nan_to_num(self.noise), np.nan)
        typical = np.nanmedian(counted, axis=0)
        lucky = np.maximum(0.5 * typical / self.noise, 1.0)  # noise that few nodes happened not to see
        errors = np.where(member, self.errors * lucky, np.inf)
        pick = errors.argmin(axis=0)
        error = errors[pick, self.columns]
        level = self.noise[pick, self.columns]
        wider = [self.noise[np.maximum(pick - k, 0), self.columns] for k in (1, 2)]
        grows = (pick >= 2) & in_step(wider[0] / level) & in_step(wider[1] / wider[0])
        error = np.where(grows, np.fmax(error, HALF_GAP * level / self.widths[pick]), error)
        self.hiding |= noisy & grows
        curves = self.resolve_curves(result, noisy, member)
        flat = fitted & self.constant[chosen, self.columns]
        single = flat & (level <= SINGLE * self.small.largest[-1])
        high = level > self.stair
        genuine = far_apart & ~single & (high | ~flat)
        few = (self.spreads * member).sum(axis=0) / np.maximum(member.sum(axis=0), 1) < NOISE_STEPS
        noisy &= ~curves & ~(genuine & few)
        narrow = noisy & fitted & (self.widths[chosen] < self.widths[pick])
        precise = result.error < np.maximum(error, 0.01 * np.abs(result.value))
        other = narrow & np.where(flat, genuine | (few & high), precise)
        result.other[other], result.other_error[other] = result.value[other], result.error[other]
        self.take(result, narrow | (noisy & ~fitted), pick, error, "noise")

    def plateau(self, begin: np.ndarray) -> np.ndarray:
        """Return which fits share a plateau: of those that rounding does not explain, from index `begin` on."""
        begun = np.arange(len(self.noise))[:, None] >= begin
        open_ = ~self.rounded & begun
        wide, narrow = self.noise[:-1], self.noise[1:]  # noise is alike at every width
        steady = (narrow > wide / 3) & (narrow < 3 * wide) & open_[1:] & open_[:-1]
        member = self.level_plateau(begun)
        several = longest_run(steady) >= 2
        member[1:] |= steady & several
        member[:-1] |= steady & several
        return member

    def level_plateau(self, begun: np.ndarray) -> np.ndarray:
        """Return which fits, wider than the first resolved one, have noise that does not grow with their width."""
        wide = begun & (np.cumsum(begun & (self.rounded | np.isnan(self.noise)), axis=0) == 0)
        count = wide.sum(axis=0)
        logs = np.where(wide, np.log(self.noise), 0.0)
        along = np.where(wide, np.log(self.widths)[:, None], 0.0)
        apart = wide * (along - along.sum(axis=0) / count)
        growth = (apart * logs).sum(axis=0) / (apart**2).sum(axis=0)
        return wide & (count >= MANY_FITS) & (np.abs(growth) < LEVEL_GROWTH)

    def resolve_curves(self, result: Estimate, noisy: np.ndarray, member: np.ndarray) -> np.ndarray:
        """Take the best fit below a plateau where the first that sees through it is a piece of an analytic curve.

        Such a curve goes on at two and four times the width. Stairs do not, however smooth they are in between:
        there the next edge shows. Returns where it is so.
        """
        resolved = np.zeros(len(self.f0), bool)
        seen = SEES_THROUGH * self.noise[np.argmax(member, axis=0), self.columns]
        member = member & (self.noise > seen)
        below = np.cumsum(member, axis=0) == member.sum(axis=0)
        clear = below & (self.rounded | (self.noise <= seen))
        first = np.argmax(clear, axis=0)
        where = noisy & clear.any(axis=0) & self.curved[first, self.columns]
        for k in np.unique(first[where]):
            mine = where & (first == k)
            twice = self.line.fit(2 * self.widths[k])
            goes_on = twice.finite & (twice.noise <= SUDDEN_GROWTH * self.noise[k])
            resolved |= mine & goes_on & ~(self.noise[max(k - 1, 0)] > SUDDEN_GROWTH * twice.noise)
        curved = self.curved & (np.arange(len(self.errors))[:, None] >= first)
        narrow = np.where(curved, self.errors, np.inf).argmin(axis=0)
        self.take(result, resolved, narrow, self.errors[narrow, self.columns], "smooth")
        return resolved

    def result(self) -> Estimate:
        """Return the derivatives along the line."""
        result = Estimate(len(self.f0))
        usable = np.where(self.rounded, self.errors, np.inf)
        chosen = usable.argmin(axis=0)
        fitted = np.isfinite(usable[chosen, self.columns])
        result.put(fitted, self.values[chosen, self.columns], self.errors[chosen, self.columns], "smooth")
        result.noise = self.noise[chosen, self.columns]
        result.width = np.where(fitted, self.widths[chosen], np.nan)
        self.compare_with_wider(result, chosen)
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
        self.average(result)
        return result

    def average(self, result: Estimate) -> None:
        """Take the mean of more fits where noise hides more than a millionth of the derivative."""
        plain = (result.kind == "smooth") | (result.kind == "noise")
        near = np.isfinite(result.width) & (result.width <= WIDEST_AVERAGED * self.scale)
        poor = plain & near & ~self.hiding & (result.error > PRECISE * np.abs(result.value))
        for width in np.unique(result.width[poor])[:3]:
            mine = poor & (result.width == width)
            more = [self.line.fit(width * part) for part in np.linspace(0.55, 0.95, AVERAGED_FITS)]
            values = np.stack([result.value, *(fit.value for fit in more)])
            errors = np.stack([result.error, *(fit.error for fit in more)])
            mean, error, agree = mean_of_fits(values, errors)
            better = mine & agree.all(axis=0) & np.isfinite(mean) & (error < result.error)
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
            steady = (np.abs(gaps - middle) <= 0.05 * np.abs(middle)).all(axis=0)
            jumps |= steady & (np.abs(middle) > 1e3 * self.line.unit * self.small.largest[0])
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
        (left, left_error), (right, right_error) = (self.from_side(side, where) for side in (-1, 1))
        result.left[where], result.left_error[where] = left[where], left_error[where]
        result.right[where], result.right_error[where] = right[where], right_error[where]
        has_left, has_right = np.isfinite(left_error) & ~jump, np.isfinite(right_error) & ~jump
        apart = (left != right) & ~(np.abs(left - right) <= left_error + right_error)
        both = where & has_left & has_right
        result.put(both & ~apart, (left + right) / 2, np.maximum(left_error, right_error), "smooth")
        half = np.abs(left - right) / 2 + left_error + right_error
        result.put(both & apart, (left + right) / 2, half, "kink")
        result.put(where & has_left & ~has_right, left, left_error, "edge")
        result.put(where & has_right & ~has_left, right, right_error, "edge")
        result.put(where & jump, np.full(len(jump), np.nan), np.full(len(jump), np.inf), "jump")

    def from_side(self, side: int, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, error = np.full(len(self.f0), np.nan), np.full(len(self.f0), np.inf)
        width, worse = FIRST_WIDTH * self.scale, 0
        for _ in range(MOST_FITS):
            if width < self.least or (np.isfinite(error[where]).all() and worse >= 2):
                break
            fit = self.line.fit_side(width, side)
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
