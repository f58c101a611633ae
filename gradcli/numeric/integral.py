"""Compare a claim with values without differentiating: integrate the claim along a line.

Let c(t) be the claimed slope at x + t d, and rho(t) = f(x + t d) - f(x) - (integral of c from 0 to t). If the claim is
right, rho is scatter: rounding, noise, the tolerance of a solver. If the claim is off by b, rho has the trend b t. A
regression over the points of a window gives b and its error, so noise of any size gives an honest error. Integration
averages errors where differentiation amplifies them: this test and a fit of the values fail in different places.

The integral is that of the Chebyshev series through the claims at the points of the window except 0; the last
coefficients say how well it follows the claim. What the series says of 0 is compared with the claim at x itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .fit import chebyshev_matrix, nodes
from .sampler import TINY, Line

DEGREE = 8  # points of a window, without 0: those of the fits with few points, so that these have sampled some of them
STAGES = ((2e-2, 2e-2 / 900), (2e-2 / 30, 2e-2 / 27e3), (0.6, 0.11, 2e-2 / 81e4))
"""Half-widths of the windows of a full test, 30 times narrower each as the fits are, in the order of the need."""
SIGMAS = 6.0  # standard deviations of the regression that an error covers (prototype: 0 of 188 right claims accused)
TAIL = 4.0  # how many times the last coefficients the integral may be off, as only three give the size of the tail
OWN_UNITS = 40.0  # rounding units of the claim's terms by which its integral may be off
VALUE_UNITS, NOISES = 4.0, 8.0  # rounding units of the values, and measured noise, that a difference of them may be off
CLEAR = 0.5  # error of a wide window that shows that a slope in narrow ones is not that of the trend, relative to it
WANTED_RESOLUTION = 1e-2  # relative resolution from which on an agreement says something
GAPS = 3.0  # a claim at x that differs by more errors does not continue those around it
FOLLOWS = 3e-3  # error, relative to the claim, up to which a window follows the claim to x
SMOOTH_TAIL = 0.01  # of that in a window 30 times wider: the last terms of a smooth claim fall by 30**5
EXPLAINS = 0.1  # part of the error of a claim that its jumps must be to be the reason: a choice
LIKE = 0.3  # relative difference up to which two windows see the same gap, or none of a slope is a kink


class Operators(NamedTuple):
    """Matrices for the points of a window of half-width 1.

    series: claims at the points except 0 -> Chebyshev coefficients; integrals: coefficients -> integral from 0 to each
    of these points; at_zero: coefficients -> value at 0; lines, solve: of the regression, for its offset and its slope.
    """

    series: np.ndarray
    integrals: np.ndarray
    at_zero: np.ndarray
    lines: np.ndarray
    solve: np.ndarray


def operators(points: np.ndarray) -> Operators:
    """Return the matrices for some points of [-1, 1], of which none is 0."""
    count = len(points)
    matrix = chebyshev_matrix(points)
    integrals = np.stack([integral_of(k, points) - integral_of(k, np.zeros(1)) for k in range(count)], axis=-1)
    k = np.arange(count)
    at_zero = np.where(k % 2 == 0, np.where(k % 4 == 0, 1.0, -1.0), 0.0)
    lines = np.stack([np.ones(count), points], axis=-1)
    return Operators(np.linalg.inv(matrix), integrals, at_zero, lines, np.linalg.pinv(lines))


def integral_of(k: int, x: np.ndarray) -> np.ndarray:
    """Return an antiderivative of the Chebyshev polynomial of degree k (Abramowitz and Stegun, 22.13)."""
    polynomial = functools.partial(lambda n, angle: np.cos(n * angle), angle=np.arccos(np.clip(x, -1, 1)))
    if k == 0:
        return x
    if k == 1:
        return x * x / 2
    return polynomial(k + 1) / (2 * (k + 1)) - polynomial(k - 1) / (2 * (k - 1))


@functools.cache
def window_operators() -> Operators:
    return operators(window_points())


@functools.cache
def window_points() -> np.ndarray:
    points = nodes(DEGREE).points
    return points[points != 0]


@dataclass(frozen=True)
class Window:
    """The test at one half-width, for R functions: arrays of shape (R,).

    slope, error: the slope that the claim leaves over, and the half-width of its interval. gap, gap_error: the claim at
    x less what the claims around it continue to, and the error of that. bend: half the difference of what is left over
    to the right and to the left, as at a kink. size: of the claims; tail: of the last terms of their series.
    """

    width: float
    slope: np.ndarray
    error: np.ndarray
    gap: np.ndarray
    gap_error: np.ndarray
    bend: np.ndarray
    size: np.ndarray
    tail: np.ndarray


class Answer(NamedTuple):
    """What the windows say of one function.

    says: "agrees"; "disagrees"; "wrong at the point", if it is right next to it; "right in wide windows" or "right in
    narrow windows", if it is wrong in the others; or "unclear". low, high: the interval of the slope left over.
    final: whether no window contradicts another. reach: half-width of the narrowest one that contradicts the others.
    """

    says: str
    low: float
    high: float
    final: bool = False
    reach: float = np.inf

    @property
    def bound(self) -> float:
        """How far the claim may be off."""
        return max(abs(self.low), abs(self.high))


class Claimed(NamedTuple):
    """Claimed slopes of R functions along a line.

    at: returns those of chosen functions at offsets t, (points, chosen). here: at x, (R,); size: of their terms, (R,).
    left_out: size of the terms that a claim may leave out, (R,).
    """

    at: Callable[[np.ndarray, Sequence[int]], np.ndarray]
    here: np.ndarray
    size: np.ndarray
    left_out: np.ndarray | float = 0.0


def look(line: Line, width: float, claimed: Claimed, noise: np.ndarray, chosen: Sequence[int]) -> Window | None:
    """Return the test in one window; None if the function or the claim has no value at one of its points.

    noise: error of the values, (R,), from rounding or between calls. chosen: the functions to test; the others are nan.
    """
    t = line.representable(width * window_points())
    if len(set(t.tolist()) - {0.0}) < DEGREE:
        return None
    values, base = line.values(t)[1][:, chosen], line.base[chosen]
    around = claimed.at(t, chosen)
    if not (np.isfinite(values).all() and np.isfinite(around).all()):
        return None
    exact = np.abs(t / width - window_points()).max() < 1e-13
    with_points = window_operators() if exact else operators(t / width)
    series = with_points.series @ around
    tail = TAIL * np.abs(series[-3:]).max(axis=0)
    rho = (values - base) / width - with_points.integrals @ series
    fitted = with_points.solve @ rho
    left = rho - with_points.lines @ fitted
    scatter = np.sqrt((left**2).sum(axis=0) / (DEGREE - 2))
    unit, largest = line.flat.unit, np.maximum(np.abs(values).max(axis=0), np.abs(base))
    moved = 0.0 if line.alone else line.unit_of_x / width  # x + t d is rounded in each element
    own = ((OWN_UNITS * max(unit, line.flat.claim_unit) + moved) * claimed.size + claimed.left_out)[chosen]
    error = SIGMAS * scatter * np.sqrt(with_points.solve[1] @ with_points.solve[1]) + tail + own
    error += (VALUE_UNITS * unit * largest + NOISES * noise[chosen]) / width
    gap = claimed.here[chosen] - with_points.at_zero @ series
    full = np.full((7, len(claimed.here)), np.nan)
    bend = (rho[np.argmax(t)] + rho[np.argmin(t)]) / 2
    full[:, chosen] = fitted[1], error, gap, tail + own, bend, np.abs(around).mean(axis=0), tail
    return Window(width, *full)


def conclude(windows: Sequence[Window], j: int, size: float, limit: float = np.inf) -> Answer:
    """Return what the windows say of function j.

    size: of the terms of the claimed slope. limit: wider windows say nothing about this point, since the function has
    structure within them.
    """
    windows = without_gaps(sorted((w for w in windows if w.width <= limit), key=lambda w: w.width), j)
    low, high, used = -np.inf, np.inf, []
    for w in windows:  # from narrow to wide, as long as they agree
        slope, error = float(w.slope[j]), float(w.error[j])
        if slope - error > high or slope + error < low:
            break
        low, high = max(low, slope - error), min(high, slope + error)
        used.append(w)
    if not used:
        return Answer("unclear", -np.inf, np.inf)
    left_over = abs(low + high) / 2
    size = max(size, left_over, TINY)
    wider = [w for w in windows if w not in used]
    if not low <= 0 <= high:
        right = [w for w in wider if w.error[j] <= CLEAR * min(left_over, w.size[j])]
        if right and all(abs(w.slope[j]) <= max(w.error[j], CLEAR / 5 * min(left_over, w.size[j])) for w in right):
            return Answer("right in wide windows", low, high, reach=right[0].width)
        off = [w for w in used if abs(w.slope[j]) > w.error[j]]
        if len(off) < 2 or is_bent(off[:2], j):
            return Answer("unclear", low, high)
        return Answer("disagrees", low, high, final=windows[-1] in off)
    wrong = [w for w in wider if w.error[j] <= CLEAR * abs(w.slope[j])]
    if len(wrong) >= 2:
        return Answer("right in narrow windows", low, high, reach=wrong[0].width)
    smooth = [w for w in windows if w.gap_error[j] <= FOLLOWS * size][:2]  # the two narrowest that follow the claim
    gaps = [float(w.gap[j]) for w in smooth if has_gap(w, j)]
    if len(gaps) == 2 and abs(gaps[0] - gaps[1]) <= LIKE * abs(gaps[0]):
        kink = any(abs(w.bend[j]) > LIKE * abs(w.gap[j]) for w in smooth)  # closer to x than the windows are wide
        return Answer("unclear" if kink else "wrong at the point", low, high)
    if gaps or not smooth or (high - low) / 2 > WANTED_RESOLUTION * size or not low <= 0 <= high:
        return Answer("unclear", low, high)
    own = float(abs(smooth[0].gap[j]) + smooth[0].gap_error[j])
    return Answer("agrees", low - own, high + own)


def has_gap(window: Window, j: int) -> bool:
    """Return whether the claim at x does not continue the claims around it."""
    return bool(abs(window.gap[j]) > GAPS * window.gap_error[j])


def without_gaps(windows: Sequence[Window], j: int) -> list[Window]:
    """Return the windows without those that have missed how the claim varies: narrower ones see no gap at x."""
    follows = next((w.width for w in windows if w.gap_error[j] <= abs(w.size[j]) and not has_gap(w, j)), np.inf)
    return [w for w in windows if w.width < follows or not has_gap(w, j)]


def is_bent(windows: Sequence[Window], j: int) -> bool:
    """Return whether function j may have kinks within two windows, and the claim lies between the slopes at its sides.

    The slopes on both sides differ, by as much in both windows. Where f is smooth, they differ less in the narrower
    one, by the ratio of the widths; in noise, more.
    """
    narrow, wide = (abs(float(w.bend[j])) for w in windows)
    alike = np.sqrt(windows[1].width / windows[0].width)
    bent = all(abs(w.slope[j]) <= (1 + LIKE) * abs(w.bend[j]) for w in windows)
    return bool(bent and 1 / alike <= narrow / wide <= alike)


def is_rough(windows: Sequence[Window], j: int, gap: float) -> bool:
    """Return whether the claim for function j jumps from point to point: its series ends as late in narrow windows.

    Next to a singularity it does, too; but there, its last terms are of the size of the claim. gap: how far the claim
    is off; jumps much smaller than this, such as those of rounding, are not the reason.
    """
    seen = sorted((w for w in windows if w.gap_error[j] <= 2 * w.tail[j]), key=lambda w: w.width)
    seen = [w for w in seen if not w.tail[j] < EXPLAINS * gap]
    small = [w for w in seen if w.tail[j] <= LIKE * w.size[j]]
    return any(w.width <= seen[-1].width / 30 and w.tail[j] > SMOOTH_TAIL * seen[-1].tail[j] for w in small)
