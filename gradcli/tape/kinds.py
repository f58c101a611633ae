"""Which class new nodes have: a plain one, or one that remembers its line or hands what it saves to hooks."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from . import quick, record
from .hooks import HookTable
from .modes import state
from .node import PRODUCT, TWO, Node
from .packing import Packed, hooks_of, pack


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


def raw(node: Node, name: str) -> Any:
    """Return what a slot of a packing node holds, unopened; None if it was never set."""
    try:
        return SLOTS[name].__get__(node)
    except AttributeError:
        return None


def opened(held: Any) -> Any:
    """Return what was saved: what hooks packed is unpacked, the last operand first, as PyTorch does."""
    if type(held) is Packed:
        return held.open()
    return tuple([opened(x) for x in held[::-1]][::-1]) if type(held) is tuple else held


def slot(name: str) -> Any:
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

    return property(lambda node: opened(raw(node, name)), put)


class PackedNode(Node):
    """A node whose saved values, or some of them, went through hooks: each reading unpacks them.

    It counts as a node with hooks, so that backward never reads its slots on the quick path.
    """

    __slots__ = ()
    x = slot("x")
    y = slot("y")
    out = slot("out")

    @property
    def hooks(self) -> HookTable:  # type: ignore[override]
        """The table of hooks, which says that values are packed."""
        table = raw(self, "hooks")
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
        values = tuple(raw(self, name) for name in ("out", "x", "y"))
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


def change(*, traced: int = 0, packed: int = 0) -> None:
    """Note that contexts were opened or closed: nodes made from now on are of the fitting class."""
    active.traced += traced
    active.packed += packed
    found: Any = CLASSES[active.traced > 0, active.packed > 0]
    if active.observers:
        found = active.observers[-1]
        if active.packed > 0:
            found = type(f"Packed{found.__name__}", (PackedNode, found), {"__slots__": ()})
    record.Node = quick.Node = found  # type: ignore[misc]


__all__ = ["PackedNode", "TracedNode", "change", "opened", "raw"]
