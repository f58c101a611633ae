"""Graphs as a terminal shows them: a tree, and columns beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from ..results.graphs import Graph
from . import Style, renders
from .graph import TreeLine, facts, head, tree

LOOKS = {"leaf": "green", "output": "bold yellow", "folded": "blue", "intermediate": ""}
FACTS = {
    "operation": "dim",
    "shape": "dim",
    "module": "dim",
    "line": "dim",
    "hooks": "magenta",
    "value": "cyan",
    "gradient": "bold cyan",
}
"""The columns beside a tree, and how they look."""
SPARE = ("module", "line", "operation", "hooks", "shape")
"""What is left out where there is no room, the first first."""
GAP = 2


class Drawing:
    """A graph, drawn for the width that there is: columns that do not fit are left out."""

    def __init__(self, lines: list[TreeLine], rows: list[dict[str, str]], values: bool):
        self.lines = lines
        self.rows = rows
        self.values = values

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Table | Text]:
        widest = max(cell_len(line.prefix + head(line)) for line in self.lines)
        widths = {name: max(cell_len(row[name]) for row in self.rows) for name in FACTS}
        shown = {name: width + GAP for name, width in widths.items() if width}
        for name in SPARE:
            if widest + sum(shown.values()) > options.max_width:
                shown.pop(name, None)
        if self.values and widest + sum(shown.values()) > options.max_width:
            yield Text("\n").join(
                with_values_below(line, row) for line, row in zip(self.lines, self.rows, strict=True)
            )
        else:
            yield self.table(list(shown))

    def table(self, names: list[str]) -> Table:
        table = Table(box=None, show_header=self.values, header_style="dim", pad_edge=False, padding=(0, GAP, 0, 0))
        table.add_column(no_wrap=True, overflow="ellipsis")
        for name in names:
            table.add_column(name if name in ("value", "gradient") else "", no_wrap=True, overflow="ellipsis")
        for line, row in zip(self.lines, self.rows, strict=True):
            table.add_row(first_of(line), *(Text(row[name], FACTS[name]) for name in names))
        return table


def first_of(line: TreeLine) -> Text:
    """Return what stands at the left: the branches, and what the node is."""
    return Text(line.prefix, "dim") + Text(head(line), "dim" if line.again else LOOKS[line.node.kind])


def with_values_below(line: TreeLine, row: dict[str, str]) -> Text:
    """Return a line of the tree, and value and gradient below it: for a terminal too narrow for columns."""
    indent = line.prefix.replace("├─", "│ ").replace("└─", "  ").replace("|-", "| ").replace("`-", "  ")
    told = [Text(f"{name} {row[name]}", FACTS[name]) for name in ("value", "gradient") if row[name]]
    text = first_of(line)
    return text + Text(f"\n{indent}   ", "dim") + Text("  ").join(told) if told else text


@renders(form="table")
def render_graph(result: Graph, style: Style) -> Drawing:
    """Return the graph as a tree from the output down to the leaves, and columns with what there is to know."""
    lines = list(tree(result, style.unicode))
    rows = [dict(zip(FACTS, facts(line, style, result.values), strict=True)) for line in lines]
    return Drawing(lines, rows, result.values)
