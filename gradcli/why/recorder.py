"""Record what a script does with its tensors.

A `Recorder` notes each operation as a step between values. For each run of backward, it notes what the nodes received
and sent. `OwnRecorder` records gradcli's own engine; `record_torch.py` records PyTorch.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..program.base import is_module
from ..tape.backward import as_tuple
from ..tape.modes import Observer, observing, state
from ..tape.node import OutputNode, Slots
from ..tape.record import Mode, recording
from ..tape.tensor import Tensor
from ..user.lines import CallChain, LinePlace, is_users_object, place_of_checkpoint, users_chain, users_stack
from ..user.tracebacks import is_users, line_of_return
from .record import (
    NOTHING,
    STATE_ORDER,
    ArraySize,
    Event,
    NodeRun,
    Note,
    Record,
    RecordedPass,
    RecordedStep,
    RecordedValue,
    Spoiled,
    describe_range,
    fill,
    is_finite,
    size_of_array,
)

MOST_STEPS = 100_000  # the number of latest steps to keep, which take about 100 MB
MOST_NUMBERS = 10_000  # Python numbers and NumPy arrays that are recognized in later operations
MOST_PASSES = 16
NUMBER_TYPES = (float, np.ndarray, np.generic)


class Recorder:
    """Notes what a script does. Subclasses for other frameworks override the first group of methods."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.variables = variables
        self.count = itertools.count(1)
        self.steps: deque[RecordedStep] = deque()
        self.passes: deque[RecordedPass] = deque(maxlen=MOST_PASSES)
        self.known: dict[int, tuple[Callable, RecordedValue]] = {}
        self.numbers: deque[int] = deque()
        self.made_at: dict[Any, CallChain] = {}
        self.owners: dict[Any, RecordedValue] = {}
        self.used: dict[RecordedValue, None] = {}
        self.locals: dict[str, Any] = {}
        self.named_at: Any = None
        self.named_before: dict[str, RecordedValue] = {}
        self.counts = {"backward": 0, "grad": 0}

    def following(self) -> Any:
        return self

    # -- access to tensors and nodes --------------------------------------------------------------------

    tensor_type: Any = Tensor

    def array(self, x: Any) -> np.ndarray:
        numbers = np.asarray(x._data)
        if numbers.dtype == object:  # the gradients of several outputs
            slots = [x for part in numbers.ravel() for x in (part.values() if isinstance(part, Slots) else ())]
            return np.asarray(getattr(slots[0], "_data", slots[0])) if slots else np.zeros(0)
        return numbers

    def address(self, x: Any) -> Any:
        return x._data.__array_interface__["data"][0] if isinstance(x._data, np.ndarray) else id(x)

    def node(self, x: Any) -> Any:
        """Return the node that made a tensor; None for leaves."""
        node = None if x.is_leaf else x._node
        return node.parent if isinstance(node, OutputNode) else node

    def is_leaf(self, x: Any) -> bool:
        return x.is_leaf

    def wants(self, x: Any) -> bool:
        return x.requires_grad

    def gradient(self, x: Any) -> Any:
        """Return the `.grad` of a leaf, or of a result that retains it."""
        return x.grad if x.is_leaf or x.retains_grad else None

    def parents(self, node: Any) -> list[Any]:
        return [p.parent if isinstance(p, OutputNode) else p for p in node.parents]

    def variable(self, node: Any) -> Any:
        """Return the leaf whose `.grad` a node adds to; None for other nodes."""
        return node.variable if node.leaf else None

    def function(self, node: Any) -> Any:
        """Return the custom function of a node; None for other nodes."""
        return getattr(node, "_function", None)

    def origin(self, node: Any) -> tuple[RecordedStep, tuple] | None:
        return node.origin

    def set_origin(self, node: Any, origin: tuple[RecordedStep, tuple]) -> None:
        node.origin = origin

    def hook(self, node: Any, hook: Callable) -> None:
        """Call a hook after a node runs; an earlier hook is replaced."""
        node.hook_table.post[id(self)] = hook

    # -- values and steps ---------------------------------------------------------------------------------

    def find(self, x: Any) -> RecordedValue | None:
        reference, value = self.known.get(id(x), (None, None))
        return value if reference is not None and reference() is x else None

    def value(self, x: Any) -> RecordedValue:
        """Return the value of a tensor; an unknown one came from outside, or from a function that was not recorded."""
        value = self.find(x)
        if value is None:
            value = self.new_value(x, None, self.made_at.get(self.address(x)) or users_chain())
        elif not value.wants and self.wants(x):  # the result of a custom function, or a leaf from now on
            value.wants, value.leaf = True, self.is_leaf(x)
        else:
            return value
        node = self.node(x)
        if node is not None and self.origin(node) is None:
            step = value.step or RecordedStep(next(self.count), "apply", (), (value,), value.place)
            sources = self.set_origins(node, step, ())
            if value.step is None:
                value.step, step.inputs = step, tuple([v for v in sources if v is not value])
                self.keep(step)
        return value

    def operand(self, x: Any) -> RecordedValue:
        """Return the value of an operand, and note if a gradient has made it nan or inf."""
        value = self.value(x)
        owner = None
        if value.wants:
            owner = value if value.leaf else None
        elif value.step is None:
            owner = self.owners.get(self.address(x))
        if owner is not None and owner.bad is not None:
            if is_finite(size_of_array(self.array(x))):
                value.spoiled = None
            elif value.spoiled is None:
                value.spoiled = Spoiled(next(self.count), owner.bad)
        return value

    def new_value(self, x: Any, step: RecordedStep | None, chain: CallChain) -> RecordedValue:
        value = RecordedValue(next(self.count), "p", chain=chain, step=step)
        key, known = id(x), self.known
        if isinstance(x, self.tensor_type):
            array = self.array(x)
            value.kind = {"f": "f", "c": "f", "b": "b"}.get(array.dtype.kind, "i")
            value.state, value.shape = size_of_array(array).state, array.shape
            value.wants, value.leaf = self.wants(x), self.is_leaf(x)
            known[key] = (weakref.ref(x, lambda _: known.pop(key, None)), value)
        else:
            known[key] = (lambda: x, value)
            self.numbers.append(key)
            if len(self.numbers) > MOST_NUMBERS:
                known.pop(self.numbers.popleft(), None)
        return value

    def note_step(self, name: str, operands: Any, results: Any, recorded: bool) -> None:
        """Note an operation between tensors, numbers and arrays."""
        inputs, is_open, given = [], False, list(numbers_inside(operands))
        for x in given:
            value = self.operand(x) if isinstance(x, self.tensor_type) else self.find(x)
            if value is not None:
                inputs.append(value)
            is_open |= isinstance(x, NUMBER_TYPES) if value is None else value.step is None and not value.wants
        chain = users_chain(1 if inputs else None)
        step = RecordedStep(next(self.count), name, (*inputs,), (), chain[0][0] if chain else None, recorded, is_open)
        made = list(numbers_inside(results))
        for x in made:
            old = self.find(x)
            if old is not None and old.wants and old.leaf and old.kind != "p" and self.is_leaf(x):
                continue  # a leaf changed without a graph remains the same leaf
            if isinstance(x, (self.tensor_type, *NUMBER_TYPES)):
                step.outputs += (self.new_value(x, step, chain),)
                if not inputs and isinstance(x, self.tensor_type):
                    self.made_at[self.address(x)] = chain
        if step.outputs:
            step.checkpoint = None if recorded else place_of_checkpoint()
            self.keep(step)
        tensors = [x for x in given if isinstance(x, self.tensor_type)]
        for x in made:
            if isinstance(x, self.tensor_type) and (node := self.node(x)) is not None:
                self.set_origins(node, step, tuple([y for y in tensors if y is not x]))

    def keep(self, step: RecordedStep) -> None:
        self.steps.append(step)
        if len(self.steps) > MOST_STEPS:
            self.steps.popleft().inputs = ()  # so that earlier values are freed

    def set_origins(self, node: Any, step: RecordedStep, operands: tuple) -> list[RecordedValue]:
        """Note the step that made a node and its unknown parents; return the values of the known nodes above them."""
        waiting, sources = [node], []
        while waiting:
            node = waiting.pop()
            if node is None:
                continue
            if (leaf := self.variable(node)) is not None:
                sources.append(self.value(leaf))
            elif (origin := self.origin(node)) is not None:
                sources += origin[0].outputs
            else:
                self.set_origin(node, (step, operands))
                waiting += self.parents(node)
        return sources

    # -- gradients ------------------------------------------------------------------------------------------

    def take_note(self, kind: str, x: Any, gradient: Any = None) -> None:
        """Note an event of a tensor. kind: read, look, step or clear (of its gradient), freeze or optimizer."""
        value, line = self.value(x), users_chain(1)
        if gradient is not None:
            self.owners[self.address(gradient)] = value
        size = None if gradient is None else size_of_array(self.array(gradient))
        value.events[kind] = self.event(value, size)
        if kind in ("read", "step", "optimizer"):
            self.used[value], value.gradient = None, size
        if kind == "freeze":
            value.wants = False
        if kind == "optimizer" and not value.name and line != self.named_at:
            self.named_at = line  # a name may soon refer to another parameter
            self.note_locals()
            for name, other in self.names():
                self.value(other).name = name

    def changed(self, x: Any) -> None:
        """Note that a tensor was changed in place: this may have cleared a gradient."""
        value = self.owners.get(self.address(x))
        if value is None or size_of_array(self.array(x)).state != "zero":
            return
        seen = [value.events[kind] for kind in ("read", "look", "step") if kind in value.events]
        last = max((e for e in seen if e.filled is value.filled), key=lambda event: event.number, default=None)
        if last is None or last.size is None or last.size.state != "zero":  # else it was zero before
            value.events["clear"] = self.event(value)

    def event(self, value: RecordedValue, size: ArraySize | None = None) -> Event:
        place, function = next(iter(users_chain(1)), (None, ""))
        return Event(next(self.count), place, size, value.filled, value.events.get("clear"), function)

    def follow(self, kind: str, roots: Iterable[Any], targets: Iterable[Any] = ()) -> None:
        """Note that backward or grad starts, and hook every node that it may run."""
        self.note_locals()
        starts = [x for x in roots if isinstance(x, self.tensor_type)]
        wanted = tuple([self.value(x) for x in targets if isinstance(x, self.tensor_type)])
        values = tuple([self.value(x) for x in starts])
        self.counts[kind] = self.counts.get(kind, 0) + 1
        place = next((place for place, _ in users_chain(1)), None)
        which = RecordedPass(next(self.count), kind, values, wanted, place, count=self.counts[kind])
        self.passes.append(which)
        if kind == "backward":
            self.named_before = {name: self.value(x) for name, x in reversed([*self.names()])}
        which.leaves |= {value for value in values if value.leaf and value.wants}
        for value in which.leaves:
            fill(value, which)
        keys: dict[Any, RecordedValue | int] = {}
        waiting = [self.node(x) for x in starts]
        while waiting:
            node = waiting.pop()
            if node is None or node in keys:
                continue
            variable = self.variable(node)
            keys[node] = len(keys) if variable is None else self.value(variable)
            waiting += self.parents(node) if variable is None else []
        which.leaves |= {key for key in keys.values() if isinstance(key, RecordedValue)}
        for node, key in keys.items():
            if isinstance(key, int):
                leads_to = [None if p is None else keys[p] for p in self.parents(node)]
                custom = line_of_return(getattr(self.function(node), "backward", None))
                self.hook(node, self.after(which, key, node.name(), self.origin(node) or (None, ()), leads_to, custom))

    def after(
        self, which: RecordedPass, key: int, name: str, origin: tuple, keys: list, custom: LinePlace | None
    ) -> Callable:
        """Return the hook that notes what a node received and sent."""
        step, operands = origin

        def hook(sent: tuple, received: tuple) -> None:
            incoming = [self.array(x) for x in received if x is not None]
            size = max(
                map(size_of_array, incoming), key=lambda s: (STATE_ORDER.index(s.state), s.most), default=NOTHING
            )
            eps = max((float(np.finfo(x.dtype).eps) for x in incoming if x.dtype.kind in "fc"), default=2.2e-16)
            parts, note = [], None
            for to, x in zip(keys, sent, strict=False):
                if to is not None and x is not None:
                    array = self.array(x)
                    part = size_of_array(array)._replace(nonzero=int(np.count_nonzero(array)))
                    parts.append((to, part))
                    if isinstance(to, RecordedValue):
                        fill(to, which, part)
                    ends = size.state != "zero" and part.most <= eps * size.most
                    if note is None and (ends or (is_finite(size) and not is_finite(part))):
                        soft = "softmax" in name.lower()
                        note = self.describe(operands, array, incoming, not is_finite(part), eps, soft)
            for value in step.outputs if step is not None else ():
                fill(value, which)
            which.runs.append(NodeRun(key, name, step, size, (*parts,), eps, note, custom))

        return hook

    def describe(
        self, operands: tuple, sent: np.ndarray, received: list, bad: bool, eps: float, soft: bool
    ) -> Note | None:
        """Describe the operand that a node sent a gradient to, by its first bad element or its range."""
        numbers = [x for x in operands if self.array(x).dtype.kind in "fc"]
        alike = [x for x in numbers if self.array(x).shape == sent.shape] or numbers
        if not alike or not (array := self.array(alike[0])).size:
            return None
        if not bad or array.shape != sent.shape:
            return describe_range(self.value(alike[0]), array, received, eps, soft)
        place = tuple(np.argwhere(~np.isfinite(sent))[0])
        text = f"[{', '.join(map(str, place))}]" * bool(place) + f" = {array[place]:.4g}"
        text += "".join(f" and {self.array(x)[place]:.4g}" for x in alike[1:2])
        hidden = any(x.shape == sent.shape and x[place] == 0 for x in received)
        return Note(self.value(alike[0]), text, hidden)

    # -- names ----------------------------------------------------------------------------------------------

    def note_locals(self) -> None:
        """Keep the local variables of the script's functions that are running."""
        for frame in users_stack():
            if frame.f_code.co_name != "<module>":
                self.locals.update({k: x for k, x in frame.f_locals.items() if not k.startswith((".", "__"))})

    def names(self) -> Iterator[tuple[str, Any]]:
        """Yield tensors by name: global ones, then local ones; a module's parameters by path."""
        for name, x in [*self.variables.items(), *self.locals.items()]:
            if isinstance(name, str) and not name.startswith("__"):
                yield from self.named(name, x)

    def named(self, name: str, x: Any, deep: bool = True) -> Iterator[tuple[str, Any]]:
        if isinstance(x, self.tensor_type):
            yield name, x
        elif not isinstance(x, type) and self.is_module(x):
            yield from ((f"{name}.{path}", p) for path, p in x.named_parameters())
            for path, part in unregistered(x):
                yield from self.named(f"{name}.{path}", part, False)
        elif deep:
            parts: Iterable = ()
            if type(x) in (list, tuple, dict):
                parts = ((f"[{k!r}]", y) for k, y in (x.items() if type(x) is dict else enumerate(x)))
            elif is_users_object(x):
                parts = [(f".{k}", y) for k, y in vars(x).items()]
            for path, part in itertools.islice(parts, 1000):
                yield from self.named(name + path, part, False)

    is_module = staticmethod(is_module)

    def finish(self) -> Record:
        names: dict[str, RecordedValue] = {}
        for name, x in self.names():
            names.setdefault(name, self.value(x))
        last = self.passes[-1] if self.passes else None
        for name, old in self.named_before.items():
            new = names.get(name)
            if new is not None and new is not old and last is not None and new.number > last.number:
                names[name], old.gone = old, True  # a copy, or a model that was loaded at the end
        for reference, value in list(self.known.values()):
            x = reference()
            if value.kind != "p" and x is not None:
                value.gone = False
                gradient = self.gradient(x)
                value.gradient = None if gradient is None else size_of_array(self.array(gradient))
        for name, value in reversed(names.items()):
            value.name = name
        return Record(list(self.steps), list(self.passes), names, list(self.used))


