"""What a terminal shows: names, shapes, values and gradients, colour by sign, large arrays elided."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..errors import visible
from ..results import Gradients
from ..results.checks import CheckList, CheckReport, CheckSummary
from ..results.operations import Operation, Operations
from ..results.transforms import Hessian, Jacobian, Products
from . import Style
from .checks import headline, summary_line
from .formulas import agreements, formulas, longnumbers
from .numbers import number
from .plot import curve, heatmaps, surface
from .trace import trace
from .tree import graph
from .tsv import checklist as lines_of_checks

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
    return Group(*head, table, *more_of(result))


def head_of(result: Any, style: Style) -> list[Any]:
    """Return the line with the value of the output, and an empty one."""
    output = result.output or "value"
    return [Text(f"{output} ", style="bold") + array_text(result.value, style, False), Text("")]


def blocks_of(items: list[Any]) -> list[Any]:
    """Return blocks with an empty line between two."""
    return [part for i, item in enumerate(items) for part in ([Text(""), item] if i else [item])]


def jacobian(result: Jacobian, style: Style) -> Group:
    """Return the value, and one labelled matrix or heat map per input."""
    from .matrix import matrix

    output = (result.output or "out", result.value.shape)
    items = []
    for item in result.blocks:
        if item.block is not None:
            over = f"∂{output[0]}/∂{item.name}"
            items.append(matrix(item.block, over, output, (item.name, item.value.shape), style))
        else:
            items.append(sparse_text(item, result))
    return Group(*head_of(result, style), *blocks_of(items), *more_of(result))


def more_of(result: Any) -> list[Any]:
    """Return what formulas and other answers say of a result, where that was asked for."""
    found: list[Any] = [agreements(result.symbolic)] if result.symbolic else []
    for report in getattr(result, "witnesses", ()):
        found += [Text(""), check_text(report, Style())]
    return found


def sparse_text(item: Any, result: Jacobian) -> Text:
    """Return what there is to say about a sparse block, and its first entries."""
    rows, columns = item.sparse.shape
    text = Text().append(f"d{result.output or 'out'}/d{item.name}", "bold")
    share = item.sparse.nnz / max(rows * columns, 1)
    text.append(
        f"   sparse {rows}×{columns}, {item.sparse.nnz} entries ({share:.2%}), {result.products} products", "dim"
    )
    entries = item.sparse.tocoo()
    for i, j, x in list(zip(entries.row, entries.col, entries.data, strict=True))[:10]:
        text.append(f"\n  ({i}, {j})  ", "dim")
        text.append(number(x, 6), shade(x, 0.0))
    if item.sparse.nnz > 10:
        text.append("\n  …", "dim")
    return text


def hessian(result: Hessian, style: Style) -> Group:
    """Return the value, and one labelled matrix or heat map per pair of inputs."""
    from .matrix import matrix

    items = [
        matrix(
            block,
            f"∂²{result.output or 'out'}/∂{name}∂{other}",
            (name, result.inputs[name].shape),
            (other, result.inputs[other].shape),
            style,
        )
        for name, row in result.blocks.items()
        for other, block in row.items()
    ]
    return Group(*head_of(result, style), *blocks_of(items), *more_of(result))


def products(result: Products, style: Style) -> Group:
    """Return the value, and a table of the products."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("output" if result.kind == "jvp" else "input", "shape", result.kind):
        table.add_column(heading, no_wrap=True, vertical="top", overflow="fold")
    for name, x in result.parts.items():
        table.add_row(Text(name, style="bold"), Text(shape_text(x), style="dim"), array_text(x, style, True))
    return Group(*head_of(result, style), table)


def operations(result: Operations, style: Style) -> Any:
    """Return a table of functions; everything about one when only one is shown."""
    if result.full:
        return Group(*blocks_of([operation_text(op) for op in result.entries]))
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("function", "derivative", "what it computes"):
        table.add_column(heading, vertical="top", overflow="fold")
    for op in result.entries:
        table.add_row(
            Text(op.name, style="bold"), "; ".join(text for _, text in op.derivatives), Text(op.doc, style="dim")
        )
    return table


def operation_text(op: Operation) -> Text:
    """Return everything about one function."""
    text = Text().append(f"{op.name}{op.signature}", "bold")
    text.append(f"\n  {op.doc}")
    facts = [(f"derivative for {name}", rule) for name, rule in op.derivatives]
    facts += [
        ("kind", op.kind),
        ("domain of tests", op.domain),
        ("at kinks", op.subgradient),
        ("exact twin", op.twin),
        ("also called", ", ".join(op.aliases)),
        ("NumPy", ", ".join(op.numpy)),
    ]
    for heading, fact in facts:
        if fact:
            text.append(f"\n  {heading}: ", style="dim")
            text.append(fact)
    return text


def checklist(result: CheckList, style: Style) -> Text:
    """Return one line per check."""
    return Text(lines_of_checks(result, style).rstrip("\n"), overflow="fold")


MARKS = {"pass": ("✓", "+", "green"), "fail": ("✗", "x", "bold red"), "inconclusive": ("?", "?", "yellow")}


def checksummary(result: CheckSummary, style: Style) -> Group:
    """Return one line per check, what there is to know about those that did not pass, and a summary."""
    lines = [check_text(check, style) for check in result.checks]
    colour = "bold red" if result.count("fail") or result.count("error") else "bold green"
    return Group(*lines, Text(summary_line(result), style=colour))


def check_text(check: CheckReport, style: Style) -> Text:
    """Return one check: its verdict and reason; for a fail the diagnosis and how to repeat it."""
    mark, plain, colour = MARKS.get(check.verdict, ("!", "!", "bold magenta"))
    text = Text().append(f"{mark if style.unicode else plain} {check.verdict:<12} ", colour)
    text.append(visible(check.name), "bold")
    if check.file and check.line:
        text.append(f"  {visible(check.file)}:{check.line}", "dim")
    indent = "\n    "
    reason = headline(check) if style.unicode else headline(check).replace("±", "+-")
    text.append(indent + visible(reason).replace("\n", indent), "dim" if check.verdict == "pass" else "")
    for finding in check.diagnosis:
        text.append(indent + finding.text, "yellow")
    if len(check.witnesses) > 1:
        words = [f"{name} {digits:.1f}" for name, digits in check.witnesses]
        text.append(indent + "digits that agree with reverse mode: " + ", ".join(words), "dim")
    for note in check.notes:
        text.append(indent + "note: " + note, "dim")
    if check.blame:
        text.append(indent + check.blame.replace("\n", indent))
    if check.replay and check.verdict == "fail":
        text.append(indent + "again: " + visible(check.replay), "cyan")
    return text


__all__ = [
    "checksummary",
    "curve",
    "formulas",
    "gradients",
    "graph",
    "heatmaps",
    "hessian",
    "jacobian",
    "longnumbers",
    "operations",
    "products",
    "surface",
    "trace",
]
