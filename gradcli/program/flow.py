"""What a script does with its tensors, on the graph and off it: the data that `gradcli why` explains gradients with.

A `Flow` keeps every operation as a step between numbered values, every event of a gradient, and every pass of backward
as what each node was sent and sent on. It knows no framework: a `Kit` says what it must know of tensors. `own_flow.py`
feeds it from gradcli's own engine, `elsewhere/torch_flow.py` from PyTorch.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..tape.node import OutputNode
from ..tape.tensor import Tensor
from .base import is_module
from .user_lines import Chain, Place, is_users, is_users_object, name_at, place_of_checkpoint, users_chain, users_place

MOST_STEPS = 200_000  # that are kept: about 100 MB
MOST_NUMBERS = 10_000  # Python numbers and arrays that are kept to be recognized when they come back
MOST_PASSES = 64  # of backward that are kept
Key = Any  # of what a node sends to: a mark's number, or ("leaf", a value's number)


class Value:
    """A tensor, number or array between two changes in place. maker: the step it came from, 0 where none was seen.

    kind: f, i or b by its elements, p outside tensors. flag: "nan" or "inf" where it holds one, "zero" where it holds
    nothing else. place: the line that made it, as far as that was seen; chain: it, and the lines that called it.
    """

    __slots__ = ("chain", "flag", "kind", "leaf", "maker", "number", "shape", "wants")

    def __init__(self, number: int, maker: int, chain: Chain):
        self.number, self.maker, self.chain = number, maker, chain
        self.kind, self.flag, self.wants, self.leaf, self.shape = "p", "", False, False, ()

    @property
    def place(self) -> Place | None:
        return self.chain[0][0] if self.chain else None


class Step(NamedTuple):
    """One operation. recorded: whether the graph was being recorded. is_open: whether unknown data came in."""

    number: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    place: Place | None
    recorded: bool
    is_open: bool
    checkpoint: Place | None


class Mark:
    """What a node of the graph knows: its number, the step that recorded it, and that step's operands."""

    __slots__ = ("number", "operands", "step")

    def __init__(self, number: int, step: int, operands: tuple):
        self.number, self.step, self.operands = number, step, operands

    @property
    def made_at(self) -> None:
        """Origins have it; why needs no warnings with places."""


class Size(NamedTuple):
    """How large an array of gradients is. state: ok, zero, nan or inf. most: the largest magnitude.

    low, high: the smallest and the largest element. bad: how many of the total are not finite.
    """

    state: str
    most: float
    low: float = 0.0
    high: float = 0.0
    bad: int = 0
    total: int = 0


class Edge(NamedTuple):
    """What a node sent to one parent; None where it sent nothing."""

    to: Key
    size: Size | None


class NodeRun(NamedTuple):
    """A node that ran in a pass. eps: of its numbers. note: on its operands, where a gradient ends or goes wrong."""

    number: int
    name: str
    step: int
    size: Size
    edges: tuple[Edge, ...]
    eps: float
    note: str
    hidden: bool


class Pass:
    """A run of backward or grad from values. targets: of grad. leaves: those that the graph led to."""

    def __init__(self, number: int, kind: str, roots: tuple[int, ...], targets: tuple[int, ...], place: Place | None):
        self.number, self.kind, self.roots, self.targets, self.place = number, kind, roots, targets, place
        self.runs: list[NodeRun] = []
        self.leaves: set[int] = set()

    def arrived(self) -> set[Key]:
        """Return the nodes and leaves that were sent a gradient, and leaves that backward started from."""
        sent = {edge.to for run in self.runs for edge in run.edges if edge.size is not None}
        return sent | {run.number for run in self.runs} | {("leaf", n) for n in self.roots if n in self.leaves}


class Event(NamedTuple):
    """What happened to a gradient: read, clear, step, freeze, optimizer. key: where it is looked for in a pass.

    function: the one that place is in.
    """

    number: int
    kind: str
    value: int
    size: Size | None
    place: Place | None
    key: Key
    name: str
    function: str = ""


