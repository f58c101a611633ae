"""Backward in words: the sentences that a terminal and a file show for each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from rich.text import Text

from ..results.graphs import Flow, Pass, Step, Trace
from . import Style, renders
from .graph import cut_array, nest_values

SHORT = 44
"""The longest array, in characters, that is shown whole."""
MOST_LINES = 400
"""The lines that a terminal is given of a long trace."""
EMPHASIS = {"step": "bold", "sent": "cyan", "leaf": "bold green", "hook": "magenta", "dim": "dim", "": ""}


class Words(NamedTuple):
    """A piece of text, and what it is: a key of EMPHASIS."""

    text: str
    what: str = ""


Line = list[Words]


def array_on_a_line(x: np.ndarray | None, style: Style) -> str:
    """Return an array on one line; of a long one, its shape and its beginning."""
    if x is None:
        return ""
    text = nest_values(x, style.precision or 6)
    if len(text) <= SHORT:
        return text
    shape = ("×" if style.unicode else "x").join(map(str, x.shape))
    return f"{shape}: {cut_array(text, SHORT)}"


def heading(run: Pass, number: int, several: bool) -> Line:
    called = {"backward": "backward", "grad": "autograd.grad"}[run.kind]
    text = f"{called} from {run.output}"
    if several:
        text = f"pass {number}: {text}"
    return [Words(text, "step"), Words(f"  line {run.line}" if run.line else "", "dim")]


def forward(run: Pass, style: Style) -> list[Line]:
    """Return the lines of the forward part: what every result is and how it came about."""
    left = [f"{item.label} = {item.formula}" if item.formula else item.label for item in run.forward]
    width = min(max(map(len, left), default=0), 40)
    return [
        [
            Words(
                f"  {text:<{width}} = {array_on_a_line(item.value, style)}" if item.value is not None else f"  {text}"
            )
        ]
        for text, item in zip(left, run.forward, strict=True)
    ]


def step(step_: Step, style: Style) -> list[Line]:
    head = step_.label if step_.leaf else f"{step_.label} = {step_.formula}"
    lines = [
        [
            Words(f"{step_.number:>3}  {head}", "step"),
            Words(f"   {step_.op}" + (f"  line {step_.line}" if step_.line else ""), "dim"),
        ]
    ]

    def add(*words: Words) -> None:
        lines.append([Words("     "), *words])

    arrow = "→" if style.unicode else "->"
    for hook in step_.hooks:
        same = np.array_equal(hook.before, hook.after, equal_nan=True)
        change = "" if same else f" becomes {array_on_a_line(hook.after, style)}"
        add(Words(f"hook {hook.name}: {array_on_a_line(hook.before, style)}{change}", "hook"))
    if step_.incoming is not None and not step_.leaf:
        add(Words("gradient in  ", "dim"), Words(array_on_a_line(step_.incoming, style)))
    for flow in step_.flows:
        lines.extend(flow_lines(step_, flow, style, arrow))
    if step_.captured:
        add(Words(f"returned for {step_.label}: {array_on_a_line(step_.incoming, style)}", "leaf"))
    elif step_.leaf:
        sum_of = ""
        if step_.before is not None and step_.incoming is not None:
            sum_of = f"{array_on_a_line(step_.before, style)} + {array_on_a_line(step_.incoming, style)} = "
        add(Words(f"{step_.label}.grad = {sum_of}{array_on_a_line(step_.after, style)}", "leaf"))
    return lines


def flow_lines(origin: Step, flow: Flow, style: Style, arrow: str) -> list[Line]:
    """Return what is sent to one operand: the rule in symbols, the numbers, and where they go."""
    rule = f"{flow.slope} = {flow.formula}" if flow.slope else flow.formula
    local = array_on_a_line(flow.local, style)
    if flow.slope and local and local != flow.formula:
        rule += f" = {local}"
    sent = array_on_a_line(flow.grad, style)
    product = ""
    if flow.local is not None and origin.incoming is not None and not (flow.local.ndim == 0 and flow.local == 1):
        times = "·" if style.unicode else "*"
        spread = np.broadcast(origin.incoming, flow.local).shape != flow.grad.shape
        product = f"{array_on_a_line(origin.incoming, style)} {times} {local} = " if not spread else ""
    elif origin.incoming is not None and np.shape(origin.incoming) != flow.grad.shape and flow.slope:
        product = "summed: "
    end = f"{product}{sent} {arrow} {flow.to}"
    if flow.total is not None:
        end += f", now {array_on_a_line(flow.total, style)}"
    if len(rule) + len(end) > 70:
        return [[Words(f"     {rule}")], [Words(f"       {end}", "sent")]]
    return [[Words(f"     {rule}   "), Words(end, "sent")]]


@renders(form="table")
def render_trace(result: Trace, style: Style) -> Text:
    """Return every pass of backward, its forward part first; of a bounded trace only the beginning."""
    text, count = Text(), 0
    for i, line in enumerate(trace_lines(result, style)):
        count += line.plain.count("\n") + 1
        if result.bounded and count > MOST_LINES:
            several = f"--pass last shows the last of {result.total} passes, " if result.total > 1 else ""
            text.append(f"\n\n... and so on: {several}-f table -o FILE writes all", style="dim")
            break
        text.append("\n" if i else "")
        text.append(line)
    return text


def trace_lines(result: Trace, style: Style) -> Iterator[Text]:
    """Yield the lines of a trace, each step with an empty line in front of it and its lines as one text."""

    def joined(lines: list) -> Text:
        return Text("\n").join(Text.assemble(*[(part.text, EMPHASIS[part.what]) for part in line]) for line in lines)

    for i, run in enumerate(result.passes, result.first):
        yield joined([*([[]] if i > result.first else []), [Words("forward", "step")], *forward(run, style), []])
        yield joined([heading(run, i, result.total > 1)])
        for each in run.steps:
            yield joined([[], *step(each, style)])
