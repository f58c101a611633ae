"""gradcli graph: the graph that a program records."""

from __future__ import annotations

import click

from ...analysis.graph import graph_program as compute
from ...render import PICTURES, TEXT
from ..context import Context, request_of
from ..help import Command
from ..options import command_options


@click.command(
    cls=Command,
    epilog="Examples: gradcli graph 'x**2 * sin(y)' x=2 y=3; gradcli graph train.py --values; "
    "gradcli graph train.py -o graph.svg",
)
@command_options(
    "wrt", "out", "columns", "gradient", "hook", "values", "all", formats=(*TEXT, "dot", "mermaid", *PICTURES)
)
def graph(context: Context) -> None:
    """Draw the dynamic graph that TARGET records, from the output down to the leaves.

    On a terminal it is a tree; a result that is used more than once is written out once. Graphs of more than 500
    nodes are folded: the operations of one module, or of one line, become one node.
    """
    program, values = context.program()
    options = context.options
    context.output.show(compute(program, values, request_of(context), options["values"], options["all"]))
