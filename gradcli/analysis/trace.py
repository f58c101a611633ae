"""Trace backward: one step per node, with the incoming gradient, the local rule, and the gradients sent on."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import GradcliError, count_of
from ..lang.operations import number_text, rule_text, slope_text
from ..program.base import Program, Run, Values
from ..request import Request
from ..results.graphs import Computed, Flow, HookCall, Pass, Step, Trace
from ..tape.backward import reachable
from ..tape.function import FunctionNode
from ..tape.node import OutputNode, Slots
from . import graph
from .graph import Labels


class StepEvent:
    """One step of backward as it was observed, before anything has a label."""

    def __init__(self, node: Any, incoming: np.ndarray | None, hooks: list[HookCall]):
        self.node, self.incoming, self.hooks = node, incoming, hooks
        self.sent: tuple[np.ndarray | None, ...] = ()
        self.before: np.ndarray | None = None
        self.after: np.ndarray | None = None
        self.locals: tuple[Any, ...] = ()


class BackwardRecorder:
    """Records backward with hooks on every node, pass by pass. only: the pass to keep, LAST_PASS, or None for all."""

    def __init__(self, only: int | None = None) -> None:
        self.only = only
        self.count = 0
        self.passes: list[tuple[graph.ObservedPass, list[StepEvent]]] = []
        self.hooked: dict[Any, list[HookCall]] = {}

    def on_start(self, which: graph.ObservedPass, nodes: list[Any]) -> None:
        if self.only is not None and self.count != self.only:
            del self.passes[-1:]  # drop the pass before
        self.passes.append((which, []))
        self.count += 1
        for node in nodes:
            table = node.hook_table
            for number, hook in list(table.tensor.items()):
                if number != id(self) and not isinstance(hook, Logged):
                    table.tensor[number] = Logged(hook, node, self)
            if node.leaf and which.kind == "grad":
                table.tensor.pop(id(self), None)
                table.tensor[id(self)] = self.before_return(node)
            table.pre[id(self)] = self.before(node)
            table.post[id(self)] = self.after(node)

    def before(self, node: Any) -> Callable:
        def hook(grads: tuple) -> None:
            alone = grads[0] if len(grads) == 1 else None
            event = StepEvent(node, raw_copy(alone), self.hooked.pop(node, []))
            if node.leaf:
                event.before = raw_copy(node.variable._grad)
            else:
                event.locals = local_values(node)
            self.passes[-1][1].append(event)

        return hook

    def before_return(self, node: Any) -> Callable:
        """Return a hook for a leaf whose gradient autograd.grad returns: our other hooks do not run there."""
        hook = self.before(node)
        return lambda gradient: hook((gradient,))

    def after(self, node: Any) -> Callable:
        def hook(grads: tuple, _: tuple) -> None:
            event = next(e for e in reversed(self.passes[-1][1]) if e.node is node)
            event.sent = tuple(raw_copy(g) for g in grads)
            if node.leaf:
                event.after = raw_copy(node.variable._grad)

        return hook


class Logged:
    """Wraps a user's hook on a tensor's gradient, and records its calls."""

    def __init__(self, hook: Callable, node: Any, recorder: BackwardRecorder):
        self.hook, self.node, self.recorder = hook, node, recorder
        self.__name__ = getattr(hook, "__name__", type(hook).__name__)
        self.__module__ = getattr(hook, "__module__", "")

    def __call__(self, gradient: Any) -> Any:
        before = raw_copy(gradient)
        result = self.hook(gradient)
        after = raw_copy(gradient if result is None else result)
        if before is not None and after is not None:
            self.recorder.hooked.setdefault(self.node, []).append(HookCall(self.__name__, before, after))
        return result


def raw_copy(tensor: Any) -> np.ndarray | None:
    """Copy the numbers of a tensor, or of the cotangent of one output; None gives None."""
    if tensor is None:
        return None
    numbers = np.array(tensor.detach()._data)
    if numbers.dtype == object and isinstance(numbers[()], Slots):  # the cotangent of one of several outputs
        (numbers,) = numbers[()].values()
    return np.array(numbers)


def local_values(node: Any) -> tuple[Any, ...]:
    """Return the local derivative by each operand of an elementwise operation, None for operands without gradient."""
    seen = graph.seen_of(node)
    if seen is None or seen.primitive.kind != "elementwise":
        return ()
    slopes: list[Any] = []
    for parent, rule in zip(node.parents, seen.primitive.rules, strict=True):
        if parent is None:
            slopes.append(None)
        elif not callable(rule):
            slopes.append(np.float64(rule))
        else:
            slopes.append(np.array(rule(seen.result, *seen.operands, **seen.params)))
    return tuple(slopes)


LAST_PASS = 0  # the number that means the last pass


def trace_program(program: Program, given: Values, request: Request, only: int | None = None) -> Trace:
    """Run a program and trace backward. only: the number of a single pass to trace, or LAST_PASS."""
    recorder = BackwardRecorder(only)
    run = graph.watch_program(program, given, request, recorder.on_start)
    count = recorder.count
    if only is not None and only > count:
        message = f"--pass {only}: backward ran {count_of(count, 'time')}"
        raise GradcliError(message, hint="use --pass last for the last one")
    passes = tuple(describe_pass(run, *seen) for seen in recorder.passes[: 1 if only is not None else None])
    return Trace(program.title, passes, (only or count) if only is not None else 1, count)


def trace_recorded(output: Any, names: dict[str, Any]) -> Trace:
    """Trace backward from a number that was computed before; every `.grad` is restored afterwards."""
    recorder = BackwardRecorder()
    run = graph.recorded_run(names, output)
    leaves = [node.variable for node in reachable([output._node]) if node.leaf]
    before = [leaf._grad for leaf in leaves]
    hooks = [node.hook_table for node in reachable([output._node])]
    for leaf in leaves:
        leaf._grad = None
    try:
        with graph.watching(recorder.on_start):
            output.backward(retain_graph=True)
    finally:
        for leaf, grad in zip(leaves, before, strict=True):
            leaf._grad = grad
        for table in hooks:
            for own in (table.pre, table.post):
                own.pop(id(recorder), None)
    return Trace("", tuple(describe_pass(run, *seen) for seen in recorder.passes))


def describe_pass(run: Run, which: graph.ObservedPass, events: list[StepEvent]) -> Pass:
    public = graph.public_nodes(which.roots)
    at_end = run.output is not None
    labels = Labels(run, public, None if at_end else which.names)
    forward = tuple(
        Computed(labels.label(node), labels.formula(node), np.asarray(value) if value is not None else None)
        for node in public
        for value in [which.leaves.get(node) if node.leaf else graph.node_value(node)]
    )
    received: dict[Any, np.ndarray] = {}
    steps = tuple(step_of_event(i + 1, event, which, labels, received) for i, event in enumerate(events))
    outputs = ", ".join(dict.fromkeys(labels.label(root) for root in which.roots))
    return Pass(which.kind, outputs, None if at_end else which.line, forward, steps)


def step_of_event(
    number: int, event: StepEvent, which: graph.ObservedPass, labels: Labels, received: dict[Any, np.ndarray]
) -> Step:
    """Describe one step, and add the gradients that it sends to those its operands have received."""
    node = event.node
    span = labels.run.where(node)
    flows: list[Flow] = []
    for i, (parent, grad) in enumerate(zip(node.parents, event.sent, strict=False)):
        if parent is None or grad is None:
            continue
        total = received[parent] + grad if parent in received and not isinstance(node, OutputNode) else None
        received[parent] = grad if total is None else total
        slope, formula = local_rule(node, i, labels)
        local = event.locals[i] if i < len(event.locals) else None
        flows.append(Flow(labels.label(parent), slope, formula, local, grad, total))
    return Step(
        number=number,
        op=node.name(),
        label=labels.label(node),
        formula=labels.formula(node),
        line=None if span is None or graph.is_only_line(span) else span.line,
        incoming=event.incoming,
        hooks=tuple(event.hooks),
        flows=tuple(flows),
        leaf=node.leaf,
        before=event.before,
        after=event.after,
        captured=node.leaf and event.after is None and which.kind == "grad",
    )


def local_rule(node: Any, place: int, labels: Labels) -> tuple[str, str]:
    """Return the name of the local derivative by one operand, and its formula or description."""
    target = labels.label(node.parents[place])
    seen = graph.seen_of(node)
    if seen is None:
        what = f"{node.name().removesuffix('Backward')}.backward" if isinstance(node, FunctionNode) else "passed on"
        return "", what
    primitive = seen.primitive
    if primitive.kind != "elementwise":
        which = (node, 0 if primitive.arity is None else place)  # one rule serves all operands of a list
        if which not in labels.rules:
            labels.rules[which] = describe_rule(primitive.rules[which[1]], node, seen, labels)
        return "", labels.rules[which]
    slope = f"d({labels.formula(node)})/d{target}"
    rule = primitive.rules[place]
    formula = slope_text(rule, labels.operands(node, seen), labels.label(node), seen.params)
    return slope, formula or rule_text(rule)


def describe_rule(rule: Any, node: Any, seen: Any, labels: Labels) -> str:
    """Describe a rule in the operands' names; in a formula, replace parameters by their numbers."""
    text = rule_text(rule)
    code = getattr(rule, "__wrapped__", rule).__code__
    names = [name.strip("_").removesuffix("_shape") for name in code.co_varnames[2 : code.co_argcount]]
    words = {name: str(x) for name, x in zip(names, labels.operands(node, seen), strict=False) if len(name) == 1}
    settings = {k: number_text(v) for k, v in seen.params.items() if type(v) in (int, float)}
    is_formula = all(len(word) == 1 or word in settings for word in re.findall(r"\b[A-Za-z_]+\b(?!\()", text))
    if is_formula:
        words |= settings
    else:
        words.pop("a", None)  # the article
    text = re.sub(r"\b[A-Za-z_]+\b", lambda m: words.get(m[0], m[0]), text)
    if not is_formula or any(np.asarray(x).dtype.kind == "c" for x in seen.operands):
        return text
    return re.sub(r"conj\(([^()]*)\)", r"\1", text).replace("^H", "^T").replace("^-H", "^-T")
