"""Formulas and long numbers as a terminal shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..results.exact import Agreement, Formulas, LongNumbers
from . import Style
from .exact import long_elements, plain_steps
from .numbers import label

MOST = 12
"""Elements whose formula is shown."""


def render_formulas(result: Formulas, style: Style) -> Group:
    """Return the value and every derivative, written over several lines as on paper."""
    if result.steps:
        return Group(*(Text(plain_steps(step.text, style)) for step in result.steps))
    parts: list[Any] = []
    for d in result.value[:MOST]:
        parts += [Text(d.name, style="bold"), Padding(write_formula(d.formula, style, ""), (0, 0, 1, 4))]
    for d in result.derivatives:
        over, sign = d.name.split("/"), "∂" if style.unicode else "d"
        power = {1: "", 2: "²", 3: "³"}.get(len(over), f"^{len(over)}") if style.unicode else f"^{len(over)}"
        head = f"{sign}{power if len(over) > 1 else ''}/{' '.join(sign + name for name in over)}"
        parts += [Text(head, style="bold"), Padding(write_formula(d.formula, style, "cyan"), (0, 0, 0, 4))]
        if d.value is not None:
            parts.append(Padding(Text(f"= {d.value}", style="green"), (0, 0, 0, 4)))
        parts.append(Text(""))
    return Group(*parts[:-1])


def write_formula(formula: Any, style: Style, look: str) -> Text:
    """Return a formula as on paper; on one line, which can be broken, where that would be too wide."""
    wide = max(map(cell_len, formula.pretty.split("\n"))) > style.size[0] - 4
    return Text(formula.text if wide else formula.pretty, style=look)


def render_longnumbers(result: LongNumbers, style: Style) -> Table:
    """Return a table of names and digits."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    output = result.output or "value"
    for index in np.ndindex(result.value.shape):
        table.add_row(Text(label(output, index), style="bold"), Text(str(result.value[index])))
    for name, digits in long_elements(result):
        table.add_row(Text(name, style="bold"), Text(digits, style="green"))
    return table


def agreements(items: tuple[Agreement, ...]) -> Group:
    """Return a table of the formulas beside a result: the formula, its value, and whether the engine agrees."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("by sympy", no_wrap=True)
    table.add_column("formula", overflow="fold")
    table.add_column("value in 30 digits", overflow="fold")
    table.add_column("", no_wrap=True)
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
