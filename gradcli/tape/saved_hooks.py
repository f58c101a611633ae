"""Hooks on what is saved for backward: a pair of functions that pack tensors away and bring them back.

What new nodes are made of stands here as well: plain ones, ones that remember their line, and ones whose saved
values go through hooks.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from . import elementwise, record, versions
from .hooks import HookTable
from .modes import no_grad, state
from .node import PRODUCT, TWO, Node, is_array
from .tensor import Tensor

Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


class _Stack(threading.local):
    """The pairs of hooks in force in this thread, the innermost last; `refusal` is why there may be none."""

    def __init__(self) -> None:
        self.pairs: list[Hooks] = []
        self.refusal: str | None = None


stack = _Stack()


def hooks_of() -> Hooks | None:
    """Return the hooks in force in this thread."""
    return stack.pairs[-1] if stack.pairs else None


class Packed:
    """What a pack hook returned, and the hook that turns it into a tensor again."""

    __slots__ = ("content", "unpack")

    def __init__(self, content: Any, unpack: Callable):
        self.content = content
        self.unpack = unpack

    def open(self) -> Any:
        """Return the unpacked raw data. Raises TypeError when the hook returns no Tensor."""
        with no_grad():
            tensor = self.unpack(self.content)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}"
            )
        data = tensor._data
        return versions.separate(data) if isinstance(data, np.ndarray) else data


def pack_tensor(tensor: Tensor, hooks: Hooks) -> Packed:
    """Return a tensor packed. Raises RuntimeError when the hook changes it in place."""
    before = tensor._version
    with no_grad():
        content = hooks[0](tensor)
    if tensor._version != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook."
        )
    return Packed(content, hooks[1])


def as_saved(x: Any, node: Any) -> Any:
    """Return what was saved of an operand or the result as users see it: a Tensor with its node."""
    if isinstance(x, tuple):
        return x
    if node is not None and node.leaf:
        return node.variable if node.variable._data is x else Tensor._wrap(x, node)
    return Tensor._wrap(np.asarray(x) if not is_array(x) else x, node)


def pack(x: Any, node: Any, hooks: Hooks) -> Any:
    """Return a saved value packed if it is an array; shapes and Python numbers stay as they are.

    node: of the operand or the result that x is the data of.
    """
    if type(x) is tuple and x and all(is_array(part) for part in x):
        return tuple([pack(part, None, hooks) for part in x])
    if not is_array(x):
        return x
    return pack_tensor(as_saved(x, node), hooks)


class TracedNode(Node):
    """A node that knows the file and line it was made at, and the node whose backward made it, if any."""

    __slots__ = ("made_at", "made_by")

    def __init__(self) -> None:
        self.made_at = caller()
        self.made_by = state.running


def caller() -> tuple[str, int] | None:
    """Return file and line of the nearest frame outside this package."""
    frame = calling_frame()
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def calling_frame() -> Any:
    """Return the nearest frame outside this package, None if there is none."""
    frame: Any = sys._getframe(2)
    package = __name__.split(".")[0]
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == package:
        frame = frame.f_back
    return frame


SLOTS: dict[str, Any] = {name: vars(Node)[name] for name in ("hooks", "out", "x", "y")}


def raw_slot(node: Node, name: str) -> Any:
    """Return what a slot of a packing node holds, unopened; None if it was never set."""
    try:
        return SLOTS[name].__get__(node)
    except AttributeError:
        return None


def open_saved(held: Any) -> Any:
    """Return what was saved: what hooks packed is unpacked, the last operand first, as PyTorch does."""
    if type(held) is Packed:
        return held.open()
    return tuple([open_saved(x) for x in held[::-1]][::-1]) if type(held) is tuple else held


def packing_slot(name: str) -> Any:
    """Return the property that packs what is put into a slot, and unpacks it when it is read."""

    def put(node: Any, value: Any) -> None:
        hooks = hooks_of()
        if hooks is not None and value is not None:
            if type(value) is not tuple:
                value = pack(value, node if name == "out" else node.p if name == "x" else node.q, hooks)
            elif name == "x":
                parents = (node, *node.p)
                pairs = list(zip(value, parents, strict=True))[::-1]
                value = tuple([pack(x, parent, hooks) for x, parent in pairs][::-1])
        SLOTS[name].__set__(node, value)

    return property(lambda node: open_saved(raw_slot(node, name)), put)


class PackedNode(Node):
    """A node whose saved values, or some of them, went through hooks: each reading unpacks them.

    It counts as a node with hooks, so that backward never reads its slots on the quick path.
    """

    __slots__ = ()
    x = packing_slot("x")
    y = packing_slot("y")
    out = packing_slot("out")

    @property
    def hooks(self) -> HookTable:  # type: ignore[override]
        """The table of hooks, which says that values are packed."""
        table = raw_slot(self, "hooks")
        if table is None:
            table = HookTable()
            SLOTS["hooks"].__set__(self, table)
        table.packed = True
        return table

    @hooks.setter
    def hooks(self, table: HookTable | None) -> None:
        if table is not None:
            SLOTS["hooks"].__set__(self, table)

    @property
    def saved(self) -> tuple:
        """What was saved: (out, *operands), the last operand unpacked first."""
        if self.rule.kind not in (TWO, PRODUCT) or not self.rule.saves:
            return super().saved
        second, first = self.y, self.x
        return self.out, first, second

    @property
    def held(self) -> tuple:
        """What was saved, as it is kept: packed values unopened."""
        values = tuple(raw_slot(self, name) for name in ("out", "x", "y"))
        return values[1] if type(values[1]) is tuple else values

    def blank(self) -> Node:
        """Return an empty node for a copy whose values are unpacked."""
        return object.__new__(Node)


class PackedTracedNode(PackedNode, TracedNode):
    """A node of both kinds."""

    __slots__ = ()


CLASSES = {(False, False): Node, (True, False): TracedNode, (False, True): PackedNode, (True, True): PackedTracedNode}


class active:  # noqa: N801 - a namespace
    """How many contexts of either sort are open, over all threads."""

    traced = 0
    packed = 0
    observers: ClassVar[list[type[Node]]] = []
    """Classes that stand in for the plain and the tracing ones, the innermost last."""


def choose_node_class(*, traced: int = 0, packed: int = 0) -> None:
    """Note that contexts were opened or closed: nodes made from now on are of the fitting class."""
    active.traced += traced
    active.packed += packed
    found: Any = CLASSES[active.traced > 0, active.packed > 0]
    if active.observers:
        found = active.observers[-1]
        if active.packed > 0:
            found = type(f"Packed{found.__name__}", (PackedNode, found), {"__slots__": ()})
    record.Node = elementwise.Node = found  # type: ignore[misc]


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """A context in which pack_hook(tensor) runs for every tensor saved for backward.

    Its result is kept instead; unpack_hook of it gives the tensor back when it is needed. Of nested contexts
    the innermost counts.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if stack.refusal is not None:
            raise RuntimeError(stack.refusal)
        stack.pairs.append((self.pack_hook, self.unpack_hook))
        choose_node_class(packed=1)

    def __exit__(self, *_: Any) -> None:
        if stack.pairs:
            stack.pairs.pop()
            choose_node_class(packed=-1)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """A context in which what is saved for backward is a copy, which later in-place changes do not touch."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda x: x.detach().clone(), lambda x: x)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Refuse hooks on saved tensors with this message. Raises RuntimeError where some are in force already."""
    if stack.pairs:
        raise RuntimeError(error_message)
    before, stack.refusal = stack.refusal, error_message
    try:
        yield
    finally:
        stack.refusal = before
