"""gradcli graph, trace, why and run: what happens when a target runs, and where a gradient gets lost."""

from __future__ import annotations

import sys

import click

from ...errors import GradcliError
from ...program.target import load_script
from ...results.causes import Explanation
from ...results.formats import PICTURE_FORMATS, TEXT, Style
from ...results.graphs import Graph, Trace
from .. import messages, output
from ..options import Call, target_command
from ..output import Output


@target_command(
    "Examples: gradcli graph 'x**2 * sin(y)' x=2 y=3; gradcli graph train.py --values; "
    "gradcli graph train.py -o graph.svg",
    "wrt out columns gradient hook values direction all",
    formats=(*TEXT, "dot", "mermaid", *PICTURE_FORMATS),
)
def graph(call: Call, *, with_values: bool, all: bool, direction: str | None) -> Graph:
    """Draw the dynamic graph that TARGET records, from the output down to the leaves.

    On a terminal, the graph is a tree. A result that is used several times is written out once. In graphs of more than
    500 nodes, the operations of one module, or of one line, become one node. -o FILE.png needs
    Graphviz. -o FILE.svg uses it if it is installed, and needs it only for more than 500 nodes.
    """
    from ...analysis.graph import graph_program

    program, given = call.program()
    result = graph_program(program, given, call.asked(), with_values, all)
    return result._replace(direction=direction or "BT")


@target_command(
    "Examples: gradcli trace 'x**2 * sin(y)' x=2 y=3; gradcli trace train.py; gradcli trace loss.expr --json; "
    "gradcli trace train.py -o trace.html",
    "wrt out columns gradient hook only_pass step",
    formats=(*TEXT, "html"),
)
def trace(call: Call, *, only: int | None, step: bool) -> Trace | None:
    """Show how backpropagation runs through the graph of TARGET, in numbered steps, one for each node.

    A step shows the operation, the incoming gradient, the local derivative in symbols and in numbers, and the gradient
    of each operand. Hooks and the accumulation into .grad are shown, too. -f html writes a page with the graph; its
    arrow keys move from step to step.
    """
    from ...analysis.trace import trace_program

    program, values = call.program()
    result = trace_program(program, values, call.asked(), only)._replace(why=call.why(program))
    if not step:
        return result._replace(bounded=call.output.path is None)
    if call.form != "table" or not (messages.is_terminal(sys.stdin) and messages.is_terminal(output.results())):
        raise GradcliError(
            "--step needs a terminal to wait for a key", hint="leave out --step, or run it in a terminal"
        )
    step_through(call.output, result)
    return None


@target_command(
    "Examples: gradcli why train.py; gradcli why train.py w; gradcli why --torch tutorial.py x --json",
    formats=TEXT,
    common="script_dtype script_seed script_timeout torch python format json output color quiet verbose",
    metavar="SCRIPT [NAME]...",
)
def why(call: Call) -> Explanation:
    """Run SCRIPT, and explain why gradients in it are None, zero, nan or infinite.

    The report names the line that is the cause. The name in square brackets is the finding, that is, the kind of
    cause. `gradcli help FINDING` explains it. SCRIPT may use PyTorch or gradcli's own engine.

    NAME is a tensor or a parameter, such as x or net.0.weight. Without NAME, `why` reports leaf tensors, parameters,
    and tensors whose .grad the script reads.
    """
    from ...why.explain import explain

    call.output.check()
    target = call.target()
    call.bound_time(target)
    names = [word for word in call.words if "=" not in word]
    values = call.values(tuple(word for word in call.words if "=" in word))
    return explain(load_script(target), values, names)


@target_command(
    "Examples: gradcli run --torch tutorial.py; gradcli run train.py w=0.5",
    common="script_dtype script_seed safe torch python color quiet verbose",
    metavar="SCRIPT.py [NAME=VALUE]...",
)
def run(call: Call) -> None:
    """Run SCRIPT.py as `python SCRIPT.py` would, and print only what the script prints.

    With --torch, its imports of PyTorch load gradcli's own engine, so that a tutorial runs without PyTorch. NAME=VALUE
    replaces the value of a leaf tensor when the script creates it. Arguments for the script itself follow after --.
    """
    words = call.request.words
    stray = [word for word in words[1:] if "=" not in word]
    if not words or stray:
        raise GradcliError(
            f"'{stray[0]}' is not NAME=VALUE" if stray else "no script given",
            hint=f"for example: gradcli run {words[0] if words else 'train.py'} -- {' '.join(stray) or '--epochs 3'}",
        )
    load_script(call.target()).execute(call.values())


def step_through(output: Output, result: Trace) -> None:
    """Print a trace step by step. Any key shows the next step, a the rest without waiting, q ends."""
    from ...show.trace import trace_lines

    messages.say("any key: next step   a: all remaining steps   q: quit")
    key = ""
    for i, text in enumerate(trace_lines(result, Style(output.precision, True, "trace"))):
        key = click.getchar() if i and key not in ("a", "A") else key
        if key in ("q", "Q", "\x1b", "\x04"):
            return
        output.write(output.print_text(text))
