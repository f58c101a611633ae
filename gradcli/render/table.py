"""What a terminal shows: names, shapes, values and gradients, colour by sign, large arrays elided."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..results import Gradients
from . import Style
from .numbers import number

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


def places(length: int) -> list[int | None]:
    """Return the positions to show along an axis; None stands for those left out."""
    if length <= LONG:
        return list(range(length))
    return [*range(EDGE), None, *range(length - EDGE, length)]


def array_text(array: np.ndarray, style: Style, coloured: bool) -> Text:
    """Return an array as aligned, coloured text; three axes and more are shown slice by slice."""
    finite = np.abs(array[np.isfinite(array)]) if array.size else np.zeros(0)
    largest = float(finite.max()) if finite.size else 0.0
    digits = style.precision or 6

    def cell(x: Any, width: int = 0) -> Text:
        return Text(number(x, digits).rjust(width), style=shade(x, largest) if coloured else "")

    return block(array, cell, digits, "…" if style.unicode else "...")


def block(array: np.ndarray, cell: Any, digits: int, dots: str) -> Text:
    """Return an array as text: a number, a line, a matrix, or blocks of them."""
    if array.ndim == 0:
        return cell(array[()])
    if array.size == 0:
        return Text("empty", style="dim")
    if array.ndim == 1:
        return row_text([None if i is None else array[i] for i in places(len(array))], cell, dots, None)
    rows = places(array.shape[0])
    if array.ndim == 2:
        columns = places(array.shape[1])
        widths = [
            None if j is None else max(len(number(array[i, j], digits)) for i in rows if i is not None)
            for j in columns
        ]
        lines = []
        for i in rows:
            if i is None:
                lines.append(Text(dots))
            else:
                items = [None if j is None else array[i, j] for j in columns]
                lines.append(row_text(items, cell, dots, widths))
        return Text("\n").join(lines)
    parts = [Text(dots) if i is None else block(array[i], cell, digits, dots) for i in rows]
    return Text("\n\n").join(parts)


def row_text(items: list, cell: Any, dots: str, widths: list | None) -> Text:
    """Return one row of an array."""
    cells = [Text(dots) if x is None else cell(x, widths[k] if widths else 0) for k, x in enumerate(items)]
    return Text("[") + Text("  " if widths else ", ").join(cells) + Text("]")


def gradients(result: Gradients, style: Style) -> Group:
    """Return the value and a table of the gradients."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("input", "shape", "value", "gradient"):
        table.add_column(heading, no_wrap=heading != "value", vertical="top", overflow="fold")
    for item in result.inputs:
        table.add_row(
            Text(item.name, style="bold"),
            Text(shape_text(item.grad), style="dim"),
            array_text(item.value, style, False),
            array_text(item.grad, style, True),
        )
    for name, grad in result.retained.items():
        table.add_row(
            Text(name, style="italic"), Text(shape_text(grad), style="dim"), "", array_text(grad, style, True)
        )
    head = []
    if result.value is not None:
        output = result.output or "value"
        head = [Text(f"{output} ", style="bold") + array_text(result.value, style, False), Text("")]
    return Group(*head, table)
