"""What `graph`, `trace`, `plot` and `eval` find out: the recorded graph, backward's walk through it, curves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .results import Block, Rows, fields, own_block, point_to_why, present


class GraphNode(NamedTuple):
    """One recorded operation, one leaf, or several operations folded into one.

    kind: leaf, intermediate, output or folded. op: the name of the operation, such as MulBackward0. name: the program's
    name for the result, where it has one; label: what others' formulas call it. formula: what it computed. inputs: the
    numbers of the nodes that gradients flow to next. scope: the path of the module it was made in, outermost first.
    value, grad: where they were asked for. operations: how many it stands for.
    """

    number: int
    kind: str
    op: str
    name: str | None
    formula: str
    shape: tuple[int, ...] | None
    dtype: str | None
    inputs: tuple[int, ...]
    file: str | None = None
    line: int | None = None
    hooks: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    value: np.ndarray | None = None
    grad: np.ndarray | None = None
    operations: int = 1
    label: str = ""

    def document(self, values: bool) -> dict[str, Any]:
        names = "kind op name formula shape dtype inputs file line hooks scope"
        names += " operations" * (self.operations > 1) + " value grad" * values
        return {"id": self.number, **fields(self, names)}


class Graph(NamedTuple):
    """A recorded graph, nodes in the order they were made.

    outputs: the numbers of the nodes backward starts at. direction: of pictures, BT (upwards) or LR (to the right).
    """

    target: str
    nodes: tuple[GraphNode, ...]
    outputs: tuple[int, ...]
    values: bool = False
    direction: str = "BT"

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_svg_(self) -> str:
        """Return the graph drawn, as notebooks show it."""
        from . import Style
        from .layers import render_svg

        return render_svg(self, Style()).decode().partition("\n")[2]  # without the head of a file

    def rows(self) -> Rows:
        """Return a row per node; with values also value and gradient, as JSON."""
        for node in self.nodes:
            shape, inputs = (",".join(map(str, numbers or ())) for numbers in (node.shape, node.inputs))
            more = ["null" if x is None else x for x in (node.value, node.grad) if self.values]
            line = str(node.line or "")
            yield (str(node.number), node.kind, node.op, node.name or "", node.formula, shape, inputs, line, *more)

    def document(self) -> dict[str, Any]:
        return {"outputs": self.outputs, "nodes": [node.document(self.values) for node in self.nodes]}


def as_text(result: Any) -> str:
    """Return a result as a plain prompt shows it."""
    from . import Style, render

    return render(result, "tsv", Style(6)).rstrip("\n")


class Flow(NamedTuple):
    """What one step of backward sends to one operand.

    to: the operand's label. slope: the local derivative in symbols, such as d(sin(y))/dy, and formula: what it is,
    cos(y); for rules that are no formula, their description. local: its numbers, None where there is no such array.
    grad: what is sent. total: what the operand has received in all, None unless something was there before.
    """

    to: str
    slope: str
    formula: str
    local: np.ndarray | None
    grad: np.ndarray
    total: np.ndarray | None = None

    def document(self) -> dict[str, Any]:
        total = self.grad if self.total is None else self.total
        names = {"to": self.to, "derivative": self.slope, "rule": self.formula}
        return {**names, "local": self.local, "grad": self.grad, "total": total}


class HookCall(NamedTuple):
    """A hook that ran: its name, the gradient it was given, and what it left (the same where it only looked)."""

    name: str
    before: np.ndarray
    after: np.ndarray


class Step(NamedTuple):
    """One step of backward: a node, the gradient that came in (after the hooks), and what it sent on.

    incoming: None for an operation with several outputs. leaf: whether `.grad` of a leaf was added to; then before
    it holds. captured: whether the gradient was returned instead, by autograd.grad.
    """

    number: int
    op: str
    label: str
    formula: str
    line: int | None
    incoming: np.ndarray | None
    hooks: tuple[HookCall, ...]
    flows: tuple[Flow, ...]
    leaf: bool = False
    before: np.ndarray | None = None
    after: np.ndarray | None = None
    captured: bool = False

    def rows(self) -> Rows:
        """Return what is sent: operation, result, receiver and number; the receiver of a leaf's last is its .grad."""
        sent = [(flow.to, flow.grad) for flow in self.flows]
        if self.leaf and self.incoming is not None:
            sent.append((f"{self.label}.grad", self.incoming if self.after is None else self.after))
        for to, array in sent:
            rows = own_block(to, "", array).rows()
            yield from ((str(self.number), self.op, self.label, *cells) for cells in rows)

    def document(self) -> dict[str, Any]:
        head = {"step": self.number, **fields(self, "op label formula line incoming hooks")}
        if self.leaf:
            return {**head, "grad": {"before": self.before, "after": self.after}}
        return {**head, "sends": self.flows}


