"""Run a program under observation and describe its recorded graph."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import GradcliError, Span
from ..lang.operations import constant_text, formula_of_operation, number_text
from ..program.base import Program, Run, Values
from ..program.script import is_made_module, named_tensors
from ..request import Request
from ..results.graphs import Graph, GraphNode
from ..tape.anomaly import Observed, RecordedOrigin, calling_frame, observation_of
from ..tape.backward import reachable
from ..tape.modes import Observer, observing
from ..tape.node import OutputNode
from ..tape.record import recording
from ..tape.tensor import Tensor
from .gradient import run_backward, run_for

GraphPlace = tuple[Any, int]


class Labels:
    """Names for the nodes of a run: those of the program, and v1, v2, ... for results without a name.

    nodes: public nodes in the order of their creation. rules: descriptions of rules, by node and place.
    """

    def __init__(self, run: Run, nodes: Iterable[Any], names: Mapping[str, Any] | None = None):
        self.run = run
        self.names: dict[GraphPlace, str] = {}
        self.constants: dict[int, str] = {}
        self.rules: dict[GraphPlace, str] = {}
        tensors = {**(run.names if names is None else names), **run.leaves}
        for name, tensor in tensors.items():
            if not isinstance(tensor, Tensor):
                continue
            if tensor._node is None:
                self.constants.setdefault(id(tensor._data), name)
            else:
                self.names.setdefault((tensor._node.public, tensor._node.output_nr), name)
        self.labels: dict[Any, str] = {}
        count = 0
        for node in nodes:
            label = self.names.get((node, 0))
            while label is None:
                count += 1
                label = None if f"v{count}" in tensors else f"v{count}"
            self.labels[node] = label

    def name(self, node: Any) -> str | None:
        return self.names.get((node.public, node.output_nr))

    def label(self, node: Any) -> str:
        name = self.name(node)
        if name is not None:
            return name
        public = node.public
        label = self.labels.get(public, public.name())
        several = public is not node or isinstance(getattr(observation_of(public), "result", None), tuple)
        return f"{label}[{node.output_nr}]" if several else label

    def operands(self, node: Any, seen: Any) -> list[Any]:
        """Return the operands of an operation: labels, and numbers for scalar constants."""
        operands: list[Any] = []
        for parent, raw in zip(node.parents, seen.operands, strict=False):
            if parent is not None:
                operands.append(self.label(parent))
            elif raw is None or isinstance(raw, tuple):
                operands.append("…")  # a constant that was not kept
            elif id(raw) in self.constants:
                operands.append(self.constants[id(raw)])
            elif np.ndim(raw) == 0 and np.asarray(raw).dtype.kind in "iuf":
                operands.append(float(raw))
            else:
                operands.append(constant_text(raw))
        return operands

    def formula(self, node: Any) -> str:
        """Return the formula of a node; only a call of the operation's name if nothing was saved."""
        if node.leaf:
            return ""
        if isinstance(node, OutputNode):
            return f"{self.formula(node.public)}[{node.output_nr}]"
        seen = seen_of(node)
        if seen is None:
            inside = ", ".join(self.label(p) for p in node.parents if p is not None)
            return f"{node.name().removesuffix('Backward')}({inside})"
        words = [x if isinstance(x, str) else number_text(x) for x in self.operands(node, seen)]
        shapes = [np.shape(x) for x in seen.operands]
        return formula_of_operation(seen.primitive, words, shapes, seen.params)


class Kept(NamedTuple):
    """What backward has saved for an operation that was not observed."""

    primitive: Any
    operands: tuple
    params: dict
    result: Any


def seen_of(node: Any) -> RecordedOrigin | Kept | None:
    """Return what is known about the operation of a node; None for leaves, and if backward has freed it."""
    seen = observation_of(node)
    rule = None if node.leaf else node.public.rule
    if seen is not None or rule is None or rule.primitive is None or not node.kept or rule.params is None:
        return seen
    return Kept(rule.primitive, node.kept[1:], rule.params, node.kept[0])


def recorded_run(names: Mapping[str, Any], output: Tensor | None) -> Run:
    """Make a run from variables and an output that were computed before."""
    tensors: dict[str, Any] = {}
    for name, value in names.items():
        if not name.startswith("_"):  # a shell keeps earlier results under such names
            tensors.update(named_tensors(name, value))
    leaves = {name: x for name, x in tensors.items() if x.requires_grad and x.is_leaf}
    modules = {name: x for name, x in names.items() if is_made_module(x)}
    return Run(leaves, output, tensors, modules=modules)


def variables() -> dict[str, Any]:
    """Return the variables that the caller of this package sees."""
    frame = calling_frame()
    return {} if frame is None else {**frame.f_globals, **frame.f_locals}


