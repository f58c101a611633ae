"""Results of `graph`, `trace`, `plot` and `eval`: the recorded graph, the steps of backward, curves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .base import ResultBlock, Rows, declare, document_of, own_block, point_to_why

NODE = "id=number kind op name formula shape dtype inputs file line hooks scope operations=folded?"


@declare(json=NODE)
class GraphNode(NamedTuple):
    """One recorded operation, one leaf, or several operations folded into one.

    kind: leaf, intermediate, output or folded. op: the name of the operation, such as MulBackward0. name: the program's
    name for the result, if any; label: its name in the formulas of others. inputs: the numbers of the nodes that
    gradients flow to next. scope: the path of the module that made it, outermost first. value, grad: if asked for.
    operations: how many were folded into it.
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

    @property
    def folded(self) -> int | None:
        return self.operations if self.operations > 1 else None


@declare(json="outputs nodes=documents")
class Graph(NamedTuple):
    """A recorded graph, with nodes in the order they were made.

    outputs: the numbers of the nodes that backward starts at. direction: of pictures, BT (upwards) or LR (rightwards).
    """

    target: str
    nodes: tuple[GraphNode, ...]
    outputs: tuple[int, ...]
    values: bool = False
    direction: str = "BT"

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_svg_(self) -> str:
        from .formats import Style, render

        return render(self, "notebook", Style())

    def rows(self) -> Rows:
        """Return a row per node; with `values` also value and gradient, as JSON."""
        for node in self.nodes:
            shape, inputs = (",".join(map(str, numbers or ())) for numbers in (node.shape, node.inputs))
            more = ["null" if x is None else x for x in (node.value, node.grad) if self.values]
            line = str(node.line or "")
            yield (str(node.number), node.kind, node.op, node.name or "", node.formula, shape, inputs, line, *more)

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [document_of(node, NODE + " value grad" * self.values) for node in self.nodes]


def as_text(result: Any) -> str:
    """Return a result as Python's prompt shows it."""
    from .formats import Style, render

    return render(result, "tsv", Style(6)).rstrip("\n")


@declare(json="to derivative=slope rule=formula local grad total=received")
class Flow(NamedTuple):
    """What one step of backward sends to one operand.

    to: the operand's label. slope: the local derivative in symbols, such as d(sin(y))/dy; formula: its value, cos(y),
    or a description of a rule that is not a formula. local: its numbers; None if there is no such array. grad: what is
    sent. total: what the operand has received so far; None for the first gradient.
    """

    to: str
    slope: str
    formula: str
    local: np.ndarray | None
    grad: np.ndarray
    total: np.ndarray | None = None

    @property
    def received(self) -> np.ndarray:
        return self.grad if self.total is None else self.total


class HookCall(NamedTuple):
    """A hook that ran: its name, and the gradient before and after it."""

    name: str
    before: np.ndarray
    after: np.ndarray


@declare(json="step=number op label formula line incoming hooks grad=accumulated? sends?")
class Step(NamedTuple):
    """One step of backward: a node, the gradient that came in (after the hooks), and what it sent on.

    incoming: None for an operation with several outputs. leaf: the step accumulated into `.grad`, from before to after.
    captured: autograd.grad returned the gradient instead.
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
        """Return a row per number sent: step, operation, result, receiver and number. A leaf sends to its .grad."""
        sent = [(flow.to, flow.grad) for flow in self.flows]
        if self.leaf and self.incoming is not None:
            sent.append((f"{self.label}.grad", self.incoming if self.after is None else self.after))
        for to, array in sent:
            rows = own_block(to, "", array).rows()
            yield from ((str(self.number), self.op, self.label, *cells) for cells in rows)

    @property
    def accumulated(self) -> dict[str, Any] | None:
        return {"before": self.before, "after": self.after} if self.leaf else None

    @property
    def sends(self) -> list[Flow] | None:
        return None if self.leaf else [*self.flows]


class Computed(NamedTuple):
    """A line of the forward part: a label, its formula (empty for inputs), and its value."""

    label: str
    formula: str
    value: np.ndarray | None


class Pass(NamedTuple):
    """One run of backward. kind: backward or grad, as called. output: the label of its start. line: of the call."""

    kind: str
    output: str
    line: int | None
    forward: tuple[Computed, ...]
    steps: tuple[Step, ...]


@declare(json="passes=numbered")
class Trace(NamedTuple):
    """The runs of backward of a program, or one of them.

    first: the number of the first one here. total: how many there were. bounded: a table may stop before the end, with
    a hint. why: the command that explains gradients of a script.
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
        """Return the page that steps through backward, in a frame of its own."""
        from html import escape

        from .formats import Style, render

        page = escape(render(self, "html", Style()))
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 36rem; border: 0"></iframe>'

    def rows(self) -> Rows:
        for i, run in enumerate(self.passes, self.first):
            yield from ((str(i), *cells) for step in run.steps for cells in step.rows())

    @property
    def numbered(self) -> list[dict[str, Any]]:
        return [{"pass": i, **run._asdict()} for i, run in enumerate(self.passes, self.first)]


@declare(json="kind at")
class Break(NamedTuple):
    """A place where a curve is not smooth: a kink, a jump or a pole. sides: x, value, slope just before and after."""

    kind: str
    at: float
    sides: tuple[tuple[float, float, float], ...]


@declare(json="over=axes value derivative? error? output? breaks?")
class Sampled(NamedTuple):
    """A function along one input or over two. Value and slopes have an axis for each input.

    axes: the points of each input. slopes: the derivatives, in the order of the axes. nan means that there is no value.
    breaks: for a function along one input. errors: those of numeric derivatives, in the order of the axes.
    """

    target: str
    axes: dict[str, np.ndarray]
    value: np.ndarray
    slopes: tuple[np.ndarray, ...] = ()
    output: str | None = None
    breaks: tuple[Break, ...] = ()
    errors: tuple[np.ndarray, ...] = ()

    @property
    def derivative(self) -> dict[str, np.ndarray]:
        return dict(zip(self.axes, self.slopes, strict=False))

    @property
    def error(self) -> dict[str, np.ndarray]:
        return dict(zip(self.axes, self.errors, strict=False))

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.axes, "value", *(f"d_{name}" for name in self.derivative))

    def rows(self) -> Rows:
        places = np.meshgrid(*self.axes.values(), indexing="ij")
        return zip(*(x.ravel() for x in (*places, self.value, *self.slopes)), strict=True)


class Tabulated(Sampled):
    """The value of an output along one input or over two, without slopes."""

    without = ("npy", "latex")

    @property
    def arrays(self) -> tuple[ResultBlock, ...]:
        return tuple(own_block(name, f"the points of {name}", x) for name, x in self.axes.items())
