"""Graphs as a terminal shows them: a tree, and columns beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from ..errors import GradcliError
from ..results.graphs import Graph, GraphNode
from . import Style, renders
from .graph import shape_of, title, value_text

MOST_CHARACTERS = 50_000_000
"""A tree with more indentation than this is refused."""
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


class TreeLine(NamedTuple):
    """One line of a tree. again: the node was shown above, with all that is below it."""

    prefix: str
    node: GraphNode
    again: bool


def tree(result: Graph, unicode: bool) -> Iterator[TreeLine]:
    """Yield the lines of a graph as a tree from its outputs down; a shared node is written out once.

    Raises GradcliError for a graph so deep that its indentation would fill the memory.
    """
    branch, last, through, blank = ("├─ ", "└─ ", "│  ", "   ") if unicode else ("|- ", "`- ", "|  ", "   ")
    nodes = {node.number: node for node in result.nodes}
    shown: set[int] = set()
    written = 0
    stack = [("", "", number) for number in reversed(result.outputs)]
    while stack:
        own, below, place = stack.pop()
        node = nodes[place]
        again = place in shown and bool(node.inputs or node.kind == "leaf")
        written += len(own)
        if written > MOST_CHARACTERS:
            raise GradcliError(
                "the graph is too deep for a tree", hint="leave --all out, or use -f dot or -f json", kind="limit"
            )
        yield TreeLine(own, node, again)
        if again:
            continue
        shown.add(place)
        children = list(dict.fromkeys(node.inputs))
        for i, child in reversed(list(enumerate(children))):
            is_last = i == len(children) - 1
            stack.append((below + (last if is_last else branch), below + (blank if is_last else through), child))


def head(line: TreeLine) -> str:
    """Return what a line of a tree begins with, behind its prefix."""
    return title(line.node) + (" (shown above)" if line.again and line.node.inputs else "")


def facts(line: TreeLine, style: Style, values: bool) -> dict[str, str]:
    """Return what stands in the columns beside a line of a tree."""
    node, alone = line.node, line.node.operations == 1
    if line.again:
        return dict.fromkeys(FACTS, "")
    return {
        "operation": "" if values or not alone else "leaf" if node.kind == "leaf" else node.op,
        "shape": shape_of(node, style.unicode),
        "module": node.scope[-1] if node.scope and alone else "",
        "line": f"line {node.line}" if node.line and alone and not values else "",
        "hooks": "hooks: " + ", ".join(node.hooks) if node.hooks else "",
        "value": value_text(node.value, style.precision) if values else "",
        "gradient": value_text(node.grad, style.precision) if values else "",
    }


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
    return Drawing(lines, [facts(line, style, result.values) for line in lines], result.values)
