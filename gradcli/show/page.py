"""Pages of one file that fetches nothing, and the pictures of a check in them, as SVG."""

from __future__ import annotations

from html import escape as escape_html
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import visible
from .check_results import Element, Elements, Line
from .checks import DIGITS, label_part

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""A page may fetch nothing, whatever a name in it says."""


def template(name: str) -> str:
    """Return a file that stands next to this one, without the end of its last line."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8").rstrip("\n")


STYLE = template("page.css")
MARKS = {"pass": "✓", "fail": "✗", "inconclusive": "?", "error": "!", "skipped": "-"}


def escape(text: Any) -> str:
    """Return text as text of a page, whatever it holds."""
    return escape_html(visible(str(text)), quote=True)


def page(title: str, body: str, style: str = "", script: str = "") -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n{style}</style>\n</head>\n"
        f'<body class="gradcli">\n{body}\n{f"<script>{script}</script>" if script else ""}\n</body>\n</html>\n'
    )


def fragment(body: str) -> str:
    """Return what a notebook shows of an object: a piece of a page with its style."""
    return f'<div class="gradcli"><style>{STYLE}</style>\n{body}\n</div>'


def scroll(inside: str, label: str, kind: str = "wide") -> str:
    """Return something wide in a box that the keyboard can scroll."""
    return f'<div class="{kind}" tabindex="0" role="region" aria-label="{escape(label)}">{inside}</div>'


def code(text: str) -> str:
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>'


def table(headings: list[str], rows: list[tuple[str, list[str]]], numeric: set[int]) -> str:
    """Return a table. rows: the class of each, and its cells, which are markup; numeric: columns of numbers."""

    def cells(items: list[str], tag: str) -> str:
        looks = [of_class("number" if i in numeric else "") for i in range(len(items))]
        return "".join(f"<{tag}{look}>{item}</{tag.split()[0]}>" for item, look in zip(items, looks, strict=True))

    lines = [f"<tr{of_class(look)}>{cells(row, 'td')}</tr>" for look, row in rows]
    head = cells([escape(heading) for heading in headings], 'th scope="col"')
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table>"


def of_class(name: str) -> str:
    return f' class="{name}"' if name else ""


MOST_CELLS = 64
"""Cells of a map along one side; of larger arrays a cell shows the worst of several elements."""
WIDTH, HEIGHT = 328, 220
"""Of a plot, in pixels: as wide as the narrowest screen has room for."""
LEFT, TOP, RIGHT, BOTTOM = 70, 10, WIDTH - 10, HEIGHT - 40
SLOPES = (("var(--first)", "", "──"), ("var(--second)", "6 4", "╌╌"))
"""Colour, dashes and key of the numeric and of the claimed slope."""
POSITIVE, NEGATIVE = "#d9761a", "#2f6fd0"


class Frame:
    """Coordinates of a plot: numbers as pixels."""

    def __init__(self, line: Line):
        finite = line.value[np.isfinite(line.value)]
        low, high = (finite.min(), finite.max()) if finite.size else (-1.0, 1.0)
        pad = 0.15 * (high - low) or max(abs(high), 1.0)
        self.first, self.last, self.low, self.high = line.x[0], line.x[-1], low - pad, high + pad

    def point(self, x: float, y: float) -> str:
        across = LEFT + (x - self.first) / (self.last - self.first) * (RIGHT - LEFT)
        up = BOTTOM - (y - self.low) / (self.high - self.low) * (BOTTOM - TOP)
        return f"{across:.1f} {np.clip(up, -1e5, 1e5):.1f}"

    def path(self, x: np.ndarray, y: np.ndarray) -> str:
        """Return a curve, broken where there is no value."""
        text, letter = "", "M"
        for a, b in zip(x, y, strict=True):
            known = np.isfinite(b)
            text += f"{letter}{self.point(a, b)}" if known else ""
            letter = "L" if known else "M"
        return text


def slopes_of(worst: Element) -> list[tuple[str, float, float]]:
    """Return the numeric slope, at a kink the two beside it, and the claimed one: text, slope left and right."""
    numeric, claimed = float(np.real(worst.numeric)), float(np.real(worst.analytic))
    text, sides = f"numeric slope {numeric:.{DIGITS}g}", (numeric, numeric)
    if worst.sides is not None:
        sides = worst.sides
        text = f"slopes {sides[0]:.{DIGITS}g} and {sides[1]:.{DIGITS}g} at a kink"
    return [(text, *sides), (f"claimed slope {claimed:.{DIGITS}g}", claimed, claimed)]