class Kit:
    """What a flow must know of a framework's tensors; the methods here are of our own."""

    def is_tensor(self, x: Any) -> bool:
        return isinstance(x, Tensor)

    def wants(self, x: Any) -> bool:
        return x._node is not None

    def is_leaf(self, x: Any) -> bool:
        return x.is_leaf

    def array(self, x: Any) -> np.ndarray:
        return np.asarray(x._data)

    def grad(self, x: Any) -> Any:
        return x._grad

    def address(self, x: Any) -> Any:
        return x._data.__array_interface__["data"][0] if isinstance(x._data, np.ndarray) else id(x)

    def node(self, x: Any) -> Any:
        node = x._node
        return node.parent if isinstance(node, OutputNode) else node

    def mark(self, node: Any) -> Mark | None:
        return node.origin if isinstance(node.origin, Mark) else None

    def parameters(self, x: Any) -> Iterable[tuple[str, Any]] | None:
        """Return the parameters of a module by name; None for anything else."""
        return x.named_parameters() if is_module(x) and not isinstance(x, type) else None


OWN = Kit()


class Flow:
    """All that was seen so far. kit: of the framework whose tensors these are. globals: of the script."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.kit, self.variables = OWN, variables
        self.count = itertools.count(1)
        self.steps: dict[int, Step] = {}
        self.known: dict[int, Value] = {}
        self.tensors: dict[int, tuple[Any, Value]] = {}
        self.numbers: deque[Any] = deque()
        self.made_at: dict[Any, Chain] = {}
        self.gradients: dict[Any, int] = {}
        self.events: list[Event] = []
        self.passes: deque[Pass] = deque(maxlen=MOST_PASSES)
        self.running: Pass | None = None
        self.locals: dict[str, Any] = {}
        self.held: dict[int, str] = {}

    # -- values and steps ------------------------------------------------------------------------------

    def find(self, x: Any) -> Value | None:
        """Return the value of a tensor, number or array that was seen before."""
        held = self.tensors.get(id(x))
        return None if held is None or held[0]() is not x else held[1]

    def value(self, x: Any) -> Value:
        """Return the value of a tensor; one that is new came from outside."""
        value = self.find(x)
        if value is None:
            value = self.new_value(x, 0, self.made_at.get(self.kit.address(x)) or users_chain())
        elif not value.wants and self.kit.wants(x):  # the result of a custom function, or a leaf from now on
            value.wants, value.leaf = True, self.kit.is_leaf(x)
        return value

    def new_value(self, x: Any, maker: int, chain: Chain) -> Value:
        value = Value(next(self.count), maker, chain)
        if self.kit.is_tensor(x):
            array = self.kit.array(x)
            value.kind = {"f": "f", "c": "f", "b": "b"}.get(array.dtype.kind, "i")
            value.flag, value.shape = flag_of(array), array.shape
            value.wants, value.leaf = self.kit.wants(x), self.kit.is_leaf(x)
            if value.chain:
                self.made_at[self.kit.address(x)] = value.chain
            reference: Any = weakref.ref(x)
        else:
            if len(self.numbers) >= MOST_NUMBERS:
                self.tensors.pop(id(self.numbers.popleft()), None)
            self.numbers.append(x)
            reference = lambda: x  # noqa: E731
        self.tensors[id(x)] = (reference, value)
        self.known[value.number] = value
        return value

    def step(self, name: str, operands: Any, results: Any, recorded: bool, number: int = 0) -> int:
        """Take note of an operation; return its number. number: the one that was drawn for it before."""
        number = number or next(self.count)
        inputs, is_open = [], False
        for x in flatten(operands):
            if self.kit.is_tensor(x):
                value = self.value(x)
                is_open |= value.maker == 0 and not value.wants
                inputs.append(value.number)
            elif (found := self.find(x)) is not None:
                inputs.append(found.number)
            else:
                is_open |= isinstance(x, float | np.ndarray | np.generic)
        chain = users_chain(1) if inputs else users_chain()
        place = chain[0][0] if chain else None
        through = None if recorded else place_of_checkpoint()
        outputs = []
        for x in flatten(results):
            old = self.find(x)
            if self.kit.is_tensor(x) and old is not None and old.wants and self.kit.is_leaf(x):
                continue  # a leaf that is changed without a graph stays the same leaf
            if self.kit.is_tensor(x) or isinstance(x, float | np.ndarray | np.generic):
                outputs.append(self.new_value(x, number, chain).number)
        self.steps[number] = Step(number, name, (*inputs,), (*outputs,), place, recorded, is_open, through)
        if len(self.steps) > MOST_STEPS:
            for old_output in self.steps.pop(next(iter(self.steps))).outputs:
                self.known.pop(old_output, None)
        if not number % MOST_NUMBERS:
            self.tensors = {k: held for k, held in self.tensors.items() if held[0]() is not None}
        return number

    # -- gradients ---------------------------------------------------------------------------------------

    def event(self, kind: str, x: Any, gradient: Any = None, name: str = "") -> None:
        """Take note of what happens to the gradient of a tensor."""
        value, chain = self.value(x), users_chain(1)
        place, function = chain[0] if chain else (None, "")
        node = None if value.leaf or not self.kit.wants(x) else self.kit.node(x)
        mark = None if node is None else self.kit.mark(node)
        key = ("leaf", value.number) if mark is None else mark.number
        if gradient is not None:
            self.gradients[self.kit.address(gradient)] = value.number
        size = None if gradient is None else size_of(self.kit.array(gradient))
        if kind in ("read", "optimizer"):
            self.note_locals()
            name = self.name_of(x) or (name_at(place) if kind == "read" else "")
        if kind == "freeze":
            value.wants = False
        self.events.append(Event(next(self.count), kind, value.number, size, place, key, name, function))

    def changed(self, x: Any, is_zero: bool) -> None:
        """Take note that memory was changed in place: a gradient may have been cleared that way."""
        number = self.gradients.get(self.kit.address(x))
        if number is not None and is_zero:
            zero = Size("zero", 0.0)
            self.events.append(Event(next(self.count), "clear", number, zero, users_place(), ("leaf", number), ""))

    def start(self, kind: str, roots: Iterable[Any], targets: Iterable[Any] = ()) -> Pass:
        """Take note that backward or grad starts."""
        self.note_locals()
        numbers = tuple([self.value(x).number for x in roots if self.kit.is_tensor(x)])
        wanted = tuple([self.value(x).number for x in targets if self.kit.is_tensor(x)])
        self.running = Pass(next(self.count), kind, numbers, wanted, users_place())
        self.passes.append(self.running)
        return self.running

    def ran(self, mark: Mark, name: str, keys: tuple, sent: tuple, received: tuple) -> None:
        """Take note that a node ran: the arrays that it received and sent, None where there was none."""
        incoming = [x for x in received if x is not None]
        sizes = [size_of(x) for x in incoming]
        size = max(sizes, key=lambda s: (ORDER.index(s.state), s.most), default=Size("zero", 0.0))
        edges = tuple(
            [Edge(to, None if x is None else size_of(x)) for to, x in zip(keys, sent, strict=False) if to is not None]
        )
        note, hidden = "", False
        eps = max((float(np.finfo(x.dtype).eps) for x in incoming if x.dtype.kind in "fc"), default=2.2e-16)
        for x, edge in zip([x for to, x in zip(keys, sent, strict=False) if to is not None], edges, strict=True):
            if edge.size is None:
                continue
            ends = size.state == "ok" and not edge.size.most > eps * size.most
            if ends or (size.state in ("ok", "zero") and edge.size.state in ("nan", "inf")):
                note, hidden = self.describe(mark.operands, x, incoming, edge.size.state)
                break
        if self.running is not None:
            self.running.runs.append(NodeRun(mark.number, name, mark.step, size, edges, eps, note, hidden))

    def describe(self, operands: tuple, sent: np.ndarray, received: list, kind: str) -> tuple[str, bool]:
        """Return the operand of a node in words, and whether the gradient was 0 where nan or infinity came of it."""
        alike = [x for x in operands if self.kit.is_tensor(x) and self.kit.array(x).shape == sent.shape]
        alike = alike or [x for x in operands if self.kit.is_tensor(x)]
        if not alike:
            return "", False
        array, name = self.kit.array(alike[0]), self.name_of(alike[0]) or "its operand"
        if kind not in ("nan", "inf") or array.shape != sent.shape or not array.size:
            low, high = (f"{f(array):.4g}" for f in (np.min, np.max)) if array.size else ("", "")
            return (f"{name} is {low}" if low == high else f"{name} is between {low} and {high}"), False
        place = tuple(np.argwhere(~np.isfinite(sent))[0])
        others = [f"{self.kit.array(x)[place]:.4g}" for x in alike[1:]]
        hidden = any(x.shape == sent.shape and x[place] == 0 for x in received)
        index = f"[{', '.join(map(str, place))}]" if place else ""
        return f"{name}{index} = {array[place]:.4g}" + (f" and {others[0]}" if others else ""), hidden

    # -- names --------------------------------------------------------------------------------------------

    def note_locals(self) -> None:
        """Keep what the variables of the script's functions are called, while these run."""
        frame: Any = sys._getframe(1)
        while frame is not None:
            if is_users(frame.f_code.co_filename) and frame.f_code.co_name != "<module>":
                self.locals.update({k: x for k, x in frame.f_locals.items() if not k.startswith((".", "__"))})
            frame = frame.f_back

    def names(self) -> Iterator[tuple[str, Any]]:
        """Yield tensors by name: of the script, then of its functions; parameters of a module by their path."""
        for name, x in [*self.variables.items(), *self.locals.items()]:
            if isinstance(name, str) and not name.startswith("__"):
                yield from self.named(name, x)

    def named(self, name: str, x: Any, deep: bool = True) -> Iterator[tuple[str, Any]]:
        if self.kit.is_tensor(x):
            yield name, x
        elif (parameters := self.kit.parameters(x)) is not None:
            yield from ((f"{name}.{path}", p) for path, p in parameters)
        elif deep and type(x) in (list, tuple):
            for k, item in enumerate(x[:1000]):
                yield from self.named(f"{name}[{k}]", item, False)
        elif deep and type(x) is dict:
            for k, item in list(x.items())[:1000]:
                yield from self.named(f"{name}[{k!r}]", item, False)
        elif deep and is_users_object(x):
            for k, item in list(vars(x).items()):
                yield from self.named(f"{name}.{k}", item, False)

    def name_of(self, x: Any) -> str:
        return next((name for name, other in self.names() if other is x), "")


