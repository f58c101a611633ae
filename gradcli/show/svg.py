"""SVG: graphs, a function with its slopes, and maps of derivatives, as files and in pages.

Graphs are laid out in layers, operands below their results, with few crossings, after Sugiyama, Tagawa and Toda (1981):
layers by longest paths, empty places for long edges, sorting by barycentres.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape as escape_html
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..errors import GradcliError, visible
from ..results.formats import Style
from ..results.graphs import Graph, GraphNode
from ..results.inputs import COMPARED_DIGITS, Element, Elements, LineValues, label_part
from .dot import FILLS, HOOKED, box_text

PixelPoint = tuple[float, float]
SvgNode = Any
BETWEEN, NEIGHBOUR_GAP, TALL, LETTER = 42, 24, 54, 7.4
"""In pixels: gap between layers, gap between neighbours, height of a box, width of a letter."""
SWEEPS = 6


class Edge(NamedTuple):
    """An edge: its start below a box, and Bézier curves to the top of another (two control points and an end each)."""

    start: PixelPoint
    curves: list[tuple[PixelPoint, PixelPoint, PixelPoint]]

    @property
    def path(self) -> str:
        (x, y), curves = self
        parts = ("C" + " ".join(f"{a:.1f} {b:.1f}" for a, b in curve) for curve in curves)
        return f"M{x:.1f} {y:.1f}{''.join(parts)}"


class Drawing(NamedTuple):
    """The boxes (middle and width), their height, the edges, and the size of the whole."""

    boxes: dict[SvgNode, tuple[float, float, float]]
    height: float
    edges: dict[tuple[SvgNode, SvgNode], Edge]
    size: tuple[float, float]


def text_width(lines: Sequence[str]) -> float:
    return max([60.0, *(len(text) * LETTER + 20 for text in lines)])


def draw_layers(
    widths: Mapping[SvgNode, float], below: Mapping[SvgNode, Sequence[SvgNode]], height: float = TALL
) -> Drawing:
    """Lay out a graph. widths: of each node, tops first; below: the operands of each; height: of all boxes."""
    depth = dict.fromkeys(widths, 0)  # the longest path from a top; nodes are in topological order
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
    sizes = [sum(widths.get(node, 10) + NEIGHBOUR_GAP for node in row) for row in rows]
    total = max(sizes, default=0.0) + NEIGHBOUR_GAP
    spots: dict[Any, PixelPoint] = {}
    for level, row in enumerate(rows):
        x = (total - sizes[level] + NEIGHBOUR_GAP) / 2
        for node in row:
            width = widths.get(node, 10)
            spots[node] = (x + width / 2, NEIGHBOUR_GAP + height / 2 + level * (height + BETWEEN))
            x += width + NEIGHBOUR_GAP
    boxes = {node: (*spots[node], width) for node, width in widths.items()}
    edges = {ends: edge_through([spots[n] for n in chain], height) for ends, chain in chains.items()}
    return Drawing(boxes, height, edges, (total, len(rows) * (height + BETWEEN) + NEIGHBOUR_GAP))


def edge_through(points: list[PixelPoint], height: float) -> Edge:
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


MOST_DRAWN = 500  # graphs of more nodes are drawn only by Graphviz
LINE_PIXELS = 16  # pixels of a line of text


def lay_out(result: Graph, style: Style) -> tuple[list[tuple[GraphNode, list[str]]], Drawing]:
    """Return a graph's nodes with the lines of their boxes, and its layout. Raises GradcliError for too many nodes."""
    if len(result.nodes) > MOST_DRAWN:
        raise GradcliError(
            f"a graph of {len(result.nodes)} nodes needs Graphviz, whose program 'dot' is not installed",
            hint="install the package graphviz of your system, leave out --all, or use -f dot",
        )
    nodes = [(node, [*box_text(node, style).split("\n"), *node.scope[-1:]]) for node in reversed(result.nodes)]
    nodes = [(node, [visible(line) for line in lines if line]) for node, lines in nodes]
    height = LINE_PIXELS * max((len(lines) for _, lines in nodes), default=1) + 8
    widths = {node.number: text_width(lines) for node, lines in nodes}
    below = {node.number: list(node.inputs) for node, _ in nodes}
    if result.direction == "BT":
        return nodes, draw_layers(widths, below, height)
    widest = max(widths.values(), default=0.0)
    lying = draw_layers(dict.fromkeys(widths, height), below, widest)
    return nodes, turn_drawing(lying, widest)


