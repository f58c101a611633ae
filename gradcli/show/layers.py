"""The layout of graphs in layers: operands below their results, with few crossings.

Sugiyama, Tagawa and Toda (1981): layers by longest paths, long edges through empty places, barycentres.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import GradcliError, visible
from . import Style
from .dot import box_text
from .graph_results import Graph, GraphNode

Point = tuple[float, float]
Node = Any
BETWEEN, GAP, HEIGHT, LETTER = 42, 24, 54, 7.4
"""In pixels: between layers, between neighbours, height of a box, width of a letter."""
SWEEPS = 6


class Edge(NamedTuple):
    """The start of an edge, below a box, and Bézier curves to the top of another: two controls and an end each."""

    start: Point
    curves: list[tuple[Point, Point, Point]]

    @property
    def path(self) -> str:
        (x, y), curves = self
        parts = ("C" + " ".join(f"{a:.1f} {b:.1f}" for a, b in curve) for curve in curves)
        return f"M{x:.1f} {y:.1f}{''.join(parts)}"


class Drawing(NamedTuple):
    """The boxes (middle and width), their height, the edges, and the size of the whole."""

    boxes: dict[Node, tuple[float, float, float]]
    height: float
    edges: dict[tuple[Node, Node], Edge]
    size: tuple[float, float]


def text_width(lines: Sequence[str]) -> float:
    return max([60.0, *(len(text) * LETTER + 20 for text in lines)])


def draw_layers(widths: Mapping[Node, float], below: Mapping[Node, Sequence[Node]], height: float = HEIGHT) -> Drawing:
    """Lay out a graph. widths: of each node, tops first; below: the operands of each; height: of all boxes."""
    depth = dict.fromkeys(widths, 0)  # the longest path from a top: nodes come in topological order
    for node in widths:
        for operand in below.get(node, ()):
            depth[operand] = max(depth[operand], depth[node] + 1)
    first: dict[Any, int] = {}  # nodes that depend on the program's first leaf are on the left
    for i, node in enumerate(reversed(widths)):
        first[node] = min((first.get(operand, i) for operand in below.get(node, ())), default=i)
    rows: list[list[Any]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in sorted(depth, key=first.__getitem__):
        rows[depth[node]].append(node)
    chains: dict[tuple[Any, Any], list[Any]] = {}
    links: list[tuple[Any, Any]] = []
    for top, operands in below.items():
        for bottom in dict.fromkeys(operands):
            places = [(top, bottom, level) for level in range(depth[top] + 1, depth[bottom])]
            for place in places:
                rows[place[2]].append(place)
            chain = [top, *places, bottom]
            chains[top, bottom] = chain
            links += pairwise(chain)
    order_rows(rows, links)
    return place_rows(rows, widths, chains, height)


def order_rows(rows: list[list[Any]], links: list[tuple[Any, Any]]) -> None:
    """Sort each layer by the mean place of its neighbours above, then below, several times."""
    upper: dict[Any, list[Any]] = {}
    lower: dict[Any, list[Any]] = {}
    for top, bottom in links:
        upper.setdefault(bottom, []).append(top)
        lower.setdefault(top, []).append(bottom)
    for sweep in range(SWEEPS):
        neighbours = lower if sweep % 2 else upper
        place = {node: i for row in rows for i, node in enumerate(row)}
        for row in reversed(rows) if sweep % 2 else rows:
            middle = {
                node: sum(place[n] for n in near) / len(near) if (near := neighbours.get(node)) else place[node]
                for node in row
            }
            row.sort(key=middle.__getitem__)
            place.update((node, i) for i, node in enumerate(row))


def place_rows(
    rows: list[list[Any]], widths: Mapping[Any, float], chains: Mapping[Any, list[Any]], height: float
) -> Drawing:
    sizes = [sum(widths.get(node, 10) + GAP for node in row) for row in rows]
    total = max(sizes, default=0.0) + GAP
    spots: dict[Any, Point] = {}
    for level, row in enumerate(rows):
        x = (total - sizes[level] + GAP) / 2
        for node in row:
            width = widths.get(node, 10)
            spots[node] = (x + width / 2, GAP + height / 2 + level * (height + BETWEEN))
            x += width + GAP
    boxes = {node: (*spots[node], width) for node, width in widths.items()}
    edges = {ends: edge_through([spots[n] for n in chain], height) for ends, chain in chains.items()}
    return Drawing(boxes, height, edges, (total, len(rows) * (height + BETWEEN) + GAP))


def edge_through(points: list[Point], height: float) -> Edge:
    (x, y), *rest = points
    half = height / 2
    start = x, y + half
    y += half
    curves = []
    for i, (a, b) in enumerate(rest):
        middle, top, bottom = (y + b - half) / 2, (a, b - half), (a, b + half)
        curves.append(((x, middle), (a, middle), top))
        if i < len(rest) - 1:  # straight through a layer, between its boxes
            curves.append((top, bottom, bottom))
        x, y = bottom
    return Edge(start, curves)


MOST_DRAWN = 500  # nodes beyond which only Graphviz draws a graph
LINE = 16  # pixels of a line of text


def lay_out(result: Graph, style: Style) -> tuple[list[tuple[GraphNode, list[str]]], Drawing]:
    """Return a graph's nodes with the lines of their boxes, and its layout. Raises GradcliError for too many nodes."""
    if len(result.nodes) > MOST_DRAWN:
        raise GradcliError(
            f"a graph of {len(result.nodes)} nodes needs Graphviz, whose program 'dot' is not installed",
            hint="install the package graphviz of your system, leave out --all, or use -f dot",
        )
    nodes = [(node, [*box_text(node, style).split("\n"), *node.scope[-1:]]) for node in reversed(result.nodes)]
    nodes = [(node, [visible(line) for line in lines if line]) for node, lines in nodes]
    height = LINE * max((len(lines) for _, lines in nodes), default=1) + 8
    widths = {node.number: text_width(lines) for node, lines in nodes}
    below = {node.number: list(node.inputs) for node, _ in nodes}
    if result.direction == "BT":
        return nodes, draw_layers(widths, below, height)
    widest = max(widths.values(), default=0.0)
    lying = draw_layers(dict.fromkeys(widths, height), below, widest)
    return nodes, turn(lying, widest)


def turn(drawing: Drawing, width: float) -> Drawing:
    """Turn a drawing by 90 degrees, so that operands are on the left. width: of the boxes."""
    right = drawing.size[1]

    def turned(point: Point) -> Point:
        return right - point[1], point[0]

    boxes = {node: (*turned((x, y)), width) for node, (x, y, _) in drawing.boxes.items()}
    edges = {
        ends: Edge(turned(start), [(turned(a), turned(b), turned(c)) for a, b, c in curves])
        for ends, (start, curves) in drawing.edges.items()
    }
    height = next((size for _, _, size in drawing.boxes.values()), drawing.height)
    return Drawing(boxes, height, edges, drawing.size[::-1])
