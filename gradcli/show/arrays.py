"""Arrays and matrices for a terminal: aligned, coloured by sign, elided, or drawn as a heat map."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from . import Style
from .data import NONE, number
from .plot import SHADES, SHADES_PLAIN
from .results import Block, labels

EDGE = 3
"""Elements shown at either end of an elided axis."""
LONG = 8
"""Axes longer than this are elided."""


def shape_text(array: np.ndarray) -> str:
    """Return a shape for people: 3×4, or scalar."""
    return "×".join(map(str, array.shape)) if array.ndim else "scalar"


def shade(x: Any, largest: float) -> str:
    """Return the style of a number: its colour shows the sign, its weight the size beside the largest."""
    if isinstance(x, complex | np.complexfloating):
        return "cyan"
    if not np.isfinite(x):
        return "bold reverse red"
    if x == 0:
        return "dim"
    colour = "green" if x > 0 else "red"
    ratio = abs(float(x)) / largest if largest else 1.0
    return f"bold {colour}" if ratio >= 0.5 else colour if ratio >= 0.01 else f"dim {colour}"


def shown_positions(length: int, edge: int | None = None) -> list[int | None]:
    """Return the positions to show along an axis; None stands for those left out. edge: how many at either end."""
    if length <= (LONG if edge is None else 2 * edge + 1):
        return list(range(length))
    edge = edge or EDGE
    return [*range(edge), None, *range(length - edge, length)]


def array_text(array: np.ndarray | None, style: Style, coloured: bool, edge: int | None = None) -> Text:
    """Return an array as aligned, coloured text; three axes and more are shown slice by slice. None is `none`."""
    if array is None:
        return Text(NONE, style="dim")
    finite = np.abs(array[np.isfinite(array)]) if array.size else np.zeros(0)
    largest = float(finite.max()) if finite.size else 0.0
    digits = style.precision or 6

    def cell(x: Any, width: int = 0) -> Text:
        return Text(number(x, digits).rjust(width), style=shade(x, largest) if coloured else "")

    return block(array, cell, digits, "…" if style.unicode else "...", edge)


def block(array: np.ndarray, cell: Any, digits: int, dots: str, edge: int | None) -> Text:
    """Return an array as text: a number, a line, a matrix, or blocks of them."""
    if array.ndim == 0:
        return cell(array[()])
    if array.size == 0:
        return Text("empty", style="dim")
    if array.ndim == 1:
        return row_text([None if i is None else array[i] for i in shown_positions(len(array), edge)], cell, dots, None)
    rows = shown_positions(array.shape[0])
    if array.ndim == 2:
        columns = shown_positions(array.shape[1], edge)
        widths = [
            None if j is None else max(len(number(array[i, j], digits)) for i in rows if i is not None) for j in columns
        ]
        lines = []
        for i in rows:
            if i is None:
                lines.append(Text(dots))
            else:
                items = [None if j is None else array[i, j] for j in columns]
                lines.append(row_text(items, cell, dots, widths))
        return Text("\n").join(lines)
    parts = [Text(dots) if i is None else block(array[i], cell, digits, dots, edge) for i in rows]
    return Text("\n\n").join(parts)


def row_text(items: list, cell: Any, dots: str, widths: list | None) -> Text:
    cells = [Text(dots) if x is None else cell(x, widths[k] if widths else 0) for k, x in enumerate(items)]
    return Text("[") + Text("  " if widths else ", ").join(cells) + Text("]")


EDGES = (None, 3, 2, 1)
"""How many elements to leave at either end of long axes, until a text fits; None for what is usual."""


def width_of(text: Text) -> int:
    return max(map(len, text.plain.split("\n")))


def elide_to_width(array: np.ndarray | None, style: Style, coloured: bool, width: int) -> Text:
    """Return an array as text that is no wider than `width`, where eliding can do that."""
    text = Text()
    for edge in EDGES:
        text = array_text(array, style, coloured, edge)
        if width_of(text) <= width:
            break
    return text


def plain_table(*headings: str | Column, look: str = "bold", gap: int = 2) -> Table:
    """Return a table without lines, blanks between its columns; what is too long for a heading's is folded."""
    columns = (Column(heading, overflow="fold") if isinstance(heading, str) else heading for heading in headings)
    return Table(*columns, box=None, header_style=look, pad_edge=False, padding=(0, gap, 0, 0))


class Row(NamedTuple):
    """A name, an array whose shape is shown, and arrays, each with whether it is coloured.

    An array that is None is shown as none, a pair that is None not at all.
    """

    name: Text
    like: np.ndarray
    arrays: list[tuple[np.ndarray | None, bool] | None]


def table_of_arrays(headings: tuple[str, ...], rows: list[Row], style: Style) -> list[Any]:
    """Return a table of arrays by name; where it does not fit, the arrays stand below their name."""
    shapes = [shape_text(row.like) for row in rows]
    fixed = max([len(headings[0]), *(len(row.name) for row in rows)]) + max(map(len, [headings[1], *shapes])) + 2
    for edge in EDGES:
        cells = [
            [Text() if pair is None else array_text(pair[0], style, pair[1], edge) for pair in row.arrays]
            for row in rows
        ]
        columns = list(zip(*cells, strict=True)) if cells else [()] * len(headings[2:])
        widths = [
            max([len(heading), *map(width_of, column)]) for heading, column in zip(headings[2:], columns, strict=True)
        ]
        if fixed + sum(widths) + 2 * len(widths) <= style.size[0]:
            return [side_by_side(headings, rows, shapes, cells)]
    return below_each_other(headings, rows, shapes, style)