def unregistered(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield what the plain lists, tuples and dicts of a module and its parts contain; no module registers that."""
    for path, part in module.named_modules():
        for name, held in vars(part).items():
            if type(held) in (list, tuple, dict) and not name.startswith("_"):
                items = held.items() if type(held) is dict else enumerate(held)
                yield from ((".".join(filter(None, (path, name, str(k)))), x) for k, x in items)


def numbers_inside(x: Any, depth: int = 4) -> Iterator[Any]:
    """Yield the tensors, numbers and arrays inside lists, tuples, dicts and slices."""
    if isinstance(x, slice):
        x = (x.start, x.stop, x.step)
    if isinstance(x, list | tuple | dict) and depth:
        for part in x.values() if isinstance(x, dict) else x:
            yield from numbers_inside(part, depth - 1)
    else:
        yield x


class OwnRecorder(Recorder, Mode, Observer):
    """Records gradcli's engine: operations as a mode, events outside the graph as an observer."""

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        with recording(self), observing(self):
            yield

    def record(self, primitive: Any, operands: tuple, params: dict) -> Any:
        result = self.below.record(primitive, operands, params)
        self.note_step(primitive.name, operands, result, state.grad)
        return result

    def see_leaf(self, tensor: Any) -> None:
        self.value(tensor)

    def see_event(self, kind: str, source: Any, result: Any = None) -> None:
        match kind:
            case "read" if is_users(sys._getframe(3).f_code.co_filename):
                self.take_note("read", source, source._grad)
            case "read":
                self.take_note("look", source, source._grad)
            case "clear" | "step" | "optimizer" | "freeze":
                self.take_note(kind, source, source._grad if kind == "step" else None)
            case "returned" | "assign":
                self.owners[self.address(result)] = self.value(source)
                if kind == "assign":
                    self.changed(result)
            case "change":
                self.changed(result)
                for target in (result, result._base):
                    if target is not None and not (target.is_leaf and target.requires_grad):
                        self.note_step("change", (target, source), target, state.grad)
            case "index":
                value = self.find(result)
                if value is not None and value.step is not None:
                    value.step.inputs += tuple([self.value(x) for x in numbers_inside(source) if isinstance(x, Tensor)])
            case _ if result is not None and (kind != "make" or self.find(result) is None):
                self.note_step(kind, source, result, state.grad)

    def see_backward(self, kind: str, outputs: tuple) -> None:
        frame: Any = sys._getframe(1)
        self.follow(kind, outputs, as_tuple(frame.f_locals["inputs"]) if kind == "grad" else ())
