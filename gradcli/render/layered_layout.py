"""Graphs drawn without Graphviz: in layers, operands below what was computed from them, with few crossings.

Sugiyama, Tagawa and Toda (1981): layers by longest paths, long edges through empty places, barycentres.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

ROW, GAP, HEIGHT, LETTER = 96, 24, 54, 7.4
"""Pixels between layers and between neighbours, of a box, and of a letter."""
SWEEPS = 6


class Drawing(NamedTuple):
    """Where boxes stand (their middle and their width), the points of each edge, and the size of the whole."""

    boxes: dict[Any, tuple[float, float, float]]
    edges: dict[tuple[Any, Any], list[tuple[float, float]]]
    size: tuple[float, float]


def draw_layers(widths: Mapping[Any, float], below: Mapping[Any, Sequence[Any]]) -> Drawing:
    """Return a drawing. widths: of each node, tops first; below: the operands of each."""
    depth = depths(widths, below)
    rows: list[list[Any]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node, level in depth.items():
        rows[level].append(node)
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
    return place_rows(rows, widths, chains)


def depths(widths: Mapping[Any, float], below: Mapping[Any, Sequence[Any]]) -> dict[Any, int]:
    """Return the layer of each node: the longest way down from a top. The nodes come in an order of the graph."""
    depth = dict.fromkeys(widths, 0)
    for node in widths:
        for operand in below.get(node, ()):
            depth[operand] = max(depth[operand], depth[node] + 1)
    return depth


def order_rows(rows: list[list[Any]], links: list[tuple[Any, Any]]) -> None:
    """Sort each layer by the middle of its neighbours in the layer above, then in the one below, several times."""
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


def place_rows(rows: list[list[Any]], widths: Mapping[Any, float], chains: Mapping[Any, list[Any]]) -> Drawing:
    """Return the drawing of layers in order, each in the middle."""
    sizes = [sum(widths.get(node, 10) + GAP for node in row) for row in rows]
    total = max(sizes, default=0.0) + GAP
    spots: dict[Any, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        x = (total - sizes[level] + GAP) / 2
        for node in row:
            width = widths.get(node, 10)
            spots[node] = (x + width / 2, GAP + HEIGHT / 2 + level * ROW)
            x += width + GAP
    boxes = {node: (*spots[node], width) for node, width in widths.items()}
    return Drawing(
        boxes, {ends: [spots[n] for n in chain] for ends, chain in chains.items()}, (total, len(rows) * ROW + GAP)
    )


def edge_path(points: list[tuple[float, float]]) -> str:
    """Return an edge as an SVG path from the bottom of a box to the top of another."""
    (x, y), *rest = points
    half = HEIGHT / 2
    text = f"M{x:.1f} {y + half:.1f}"
    y += half
    for i, (a, b) in enumerate(rest):
        end = b - half if i == len(rest) - 1 else b
        middle = (y + end) / 2
        text += f"C{x:.1f} {middle:.1f} {a:.1f} {middle:.1f} {a:.1f} {end:.1f}"
        x, y = a, end
    return text


def box_width(*texts: str) -> float:
    """Return the width of a box with lines of text."""
    return max([60.0, *(len(text) * LETTER + 20 for text in texts)])
