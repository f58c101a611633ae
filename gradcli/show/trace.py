"""Graphs and the steps of backward for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from ..errors import GradcliError
from ..results.formats import Style
from ..results.graphs import Flow, Graph, GraphNode, Pass, Step, Trace
from .data import shape_text
from .dot import cut_array, nest_values, title, value_text

ARRAY_WIDTH = 44  # longer arrays are cut
MOST_LINES = 400  # the most lines of a trace that a terminal shows
EMPHASIS = {"step": "bold", "sent": "cyan", "leaf": "bold green", "hook": "magenta", "dim": "dim", "": ""}


class Words(NamedTuple):
    """A piece of text and its role: a key of EMPHASIS."""

    text: str
    what: str = ""


TextLine = list[Words]


def array_on_a_line(x: np.ndarray | None, style: Style) -> str:
    if x is None:
        return ""
    text = nest_values(x, style.precision or 6, None if style.whole else ARRAY_WIDTH)
    if len(text) <= ARRAY_WIDTH or style.whole:
        return text
    return f"{shape_text(x.shape)}: {cut_array(text, ARRAY_WIDTH)}"


def pass_heading(run: Pass, number: int, several: bool) -> TextLine:
    called = {"backward": "backward", "grad": "autograd.grad"}[run.kind]
    text = f"{called} from {run.output}"
    if several:
        text = f"pass {number}: {text}"
    return [Words(text, "step"), Words(f"  line {run.line}" if run.line else "", "dim")]


def forward_lines(run: Pass, style: Style) -> list[TextLine]:
    left = [f"{item.label} = {item.formula}" if item.formula else item.label for item in run.forward]
    width = min(max(map(len, left), default=0), 40)
    return [
        [Words(f"  {text:<{width}} = {array_on_a_line(item.value, style)}" if item.value is not None else f"  {text}")]
        for text, item in zip(left, run.forward, strict=True)
    ]


def step_lines(step: Step, style: Style) -> list[TextLine]:
    head = step.label if step.leaf else f"{step.label} = {step.formula}"
    operation = f"   {step.op}" + (f"  line {step.line}" if step.line else "")
    lines = [[Words(f"{step.number:>3}  {head}", "step"), Words(operation, "dim")]]

    def add(*words: Words) -> None:
        lines.append([Words("     "), *words])

    for hook in step.hooks:
        same = np.array_equal(hook.before, hook.after, equal_nan=True)
        change = "" if same else f" becomes {array_on_a_line(hook.after, style)}"
        add(Words(f"hook {hook.name}: {array_on_a_line(hook.before, style)}{change}", "hook"))
    if step.incoming is not None and not step.leaf:
        add(Words("gradient in  ", "dim"), Words(array_on_a_line(step.incoming, style)))
    for flow in step.flows:
        lines.extend(flow_lines(step, flow, style))
    if step.captured:
        add(Words(f"returned for {step.label}: {array_on_a_line(step.incoming, style)}", "leaf"))
    elif step.leaf:
        sum_of = ""
        if step.before is not None and step.incoming is not None:
            sum_of = f"{array_on_a_line(step.before, style)} + {array_on_a_line(step.incoming, style)} = "
        add(Words(f"{step.label}.grad = {sum_of}{array_on_a_line(step.after, style)}", "leaf"))
    return lines


def flow_lines(origin: Step, flow: Flow, style: Style) -> list[TextLine]:
    rule = f"{flow.slope} = {flow.formula}" if flow.slope else flow.formula
    local = array_on_a_line(flow.local, style)
    if flow.slope and local and local != flow.formula:
        rule += f" = {local}"
    sent = array_on_a_line(flow.grad, style)
    product = ""
    if flow.local is not None and origin.incoming is not None and not (flow.local.ndim == 0 and flow.local == 1):
        spread = np.broadcast(origin.incoming, flow.local).shape != flow.grad.shape
        product = f"{array_on_a_line(origin.incoming, style)} · {local} = " if not spread else ""
    elif origin.incoming is not None and np.shape(origin.incoming) != flow.grad.shape and flow.slope:
        product = "summed: "
    ends = [product, f"{sent} {'→' if style.unicode else '->'} {flow.to}"]
    if flow.total is not None:
        ends[1] += ","
        ends.append(f" now {array_on_a_line(flow.total, style)}")
    if len(rule) + len("".join(ends)) <= 70:
        return [[Words(f"     {rule}   "), Words("".join(ends), "sent")]]
    lines = [""]
    for part in ends:  # an arrow stays with its target
        if lines[-1] and 7 + cell_len(lines[-1] + part) > style.size[0]:
            lines.append("")
        lines[-1] += part if lines[-1] else part.lstrip()
    return [[Words(f"     {rule}")], *([Words(f"       {line.rstrip()}", "sent")] for line in lines)]


def render_trace(result: Trace, style: Style) -> Text:
    """Return every pass of backward after its forward part; a bounded trace is cut."""
    text, count = Text(), 0
    for i, line in enumerate(trace_lines(result, style)):
        count += line.plain.count("\n") + 1
        if result.bounded and count > MOST_LINES:
            several = f"--pass last shows the last of {result.total} passes, " if result.total > 1 else ""
            text.append(f"\n\n... truncated: {several}-f table -o FILE writes all lines", style="dim")
            break
        text.append("\n" if i else "")
        text.append(line)
    return text


def trace_lines(result: Trace, style: Style) -> Iterator[Text]:
    """Yield the parts of a trace: each step is one text, after an empty line."""

    def joined(lines: list[TextLine]) -> Text:
        return Text("\n").join(Text.assemble(*[(part.text, EMPHASIS[part.what]) for part in line]) for line in lines)

    for i, run in enumerate(result.passes, result.first):
        yield joined([*([[]] if i > result.first else []), [Words("forward", "step")], *forward_lines(run, style), []])
        yield joined([pass_heading(run, i, result.total > 1)])
        for each in run.steps:
            yield joined([[], *step_lines(each, style)])


MOST_CHARACTERS = 50_000_000  # trees with more indentation are refused
LOOKS = {"leaf": "green", "output": "bold yellow", "folded": "blue", "intermediate": ""}
FACTS = dict.fromkeys(("operation", "shape", "module", "line"), "dim")
FACTS |= {"hooks": "magenta", "value": "cyan", "gradient": "bold cyan"}
"""The columns next to a tree, and their styles."""
SPARE_COLUMNS = ("module", "line", "operation", "hooks", "shape")  # dropped in this order if the table is too wide
COLUMN_GAP = 2


class TreeLine(NamedTuple):
    """One line of a tree: its branches, its text with the node's title, and facts by column."""

    prefix: str
    text: Text
    facts: dict[str, str]