ORDER = ("zero", "ok", "inf", "nan")


def size_of(x: np.ndarray) -> Size:
    if not x.size:
        return Size("ok", 1.0)  # what selected nothing sends the zeros
    if x.dtype.kind not in "fc":
        return Size("zero", 0.0)
    most = float(np.max(np.abs(x)))
    if np.isfinite(most):
        return Size("ok" if most else "zero", most, float(np.min(x.real)), float(np.max(x.real)))
    bad = int(np.sum(~np.isfinite(x)))
    return Size("nan" if np.isnan(x).any() else "inf", np.inf, bad=bad, total=x.size)


def flag_of(x: np.ndarray) -> str:
    if x.dtype.kind in "fc" and not np.isfinite(np.sum(np.abs(x))):
        return "nan" if np.isnan(x).any() else "inf" if np.isinf(x).any() else ""
    return "zero" if x.size and not x.any() else ""


def flatten(x: Any, depth: int = 4) -> Iterator[Any]:
    """Yield what operands hold: tensors, numbers and arrays in lists, tuples and dicts."""
    if isinstance(x, list | tuple | dict) and depth:
        for part in x.values() if isinstance(x, dict) else x:
            yield from flatten(part, depth - 1)
    elif isinstance(x, slice):
        yield from (x.start, x.stop, x.step)
    else:
        yield x