def turn_drawing(drawing: Drawing, width: float) -> Drawing:
    """Turn a drawing by 90 degrees, so that operands are on the left. width: of the boxes."""
    right = drawing.size[1]

    def turned(point: PixelPoint) -> PixelPoint:
        return right - point[1], point[0]

    boxes = {node: (*turned((x, y)), width) for node, (x, y, _) in drawing.boxes.items()}
    edges = {
        ends: Edge(turned(start), [(turned(a), turned(b), turned(c)) for a, b, c in curves])
        for ends, (start, curves) in drawing.edges.items()
    }
    height = next((size for _, _, size in drawing.boxes.values()), drawing.height)
    return Drawing(boxes, height, edges, drawing.size[::-1])


STROKE = "#666666"


def escape_markup(text: Any) -> str:
    return escape_html(visible(str(text)), quote=True)


def tag(name: str, content: str = "", **attributes: Any) -> str:
    """Return an element. In attribute names, `_` becomes a hyphen, or nothing at the end; floats get one decimal."""
    texts = [
        f' {key.rstrip("_").replace("_", "-")}="{f"{x:.1f}" if isinstance(x, float) else escape_markup(x)}"'
        for key, x in attributes.items()
        if x != ""
    ]
    return f"<{name}{''.join(texts)}>{content}</{name}>" if content else f"<{name}{''.join(texts)}/>"


def svg_box(
    place: tuple[float, float, float], height: float, lines: Sequence[str], marks: str = "", **look: Any
) -> str:
    """Return a box with centred lines of text.

    place: its middle and its width. marks: a class for the third line. look: attributes of the frame.
    """
    x, y, width = place
    top = y - LINE_PIXELS * len(lines) / 2 + 12
    texts = (
        tag("text", escape_markup(line), x=x, y=top + LINE_PIXELS * i, text_anchor="middle", class_=marks * (i == 2))
        for i, line in enumerate(lines)
        if line
    )
    frame = tag("rect", x=x - width / 2, y=y - height / 2, width=float(width), height=height, **look)
    return frame + "".join(texts)


def svg_of_graph(result: Graph, style: Style) -> bytes:
    nodes, drawing = lay_out(result, style)
    width, height = (round(side) for side in drawing.size)
    parts = [tag("title", escape_markup(result.target)), tag("rect", width="100%", height="100%", fill="white")]
    for edge in drawing.edges.values():
        x, y = edge.start
        head = "l-4 9h8z" if result.direction == "BT" else "l-9 -4v8z"
        parts.append(tag("path", d=edge.path, fill="none", stroke=STROKE))
        parts.append(tag("path", d=f"M{x:.1f} {y:.1f}{head}", fill=STROKE))
    for node, lines in nodes:
        stroke, corner = HOOKED if node.hooks else STROKE, 14 if node.kind == "leaf" else 3
        place, fill = drawing.boxes[node.number], FILLS[node.kind]
        parts.append(svg_box(place, drawing.height, lines, rx=corner, fill=fill, stroke=stroke))
    size = {"width": width, "height": height, "viewBox": f"0 0 {width} {height}"}
    font = {"font_family": "monospace", "font_size": 12}
    picture = tag("svg", "\n".join(["", *parts, ""]), xmlns="http://www.w3.org/2000/svg", **size, **font)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{picture}\n'.encode()


def render_in_notebook(result: Graph, style: Style) -> str:
    return svg_of_graph(result, style).decode().partition("\n")[2]  # without the XML declaration


BOX_LINE = 26  # the longest line of a box, in characters


