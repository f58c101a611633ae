"""Estimate the slope of a function along a line, and its error, from fits at many scales that must agree.

Scale consistency: a wide fit sharpens a narrow one only if the two agree; otherwise, the wide one has missed
structure. There is one exception: if the values jump between neighbouring points, the function is computed in pieces.
Pieces as short as those of rounding are limited precision, and the slope is that of the trend. Longer pieces are a
staircase, and the slope is that of the piece.

Source: More and Wild, "Estimating computational noise", SIAM J. Sci. Comput. 33 (2011). Constants whose comments give
no other source are calibrated (see verdict.py).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .chain import FEW, FIRST, MUCH_NOISE, PAIRS, RATIO, SMALL_X, WANTED, WIDE, Chain
from .fit import QUICK, fit
from .sampler import TINY, Line

PER_ESTIMATE = FEW + 2 * len(PAIRS) + 1  # calls for one estimate of a smooth function: a fit, PAIRS, and the point
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
