"""Formulas and long numbers as a terminal shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from . import Style
from .arrays import plain_table
from .data import NONE, write_text
from .formula_results import Agreement, Formulas, LongNumbers, MatrixFormulas
from .results import label, value_block

MOST = 12
"""Elements whose formula is shown."""


def render_formulas(result: Formulas, style: Style) -> Group:
    """Return the value and every derivative, written over several lines as on paper."""
    if result.steps:
        return Group(Text(write_text(result, style).rstrip("\n")))
    parts: list[Any] = []
    for d in result.value[:MOST]:
        parts += [Text(d.name, style="bold"), Padding(write_formula(d.formula, style, ""), (0, 0, 1, 4))]
    if result.matrix is not None:
        return Group(*parts, formula_matrix(result, style))
    for d in result.derivatives:
        over, sign = d.name.split("/"), "∂" if style.unicode and not result.single else "d"
        below = (f"{sign}{name}{power_text(over.count(name), style)}" for name in dict.fromkeys(over))
        head = f"{sign}{power_text(len(over), style)}/{' '.join(below)}"
        parts += [Text(head, style="bold"), Padding(write_formula(d.formula, style, "cyan"), (0, 0, 0, 4))]
        if d.value is not None:
            parts.append(Padding(Text(f"= {d.value}", style="green"), (0, 0, 0, 4)))
        parts.append(Text(""))
    return Group(*parts[:-1])


def power_text(n: int, style: Style) -> str:
    """Return an exponent, nothing for 1."""
    return ("" if n == 1 else f"^{n}") if n > 3 or not style.unicode else " ²³"[n - 1].strip()


def formula_matrix(result: Formulas, style: Style) -> Group:
    """Return a Jacobian or a Hessian of formulas with names of rows and columns; a list where that is too wide."""
    matrix = result.matrix
    assert matrix is not None
    head = Text(f"{matrix.kind.capitalize()} of {result.function}", style="bold")
    names = [row if matrix.kind == "hessian" else result.function + row for row in matrix.rows]
    cells = [
        [d.formula.pretty + ("" if d.value is None else f"\n= {d.value}") for d in entries]
        for entries in matrix.entries
    ]
    columns = [names, *([name, *column] for name, *column in zip(matrix.columns, *cells, strict=True))]
    widths = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    if sum(widths) + 3 * len(widths) > style.size[0]:
        return Group(head, *(Text(f"{name}  " + "\t".join(more)) for name, *more in result.rows()))
    headings = (Column(column, no_wrap=True, vertical="middle") for column in ("", *matrix.columns))
    table = plain_table(*headings, gap=3)
    for name, row in zip(names, cells, strict=True):
        table.add_row(Text(name, style="bold"), *(Text(cell, style="cyan") for cell in row))
    return Group(head, table)


def render_matrixformulas(result: MatrixFormulas, style: Style) -> Group:
    """Return a line per derivative, with its shape: ∂f/∂x ∈ ℝⁿ = 2 Aᵀ(Ax − b)."""
    if result.steps or not style.unicode:
        return Group(Text(write_text(result, style).rstrip("\n")))
    lines = []
    for d in result.derivatives:
        names = d.name.split("/")
        below = f"∂{names[0]}²" if len(names) == 2 and names[0] == names[1] else " ".join(f"∂{n}" for n in names)
        head = f"∂{'²' if len(names) > 1 else ''}{result.function}/{below} ∈ ℝ{space(d.dims)}"
        lines.append(Text.assemble((head, "bold"), " = ", (d.formula.pretty, "cyan")))
    return Group(*lines)


RAISED = dict(zip("0123456789abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True))


def space(dims: tuple[int | str, ...]) -> str:
    """Return the exponent of ℝ: nothing for a number, raised letters where there are such."""
    text = "×".join(map(str, dims))
    letters = [RAISED.get(c, "ˣ" if c == "×" else "") for c in text]
    return "".join(letters) if all(letters) else f"^({text})"


def write_formula(formula: Any, style: Style, look: str) -> Text:
    """Return a formula as on paper; on one line, which can be broken, where that would be too wide."""
    wide = max(map(cell_len, formula.pretty.split("\n"))) > style.size[0] - 4
    return Text(formula.text if wide else formula.pretty, style=look)


def render_longnumbers(result: LongNumbers, style: Style) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for block in (*([] if result.value is None else [value_block(result)]), *result.arrays):
        for name, digits in block.rows():
            table.add_row(Text(name, style="bold"), Text(digits or NONE, style="" if block.key == "value" else "green"))
    return table


def agreements(items: tuple[Agreement, ...]) -> Group:
    """Return a table of the formulas beside a result: the formula, its value, and whether the engine agrees."""
    table = plain_table(Column("by sympy", no_wrap=True), "formula", "value in 30 digits", Column("", no_wrap=True))
    for item in items:
        verdict = Text("agrees", style="green") if item.agrees else Text("DISAGREES", style="bold red")
        if item.agrees and not item.decided:
            verdict = Text("undecided", style="yellow")
        for k, index in enumerate(np.ndindex(item.texts.shape)):
            if k == MOST:
                table.add_row("...", "", "", "")
                break
            formula, value = Text(str(item.texts[index])), str(item.values[index])
            table.add_row(label(item.name, index), formula, value, verdict)
    return Group(Text(""), table)
