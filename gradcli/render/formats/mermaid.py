"""Flowcharts in the language of Mermaid, which code hosts draw inside Markdown; modules become subgraphs."""

from __future__ import annotations

from ...errors import visible
from ...results.graphs import Graph
from .. import Style, renders
from .dot import by_scope, label

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


@renders()
def render_graph(result: Graph, style: Style) -> str:
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