class ObservedPass:
    """One run of backward: how and on which line it was called, its roots, and the names and leaves at that time."""

    def __init__(self, kind: str, roots: list[Any], frame: Any):
        self.kind = kind
        self.roots = roots
        self.leaves = {node: node_value(node) for node in reachable(roots) if node.leaf}
        self.line: int | None = None if frame is None else frame.f_lineno
        self.names = {name: x for name, x in variables().items() if isinstance(x, Tensor)}


OnStart = Callable[[ObservedPass, list[Any]], None]  # called before each run of backward, with the nodes of its graph


class Starts(Observer):
    """Reports each start of backward, and keeps track of the modules that are running."""

    def __init__(self, on_start: OnStart):
        self.on_start = on_start
        self.running: list[Any] = []

    def enter_module(self, module: Any) -> None:
        self.running.append(module)

    def leave_module(self, module: Any) -> None:
        if self.running[-1:] == [module]:  # other modules may run in another thread
            self.running.pop()

    def see_backward(self, kind: str, outputs: tuple) -> None:
        roots = [x._node for x in outputs if isinstance(x, Tensor) and x._node is not None]
        self.on_start(ObservedPass(kind, roots, calling_frame()), reachable(roots))


@contextlib.contextmanager
def watching(on_start: OnStart) -> Iterator[None]:
    """Observe operations, their modules, and runs of backward inside the block."""
    starts = Starts(on_start)
    with observing(starts), recording(Observed(lambda: tuple(starts.running))):
        yield


def watch_program(
    program: Program, given: Values, request: Request, on_start: OnStart, differentiate: bool = True
) -> Run:
    """Run a program under observation, then backward unless the program has done so."""
    with watching(on_start):
        run = run_for(program, given, request)
        if run.output is not None:
            if run.output._node is None:
                hint = "check --wrt and --out, and that nothing was detached"
                raise GradcliError("the output depends on no input, so it has no graph", hint=hint, kind="name")
            if differentiate:
                run_backward(run.output, request)
    return run


def public_nodes(roots: list[Any]) -> list[Any]:
    return list(dict.fromkeys(node.public for node in reachable(roots)))


def module_paths(run: Run) -> dict[int, str]:
    """Return the path, such as net.0, of every module in a run, by the id of the module."""
    if "gradcli.nn.module" not in sys.modules:
        return {}
    paths: dict[int, str] = {}
    for name, value in run.modules.items():
        for path, module in value.named_modules(prefix=name):
            if path:
                paths.setdefault(id(module), path)
    return paths


def is_only_line(span: Span) -> bool:
    return span.origin is None and "\n" not in span.source.strip()


def node_value(node: Any) -> Any:
    """Return the value of a node's first output, or the current value of a leaf; None if it was not observed."""
    if node.leaf:
        return np.array(node.variable._data)
    result = getattr(seen_of(node), "result", None)
    return result[0] if isinstance(result, tuple) else result


FOLD_ABOVE = 500  # graphs with more nodes are folded, unless the user asks for all of them


def keep_gradient(found: dict[Any, np.ndarray], node: Any) -> Any:
    def hook(grads: tuple) -> None:
        if grads[0] is not None:
            found[node.public] = np.array(grads[0].detach()._data)

    return hook


def graph_program(
    program: Program, given: Values, request: Request, values: bool = False, everything: bool = False
) -> Graph:
    """Run a program; return the graph of its output, or of its last backward pass. everything: never fold."""
    last: ObservedPass | None = None
    gradients: dict[Any, np.ndarray] = {}

    def on_start(run: ObservedPass, graph: list[Any]) -> None:
        nonlocal last
        last = run
        for node in graph if values else ():
            if node.public is node or node.output_nr == 0:
                node.hook_table.pre[id(gradients)] = keep_gradient(gradients, node)

    run = watch_program(program, given, request, on_start, differentiate=values)
    leaves, roots = ({}, []) if last is None else (last.leaves, last.roots)
    roots = roots if run.output is None else [run.output._node]
    found = gradients if values else None
    return describe_graph(program.title, run, roots, leaves, found, everything)


def describe_graph(
    title: str,
    run: Run,
    roots: list[Any],
    leaves: dict[Any, Any] | None = None,
    found: dict[Any, np.ndarray] | None = None,
    everything: bool = False,
) -> Graph:
    """Describe the graph that leads to `roots`. leaves: their values. found: gradients, shown with values."""
    nodes = public_nodes(roots)
    labels = Labels(run, nodes)
    numbers = {node: i + 1 for i, node in enumerate(nodes)}
    paths = module_paths(run)
    ends = {root.public for root in roots}
    described = [describe_node(node, numbers, labels, paths, node in ends, found, leaves or {}) for node in nodes]
    outputs = tuple(dict.fromkeys(numbers[root.public] for root in roots))
    if len(described) > FOLD_ABOVE and not everything:
        described, outputs = fold_modules(described, outputs)
    return Graph(title, tuple(described), outputs, found is not None)


