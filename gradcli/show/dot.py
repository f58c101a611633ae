"""Recorded graphs in the languages of Graphviz and Mermaid; modules become clusters."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import numpy as np

from ..errors import EXIT_TARGET, GradcliError, visible
from ..results.formats import Style
from ..results.graphs import Graph, GraphNode
from .data import number, shape_text

VALUE_WIDTH = 22  # longer values are cut


def title(node: GraphNode) -> str:
    if node.operations > 1:
        return f"{node.op}: {node.operations} operations ({node.formula})"
    if node.kind == "leaf":
        return node.label
    return f"{node.label} = {node.formula}"


def shape_words(shape: tuple[int, ...] | None) -> str:
    """Return a node's shape for pictures: shape 2, 2×3, "" for a single number."""
    return f"shape {shape[0]}" if shape and len(shape) == 1 else shape_text(shape or (), "")


def value_text(value: np.ndarray | None, precision: int | None = None) -> str:
    if value is None:
        return ""
    text = nest_values(value, precision or 4)
    return text if len(text) <= VALUE_WIDTH else cut_array(text, VALUE_WIDTH)


def cut_array(text: str, width: int) -> str:
    head = text[: width - 5].rpartition(",")[0]
    return f"{head}, ..." + "]" * (head.count("[") - head.count("]"))


def nest_values(value: np.ndarray, digits: int, most: int | None = VALUE_WIDTH) -> str:
    """Return an array in brackets. most: the number of elements of an axis to write, None for all."""
    if value.ndim == 0:
        return number(value[()], digits) if value.dtype.kind in "fc" else str(value[()])
    parts = [nest_values(item, digits, most) for item in value[:most]]
    return f"[{', '.join(parts)}]"


FILLS = {"leaf": "#d5e8d4", "intermediate": "#f5f5f5", "output": "#ffe6cc", "folded": "#dae8fc"}
STROKES = {"leaf": "#82b366", "intermediate": "#999", "output": "#d79b00", "folded": "#6c8ebf"}
HOOKED = "#b85450"
"""Colours of nodes by kind, and of the frame of nodes with hooks, in all pictures of graphs."""
FRAMES = {
    "leaf": 'shape=box, style="filled,rounded"',
    "intermediate": "shape=ellipse, style=filled",
    "output": "shape=ellipse, style=filled",
    "folded": "shape=box3d, style=filled",
}


def quote_dot(text: str) -> str:
    escaped = visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def box_text(node: GraphNode, style: Style) -> str:
    lines = [title(node), node.op if node.kind != "leaf" and node.operations == 1 else ""]
    lines.append(shape_words(node.shape))
    for name, x in (("value", node.value), ("grad", node.grad)):
        lines.append("" if x is None else f"{name} {value_text(x, style.precision)}")
    lines.append("hooks: " + ", ".join(node.hooks) if node.hooks else "")
    return "\n".join(line for line in lines if line)


ScopePath = tuple[str, ...]


def nest_scopes(
    result: Graph, write: Callable[[GraphNode], str], begin: Callable[[int, ScopePath], list[str]], end: str
) -> list[str]:
    """Return a line per node; those of a module are between the first and last line of its cluster."""
    groups: dict[ScopePath, list[GraphNode]] = {(): []}
    for node in result.nodes:
        for depth in range(len(node.scope) + 1):
            groups.setdefault(node.scope[:depth], [])
        groups[node.scope].append(node)

    def lines_of(scope: ScopePath) -> list[str]:
        lines = [write(node) for node in groups[scope]]
        for i, inner in enumerate(groups):
            if inner[:-1] == scope and inner:
                lines += [*begin(i, inner), *lines_of(inner), end]
        return ["  " + line for line in lines]

    return lines_of(())


def dot_of_graph(result: Graph, style: Style) -> str:
    """Return a digraph with operands below their results."""

    def write(node: GraphNode) -> str:
        looks = f'{FRAMES[node.kind]}, fillcolor="{FILLS[node.kind]}"'
        looks += f', peripheries=2, color="{HOOKED}"' if node.hooks else ""
        return f"n{node.number} [label={quote_dot(box_text(node, style))}, {looks}];"

    def begin(_: int, scope: ScopePath) -> list[str]:
        head = f"subgraph {quote_dot('cluster ' + '/'.join(scope))} {{"
        return [head, f"  label={quote_dot(scope[-1])}; style=rounded;"]

    lines = ["digraph gradcli {", f"  rankdir={result.direction};", f"  label={quote_dot(result.target)};"]
    lines += ["  node [fontname=monospace];", *nest_scopes(result, write, begin, "}")]
    lines += [f"  n{source} -> n{node.number};" for node in result.nodes for source in node.inputs]
    return "\n".join([*lines, "}", ""])


def run_graphviz(program: str, result: Graph, style: Style, kind: str) -> bytes:
    done = subprocess.run(
        [program, f"-T{kind}"],
        input=dot_of_graph(result, style).encode(errors="backslashreplace"),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip().splitlines()
        raise GradcliError(
            f"Graphviz failed: {message[0] if message else done.returncode}", kind="target", exit_code=EXIT_TARGET
        )
    return done.stdout


SHAPES = {"leaf": ("(", ")"), "intermediate": ("[", "]"), "output": ("[[", "]]"), "folded": ("[/", "/]")}
ENTITIES = str.maketrans({'"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "\n": "<br>"})


def quote_mermaid(text: str) -> str:
    return '"' + visible(text).translate(ENTITIES) + '"'


def render_mermaid(result: Graph, style: Style) -> str:
    """Return a flowchart with operands below their results."""

    def write(node: GraphNode) -> str:
        left, right = SHAPES[node.kind]
        return f"n{node.number}{left}{quote_mermaid(box_text(node, style))}{right}:::{node.kind}"

    def begin(i: int, scope: ScopePath) -> list[str]:
        return [f"subgraph s{i} [{quote_mermaid(scope[-1])}]"]

    lines = [f"flowchart {result.direction}", *nest_scopes(result, write, begin, "end")]
    lines += [f"  n{source} --> n{node.number}" for node in result.nodes for source in node.inputs]
    lines += [f"  classDef {kind} fill:{fill},stroke:{STROKES[kind]},color:#000" for kind, fill in FILLS.items()]
    lines.append(f"  classDef hooked stroke:{HOOKED},stroke-width:3px")
    hooked = [f"n{node.number}" for node in result.nodes if node.hooks]
    lines += [f"  class {','.join(hooked)} hooked"] if hooked else []
    return "\n".join([*lines, ""])


WRITERS = {"dot": {Graph: dot_of_graph}, "mermaid": {Graph: render_mermaid}}
