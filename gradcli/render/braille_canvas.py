"""Lines drawn with characters: braille dots, or stars where there is only ASCII."""

from __future__ import annotations

import math

import numpy as np

SHADES, SHADES_PLAIN = " ░▒▓█", " .:+#"
"""Cells from empty to full, also with only ASCII."""
BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
LARGEST = 1e300
"""From here on numbers are as infinite in a picture: the lengths between them would overflow."""


class Canvas:
    """A picture of dots: with Unicode 2 across and 4 down in each character, else one."""

    def __init__(self, columns: int, rows: int, unicode: bool):
        self.across, self.down = (2, 4) if unicode else (1, 1)
        self.dots = np.zeros((rows * self.down, columns * self.across), bool)

    def line(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw from one point to another. Both have coordinates from 0 to 1, upwards; beyond that it is cut off."""
        height, width = (n - 1 for n in self.dots.shape)
        if not np.isfinite([*start, *end]).all():  # so far away that its place overflows
            return
        first, last = clip_line(start, end)
        if not 0 <= first <= last <= 1:
            return
        begin, step = np.array(start), np.subtract(end, start)
        here, there = begin + first * step, begin + last * step
        count = int(np.abs((there - here) * [width, height]).max() * 1.5) + 2
        x, y = (here + np.linspace(0, 1, count)[:, None] * (there - here)).T.clip(0, 1)
        self.dots[np.rint((1 - y) * height).astype(int), np.rint(x * width).astype(int)] = True

    def rows(self) -> list[str]:
        """Return the lines of text; a blank where nothing is drawn."""
        if self.down == 1:
            return ["".join("*" if dot else " " for dot in row) for row in self.dots]
        height, width = self.dots.shape
        cells = self.dots.reshape(height // 4, 4, width // 2, 2).transpose(0, 2, 1, 3)
        codes = (cells * BRAILLE).sum((2, 3))
        return ["".join(chr(0x2800 + code) if code else " " for code in row) for row in codes]


def clip_line(start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
    """Return the part of a line, as shares of its length, whose heights are between 0 and 1."""
    low, high = start[1], end[1]
    if low == high:
        return (0.0, 1.0) if 0 <= low <= 1 else (1.0, 0.0)
    at_0, at_1 = sorted((-low / (high - low), (1 - low) / (high - low)))
    return max(at_0, 0.0), min(at_1, 1.0)


def ticks(low: float, high: float, count: int) -> tuple[list[float], list[str]]:
    """Return round numbers between low and high, about `count`, and their texts."""
    rough = (high - low) / max(count, 1)
    unit = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next((k * unit for k in (1, 2, 5) if k * unit >= rough), 10 * unit)
    places = [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    for digits in range(3, 18):
        texts = [f"{x:.{digits}g}" for x in places]
        if all(abs(float(text) - x) <= step * 1e-3 for text, x in zip(texts, places, strict=True)):
            break
    return places, texts


def extent(y: np.ndarray) -> tuple[float, float]:
    """Return the range of heights to show: all of them, or without the far ends that poles reach."""
    finite = y[abs(y) < LARGEST]
    if not finite.size:
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    near, far = (float(x) for x in np.quantile(finite, [0.05, 0.95]))
    margin = 2 * (far - near)
    if margin > 0:
        low, high = max(low, near - margin), min(high, far + margin)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = max(abs(low), 1.0) * 0.5
        return low - room, high + room
    return low, high
