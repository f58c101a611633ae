"""Graphs as a terminal shows them: a tree, and columns beside it."""

from __future__ import annotations

from typing import Any

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from ..results.graphs import Graph
from . import Style
from .graph import Line, facts, head, tree

LOOKS = {"leaf": "green", "output": "bold yellow", "folded": "blue", "intermediate": ""}


def graph(result: Graph, style: Style) -> Any:
    """Return the graph as a tree from the output down to the leaves, and columns with what there is to know."""
    lines = list(tree(result, style.unicode))
    rows = [facts(line, style, result.values) for line in lines]
    widths = [max(cell_len(row[i]) for row in rows) for i in range(len(FACTS))]
    widest = max(cell_len(line.prefix + head(line)) for line in lines)
    if result.values and widest + sum(max(w, 8) + 2 for w in widths if w) > style.size[0]:
        return Text("\n").join(beneath(line, row) for line, row in zip(lines, rows, strict=True))
    table = Table(box=None, show_header=result.values, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    filled = [any(row[i] for row in rows) for i in range(len(FACTS))]
    table.add_column(no_wrap=True, overflow="ellipsis", min_width=min(widest, 48))
    for heading, shown in zip(FACTS, filled, strict=True):
        if shown:
            table.add_column(heading if heading in ("value", "gradient") else "", no_wrap=True, overflow="ellipsis")
    for line, row in zip(lines, rows, strict=True):
        cells = [Text(x, look) for x, look, shown in zip(row, FACTS.values(), filled, strict=True) if shown]
        table.add_row(first_of(line), *cells)
    return table


def first_of(line: Line) -> Text:
    """Return what stands at the left: the branches, and what the node is."""
    return Text(line.prefix, "dim") + Text(head(line), "dim" if line.again else LOOKS[line.node.kind])


def beneath(line: Line, row: list[str]) -> Text:
    """Return a line of the tree, and the facts below it: what a terminal too narrow for columns shows."""
    indent = line.prefix.replace("├─", "│ ").replace("└─", "  ").replace("|-", "| ").replace("`-", "  ")
    told = [
        Text(f"{name} {fact}" if name in ("value", "gradient") else fact, look)
        for fact, (name, look) in zip(row, FACTS.items(), strict=True)
        if fact
    ]
    text = first_of(line)
    return text + Text(f"\n{indent}   ", "dim") + Text("  ").join(told) if told else text


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
