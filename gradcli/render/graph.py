"""Graphs as trees and rows: what every format of `gradcli graph` shares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..errors import GradcliError
from ..results.graphs import Graph, GraphNode
from . import Style
from .numbers import number

MOST_CHARACTERS = 50_000_000
"""A tree with more indentation than this is refused."""
SHORT = 22
"""The longest value, in characters, that is shown whole."""


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


def title(node: GraphNode) -> str:
    """Return what a node is: its name and its operation."""
    if node.operations > 1:
        return f"{node.op}: {node.operations} operations ({node.formula})"
    if node.kind == "leaf":
        return node.label
    return f"{node.label} = {node.formula}"


def head(line: TreeLine) -> str:
    """Return what a line of a tree begins with, behind its prefix."""
    return title(line.node) + (" (shown above)" if line.again and line.node.inputs else "")


def shape_of(node: GraphNode, unicode: bool = True) -> str:
    """Return a node's shape for people; nothing for a scalar."""
    return ("×" if unicode else "x").join(map(str, node.shape)) if node.shape else ""


def value_text(value: np.ndarray | None, precision: int | None = None) -> str:
    """Return an array on one line; a long one is cut."""
    if value is None:
        return ""
    text = nest_values(value, precision or 4)
    if len(text) <= SHORT:
        return text
    return cut_array(text, SHORT)


def cut_array(text: str, width: int) -> str:
    """Return the beginning of an array's text, its brackets closed."""
    head = text[: width - 5].rpartition(",")[0]
    return f"{head}, ..." + "]" * (head.count("[") - head.count("]"))


def nest_values(value: np.ndarray, digits: int) -> str:
    if value.ndim == 0:
        return number(value[()], digits) if value.dtype.kind in "fc" else str(value[()])
    parts = [nest_values(item, digits) for item in value[:SHORT]]
    return f"[{', '.join(parts)}]"


def facts(line: TreeLine, style: Style, values: bool) -> list[str]:
    """Return the columns beside a line of a tree: operation, shape, module, line, hooks, value and gradient."""
    node = line.node
    if line.again:
        return [""] * 7
    alone = node.operations == 1
    return [
        "" if values or not alone else "leaf" if node.kind == "leaf" else node.op,
        shape_of(node, style.unicode),
        node.scope[-1] if node.scope and alone else "",
        f"line {node.line}" if node.line and alone and not values else "",
        "hooks: " + ", ".join(node.hooks) if node.hooks else "",
        value_text(node.value, style.precision) if values else "",
        value_text(node.grad, style.precision) if values else "",
    ]