def tree(result: Graph, style: Style) -> Iterator[TreeLine]:
    """Yield the lines of a graph as a tree from its outputs down; a shared node is expanded once.

    Raises GradcliError for a graph so deep that its indentation would fill the memory.
    """
    branch, last, through, blank = ("├─ ", "└─ ", "│  ", "   ") if style.unicode else ("|- ", "`- ", "|  ", "   ")
    nodes = {node.number: node for node in result.nodes}
    shown: set[int] = set()
    written = 0
    stack = [("", "", number) for number in reversed(result.outputs)]
    while stack:
        own, below, place = stack.pop()
        node = nodes[place]
        again = place in shown and bool(node.inputs or node.kind == "leaf")
        written += len(own)
        if written > MOST_CHARACTERS:
            hint = "leave out --all, or use -f dot or -f json"
            raise GradcliError("the graph is too deep for a tree", hint=hint, kind="limit")
        head = title(node) + (" (shown above)" if again and node.inputs else "")
        text = Text(own, "dim") + Text(head, "dim" if again else LOOKS[node.kind])
        if again:
            yield TreeLine(own, text, dict.fromkeys(FACTS, ""))
            continue
        yield TreeLine(own, text, facts(node, style, result.values))
        shown.add(place)
        children = list(dict.fromkeys(node.inputs))
        for i, child in reversed(list(enumerate(children))):
            is_last = i == len(children) - 1
            stack.append((below + (last if is_last else branch), below + (blank if is_last else through), child))


def facts(node: GraphNode, style: Style, values: bool) -> dict[str, str]:
    alone = node.operations == 1
    return {
        "operation": "" if values or not alone else "leaf" if node.kind == "leaf" else node.op,
        "shape": shape_text(node.shape or (), ""),
        "module": node.scope[-1] if node.scope and alone else "",
        "line": f"line {node.line}" if node.line and alone and not values else "",
        "hooks": "hooks: " + ", ".join(node.hooks) if node.hooks else "",
        "value": value_text(node.value, style.precision) if values else "",
        "gradient": value_text(node.grad, style.precision) if values else "",
    }


def with_values_below(line: TreeLine) -> Text:
    indent = line.prefix.replace("├─", "│ ").replace("└─", "  ").replace("|-", "| ").replace("`-", "  ")
    facts = [Text(f"{name} {line.facts[name]}", FACTS[name]) for name in ("value", "gradient") if line.facts[name]]
    return line.text + Text(f"\n{indent}   ", "dim") + Text("  ").join(facts) if facts else line.text


def render_graph(result: Graph, style: Style) -> Table | Text:
    lines = list(tree(result, style))
    widest = max(line.text.cell_len for line in lines)
    widths = {name: max(cell_len(line.facts[name]) for line in lines) for name in FACTS}
    shown = {name: width + COLUMN_GAP for name, width in widths.items() if width}
    for name in SPARE_COLUMNS:
        if widest + sum(shown.values()) > style.size[0]:
            shown.pop(name, None)
    if result.values and widest + sum(shown.values()) > style.size[0]:
        return Text("\n").join(map(with_values_below, lines))
    table = Table(
        box=None, show_header=result.values, header_style="dim", pad_edge=False, padding=(0, COLUMN_GAP, 0, 0)
    )
    for name in ("", *shown):
        table.add_column(name if name in ("value", "gradient") else "", no_wrap=True, overflow="ellipsis")
    for line in lines:
        table.add_row(line.text, *(Text(line.facts[name], FACTS[name]) for name in shown))
    return table
