"""SVG pictures: graphs drawn by Graphviz, plots by matplotlib."""

from __future__ import annotations

from ..results.graphs import Graph
from ..results.plots import Curve, HeatMaps, Surface
from . import Style, picture
from .dot import drawn


def graph(result: Graph, style: Style) -> bytes:
    """Return the picture of a graph. Raises GradcliError where Graphviz is not installed."""
    return drawn(result, style, "svg")


def curve(result: Curve, style: Style) -> bytes:
    """Return the picture of a function and its derivative."""
    return picture.curve(result, "svg")


def surface(result: Surface, style: Style) -> bytes:
    """Return the map of a function of two inputs."""
    return picture.surface(result, "svg")


def heatmaps(result: HeatMaps, style: Style) -> bytes:
    """Return the heat maps of a Jacobian."""
    return picture.heatmaps(result, "svg")