def draw_steps(boxes: Mapping[Any, tuple[str, list[str], str]], below: Mapping[Any, list[Any]], about: str) -> str:
    """Draw the graph of a pass. boxes: id, three lines of text (the last one the gradient) and class of each node."""
    boxes = {
        node: (name, [x if len(x) <= BOX_LINE else x[: BOX_LINE - 1] + "…" for x in lines], look)
        for node, (name, lines, look) in boxes.items()
    }
    drawing = draw_layers({node: text_width(lines) for node, (_, lines, _) in boxes.items()}, below)
    parts = [
        tag("path", class_="edge", id=boxes[top][0] + boxes[bottom][0], d=edge.path)
        for (top, bottom), edge in drawing.edges.items()
    ]
    for node, (name, lines, look) in boxes.items():
        inside = svg_box(drawing.boxes[node], drawing.height, lines, "grad", class_="box", rx=4)
        parts.append(tag("g", inside, id=name, class_=look))
    return figure_svg(*drawing.size, "".join(parts), about)


def figure_svg(width: float, height: float, inside: str, about: str) -> str:
    """Return a drawing for a page. about: what it shows, for screen readers."""
    size = {"width": round(width), "height": round(height), "viewBox": f"0 0 {width:.0f} {height:.0f}"}
    return tag("svg", inside, **size, role="img", aria_label=about)


WIDTH, HEIGHT = 328, 220  # of a plot, in pixels: as wide as the narrowest screen
LEFT, TOP, RIGHT, BOTTOM = 70, 10, WIDTH - 10, HEIGHT - 40
SLOPE_STROKES = (("var(--first)", "", "──"), ("var(--second)", "6 4", "╌╌"))
"""Colour, dashes and key of the numeric and of the claimed slope."""


class PlotFrame:
    """Coordinates of a plot: numbers as pixels."""

    def __init__(self, line: LineValues):
        finite = line.value[np.isfinite(line.value)]
        low, high = (finite.min(), finite.max()) if finite.size else (-1.0, 1.0)
        pad = 0.15 * (high - low) or max(abs(high), 1.0)
        self.first, self.last, self.low, self.high = line.x[0], line.x[-1], low - pad, high + pad

    def point(self, x: float, y: float) -> str:
        across = LEFT + (x - self.first) / (self.last - self.first) * (RIGHT - LEFT)
        up = BOTTOM - (y - self.low) / (self.high - self.low) * (BOTTOM - TOP)
        return f"{across:.1f} {np.clip(up, -1e5, 1e5):.1f}"

    def path(self, x: np.ndarray, y: np.ndarray) -> str:
        text, letter = "", "M"
        for a, b in zip(x, y, strict=True):
            known = np.isfinite(b)
            text += f"{letter}{self.point(a, b)}" if known else ""
            letter = "L" if known else "M"
        return text


def slope_texts(worst: Element) -> list[tuple[str, float, float]]:
    """Return text, left and right slope of the numeric and of the claimed derivative; the sides differ at a kink."""
    numeric, claimed = float(np.real(worst.numeric)), float(np.real(worst.claimed))
    text, sides = f"numeric slope {numeric:.{COMPARED_DIGITS}g}", (numeric, numeric)
    if worst.sides is not None:
        sides = worst.sides
        text = f"slopes {sides[0]:.{COMPARED_DIGITS}g} and {sides[1]:.{COMPARED_DIGITS}g} at a kink"
    return [(text, *sides), (f"claimed slope {claimed:.{COMPARED_DIGITS}g}", claimed, claimed)]


