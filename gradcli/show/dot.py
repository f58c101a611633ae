"""Recorded graphs in the languages of Graphviz and Mermaid; modules become clusters."""

from __future__ import annotations

import subprocess

import numpy as np

from ..errors import EXIT_TARGET, GradcliError, visible
from . import Style
from .data import number
from .graph_results import Graph, GraphNode

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
    head = text[: width - 5].rpartition(",")[0]
    return f"{head}, ..." + "]" * (head.count("[") - head.count("]"))


def nest_values(value: np.ndarray, digits: int, most: int | None = SHORT) -> str:
    """Return an array in brackets. most: the elements of an axis to write, None for all."""
    if value.ndim == 0:
        return number(value[()], digits) if value.dtype.kind in "fc" else str(value[()])
    parts = [nest_values(item, digits, most) for item in value[:most]]
    return f"[{', '.join(parts)}]"


LOOKS = {
    "leaf": 'shape=box, style="filled,rounded", fillcolor="#d5e8d4"',
    "intermediate": 'shape=ellipse, style=filled, fillcolor="#f5f5f5"',
    "output": 'shape=ellipse, style=filled, fillcolor="#ffe6cc"',
    "folded": 'shape=box3d, style=filled, fillcolor="#dae8fc"',
}
HOOKED = 'peripheries=2, color="#b85450"'


def quote_dot(text: str) -> str:
    escaped = visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def label(node: GraphNode, style: Style) -> str:
    lines = [title(node)]
    if node.kind != "leaf" and node.operations == 1:
        lines.append(node.op)
    if shape_of(node):
        lines.append(shape_of(node))
    if node.value is not None:
        lines.append(f"value {value_text(node.value, style.precision)}")
    if node.grad is not None:
        lines.append(f"grad {value_text(node.grad, style.precision)}")
    if node.hooks:
        lines.append("hooks: " + ", ".join(node.hooks))
    return "\n".join(lines)


def by_scope(result: Graph) -> dict[tuple[str, ...], list[GraphNode]]:
    groups: dict[tuple[str, ...], list[GraphNode]] = {}
    for node in result.nodes:
        for depth in range(len(node.scope) + 1):
            groups.setdefault(node.scope[:depth], [])
        groups[node.scope].append(node)
    return groups


def render_graph(result: Graph, style: Style) -> str:
    """Return a digraph in which gradients flow upwards: operands below what was computed from them."""
    groups = by_scope(result)
    lines = [
        "digraph gradcli {",
        "  rankdir=BT;",
        f"  label={quote_dot(result.target)};",
        "  node [fontname=monospace];",
    ]

    def add(scope: tuple[str, ...]) -> None:
        indent = "  " * (len(scope) + 1)
        for node in groups[scope]:
            looks = ", ".join([LOOKS[node.kind], *([HOOKED] if node.hooks else [])])
            lines.append(f"{indent}n{node.number} [label={quote_dot(label(node, style))}, {looks}];")
        for inner in groups:
            if inner[:-1] == scope and inner:
                lines.append(f"{indent}subgraph {quote_dot('cluster ' + '/'.join(inner))} {{")
                lines.append(f"{indent}  label={quote_dot(inner[-1])}; style=rounded;")
                add(inner)
                lines.append(f"{indent}}}")

    add(())
    lines += [f"  n{source} -> n{node.number};" for node in result.nodes for source in node.inputs]
    return "\n".join([*lines, "}", ""])


def run_graphviz(program: str, result: Graph, style: Style, kind: str) -> bytes:
    """Return the picture that Graphviz draws. Raises GradcliError where it fails."""
    done = subprocess.run(
        [program, f"-T{kind}"],
        input=render_graph(result, style).encode(errors="backslashreplace"),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip().splitlines()
        raise GradcliError(
            f"Graphviz failed: {message[0] if message else done.returncode}", kind="target", exit_code=EXIT_TARGET
        )
    return done.stdout


CLASSES = """\
  classDef leaf fill:#d5e8d4,stroke:#82b366,color:#000
  classDef intermediate fill:#f5f5f5,stroke:#999,color:#000
  classDef output fill:#ffe6cc,stroke:#d79b00,color:#000
  classDef folded fill:#dae8fc,stroke:#6c8ebf,color:#000
  classDef hooked stroke:#b85450,stroke-width:3px
"""
SHAPES = {"leaf": ("(", ")"), "intermediate": ("[", "]"), "output": ("[[", "]]"), "folded": ("[/", "/]")}
ENTITIES = str.maketrans({'"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "\n": "<br>"})


def quote_mermaid(text: str) -> str:
    return '"' + visible(text).translate(ENTITIES) + '"'


def render_mermaid(result: Graph, style: Style) -> str:
    """Return a flowchart with operands below what was computed from them."""
    groups = by_scope(result)
    lines = ["flowchart BT"]

    def add(scope: tuple[str, ...]) -> None:
        indent = "  " * (len(scope) + 1)
        for node in groups[scope]:
            left, right = SHAPES[node.kind]
            lines.append(f"{indent}n{node.number}{left}{quote_mermaid(label(node, style))}{right}:::{node.kind}")
        for i, inner in enumerate(groups):
            if inner[:-1] == scope and inner:
                lines.append(f"{indent}subgraph s{i} [{quote_mermaid(inner[-1])}]")
                add(inner)
                lines.append(f"{indent}end")

    add(())
    lines += [f"  n{source} --> n{node.number}" for node in result.nodes for source in node.inputs]
    hooked = [f"n{node.number}" for node in result.nodes if node.hooks]
    text = "\n".join(lines) + "\n" + CLASSES
    return text + (f"  class {','.join(hooked)} hooked\n" if hooked else "")


WRITERS = {"dot": {Graph: render_graph}, "mermaid": {Graph: render_mermaid}}
