"""Matrices of derivatives for a terminal: labelled, or as a heat map with a summary where they are large."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from ..results.labels import labels
from . import Style
from .arrays import EDGES, plain_table, shade, shape_text, shown_positions
from .braille_canvas import SHADES, SHADES_PLAIN
from .numbers import number

MAP_ROWS, MAP_COLUMNS = 12, 36
LARGE = 24
"""Rows or columns from which on a matrix is shown as a heat map."""


def matrix(
    block: np.ndarray, over: str, row: tuple[str, tuple], column: tuple[str, tuple], style: Style, drawn: bool = False
) -> Any:
    """Return a block as something rich prints.

    over: what its elements are, such as ∂y/∂x. row, column: the name and shape of what they stand for. drawn: a heat
    map is wanted, whatever its size.
    """
    (row_name, row_shape), (column_name, column_shape) = row, column
    rows, columns = int(np.prod(row_shape)), int(np.prod(column_shape))
    flat = block.reshape((rows, columns))
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