class Computed(NamedTuple):
    """A line of the forward part: a label, the formula that made it (empty for inputs), and its value."""

    label: str
    formula: str
    value: np.ndarray | None


class Pass(NamedTuple):
    """One run of backward, from an output.

    kind: backward or grad, as called. output: the label of what it started from. line: of the call, in a script.
    """

    kind: str
    output: str
    line: int | None
    forward: tuple[Computed, ...]
    steps: tuple[Step, ...]


class Trace(NamedTuple):
    """The runs of backward of a program, or one of them.

    first: the number of the first one here. total: how many there were. bounded: whether a table may stop before the
    end, with a hint. why: the command that explains gradients of a script.
    """

    target: str
    passes: tuple[Pass, ...]
    first: int = 1
    total: int = 1
    bounded: bool = False
    why: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        leaves = [step for run in self.passes for step in run.steps if step.leaf]
        return point_to_why(self.why, {s.label: s.incoming if s.after is None else s.after for s in leaves})

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        """Return the page that steps through backward, in a frame of its own, as notebooks show it."""
        from html import escape

        from . import Style, render

        page = escape(render(self, "html", Style()))
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 36rem; border: 0"></iframe>'

    def rows(self) -> Rows:
        for i, run in enumerate(self.passes, self.first):
            yield from ((str(i), *cells) for step in run.steps for cells in step.rows())

    def document(self) -> dict[str, Any]:
        return {"passes": [{"pass": i, **run._asdict()} for i, run in enumerate(self.passes, self.first)]}


class Break(NamedTuple):
    """A place where a curve is not smooth: a kink, a jump or a pole. sides: x, value, slope just before and after."""

    kind: str
    at: float
    sides: tuple[tuple[float, float, float], ...]

    def document(self) -> dict[str, Any]:
        return fields(self, "kind at")


class Sampled(NamedTuple):
    """A function along one input or over two: value and each slope have a place for each point of the axes.

    axes: the points of each input. slopes: the derivatives, in the order of the axes. nan where there is no value.
    breaks: of a function along one input.
    """

    target: str
    axes: dict[str, np.ndarray]
    value: np.ndarray
    slopes: tuple[np.ndarray, ...] = ()
    output: str | None = None
    breaks: tuple[Break, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.axes, "value", *(f"d_{name}" for name, _ in zip(self.axes, self.slopes, strict=False)))

    def rows(self) -> Rows:
        places = np.meshgrid(*self.axes.values(), indexing="ij")
        return zip(*(x.ravel() for x in (*places, self.value, *self.slopes)), strict=True)

    def document(self) -> dict[str, Any]:
        """Return the points of the axes; value and derivatives have a row for each point of the first."""
        slopes = dict(zip(self.axes, self.slopes, strict=False))
        more = present(derivative=slopes, output=self.output, breaks=self.breaks)
        return {"over": self.axes, "value": self.value, **more}


class Tabulated(Sampled):
    """The value of an output along one input or over two, without slopes."""

    without = ("npy", "latex")

    @property
    def arrays(self) -> tuple[Block, ...]:
        return tuple(own_block(name, f"the points of {name}", x) for name, x in self.axes.items())