def line_plot(name: str, line: LineValues, worst: Element) -> str:
    """Plot the function along the worst element, with the claimed and the numeric slope through the point."""
    plot, (x, y), ends = PlotFrame(line), line.at, line.x[[0, -1]]
    drawn = [tag("path", d=plot.path(line.x, line.value), fill="none", stroke="var(--ink)", stroke_width=1.5)]
    keys, texts = [], []
    for (colour, dashes, key), (text, left, right) in zip(SLOPE_STROKES, slope_texts(worst), strict=True):
        heights = np.array([y + left * (ends[0] - x), y, y + right * (ends[1] - x)])
        path = plot.path(np.array([ends[0], x, ends[1]]), heights)
        drawn.append(tag("path", d=path, fill="none", stroke=colour, stroke_width=2, stroke_dasharray=dashes))
        texts.append(text)
        keys.append(f'<span style="color: {colour}">{key} {escape_markup(text)}</span>; ')
    point = f"M{plot.point(*line.at)}h0"
    drawn.append(tag("path", d=point, stroke="var(--ink)", stroke_width=8, stroke_linecap="round"))
    element = label_part(name, worst.place, worst.part)
    frame: dict[str, Any] = {"x": LEFT, "y": TOP, "width": RIGHT - LEFT, "height": BOTTOM - TOP}
    labels = [
        (LEFT, BOTTOM + 16, "start", f"{line.x[0]:.4g}"),
        (RIGHT, BOTTOM + 16, "end", f"{line.x[-1]:.4g}"),
        ((LEFT + RIGHT) / 2, BOTTOM + 32, "middle", escape_markup(element)),
        (LEFT - 6, TOP + 10, "end", f"{plot.high:.4g}"),
        (LEFT - 6, BOTTOM, "end", f"{plot.low:.4g}"),
    ]
    parts = [
        tag("rect", **frame, fill="none", stroke="var(--line)"),
        tag("svg", "".join(drawn), **frame, viewBox=f"{LEFT} {TOP} {RIGHT - LEFT} {BOTTOM - TOP}"),
        *(tag("text", text, x=x, y=y, text_anchor=anchor) for x, y, anchor, text in labels),
    ]
    about = f"the function along {element}, with the {' and the '.join(texts)}"
    picture = figure_svg(WIDTH, HEIGHT, "".join(parts), about)
    caption = f"<figcaption>{''.join(keys)}the function itself in the colour of the text</figcaption>"
    return f"<figure>{picture}\n{caption}</figure>"


MOST_CELLS = 64  # cells along a side of a map; for larger arrays, a cell shows the worst of several elements
POSITIVE_FILL, NEGATIVE_FILL = "#d9761a", "#2f6fd0"


def heat_maps(inputs: tuple[int, ...], every: Elements) -> str:
    """Map the claimed and the numeric derivative, with wrong elements framed. inputs: the input's shape."""
    shape = every.claimed.shape
    own = shape[0] == 1 and len(inputs) > 1 and np.prod(inputs) == shape[1]
    shape = (inputs[0], shape[1] // inputs[0]) if own else shape
    claimed, numeric, verdicts = (x.reshape(shape) for x in (every.claimed, every.numeric, every.verdicts))
    sizes = np.abs([claimed, numeric])
    largest = float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0
    maps = [heat_map(name, x, largest, verdicts) for name, x in (("claimed", claimed), ("numeric", numeric))]
    rows = "rows as in the input" if own else "one row per output element"
    return (
        f'<div class="maps">{"".join(maps)}</div>\n<p class="dim">Orange is positive, blue is negative, full '
        f"colour is ±{largest:.4g}; {rows}; framed elements are wrong.</p>"
    )


def heat_map(name: str, values: np.ndarray, largest: float, verdicts: np.ndarray) -> str:
    steps = [max(1, -(-n // MOST_CELLS)) for n in values.shape]
    rows, columns = (-(-n // step) for n, step in zip(values.shape, steps, strict=True))
    size = max(4, min(28, 260 // columns))
    cells = []
    for i, j in np.ndindex(rows, columns):
        part = np.s_[i * steps[0] : (i + 1) * steps[0], j * steps[1] : (j + 1) * steps[1]]
        wrong = verdicts[part] == "fail"
        block = values[part][wrong] if wrong.any() else values[part].ravel()
        x = block[np.argmax(np.abs(np.nan_to_num(block, nan=np.inf)))]
        colour = (
            "var(--soft)"
            if x == 0
            else "var(--error)"
            if not np.isfinite(x)
            else POSITIVE_FILL
            if x > 0
            else NEGATIVE_FILL
        )
        share = max(min(abs(x) / largest, 1.0), 0.04) if np.isfinite(x) and x else 1.0
        stroke, thick = ("var(--fail)", 2) if wrong.any() else ("var(--line)", 0.5)
        place = {"x": j * size + 1, "y": i * size + 1, "width": size - 2, "height": size - 2}
        cells.append(tag("rect", **place, fill=colour, fill_opacity=f"{share:.2f}", stroke=stroke, stroke_width=thick))
    about = f"{name}: {values.shape[0]} by {values.shape[1]} elements; the table below has the numbers"
    picture = figure_svg(columns * size, rows * size, "".join(cells), about)
    return f"<figure>{picture}<figcaption>{name}</figcaption></figure>"
