"""Slopes and second derivatives of a function along a line, for somebody who wants the numbers.

`estimate` starts on the scale of x, and takes the values to be exact but for rounding. If a first attempt does not
settle, pairs of points at a few distances show on which scale the function is smooth, and how noisy its values are.
`estimate` then starts from there: it takes half the calls, and finds slopes that are far from the scale of x.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..claims.claim import OutOfCallsError
from ..numeric.estimate import PER_ESTIMATE, Estimate, estimate
from ..numeric.fit import FOLLOWING, NOISE_SIGMAS, SAFETY, Fit, fit
from ..numeric.sampler import TINY, Line

FINE_STRUCTURE = 1e-5  # structure finer than this, in units of the scale, may be the rounding of float32
DISTANCES = (0.5, 0.02, 1e-4, 1e-6, 1e-8)  # of the pairs, in units of the scale; a failed `estimate` has most of them
LOCATED_WITHIN = 30.0  # a structure is located to within this factor: what one fit may be too wide
MOST_DISTANCES = 12  # a choice
CLOSEST = 1e-11  # pairs closer than this differ by a few rounding units of x
STILL = 1e-5  # values that do not change at a distance above this are a step, not rounding
DEVIATION = 0.1  # share of the change at which a pair deviates from the parabola through closer pairs
POWER = 0.08  # exponents of a falling remainder are whole to within this: noise does not fall like a power
SMALL_NOISE = 1e-3  # noise is smaller than this share of the values or of their change: larger is structure
RESOLVED_SHARE = 0.03  # changes of less than this share of the noise show that it is structure
NOISY_UNITS = 8.0  # noise above this many rounding units is more than rounding
CLEAR_CHANGE = 1e5  # a change this many times the noise gives five digits
JUMP_HALVINGS, JUMP_STAYS = 10, 0.1  # a jump keeps a tenth of its size over so many halvings; a slope keeps 1/1000
STEP_HALVINGS, STEP_SHARE = 20, 0.02  # halvings that find the first of several steps, at least this share of them
STEP_STAYS = 0.2  # a step keeps this share of what tells it from the parabola next to the point; a curve keeps 1e-5
TURNS = 0.5  # relative change of the slope over the scale at which a settled estimate is checked for steps
FARTHER = 16.0  # factor between distances in the search for such a change
REACH = 25.0
"""The scale, in units of the distance up to which f is smooth: 0.02 times it, the first fit, is half of that."""
ENOUGH_ACCURACY = 1e-7  # error of a slope relative to those next to it that is good enough
NOISE_LEFT = 50.0  # error of the slope of the widest ordinary fit, in units of the noise
DEGREES = (8, 16)  # of fits for second derivatives; those for slopes have sampled their points
WANTED_SECOND = 1e-6  # relative error at which a second derivative is good enough
LARGEST_COEFFICIENT = 2.0
"""The largest of the last coefficients, in units of their root mean square (at most the root of 5)."""
DOUBTS = 10.0  # slopes of pairs may be off by this many times their difference


class Pairs(NamedTuple):
    """Values at pairs of points: distances (k,), and half the difference and the mean minus f(x) of each, (k, R)."""

    distance: np.ndarray
    odd: np.ndarray
    even: np.ndarray


class View(NamedTuple):
    """What pairs show of one function.

    slope, doubt: at the closest distance at which slopes agree best. noise: of the values, as seen below that distance;
    unsettled: what the closest pair shows of it; finest: the least change seen there. smooth: the index of the largest
    distance up to which f is smooth. beyond: the largest change at the next two distances; steepest: the slope there.
    """

    slope: float
    doubt: float
    noise: float
    unsettled: float
    finest: float
    smooth: int
    beyond: float
    steepest: float


class SlopePlan(NamedTuple):
    """How to estimate a slope. scale: of the line, a power of 2. unit: of rounding or noise, relative to the value."""

    scale: float
    unit: float


def slopes(line: Line) -> Estimate:
    """Return the slopes along a line, for each of its outputs."""
    first = estimate_smooth(line)
    if first is not None:
        pairs = pairs_at(line, DISTANCES[:2])
        wide = pairs.odd[0] / pairs.distance[0]
        with np.errstate(invalid="ignore"):
            turns = np.abs(wide - first.value) > TURNS * np.abs(first.value)
        for j in np.flatnonzero(turns & first.known).tolist():
            doubt_step(line, first, j, pairs, 1)
        return first
    pairs, views = locate_structure(line)
    views = [view and with_steps(line, j, view, pairs.distance) for j, view in enumerate(views)]
    groups, enough = defaultdict(list), np.zeros(len(views))
    for j, view in enumerate(views):
        plan = plan_for(line, j, view, pairs)
        groups[plan].append(j)
        if view is not None:
            noisy = plan.unit > line.flat.unit
            enough[j] = (
                NOISE_LEFT * view.noise if noisy else ENOUGH_ACCURACY * view.steepest * plan.scale * (plan.scale < 1)
            )
    found = Estimate.unknown(len(views))
    for plan, rows in groups.items():
        take_rows(found, rows, estimate_on(line, plan, rows, enough[rows]))
    for j, view in enumerate(views):
        if view is not None:
            doubt(found, j, view, abs(float(line.base[j])))
            if not view.smooth or view.noise > NOISY_UNITS * line.flat.unit * abs(float(line.base[j])):
                continue
        if found.kind[j] == "smooth":
            doubt_step(line, found, j, pairs, view and view.smooth)
    return found


def estimate_smooth(line: Line) -> Estimate | None:
    """Return the estimate if it takes no more calls than those of a smooth function; else None."""
    budget = line.flat.claim.budget
    allowed = budget.allowed
    budget.allowed = min(budget.made + PER_ESTIMATE, budget.made + PER_ESTIMATE if allowed is None else allowed)
    try:
        return estimate(line)
    except OutOfCallsError:
        return None
    finally:
        budget.allowed = allowed


def locate_structure(line: Line) -> tuple[Pairs, list[View | None]]:
    """Sample pairs until the distance at which each function stops being smooth is known well enough."""
    distances = list(DISTANCES)
    while True:
        pairs = pairs_at(line, distances)
        views = [view_of(pairs.distance, pairs.odd[:, j], pairs.even[:, j]) for j in range(len(line.base))]
        more = set()
        for view, size in zip(views, np.abs(line.base), strict=True):
            if view is None:
                continue
            if view.unsettled > NOISY_UNITS * line.flat.unit * size and distances[-1] > CLOSEST:
                more.add(distances[-1] / 100)
            elif view.smooth > 0 and distances[view.smooth - 1] > LOCATED_WITHIN * distances[view.smooth]:
                more.add((distances[view.smooth - 1] * distances[view.smooth]) ** 0.5)
        if not more or len(distances) + len(more) > MOST_DISTANCES:
            return pairs, views
        distances = sorted({*distances, *more}, reverse=True)


def pairs_at(line: Line, distances: Iterable[float]) -> Pairs:
    wanted = np.array(list(distances))
    t, values = line.values(np.concatenate([wanted, -wanted]))
    (right, left), (up, down) = np.split(t, 2), np.split(values, 2)
    with np.errstate(invalid="ignore", over="ignore"):
        return Pairs((right - left) / 2, (up - down) / 2, (up + down) / 2 - line.base)


def view_of(distance: np.ndarray, odd: np.ndarray, even: np.ndarray) -> View | None:
    """Return what pairs show of one function, with the largest distance first; None if they show no slope."""
    with np.errstate(all="ignore"):
        slope = np.where(np.isfinite(odd) & np.isfinite(even), odd / distance, np.nan)
        differ = np.abs(np.diff(slope))
    still = (odd == 0) & (even == 0)
    last = len(distance) - 1
    while last > 0 and still[last]:
        last -= 1
    if last < len(distance) - 1 and distance[last + 1] > STILL:
        return None
    best = most_alike(slope, differ, last)
    if best is None or agree_otherwise(slope[best + 2 : last + 1], float(slope[best + 1]), float(differ[best])):
        return None
    left = unexplained_rest(distance, odd - slope[best + 1] * distance, even, best)
    noise, change = float(left.max(initial=0.0)), np.maximum(np.abs(odd), np.abs(even))
    bend = even[best] / distance[best] ** 2
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.maximum(np.abs(odd - slope[best + 1] * distance), np.abs(even - bend * distance**2))
        smooth = off <= DEVIATION * change + 4 * noise
    rough = np.flatnonzero(~smooth[: best + 1])
    end = int(rough[-1]) + 1 if len(rough) else 0
    closer = change[best + 1 :]
    closest = np.abs(odd[-1] - slope[best + 1] * distance[-1]) - DOUBTS * differ[best] * distance[-1]
    numbers = {
        "slope": slope[best + 1],
        "doubt": differ[best],
        "noise": noise,
        "unsettled": max(closest, left[-1]),
        "finest": np.min(closer[closer > 0], initial=np.inf),
        "beyond": np.max(change[max(end - 2, 0) : end], initial=0.0),
        "steepest": np.abs(slope[max(end - 1, 0)]),
    }
    return View(smooth=end, **{name: float(np.nan_to_num(x, posinf=TINY**-1)) for name, x in numbers.items()})


def most_alike(slope: np.ndarray, differ: np.ndarray, last: int) -> int | None:
    """Return the place where the slopes of neighbouring pairs differ least, None if there is none.

    It is looked for from the closest two pairs that agree: farther ones may agree on the slope of another part of f.
    """
    size = np.maximum(np.abs(slope[:-1]), np.abs(slope[1:]))
    with np.errstate(invalid="ignore"):
        agree = np.flatnonzero(differ[:last] <= DEVIATION * size[:last])
    finite = np.flatnonzero(np.isfinite(differ[:last]))
    if not len(finite):
        return None
    best = int(agree[-1]) if len(agree) else int(finite[-1])
    while best > 0 and differ[best - 1] < differ[best]:
        best -= 1
    return best


def agree_otherwise(closer: np.ndarray, slope: float, differ: float) -> bool:
    """Return whether the slopes of closer pairs agree with each other, but not with the slope."""
    if len(closer) < 2 or not np.isfinite(closer).all():
        return False
    apart = np.abs(closer - slope)
    return bool(apart.min() > DOUBTS * differ and np.ptp(closer) < DEVIATION * apart.min())


def unexplained_rest(distance: np.ndarray, odd: np.ndarray, even: np.ndarray, best: int) -> np.ndarray:
    """Return what remains of f below a distance and does not fall like a power of t: noise, or structure too fine."""
    found = np.zeros(len(distance) - best - 1)
    for remainder in (np.abs(odd), np.abs(even)):
        with np.errstate(all="ignore"):
            power = np.diff(np.log(remainder)) / np.diff(np.log(distance))
            falls = (np.abs(power - np.round(power)) < POWER) & (np.round(power) >= 1)
        explained = np.append(falls, False) | np.insert(falls, 0, False)
        found = np.maximum(found, np.where(explained | ~np.isfinite(remainder), 0.0, remainder)[best + 1 :])
    return found


def with_steps(line: Line, j: int, view: View, distance: np.ndarray) -> View:
    """Return the view of a function that rounding inside it has made a fine staircase: the steps are its noise.

    Fine and small structure may also be real; only jumps between neighbouring points show that it is not.
    """
    size, end = abs(float(line.base[j])), view.smooth
    rounding = NOISY_UNITS * line.flat.unit * size
    if not end or distance[end] > FINE_STRUCTURE or not rounding < view.beyond <= SMALL_NOISE * size:
        return view
    a, b = 0.0, float(distance[end - 1])
    first = 0.0
    for _ in range(JUMP_HALVINGS):
        t, values = line.values(np.array([a, (a + b) / 2, b]))
        gaps = np.abs(np.diff(values[:, j] - view.slope * t))
        first = first or float(gaps.sum())
        a, b = (t[0], t[1]) if gaps[0] >= gaps[1] else (t[1], t[2])
    if not gaps.max() > max(JUMP_STAYS * first, rounding):
        return view
    return view._replace(noise=view.beyond, finest=np.inf, smooth=0, slope=np.nan)


def plan_for(line: Line, j: int, view: View | None, pairs: Pairs) -> SlopePlan:
    """Return how to estimate the slope of function j: on the scale on which it is smooth, or rises above its noise."""
    size, default = float(np.abs(line.base[j])), SlopePlan(1.0, line.flat.unit)
    if view is None:
        return default
    change = float(np.max(np.nan_to_num(np.abs(pairs.odd[:, j]), nan=0.0)))
    small = SMALL_NOISE * max(size, change)
    if view.noise > NOISY_UNITS * default.unit * size:
        if view.noise > small or view.finest < RESOLVED_SHARE * view.noise:
            return default
        unit = view.noise / max(size, TINY)
        unit = unit if len(line.base) == 1 else float(4.0 ** np.ceil(np.log2(unit) / 2))  # to share estimates
        return SlopePlan(clear_scale(line, j, change, view.noise), unit)
    if view.smooth and (pairs.distance[view.smooth] > FINE_STRUCTURE or view.beyond > small):
        return default._replace(scale=min(float(2.0 ** np.floor(np.log2(REACH * pairs.distance[view.smooth]))), 1.0))
    return default


def clear_scale(line: Line, j: int, change: float, noise: float) -> float:
    """Return a scale on which function j changes by much more than its noise: 1, or more if x is small."""
    scale = 1.0
    while change < CLEAR_CHANGE * noise and FARTHER * scale * line.scale <= 1:
        scale *= FARTHER
        change = float(np.nan_to_num(np.abs(pairs_at(line, [scale]).odd[0, j]), nan=np.inf))
    return scale


def estimate_on(line: Line, plan: SlopePlan, rows: list[int], enough: np.ndarray) -> Estimate:
    """Return the estimate of some outputs by a plan, in the units of the line itself."""
    flat, count = line.flat, len(line.base)
    weights = line.weights
    if len(rows) < count:
        weights = (np.eye(count) if weights is None else weights)[rows]
    scaled = line.sampler.line(line.direction * plan.scale, weights, line.origin)
    scaled.kept = {t / plan.scale: row for t, row in line.kept.items() if abs(t) <= 2 * plan.scale}
    unit = flat.unit
    flat.unit = max(unit, plan.unit)
    try:
        found = estimate(scaled, enough)
    finally:
        flat.unit = unit
    line.kept.update({t * plan.scale: row for t, row in scaled.kept.items()})
    for name in ("value", "error", "left", "right", "side_error"):
        setattr(found, name, getattr(found, name) / plan.scale)
    found.width = found.width * plan.scale
    return found


def take_rows(into: Estimate, rows: list[int], found: Estimate) -> None:
    for name, whole in vars(into).items():
        if isinstance(whole, np.ndarray):
            whole[rows] = getattr(found, name)


def estimate_row(found: Estimate, j: int) -> dict[str, Any]:
    """Return what is known of one function, by the names of the arrays of an estimate."""
    return {name: x[j] for name, x in vars(found).items() if isinstance(x, np.ndarray)}


def doubt(found: Estimate, j: int, view: View, size: float) -> None:
    """Widen the error of a slope that the pairs contradict. size: of the value.

    Values that jump by a large share of themselves are not rounded values of a smooth function.
    """
    if found.kind[j] == "limited" and view.noise > SMALL_NOISE * size:
        found.kind[j], found.error[j] = "none", np.inf
    elif found.kind[j] == "smooth" and np.isfinite(found.error[j]) and np.isfinite(view.slope):
        apart = abs(float(found.value[j]) - view.slope)
        if apart > found.error[j] + DOUBTS * view.doubt + view.noise / DISTANCES[1]:
            found.error[j] = max(float(found.error[j]), apart + DOUBTS * view.doubt + view.noise / DISTANCES[1])
        if view.noise > SMALL_NOISE * size and view.finest >= RESOLVED_SHARE * view.noise:
            found.error[j] = max(float(found.error[j]), SAFETY * NOISE_SIGMAS * view.noise / float(found.width[j]))


def doubt_step(line: Line, found: Estimate, j: int, pairs: Pairs, end: int | None) -> None:
    """Widen the error of a slope of one step, or of one tooth of a sawtooth, if steps on both sides end it.

    Rounding of terms that cancel makes such steps, as in (1 - cos(x)) / x**2 near 0. The error then covers the slopes
    of pairs that are farther apart. A function may also have a single jump: its slope next to that is its own.

    end: the index of the largest distance up to which f is smooth; None if it does not change there.
    """
    slope, off = float(found.value[j]), float(found.error[j])
    bend = float(pairs.even[end, j] / pairs.distance[end] ** 2) if end else 0.0
    left = step_on_side(line, j, -1, (slope, bend), off)
    right = None if left is None else step_on_side(line, j, 1, (slope, bend), off)
    if left is not None and right is not None:
        apart = np.abs(pairs.odd[:end, j] / pairs.distance[:end] - slope)
        found.error[j] = np.max(apart, where=np.isfinite(apart), initial=max(left, right, off))
        found.lost[j] = True


def step_on_side(line: Line, j: int, side: int, series: tuple[float, float], off: float) -> float | None:
    """Return how steep the closest step of function j on one side is, seen from the point; None if there is none.

    series: slope and half the second derivative. off: error of the slope. Bisection finds where f leaves this parabola,
    between two samples. A curve has lost its change between points that close to each other; a step keeps its size.
    """

    def rest(t: float) -> tuple[float, float]:
        (at,), values = line.values(np.array([t]))
        return float(at), float(values[0, j] - line.base[j] - series[0] * at - series[1] * at * at)

    least, wide = NOISY_UNITS * line.flat.unit * abs(float(line.base[j])), DEVIATION * abs(series[0]) + DOUBTS * off
    a, at_a = 0.0, 0.0
    for b, at_b in map(rest, sorted((t for t in line.kept if t * side > 0), key=abs)):
        if not max(abs(at_b), abs(at_b + series[1] * b * b)) <= least + wide * abs(b):
            break
        a, at_a = b, at_b
    else:
        return None
    share = STEP_SHARE * abs(at_b)
    for _ in range(STEP_HALVINGS if np.isfinite(at_b) else 0):
        middle, value = rest((a + b) / 2)
        if middle in (a, b):
            break
        on = abs(value) <= max(least + wide * abs(middle), share)
        (a, at_a, b, at_b) = (middle, value, b, at_b) if on else (a, at_a, middle, value)
        if abs(at_b - at_a) < STEP_STAYS * max(least + wide * abs(b), share):
            return None
    return abs((at_b - at_a) / b) if np.isfinite(at_b) else 0.0


def bends(line: Line) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the second derivatives along a line, their errors, and the kinds of the slopes.

    They come from fits as wide as those that gave the slopes. Where a slope is unknown, so is its derivative.
    """
    first = slopes(line)
    value, error = np.full(len(first.value), np.nan), np.full(len(first.value), np.inf)
    for width in np.unique(first.width[first.known & np.isfinite(first.width)]):
        for degree in DEGREES:
            found = fit(line, float(width), degree)
            if found is None:
                continue
            bend, off = second_derivatives_of(found)
            off = np.where(first.lost, np.maximum(off, first.error / width), off)
            better = (first.width == width) & first.known & (off < error)
            value, error = np.where(better, bend, value), np.where(better, off, error)
            if (~better | (error <= WANTED_SECOND * np.abs(value))).all():
                break
    return value, error, first.kind


def second_derivatives_of(found: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Return the second derivatives of a fit at its centre, and their errors as `fit` finds those of slopes."""
    k = np.arange(len(found.series))
    weights = np.where(k % 2 == 0, -(k**2) * np.where(k % 4 == 0, 1.0, -1.0), 0.0) / found.width**2
    used = found.series != 0
    last = np.maximum(len(k) - 1 - np.argmax(used[::-1], axis=0), 2)
    spread = np.sqrt((weights[:, None] ** 2 * (k[:, None] <= last)).sum(axis=0))
    following = np.sum([np.abs(weights[np.minimum(last + i, k[-1])]) for i in range(1, FOLLOWING + 1)], axis=0)
    error = SAFETY * found.noise * (NOISE_SIGMAS * spread + LARGEST_COEFFICIENT * following)
    return weights @ found.series, np.where(np.isfinite(found.error), error, np.inf)
