"""Nodes of graphs and their values as text: what several formats share."""

from __future__ import annotations

import numpy as np

from ..results.graphs import GraphNode
from .numbers import number

SHORT = 22
"""The longest value, in characters, that is shown whole."""


def title(node: GraphNode) -> str:
    """Return what a node is: its name and its operation."""
    if node.operations > 1:
        return f"{node.op}: {node.operations} operations ({node.formula})"
    if node.kind == "leaf":
        return node.label
    return f"{node.label} = {node.formula}"


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
