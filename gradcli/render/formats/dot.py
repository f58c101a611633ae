"""The language of Graphviz; modules become clusters."""

from __future__ import annotations

import shutil
import subprocess

from ...errors import EXIT_TARGET, GradcliError, visible
from ...results.graphs import Graph, GraphNode
from .. import Style, renders
from ..graph import shape_of, title, value_text

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
    """Return the nodes by the module they were made in, modules before those inside them."""
    groups: dict[tuple[str, ...], list[GraphNode]] = {}
    for node in result.nodes:
        for depth in range(len(node.scope) + 1):
            groups.setdefault(node.scope[:depth], [])
        groups[node.scope].append(node)
    return groups


@renders()
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


def run_graphviz(result: Graph, style: Style, kind: str) -> bytes:
    """Return the picture that Graphviz draws. Raises GradcliError where it is not installed or fails."""
    program = shutil.which("dot")
    if program is None:
        raise GradcliError(
            f"-f {kind} needs Graphviz, whose program 'dot' is not installed",
            hint="install the package graphviz of your system, or use -f dot or -f mermaid and draw it elsewhere",
            kind="usage",
        )
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
