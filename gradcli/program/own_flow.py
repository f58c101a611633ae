"""Feeds a flow from gradcli's own engine."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tape.modes import Observer, state
from ..tape.node import OutputNode, Slots
from ..tape.record import Mode
from ..tape.tensor import Tensor
from ..tape.walk import as_tuple, reachable
from .flow import Flow, Key, Mark, flatten
from .user_lines import caller, is_users, users_chain


class Following(Mode, Observer):
    """Feeds a flow from our own engine: the operations as a mode, what leaves the graph as an observer."""

    def __init__(self, flow: Flow):
        self.flow = flow
        self.current = self.depth = 0

    def record(self, primitive: Any, operands: tuple, params: dict) -> Any:
        before, self.current = self.current, next(self.flow.count)
        self.operands = operands
        number = self.current
        try:
            result = self.below.record(primitive, operands, params)
        finally:
            self.current = before
        if self.depth == 0:
            self.flow.step(primitive.name, operands, result, state.grad, number)
        return result

    def make_node(self, primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Any:
        node = self.below.make_node(primitive, nodes, out, raws, params)
        node.origin = Mark(
            next(self.flow.count), self.current, tuple([x for x in flatten(self.operands) if isinstance(x, Tensor)])
        )
        return node

    def note(self, node: Any) -> None:
        """A custom function made a node: it has the line that called it."""
        number = self.flow.step("apply", (), (), True)
        node.origin = Mark(next(self.flow.count), number, ())

    def see_leaf(self, tensor: Any) -> None:
        held = self.flow.find(tensor)
        if held is not None:
            held.wants = held.leaf = True
        else:
            self.flow.new_value(tensor, 0, users_chain())

    def see_event(self, kind: str, source: Any, result: Any = None) -> None:
        flow = self.flow
        match kind:
            case "read" if is_users(caller()[0]):
                flow.event("read", source, source._grad)
            case "clear" | "step" | "optimizer" | "freeze":
                flow.event(kind, source, source._grad if kind == "step" else None)
            case "change":
                flow.changed(result, not flow.kit.array(source).any())
                for target in (result, result._base):
                    if target is not None and not (target.is_leaf and target.requires_grad):
                        flow.step("change", (target, source), target, state.grad)
            case "index" if any(isinstance(x, Tensor) for x in flatten(source)):
                old = flow.find(result)
                made = None if old is None else flow.steps.get(old.maker)
                if made is not None:
                    more = tuple([flow.value(x).number for x in flatten(source) if isinstance(x, Tensor)])
                    flow.steps[made.number] = made._replace(inputs=made.inputs + more)
            case _ if result is not None and kind != "index" and (kind != "make" or flow.find(result) is None):
                flow.step(kind, source, result, state.grad)

    def see_backward(self, kind: str, outputs: tuple) -> None:
        tensors = [x for x in outputs if isinstance(x, Tensor)]
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_name not in ("backward", "grad"):
            frame = frame.f_back
        targets = as_tuple(frame.f_locals.get("inputs") or ()) if frame is not None else ()
        which = self.flow.start(kind, tensors, targets if kind == "grad" else ())
        for node in reachable({x._node for x in tensors} - {None}):
            if node.leaf:
                which.leaves.add(self.flow.value(node.variable).number)
            elif not isinstance(node, OutputNode):
                if self.flow.kit.mark(node) is None:
                    node.origin = Mark(next(self.flow.count), 0, ())
                node.hook_table.post[id(self)] = self.after(node.origin, node)

    def after(self, mark: Mark, node: Any) -> Callable:
        reference = weakref.ref(node)

        def hook(sent: tuple, received: tuple) -> None:
            runner = reference()
            if runner is None:
                return
            keys = tuple([self.key(p) for p in runner.parents])
            self.flow.ran(mark, runner.name(), keys, tuple(map(raw, sent)), tuple(map(raw, received)))

        return hook

    def key(self, parent: Any) -> Key:
        if parent is None:
            return None
        if parent.leaf:
            return "leaf", self.flow.value(parent.variable).number
        main = parent.parent if isinstance(parent, OutputNode) else parent
        mark = self.flow.kit.mark(main)
        return None if mark is None else mark.number


def raw(gradient: Any) -> np.ndarray | None:
    if gradient is None:
        return None
    numbers = np.asarray(gradient._data)
    if numbers.dtype == object:
        slots = [x for part in numbers.ravel() for x in (part.values() if isinstance(part, Slots) else ())]
        return np.asarray(getattr(slots[0], "_data", slots[0])) if slots else np.zeros(0)
    return numbers
