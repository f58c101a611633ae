"""Plots for a terminal: curves and maps, in braille dots, or in stars if there is only ASCII."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from ..results.formats import Style
from ..results.graphs import Sampled

SHADES, SHADES_PLAIN = " ░▒▓█", " .:+#"  # cells from empty to full
BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
LARGEST_SHOWN = 1e300  # larger numbers count as infinite: distances between them would overflow


class Canvas:
    """A picture of dots: 2 by 4 in each character with Unicode, else one."""

    def __init__(self, columns: int, rows: int, unicode: bool):
        self.across, self.down = (2, 4) if unicode else (1, 1)
        self.dots = np.zeros((rows * self.down, columns * self.across), bool)

    def line(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw a line between two points, with y upwards; parts outside the unit square are cut off."""
        height, width = (n - 1 for n in self.dots.shape)
        if not np.isfinite([*start, *end]).all():  # so far away that its position overflows
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
        if self.down == 1:
            return ["".join("*" if dot else " " for dot in row) for row in self.dots]
        height, width = self.dots.shape
        cells = self.dots.reshape(height // 4, 4, width // 2, 2).transpose(0, 2, 1, 3)
        codes = (cells * BRAILLE).sum((2, 3))
        return ["".join(chr(0x2800 + code) if code else " " for code in row) for row in codes]


def clip_line(start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
    """Return the part of a line with heights from 0 to 1, as fractions of its length."""
    low, high = start[1], end[1]
    if low == high:
        return (0.0, 1.0) if 0 <= low <= 1 else (1.0, 0.0)
    at_0, at_1 = sorted((-low / (high - low), (1 - low) / (high - low)))
    return max(at_0, 0.0), min(at_1, 1.0)


def ticks(low: float, high: float, count: int) -> tuple[list[float], list[str]]:
    """Return about `count` round numbers between low and high, and their texts."""
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
    """Return the range of heights to show, without the far ends of poles."""
    finite = y[abs(y) < LARGEST_SHOWN]
    if not finite.size:
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    near, far = (float(x) for x in np.quantile(finite, [0.05, 0.95]))
    margin = 2 * (far - near)
    if margin > 0:
        low, high = max(low, near - margin), min(high, far + margin)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        margin = max(abs(low), 1.0) * 0.5
        return low - margin, high + margin
    return low, high


FUNCTION, DERIVATIVE, KINK = "bold cyan", "bold yellow", "bold magenta"
SHADE_LOOKS = ("", "blue", "cyan", "green", "yellow")
ARROWS, ARROWS_PLAIN = "→↗↑↖←↙↓↘", ">>^<<<v>"
FEWEST_PANEL_ROWS, MOST_PANEL_ROWS = 4, 16  # the fewest and the most rows of a panel
FAR_OUTSIDE = 1e6
"""Points are clipped to this many heights of a panel, so that lines from far away keep their digits at the edge."""
MOST_NOTED_PLACES = 6  # the most places that a note names


Pair = tuple[float, float]


class TextFrame:
    """The axes around a picture. rows: its height; name: of the horizontal axis, at its right end.

    heights: the lowest and highest of each panel, for the numbers on the left.
    """

    def __init__(self, style: Style, name: str, rows: int, heights: list[Pair]):
        self.unicode, self.name, self.rows = style.unicode, name, rows
        self.side, self.mark, self.corner, self.floor, self.foot, self.zero = "│┤└─┬┄" if self.unicode else "|++-+-"
        self.d, self.kink = "∂◆" if self.unicode else "do"
        texts = [text for ends in heights for text in ticks(*ends, max(rows // 2, 2))[1]]
        self.left = max(map(len, texts), default=1)
        self.columns = max(style.size[0] - self.left - 4 - cell_len(name), 8)

    def left_margin(self, low: float, high: float) -> list[Text]:
        """Return the text left of each line of a picture: a number, if any, and the axis."""
        places, texts = ticks(low, high, max(self.rows // 2, 2))
        at = {pixel_row(place, low, high, self.rows): text for place, text in zip(places, texts, strict=True)}
        marks = [(at.get(row, ""), self.mark if row in at else self.side) for row in range(self.rows)]
        return [Text(f" {text:>{self.left}} {mark}", "dim") for text, mark in marks]

    def below(self, x: np.ndarray) -> list[Text]:
        places, texts = ticks(float(x[0]), float(x[-1]), max(self.columns // 12, 2))
        floor, numbers = [self.floor] * self.columns, [" "] * self.columns
        free = 0
        for place, text in zip(places, texts, strict=True):
            column = round((place - x[0]) / (x[-1] - x[0]) * (self.columns - 1))
            floor[column] = self.foot
            start = min(max(column - len(text) // 2, 0), self.columns - len(text))
            if start >= free:
                numbers[start : start + len(text)] = text
                free = start + len(text) + 1
        head = " " * (self.left + 2)
        lines = (f"{head}{self.corner}{''.join(floor)} {self.name}", f"{head} {''.join(numbers)}")
        return [Text(line, "dim") for line in lines]


def render_sampled(result: Sampled, style: Style) -> Group:
    return (plot_curves if len(result.axes) == 1 else colour_map)(result, style)


def plot_curves(result: Sampled, style: Style) -> Group:
    ((name, _),), (slopes,) = result.axes.items(), result.slopes
    x, value, slope = with_breaks(result)
    notes = notes_on_breaks(result)
    below = [Text(note, "dim") for note in notes]
    count = sum(-(-cell_len(note) // style.size[0]) for note in notes)
    rows = min(max((style.size[1] - 2 - count) // 2 - 3, FEWEST_PANEL_ROWS), MOST_PANEL_ROWS)
    frame = TextFrame(style, name, rows, [extent(result.value), extent(slopes)])
    kinks = [(each.at, each.sides[0][1]) for each in result.breaks if each.kind == "kink"]
    upper = panel(frame, x, value, FUNCTION, slope, extent(result.value), kinks)
    lower = panel(frame, x, slope, DERIVATIVE, None, extent(slopes), [])
    derivative, foot = Text(f"{frame.d}/{frame.d}{name}", DERIVATIVE), frame.below(x)
    return Group(head(result, style), *upper, *foot, derivative, *lower, *foot, *below)


def with_breaks(result: Sampled) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a curve's points, values and slopes, with both sides of each break and a gap between them."""
    ((_, x),), value, (slope,) = result.axes.items(), result.value, result.slopes
    columns = np.array([x, value, slope])
    for each in result.breaks:
        (before, *_), (after, *_) = left, right = each.sides
        middle = (each.at, left[1] if each.kind == "kink" else np.nan, np.nan)  # at a kink only the slope has a gap
        inserted = np.array([left, middle, right]).T
        rows = columns[0] < before, columns[0] > after
        columns = np.concatenate([columns[:, rows[0]], inserted, columns[:, rows[1]]], axis=1)
    return columns[0], columns[1], columns[2]


def notes_on_breaks(result: Sampled) -> list[str]:
    ((name, x),) = result.axes.items()
    notes = []
    for kind in ("kink", "jump", "pole"):
        places = [f"{each.at:.6g}" for each in result.breaks if each.kind == kind]
        if places:
            more = f" and {len(places) - MOST_NOTED_PLACES} more" if len(places) > MOST_NOTED_PLACES else ""
            shown = ", ".join(places[:MOST_NOTED_PLACES])
            notes.append(f"{kind}{'s' * (len(places) > 1)} at {name} = {shown}{more}")
    gaps = ~np.isfinite(result.value)
    if gaps.any():
        runs = stretches(x, gaps, 6)
        shown = ", ".join(runs[:MOST_NOTED_PLACES]) + (" and elsewhere" if len(runs) > MOST_NOTED_PLACES else "")
        notes.append(f"no value at {int(gaps.sum())} of {gaps.size} points: {name} = {shown}")
    return notes


def stretches(x: np.ndarray, holds: np.ndarray, digits: int) -> list[str]:
    """Return where along an axis `holds` is true: points, or ranges "a to b"."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]).astype(int))).reshape(-1, 2)
    ends = [(f"{x[i]:.{digits}g}", f"{x[j - 1]:.{digits}g}") for i, j in edges.tolist()]
    return [first if first == last else f"{first} to {last}" for first, last in ends]


def head(result: Sampled, style: Style) -> Text:
    """Return the output's name or the program's first line, cut to half of the terminal."""
    first = (result.output or result.target).strip().split("\n")[0]
    limit = max(style.size[0] // 2, 10)
    return Text(first if len(first) <= limit else first[: limit - 3] + "...", FUNCTION)


def panel(
    frame: TextFrame,
    x: np.ndarray,
    y: np.ndarray,
    look: str,
    slope: np.ndarray | None,
    heights: Pair,
    kinks: list[Pair],
) -> list[Text]:
    """Return the lines of a curve with its vertical axis, and a mark at each kink.

    slope: distinguishes a jump from a steep part, if known. heights: the lowest and highest to show.
    """
    rows, columns, (low, high) = frame.rows, frame.columns, heights
    canvas = Canvas(columns, rows, frame.unicode)
    across, up = (x - x[0]) / (x[-1] - x[0]), np.clip((y - low) / (high - low), -FAR_OUTSIDE, FAR_OUTSIDE)
    for i in np.flatnonzero(np.isfinite(y)).tolist():
        canvas.line((across[i], up[i]), (across[i], up[i]))
    for i, j in pairwise(range(len(x))):
        if np.isfinite(y[i]) and np.isfinite(y[j]) and not is_break(i, x, y, up, slope):
            canvas.line((across[i], up[i]), (across[j], up[j]))
    zero = pixel_row(0, low, high, rows) if low < 0 < high else None
    marks = {(pixel_row(b, low, high, rows), round((a - x[0]) / (x[-1] - x[0]) * (columns - 1))) for a, b in kinks}
    lines = frame.left_margin(low, high)
    for row, (line, drawn) in enumerate(zip(lines, canvas.rows(), strict=True)):
        for column, letter in enumerate(drawn):
            if (row, column) in marks:
                line.append(frame.kink, KINK)
                continue
            line.append(frame.zero if letter == " " and row == zero else letter, "dim" if letter == " " else look)
    return lines


def is_break(i: int, x: np.ndarray, y: np.ndarray, up: np.ndarray, slope: np.ndarray | None) -> bool:
    """Return whether to break a curve between a point and the next, for a pole or a jump."""
    if min(up[i], up[i + 1]) < 0 and max(up[i], up[i + 1]) > 1:
        return True
    if slope is None or not np.isfinite(slope[i : i + 2]).all() or abs(up[i + 1] - up[i]) < 0.02:
        return False
    return abs(y[i + 1] - y[i]) > 8 * np.abs(slope[i : i + 2]).max() * (x[i + 1] - x[i])


def pixel_row(y: float, low: float, high: float, rows: int) -> int:
    return round((high - y) / (high - low) * (rows - 1))


def colour_map(result: Sampled, style: Style) -> Group:
    """Return a map shaded by value, with arrows up the slope, axes and a legend."""
    (name, x), (other, y) = result.axes.items()
    rows = min(max(style.size[1] - 7, FEWEST_PANEL_ROWS), 2 * MOST_PANEL_ROWS)
    bottom, top = float(y[0]), float(y[-1])
    frame = TextFrame(style, name, rows, [(bottom, top)])
    frame.columns = min(frame.columns, 4 * rows)
    low, high = extent(result.value)
    lines = [
        left_margin + map_row(result, row, (rows, frame.columns), (low, high), style)
        for row, left_margin in enumerate(frame.left_margin(bottom, top))
    ]
    title = head(result, style).append(f"   {other} upwards, arrows along the gradient", "dim")
    legend = Text("  shades: ", "dim").append("blank", "dim")
    for level, shade in list(enumerate(SHADES if style.unicode else SHADES_PLAIN))[1:]:
        legend.append(f" {low + level * (high - low) / 5:.3g} ", "dim").append(shade, SHADE_LOOKS[level])
    return Group(title, *lines, *frame.below(x), legend)


def map_row(result: Sampled, row: int, shape: tuple[int, int], ends: tuple[float, float], style: Style) -> Text:
    (rows, columns), (low, high) = shape, ends
    scale = SHADES if style.unicode else SHADES_PLAIN
    width, height = result.value.shape
    j = round((1 - (row + 0.5) / rows) * (height - 1))
    text = Text()
    for column in range(columns):
        i = round((column + 0.5) / columns * (width - 1))
        value = result.value[i, j]
        if not abs(value) < LARGEST_SHOWN:
            text.append("?", "dim red")
        elif row % 3 == 1 and column % 8 == 4:
            text.append(arrow(result, i, j, shape, style), "bold white")
        else:
            level = int(min(max(5 * ((value - low) / (high - low)), 0), 4))
            text.append(scale[level], SHADE_LOOKS[level])
    return text


def arrow(result: Sampled, i: int, j: int, shape: tuple[int, int], style: Style) -> str:
    rows, columns = shape
    across, along = (axis[-1] - axis[0] for axis in result.axes.values())
    right = result.slopes[0][i, j] * across / columns
    up = result.slopes[1][i, j] * along / (2 * rows)  # a character is twice as high as wide
    if not np.isfinite(right + up) or right == up == 0:
        return "·" if style.unicode else "o"
    eighth = round(float(np.arctan2(up, right)) / (np.pi / 4)) % 8
    return (ARROWS if style.unicode else ARROWS_PLAIN)[eighth]
