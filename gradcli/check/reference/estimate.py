"""What is known of the derivatives along a line, and slopes over small steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from .fit import Line, representable, rounding_of


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
