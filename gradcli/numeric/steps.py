"""Find jumps of a function, or of its slope: whether it is computed in steps, rather than bent or oscillating.

A jump keeps its size as the interval around it is halved again and again. A curve loses it, and a pole grows.
"""

from __future__ import annotations

import numpy as np

from .integral import Claimed
from .sampler import Line

BISECTIONS = 50  # halvings that narrow a jump down to the resolution of float64 (53 bits)
HALVINGS, STAYS, GROWS = 10, 0.3, 3.0
"""Over ten halvings a jump keeps 0.3 of its size, of which a curve keeps 1/1000, and grows at most threefold."""
UNITS = 50.0  # a jump is larger than this many rounding units of the value: fewer are the rounding itself


STARTS = np.array([-0.6, -0.45, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.45, 0.6])
"""Where slopes along a line are compared with claims; between two of them, a tolerance may change how f is computed."""
STEP = 1e-4  # of central differences there: two orders of their error are removed
SLOPE_HALVINGS = 10  # of an interval in which the slope may jump, until it is about as long as STEP
KEEPS = 0.2  # part of its size that a jump between two of STARTS keeps: the rest is the curve next to it (a choice)
NOISY = 10.0  # how many times larger a jump is than the changes of the slope on both sides of it: a choice
MOST_PLACES = 3  # intervals to look for a jump in, those with the largest changes: a choice
SAME = 0.2  # relative error of a difference of slope and claim that is good enough: a choice


def jumps(line: Line, j: int, slope: float, reach: float) -> bool:
    """Return whether function j jumps between those samples within a distance that differ most, or are closest to x.

    slope: that of the function between its jumps.
    """
    rest = {t: value - slope * t for t, value in line.known_values(j, reach).items()}
    t = np.sort(np.array([t for t, value in rest.items() if np.isfinite(value)]))
    gaps = np.abs(np.diff([rest[x] for x in t.tolist()]))
    if not len(gaps):
        return False
    seen = np.flatnonzero(gaps > UNITS * float(line.rounding(line.base[None])[j]))
    closest = seen[np.argmin(np.minimum(np.abs(t[seen]), np.abs(t[seen + 1])))] if len(seen) else 0
    places = {int(np.argmax(gaps)), int(closest)}
    return any(keeps_its_size(line, j, slope, float(t[k]), float(t[k + 1])) for k in places)


def keeps_its_size(line: Line, j: int, slope: float, a: float, b: float) -> bool:
    """Bisect between a and b towards the larger change; return whether that keeps its size to the end."""
    least = UNITS * float(line.rounding(line.base[None])[j])

    def at(t: float) -> float:
        (real,), values = line.values(np.array([t]))
        return float(values[0, j]) - slope * float(real)

    left, right = at(a), at(b)
    history = [abs(right - left)]
    for _ in range(BISECTIONS):
        middle = (a + b) / 2
        (real,) = line.representable(np.array([middle]))
        if real in line.representable(np.array([a, b])):
            break
        between = at(middle)
        if abs(between - left) >= abs(right - between):
            b, right = middle, between
        else:
            a, left = middle, between
        history.append(abs(right - left))
        if not history[-1] >= least:
            return False
    before, size = history[max(-len(history), -1 - HALVINGS)], history[-1]
    return bool(size >= least and STAYS * before <= size <= GROWS * before)


class Differences:
    """Slopes of a function and of a claim along a line, for function j."""

    def __init__(self, line: Line, claimed: Claimed, j: int):
        self.line, self.claimed, self.j = line, claimed, j

    def at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numeric and the claimed slopes at some offsets."""
        steps = np.array([STEP, -STEP, STEP / 2, -STEP / 2])
        at, values = self.line.values((t[:, None] + steps).ravel())
        at, values = at.reshape((-1, 4)), values[:, self.j].reshape((-1, 4))
        with np.errstate(invalid="ignore", divide="ignore"):
            wide, narrow = ((values[:, k] - values[:, k + 1]) / (at[:, k] - at[:, k + 1]) for k in (0, 2))
            return (4 * narrow - wide) / 3, self.claimed.at(t, [self.j])[:, 0]

    def gaps(self, t: np.ndarray) -> np.ndarray:
        numeric, claimed = self.at(t)
        return numeric - claimed

    def jump(self, off: float) -> float:
        """Return by how much the slope of the function jumps where the claim does not; 0 if it does not jump.

        off: the difference at x, which must be seen here as well. An iteration that stops at a tolerance computes
        another smooth function wherever it makes another number of steps.
        """
        gaps = self.gaps(STARTS)
        changes = np.abs(np.diff(gaps))
        if not np.isfinite(changes).all() or not abs(gaps[len(STARTS) // 2] - off) <= SAME * abs(off):
            return 0.0
        places = np.argsort(-changes)[:MOST_PLACES]
        return next((size for k in places if (size := self.jump_between(int(k), gaps))), 0.0)

    def jump_between(self, k: int, gaps: np.ndarray) -> float:
        """Return by how much the slope jumps between two of STARTS; 0 if it does not jump. gaps: at STARTS."""
        (a, b), (left, right) = STARTS[k : k + 2], gaps[k : k + 2]
        least = KEEPS * abs(right - left)
        for _ in range(SLOPE_HALVINGS):
            middle = (a + b) / 2
            between = float(self.gaps(np.array([middle]))[0])
            if abs(between - left) >= abs(right - between):
                b, right = middle, between
            else:
                a, left = middle, between
            if not abs(right - left) >= least:
                return 0.0
        clear = 2 * STEP * np.array([4.0, 3.0, 2.0, 1.0])  # of a kink that the claim has, too
        numeric, claimed = self.at(np.concatenate([a - clear, b + clear[::-1]]))
        reach = 1 + (b - a) / (4 * STEP)  # of a line through the two points on each side
        of_claim, of_gap = (
            float(abs(x[4] + reach * (x[4] - x[5]) - x[3] - reach * (x[3] - x[2])))
            for x in (claimed, numeric - claimed)
        )
        elsewhere = float(np.abs(np.delete(np.diff(numeric - claimed), 3)).max())  # noise jumps as far everywhere
        return of_gap if of_gap > max(2 * of_claim, NOISY * elsewhere, least) else 0.0  # else, the claim jumps
