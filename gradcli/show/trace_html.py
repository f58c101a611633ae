"""Backward as a page that is stepped through with keys: the graph, and next to it what each step sends where."""

from __future__ import annotations

from . import Style
from .dot import title, value_text
from .graph_results import Graph, GraphNode, Pass, Step, Trace
from .layers import HEIGHT, draw_layers, edge_path, text_width
from .page import escape, fragment, of_class, page, scroll, template
from .trace import Line, array_on_a_line, forward, heading, step

MOST = 300
"""Nodes beyond which there is no picture."""
SHORT = 26
"""The longest line of a box, in characters."""
LOOK = f"\n{template('trace.css')}\n"


def render_trace(result: Trace, style: Style) -> str:
    """Return a page: without scripts all steps below each other, with them one at a time."""
    several = len(result.passes) > 1
    body = [f"<header><h1>backward through {escape(result.target)}</h1></header>", "<main>", template("trace_bar.html")]
    body.append('<div class="stage">')
    body += [picture_of(run, i + 1, style) for i, run in enumerate(result.passes)]
    body.append("<div>")
    for i, run in enumerate(result.passes):
        body.append(f"<section><h2>{markup([heading(run, i + 1, several)])}</h2>")
        body += [step_markup(each, run, i + 1, style) for each in run.steps]
        lines = f'<pre tabindex="0">{markup(forward(run, style))}</pre>'
        body.append(f"<details open><summary>forward</summary>{lines}</details>")
        body.append("</section>")
    script = f"\n{template('trace.js')}\n"
    return page(f"backward through {result.target}", "\n".join([*body, "</div></div></main>"]), LOOK, script)


def markup(lines: list[Line]) -> str:
    """Return lines of words, each word by what it is."""
    return "\n".join(
        "".join(
            f'<span class="w-{part.what}">{escape(part.text)}</span>' if part.what else escape(part.text)
            for part in line
        )
        for line in lines
    )


def node_id(number: int, place: int) -> str:
    """Return what a node of a pass is called in the page: names of the program's are text only."""
    return f"p{number}n{place}"


def places_of(run: Pass) -> dict[str, int]:
    """Return the number of every label of a pass, the output's first."""
    labels = [each.label for each in run.steps]
    labels += [flow.to for each in run.steps for flow in each.flows]
    return {label: i for i, label in enumerate(dict.fromkeys(labels))}


def step_markup(step_: Step, run: Pass, number: int, style: Style) -> str:
    places = places_of(run)
    own = node_id(number, places[step_.label])
    to = [node_id(number, places[flow.to]) for flow in step_.flows]
    edges = " ".join(f"{own}{end}" for end in to)
    marks = f'data-pass="{number}" data-node="{own}" data-to="{" ".join(to)}" data-edges="{edges}"'
    return f"<div class='step' {marks}><pre tabindex='0'>{markup(step(step_, style))}</pre></div>"


def picture_of(run: Pass, number: int, style: Style) -> str:
    """Return the graph of a pass, each box with the gradient that it gets; nothing for a large one."""
    places = places_of(run)
    if len(places) > MOST:
        return ""
    below: dict[str, list[str]] = {label: [] for label in places}
    gradients: dict[str, str] = {}
    for each in run.steps:
        below[each.label] = [flow.to for flow in each.flows]
        if each.incoming is not None:
            total = each.after if each.leaf and each.after is not None else each.incoming
            gradients[each.label] = f"∂ {array_on_a_line(total, style)}"
    formulas = {item.label: item.formula for item in run.forward}
    values = {item.label: array_on_a_line(item.value, style) for item in run.forward if item.value is not None}
    boxes = {
        label: [
            cut(f"{label} = {formulas[label]}" if formulas.get(label) else label),
            cut(values.get(label, "")),
            cut(gradients.get(label, "")),
        ]
        for label in places
    }
    leaves = {each.label for each in run.steps if each.leaf}
    svg = drawing(
        {
            label: (node_id(number, places[label]), lines, "leaf" if label in leaves else "")
            for label, lines in boxes.items()
        },
        below,
        f"the graph of {run.output}; the steps below say the same in words",
    )
    return f'<div data-pass="{number}" class="picture">{scroll(svg, "the graph")}</div>'


def cut(text: str) -> str:
    """Return text that fits into a box."""
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"


def drawing(boxes: dict, below: dict, about: str) -> str:
    """Return a graph as SVG. boxes: for each node its id, lines of text (the last one its gradient) and class."""
    layers = draw_layers({node: text_width(lines) for node, (_, lines, _) in boxes.items()}, below)
    parts = [
        f'<path class="edge" id="{boxes[top][0]}{boxes[bottom][0]}" d="{edge_path(points)}"/>'
        for (top, bottom), points in layers.edges.items()
    ]
    for node, (name, lines, look) in boxes.items():
        x, y, width = layers.boxes[node]
        middle = f'x="{x:.1f}" text-anchor="middle"'
        texts = "".join(
            f'<text {middle} y="{y - 12 + 16 * i:.1f}"{of_class("grad" if i == 2 else "")}>{escape(line)}</text>'
            for i, line in enumerate(lines)
            if line
        )
        corner = f'x="{x - width / 2:.1f}" y="{y - HEIGHT / 2:.1f}"'
        rect = f'<rect class="box" {corner} width="{width:.1f}" height="{HEIGHT}" rx="4"/>'
        parts.append(f'<g id="{name}" class="{look}">{rect}{texts}</g>')
    width, height = layers.size
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg {size} role="img" aria-label="{escape(about)}">{"".join(parts)}</svg>'


ALL_SHOWN = f"<style>{LOOK}.gradcli .grad {{ visibility: visible !important; }}</style>"


def trace_html(result: Trace) -> str:
    """Return what a notebook shows of a trace: the picture, and all steps below each other."""
    parts = [ALL_SHOWN]
    for i, run in enumerate(result.passes):
        parts += [picture_of(run, i + 1, Style()), *(step_markup(each, run, i + 1, Style()) for each in run.steps)]
    return fragment("\n".join(parts))


def graph_html(result: Graph) -> str:
    """Return what a notebook shows of a recorded graph, values and gradients where they were asked for."""
    nodes = [*reversed(result.nodes)]
    boxes = {node.number: (f"n{node.number}", box_lines(node), "leaf" if node.kind == "leaf" else "") for node in nodes}
    below = {node.number: list(node.inputs) for node in nodes}
    svg = drawing(boxes, below, f"the graph of {result.target}") if len(nodes) <= MOST else f"{len(nodes)} nodes"
    return fragment(ALL_SHOWN + scroll(svg, "the graph"))


def box_lines(node: GraphNode) -> list[str]:
    """Return the lines of a node of a graph: what it is, its value or shape, its gradient."""
    value = value_text(node.value) or "×".join(map(str, node.shape or ()))
    grad = "" if node.grad is None else f"∂ {value_text(node.grad)}"
    return [cut(title(node)), cut(value), cut(grad)]