def describe_node(
    node: Any,
    numbers: dict[Any, int],
    labels: Labels,
    paths: dict[int, str],
    is_end: bool,
    grads: dict[Any, np.ndarray] | None,
    leaves: dict[Any, Any],
) -> GraphNode:
    span = labels.run.where(node)
    value = leaves[node] if node in leaves else node_value(node)
    shape, dtype = (np.shape(value), str(np.asarray(value).dtype)) if value is not None else noted_outline(node)
    return GraphNode(
        number=numbers[node],
        kind="leaf" if node.leaf else "output" if is_end else "intermediate",
        op=node.name(),
        name=labels.names.get((node, 0)),
        formula=labels.formula(node),
        shape=shape,
        dtype=dtype,
        inputs=tuple(numbers[p.public] for p in node.parents if p is not None),
        file=None if span is None else span.origin,
        line=None if span is None or is_only_line(span) else span.line,
        hooks=hook_names(node),
        scope=modules_of_node(node, labels, paths),
        value=None if grads is None or value is None else np.asarray(value),
        grad=None if grads is None else grads.get(node),
        label=labels.label(node),
    )


def modules_of_node(node: Any, labels: Labels, paths: dict[int, str]) -> tuple[str, ...]:
    """Return the modules that created a node, outermost first; for a parameter, those that hold it."""
    if node.leaf:
        known = set(paths.values())
        parts = (labels.name(node) or "").split(".")
        prefixes = [".".join(parts[:i]) for i in range(1, len(parts))]
        return tuple(prefix for prefix in prefixes if prefix in known)
    return tuple(paths.get(id(m), type(m).__name__) for m in getattr(observation_of(node), "scope", ()))


def noted_outline(node: Any) -> tuple[Any, Any]:
    """Return shape and type of a result that was not observed, or (None, None) if its node has not recorded them."""
    outline = node.outline
    if isinstance(outline, list) and outline:
        outline = outline[0]
    return (outline[0], str(outline[1])) if isinstance(outline, tuple) and len(outline) == 2 else (None, None)


def hook_names(node: Any) -> tuple[str, ...]:
    table = node.hooks
    if table is None:
        return ()
    kinds = (table.tensor, table.pre, table.post, table.accumulated)
    hooks = [hook for kind in kinds for hook in kind.values() if getattr(hook, "__module__", "") != __name__]
    return tuple(getattr(hook, "__name__", type(hook).__name__) for hook in hooks)


# -- folding ------------------------------------------------------------------------------------------


def fold_modules(nodes: list[GraphNode], outputs: tuple[int, ...]) -> tuple[list[GraphNode], tuple[int, ...]]:
    """Fold the operations of each module, or of each line, into one node. Raises GradcliError if too many remain."""
    groups: dict[Any, list[GraphNode]] = {}
    for node in nodes:
        operation = ("module", node.scope[0]) if node.scope else ("line", node.file, node.line)
        groups.setdefault(node.number if node.kind == "leaf" else operation, []).append(node)
    if len(groups) > FOLD_ABOVE:
        message = f"the graph has {len(nodes)} nodes, {len(groups)} when folded by module and line: too many to draw"
        hint = "draw all of it with --all, best with -f dot or -f json; or a part of it with --out NAME"
        raise GradcliError(message, hint=hint, kind="limit")
    numbers = {node.number: i + 1 for i, members in enumerate(groups.values()) for node in members}
    folded = [merge_nodes(members, numbers, set(outputs)) for members in groups.values()]
    return folded, tuple(dict.fromkeys(numbers[i] for i in outputs))


def merge_nodes(members: list[GraphNode], numbers: dict[int, int], outputs: set[int]) -> GraphNode:
    """Merge nodes into one, naming the most common operations first. Its inputs are those from outside."""
    number = numbers[members[0].number]
    counts = Counter(m.op.removesuffix("0").removesuffix("Backward") for m in members)
    names = [f"{n} {name}" for name, n in counts.most_common(4)] + ["..."] * (len(counts) > 4)
    inputs = dict.fromkeys(numbers[i] for m in members for i in m.inputs)
    inputs.pop(number, None)
    if len(members) == 1:
        return members[0]._replace(number=number, inputs=tuple(inputs))
    last = members[-1]
    where = last.scope[0] if last.scope else f"line {last.line}" if last.line else "operations"
    return last._replace(
        number=number,
        kind="output" if any(m.number in outputs for m in members) else "folded",
        op=where,
        name=None,
        formula=", ".join(names),
        inputs=tuple(inputs),
        hooks=tuple(h for m in members for h in m.hooks),
        scope=last.scope[:1],
        operations=len(members),
    )
