"""gradcli graph: the graph that a program records."""

from __future__ import annotations

from ...analysis.graph import graph_program
from ...show import PICTURES, TEXT
from ...show.graph_results import Graph
from ..options import Call, target_command


@target_command(
    "Examples: gradcli graph 'x**2 * sin(y)' x=2 y=3; gradcli graph train.py --values; "
    "gradcli graph train.py -o graph.svg",
    "wrt out columns gradient hook values all",
    formats=(*TEXT, "dot", "mermaid", *PICTURES),
)
def graph(call: Call, values: bool, all: bool) -> Graph:
    """Draw the dynamic graph that TARGET records, from the output down to the leaves.

    On a terminal it is a tree; a result that is used more than once is written out once. Graphs of more than 500
    nodes are folded: the operations of one module, or of one line, become one node. -o FILE.svg and .png draw with
    Graphviz where it is installed; without it, SVG needs nothing, and PNG needs matplotlib.
    """
    program, given = call.program()
    return graph_program(program, given, call.asked(), values, all)
