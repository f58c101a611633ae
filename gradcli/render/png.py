"""PNG pictures, drawn by Graphviz."""

from __future__ import annotations

from ..results.graphs import Graph
from . import Style
from .dot import drawn


def graph(result: Graph, style: Style) -> bytes:
    """Return the picture of a graph. Raises GradcliError where Graphviz is not installed."""
    return drawn(result, style, "png")
