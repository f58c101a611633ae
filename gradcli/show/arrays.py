"""Arrays and matrices for a terminal: aligned, coloured by sign, elided, or drawn as a heat map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from ..results.base import ResultBlock, labels
from ..results.formats import Style
from .data import ERROR_DIGITS, NONE, number, shape_text
from .plot import SHADES, SHADES_PLAIN

SHOWN_WHOLE = 20  # arrays of up to this many elements are never elided; their long lines are wrapped
EDGE = 3  # elements shown at either end of an elided axis
POSITIVE_COLOUR, NEGATIVE_COLOUR, COMPLEX_COLOUR = "color(28)", "color(63)", "color(30)"
"""Readable on black and on white."""
LONG_AXIS = 8  # axes longer than this are elided


def shade(x: Any, largest: float) -> str:
    """Return the style of a number: colour for its sign, weight for its size relative to the largest."""
    if isinstance(x, complex | np.complexfloating):
        return COMPLEX_COLOUR
    if not np.isfinite(x):
        return "bold reverse red"
    if x == 0:
        return "dim"
    colour = POSITIVE_COLOUR if x > 0 else NEGATIVE_COLOUR
    ratio = abs(float(x)) / largest if largest else 1.0
    return f"bold {colour}" if ratio >= 0.5 else colour if ratio >= 0.01 else f"dim {colour}"


def shown_positions(length: int, edge: int | None) -> list[int | None]:
    """Return the positions to show along an axis, None for a gap. edge: how many to show at either end."""
    if length <= (LONG_AXIS if edge is None else 2 * edge + 1):
        return list(range(length))
    edge = edge or EDGE
    return [*range(edge), None, *range(length - edge, length)]


def is_shown_whole(array: np.ndarray, style: Style) -> bool:
    return style.whole or array.size <= SHOWN_WHOLE


def array_text(
    array: np.ndarray | None,
    style: Style,
    coloured: bool,
    edge: int | None,
    width: int | None = None,
    error: np.ndarray | None = None,
) -> Text:
    """Return an array as aligned, coloured text, slice by slice if it has more than two axes. None is shown as `none`.

    edge: how many elements to show at either end of long axes. width: at which lines are wrapped. error: of each
    element, shown after it.
    """
    if array is None:
        return Text(NONE, style="dim")
    write = cell_writer(array, style, coloured, error)
    edges = (array.size, array.size) if is_shown_whole(array, style) else (None, edge)
    return Text.assemble(*array_block(array, write, edges, width))


Cell = tuple[str, str]  # a text and its style


def cell_writer(
    array: np.ndarray, style: Style, coloured: bool = True, error: np.ndarray | None = None
) -> Callable[..., Cell]:
    """Return a function that writes the element at an index, or dots for an index with None. error: of each element."""
    finite = np.abs(array[np.isfinite(array)])
    largest = float(finite.max()) if finite.size else 0.0
    digits, dots = style.precision or 6, "…" if style.unicode else "..."
    coloured &= not style.whole  # files have no colours

    def write(*index: int | None) -> Cell:
        if None in index:
            return dots, ""
        x = array[index]
        text = number(x, digits)
        if error is not None:
            sign = "±" if style.unicode else "+-"
            text = f"{text} {sign} {number(error[index], ERROR_DIGITS)}" if np.isfinite(x) else "unknown"
        return text, shade(x, largest) if coloured else ""

    return write


def array_block(
    array: np.ndarray, write: Callable[..., Cell], edges: Sequence[int | None], width: int | None, at: tuple = ()
) -> list[Cell]:
    """Return an array as parts of a text: a number, a line, a matrix, or blocks of them.

    edges: how many rows and columns to show at either end. at: the index of this part in the whole array.
    """
    axes = array.shape[len(at) :]
    if not axes:
        return [write(*at)]
    if array.size == 0:
        return [("empty", "dim")]
    if len(axes) == 1:
        return row_parts([write(*at, i) for i in shown_positions(axes[0], edges[1])], ", ", width)
    rows = shown_positions(axes[0], edges[0])
    if len(axes) > 2:
        parts = [[write(None)] if i is None else array_block(array, write, edges, width, (*at, i)) for i in rows]
        return join_parts(parts, "\n\n")
    lines = [
        [write(None)] if i is None else [write(*at, i, j) for j in shown_positions(axes[1], edges[1])] for i in rows
    ]
    columns = zip(*(line for i, line in zip(rows, lines, strict=True) if i is not None), strict=True)
    widths = [max(len(text) for text, _ in column) for column in columns]
    for k, i in enumerate(rows):
        if i is not None:
            padded = [(text.rjust(wide), look) for (text, look), wide in zip(lines[k], widths, strict=True)]
            lines[k] = row_parts(padded, "  ", width)
    return join_parts(lines, "\n")


def join_parts(parts: list[list[Cell]], between: str) -> list[Cell]:
    return [piece for k, part in enumerate(parts) for piece in ([(between, "")] * bool(k) + part)]


def row_parts(cells: list[Cell], gap: str, width: int | None) -> list[Cell]:
    parts, used = [("[", ""), cells[0]], 2 + len(cells[0][0])
    for cell in cells[1:]:
        used += len(gap) + len(cell[0])
        if width is not None and used > width:
            parts.append((gap.rstrip() + "\n ", ""))
            used = 2 + len(cell[0])
        else:
            parts.append((gap, ""))
        parts.append(cell)
    return [*parts, ("]", "")]


EDGES = (None, 3, 2, 1)
"""Elements to show at either end of long axes, tried until a text fits; None for the default."""


def width_of(text: Text) -> int:
    return max(map(len, text.plain.split("\n")))


def elide_to_width(
    array: np.ndarray | None, style: Style, coloured: bool, width: int, error: np.ndarray | None = None
) -> Text:
    text = Text()
    whole = array is not None and is_shown_whole(array, style)
    for edge in EDGES[: 1 if whole else None]:
        text = array_text(array, style, coloured, edge, width if whole else None, error)
        if width_of(text) <= width:
            break
    return text


def plain_table(*headings: str | Column, look: str = "bold", gap: int = 2) -> Table:
    columns = (Column(heading, overflow="fold") if isinstance(heading, str) else heading for heading in headings)
    return Table(*columns, box=None, header_style=look, pad_edge=False, padding=(0, gap, 0, 0))


class Shown(NamedTuple):
    """An array in a table: None prints as none. coloured: by sign. error: of each element."""

    array: np.ndarray | None
    coloured: bool = False
    error: np.ndarray | None = None


class ShownRow(NamedTuple):
    """A name, a shape, and an array for each cell, None for an empty one."""

    name: Text
    shape: tuple[int, ...]
    arrays: list[Shown | None]


def table_of_arrays(headings: tuple[str, ...], rows: list[ShownRow], style: Style) -> list[Any]:
    """Return a table of arrays by name, or if it does not fit, a list with the arrays below their names."""
    shapes = [shape_text(row.shape) for row in rows]
    fixed = max([len(headings[0]), *(len(row.name) for row in rows)]) + max(map(len, [headings[1], *shapes])) + 2
    for edge in EDGES:
        cells = [
            [Text() if x is None else array_text(x.array, style, x.coloured, edge, error=x.error) for x in row.arrays]
            for row in rows
        ]
        columns = zip(map(Text, headings[2:]), *cells, strict=True)
        widths = [max(map(width_of, column)) for column in columns]
        if fixed + sum(widths) + 2 * len(widths) <= style.size[0]:
            table = plain_table(*(Column(heading, no_wrap=True) for heading in headings))
            for row, shape, texts in zip(rows, shapes, cells, strict=True):
                table.add_row(row.name, Text(shape, style="dim"), *texts)
            return [table]
    return below_each_other(headings, rows, shapes, style)


def below_each_other(headings: tuple[str, ...], rows: list[ShownRow], shapes: list[str], style: Style) -> list[Any]:
    label = max(map(len, headings[2:])) + 4
    parts: list[Any] = []
    for row, shape in zip(rows, shapes, strict=True):
        parts.append(row.name + Text(f"  {shape}", style="dim"))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, min_width=label - 2)
        table.add_column(overflow="fold")
        for heading, x in zip(headings[2:], row.arrays, strict=True):
            if x is not None:
                text = elide_to_width(x.array, style, x.coloured, style.size[0] - label, x.error)
                table.add_row(Text(f"  {heading}", style="dim"), text)
        parts.append(table)
    return parts


MAP_ROWS, MAP_COLUMNS = 12, 36
MAP_LENGTH = 24  # matrices with more rows or columns are shown as a heat map


def matrix(block: ResultBlock, over: str, style: Style, drawn: bool = False, names: list[str] | None = None) -> Any:
    """Return derivatives of an array as an object that rich prints.

    over: the title, such as ∂y/∂x. drawn: draw a heat map of any size. names: of the columns, unless these are the
    elements of one input.
    """
    (row_name, row_shape), (column_name, column_shape) = block.axes
    rows, columns = math.prod(row_shape), math.prod(column_shape)
    flat = block.array.reshape((rows, columns))
    sides = f"   {shape_text(row_shape)} by {shape_text(column_shape)}"
    title = Text().append(over, "bold").append(sides, "dim")
    if not flat.size:
        return Group(title, *([] if drawn else [Text("empty", style="dim")]))
    if drawn or (max(rows, columns) > MAP_LENGTH and not is_shown_whole(flat, style)):
        return Group(title, array_summary(flat, style), text_heat_map(flat, style))
    names = names or labels(column_name, column_shape)
    error = None if block.error is None else block.error.reshape(flat.shape)
    return Group(title, label_matrix(flat, labels(row_name, row_shape), names, style, error))


def label_matrix(
    flat: np.ndarray, rows: list[str], columns: list[str], style: Style, error: np.ndarray | None = None
) -> Text:
    write, whole = cell_writer(flat, style, error=error), is_shown_whole(flat, style)
    down = shown_positions(len(rows), flat.size if whole else None)
    names = [write(None)[0] if i is None else rows[i] for i in down]
    left = max(map(cell_len, names), default=0)
    for edge in (flat.size,) if whole else EDGES:
        across = shown_positions(len(columns), edge)
        heads = [write(None)[0] if j is None else columns[j] for j in across]
        cells = [[write(i, j) for j in across] for i in down]
        widths = [
            max(cell_len(text) for text in (head, *(x for x, _ in column)))
            for head, column in zip(heads, zip(*cells, strict=True), strict=True)
        ]
        if left + sum(widths) + 2 * len(widths) <= style.size[0]:
            break
    starts, used = [0], 0  # starts: the first column of each group that fits into the width
    for j, width in enumerate(widths if whole else ()):
        used += width + 2
        if used > style.size[0] - left and j > starts[-1]:
            starts.append(j)
            used = width + 2
    lines: list[list[Cell]] = []
    for start, stop in zip(starts, [*starts[1:], len(widths)], strict=True):
        lines += [[("", "")]] if lines else []
        looks = [[(head, "dim") for head in heads], *cells]
        for name, line in zip(["", *names], looks, strict=True):
            padded = [
                (" " * (2 + width - cell_len(text)) + text, look)
                for (text, look), width in zip(line[start:stop], widths[start:stop], strict=True)
            ]
            lines.append([(name + " " * (left - cell_len(name)), "bold"), *padded])
    return Text.assemble(*join_parts(lines, "\n"))


def array_summary(flat: np.ndarray, style: Style) -> Text:
    finite = bool(np.isfinite(flat).all())
    small = min(flat.shape) <= 1000 and finite
    rank = str(np.linalg.matrix_rank(flat)) if small else "?"
    nonzero = np.count_nonzero(flat) / flat.size
    norm = float(np.linalg.norm(flat)) if finite else float("nan")
    text = f"rank {rank}, norm {norm:.6g}, {nonzero:.1%} of {flat.size} elements are not 0; -f tsv shows all"
    return Text(text, style="dim")


def text_heat_map(flat: np.ndarray, style: Style) -> Text:
    """Return a heat map: each cell shows the size of its largest element as a shade, and its sign as a colour."""
    rows, columns = (min(n, limit) for n, limit in zip(flat.shape, (MAP_ROWS, MAP_COLUMNS), strict=True))
    down = np.linspace(0, flat.shape[0], rows + 1).astype(int)
    across = np.linspace(0, flat.shape[1], columns + 1).astype(int)
    scale = SHADES if style.unicode else SHADES_PLAIN
    modulus = np.where(np.isfinite(flat), np.abs(flat), 0)
    largest = float(modulus.max()) or 1.0
    text = Text()
    for i in range(rows):
        text.append("  │" if style.unicode else "  |", style="dim")
        for j in range(columns):
            part = flat[down[i] : down[i + 1], across[j] : across[j + 1]]
            if np.isnan(part).any():
                text.append("?", style="bold reverse red")
                continue
            peak = part.flat[int(np.argmax(np.abs(part)))]
            level = 0 if peak == 0 else 1 + min(3, int(4 * min(float(abs(peak)) / largest, 1) ** 0.5))
            text.append(
                scale[level],
                style=COMPLEX_COLOUR if np.iscomplexobj(peak) else POSITIVE_COLOUR if peak > 0 else NEGATIVE_COLOUR,
            )
        text.append("│\n" if style.unicode else "|\n", style="dim")
    text.right_crop(1)
    return text