def line_plot(name: str, line: Line, worst: Element) -> str:
    """Return the function along the worst element, with the claimed and the numeric slope through the point."""
    plot, (x, y), ends = Frame(line), line.at, line.x[[0, -1]]
    drawn = [f'<path d="{plot.path(line.x, line.value)}" fill="none" stroke="var(--ink)" stroke-width="1.5"/>']
    keys, texts = [], []
    for (colour, dashes, key), (text, left, right) in zip(SLOPES, slopes_of(worst), strict=True):
        path = plot.path(
            np.array([ends[0], x, ends[1]]), np.array([y + left * (ends[0] - x), y, y + right * (ends[1] - x)])
        )
        drawn.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>')
        texts.append(text)
        keys.append(f'<span style="color: {colour}">{key} {escape(text)}</span>; ')
    drawn.append(f'<path d="M{plot.point(*line.at)}h0" stroke="var(--ink)" stroke-width="8" stroke-linecap="round"/>')
    element = label_part(name, worst.place, worst.part)
    frame = f'x="{LEFT}" y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}"'
    labels = [
        (LEFT, BOTTOM + 16, "start", f"{line.x[0]:.4g}"),
        (RIGHT, BOTTOM + 16, "end", f"{line.x[-1]:.4g}"),
        ((LEFT + RIGHT) / 2, BOTTOM + 32, "middle", escape(element)),
        (LEFT - 6, TOP + 10, "end", f"{plot.high:.4g}"),
        (LEFT - 6, BOTTOM, "end", f"{plot.low:.4g}"),
    ]
    about = escape(f"the function along {element}, with the {' and the '.join(texts)}")
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="{about}">'
        f'<rect {frame} fill="none" stroke="var(--line)"/>'
        f'<svg {frame} viewBox="{LEFT} {TOP} {RIGHT - LEFT} {BOTTOM - TOP}">{"".join(drawn)}</svg>'
        + "".join(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>' for x, y, anchor, text in labels)
        + f"</svg>\n<figcaption>{''.join(keys)}the function itself in the colour of the text</figcaption></figure>"
    )


def heat_maps(inputs: tuple[int, ...], every: Elements) -> str:
    """Return maps of the claimed and the numeric derivative, wrong elements framed. inputs: the input's shape."""
    shape = every.claimed.shape
    own = shape[0] == 1 and len(inputs) > 1 and np.prod(inputs) == shape[1]
    shape = (inputs[0], shape[1] // inputs[0]) if own else shape
    claimed, numeric, verdicts = (x.reshape(shape) for x in (every.claimed, every.numeric, every.verdicts))
    sizes = np.abs([claimed, numeric])
    largest = float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0
    maps = [heat_map(name, x, largest, verdicts) for name, x in (("claimed", claimed), ("numeric", numeric))]
    rows = "the input's rows" if own else "a row for each output element"
    return (
        f'<div class="maps">{"".join(maps)}</div>\n<p class="dim">Orange is positive, blue negative, the strongest '
        f"±{largest:.4g}; {rows}; framed elements are wrong.</p>"
    )


def heat_map(name: str, values: np.ndarray, largest: float, verdicts: np.ndarray) -> str:
    steps = [max(1, -(-n // MOST_CELLS)) for n in values.shape]
    rows, columns = (-(-n // step) for n, step in zip(values.shape, steps, strict=True))
    size = max(4, min(28, 260 // columns))
    cells = []
    for i, j in np.ndindex(rows, columns):
        part = np.s_[i * steps[0] : (i + 1) * steps[0], j * steps[1] : (j + 1) * steps[1]]
        wrong = verdicts[part] == "fail"
        block = values[part][wrong] if wrong.any() else values[part].ravel()
        x = block[np.argmax(np.abs(np.nan_to_num(block, nan=np.inf)))]
        colour = "var(--soft)" if x == 0 else "var(--error)" if not np.isfinite(x) else POSITIVE if x > 0 else NEGATIVE
        share = max(min(abs(x) / largest, 1.0), 0.04) if np.isfinite(x) and x else 1.0
        frame = 'stroke="var(--fail)" stroke-width="2"' if wrong.any() else 'stroke="var(--line)" stroke-width="0.5"'
        place = f'x="{j * size + 1}" y="{i * size + 1}" width="{size - 2}" height="{size - 2}"'
        cells.append(f'<rect {place} fill="{colour}" fill-opacity="{share:.2f}" {frame}/>')
    width, height = columns * size, rows * size
    about = f"{name}: {values.shape[0]} by {values.shape[1]} elements; the table below has the numbers"
    picture = f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
    caption = f"<figcaption>{name}</figcaption>"
    return f'<figure>{picture} aria-label="{escape(about)}">{"".join(cells)}</svg>{caption}</figure>'