def side_by_side(headings: tuple[str, ...], rows: list[Row], shapes: list[str], cells: list[list[Text]]) -> Table:
    table = plain_table(*(Column(heading, no_wrap=True) for heading in headings))
    for row, shape, texts in zip(rows, shapes, cells, strict=True):
        table.add_row(row.name, Text(shape, style="dim"), *texts)
    return table


def below_each_other(headings: tuple[str, ...], rows: list[Row], shapes: list[str], style: Style) -> list[Any]:
    label = max(map(len, headings[2:])) + 4
    parts: list[Any] = []
    for row, shape in zip(rows, shapes, strict=True):
        parts.append(row.name + Text(f"  {shape}", style="dim"))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, min_width=label - 2)
        table.add_column(overflow="fold")
        for heading, pair in zip(headings[2:], row.arrays, strict=True):
            if pair is not None:
                text = elide_to_width(pair[0], style, pair[1], style.size[0] - label)
                table.add_row(Text(f"  {heading}", style="dim"), text)
        parts.append(table)
    return parts


MAP_ROWS, MAP_COLUMNS = 12, 36
LARGE = 24
"""Rows or columns from which on a matrix is shown as a heat map."""


def matrix(block: Block, over: str, style: Style, drawn: bool = False) -> Any:
    """Return derivatives of an array as something rich prints.

    over: what the elements are, such as ∂y/∂x. drawn: a heat map is wanted, whatever its size.
    """
    (row_name, row_shape), (column_name, column_shape) = block.axes
    rows, columns = math.prod(row_shape), math.prod(column_shape)
    flat = block.array.reshape((rows, columns))
    plain = over if style.unicode else over.replace("∂²", "d2").replace("∂", "d")
    sides = f"   {shape_text(np.empty(row_shape))} by {shape_text(np.empty(column_shape))}"
    title = Text().append(plain, "bold").append(sides, "dim")
    if not flat.size:
        return Group(title, *([] if drawn else [Text("empty", style="dim")]))
    if drawn or max(rows, columns) > LARGE:
        return Group(title, summary(flat, style), heat_map(flat, style))
    return Group(title, label_matrix(flat, labels(row_name, row_shape), labels(column_name, column_shape), style))


def label_matrix(flat: np.ndarray, rows: list[str], columns: list[str], style: Style) -> Table:
    """Return a matrix with the names of its rows and columns; long ones are elided."""
    finite = np.abs(flat[np.isfinite(flat)])
    largest = float(finite.max()) if finite.size else 0.0
    dots = Text("…" if style.unicode else "...")

    def cell(i: int | None, j: int | None) -> Text:
        if i is None or j is None:
            return dots
        return Text(number(flat[i, j], style.precision or 6), style=shade(flat[i, j], largest), no_wrap=True)

    down = shown_positions(len(rows))
    left = max((cell_len(rows[i]) for i in down if i is not None), default=0)
    for edge in EDGES:
        across = shown_positions(len(columns), edge)
        cells = [[cell(i, j) for j in across] for i in down]
        numbers = [max(map(len, column)) for column in zip(*cells, strict=True)]
        heads = [dots.plain if j is None else columns[j] for j in across]
        widths = [max(cell_len(head), width) for head, width in zip(heads, numbers, strict=True)]
        if left + sum(widths) + 2 * len(widths) <= style.size[0]:
            break
    sides = zip(heads, numbers, strict=True)
    numeric = (Column(head, justify="right", overflow="fold", min_width=width) for head, width in sides)
    table = plain_table("", *numeric, look="dim")
    for i, line in zip(down, cells, strict=True):
        table.add_row(dots if i is None else Text(rows[i], style="bold"), *line)
    return table


def summary(flat: np.ndarray, style: Style) -> Text:
    """Return shape, rank, Frobenius norm and the share of elements that are not 0."""
    finite = bool(np.isfinite(flat).all())
    small = min(flat.shape) <= 1000 and finite
    rank = str(np.linalg.matrix_rank(flat)) if small else "?"
    nonzero = np.count_nonzero(flat) / flat.size
    norm = float(np.linalg.norm(flat)) if finite else float("nan")
    return Text(f"rank {rank}, norm {norm:.6g}, {nonzero:.1%} of {flat.size} elements are not 0", style="dim")


def heat_map(flat: np.ndarray, style: Style) -> Text:
    """Return a picture: the largest modulus in each cell by its shade, the sign there by its colour."""
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
            text.append(scale[level], style="cyan" if np.iscomplexobj(peak) else "green" if peak > 0 else "red")
        text.append("│\n" if style.unicode else "|\n", style="dim")
    text.right_crop(1)
    return text
