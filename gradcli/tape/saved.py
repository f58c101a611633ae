"""What a node saved, as users see it: `grad_fn._saved_self` and the like, with and without hooks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from .kinds import SLOTS, let_pack, raw
from .node import FREED, MANY, OWNING, Node, is_array, second_time
from .packing import Packed, as_saved, packed

OPERAND_WORDS = ("self", "other", "end", "weight")
CHANGED = "Calling register_hooks on a saved tensor"


def place_of(node: Node, name: str) -> int | None:
    """Return which of (out, *operands) a name such as `self` or `result` means; None for none of them."""
    if name == "result":
        return 0
    if name == "exponent" and "Pow" in node.name():
        return 2
    if name in ("mat1", "mat2"):
        return int(name[-1]) + ("Addmm" in node.name())
    return 1 + OPERAND_WORDS.index(name) if name in OPERAND_WORDS else None


def saved_value(node: Node, name: str) -> Any:
    """Return what a node saved under PyTorch's name. Raises AttributeError when there is no such thing."""
    values = node.saved
    params = node.rule.params if isinstance(node.rule.params, dict) else {}
    place = place_of(node, name)
    if place is not None and place < len(values) and not (place == 0 and values[0] is None):
        x = values[place]
        if x is None or (name == "exponent" and not is_array(x)):
            return x
        return as_saved(x, (node, *node.parents)[place])
    if name in params:
        return params[name]
    raise AttributeError(f"'{node.name()}' saved no {name!r}")


def saved_names(node: Node) -> list[str]:
    """Return PyTorch's names for what a node saved."""
    found = []
    for name in ("result", "self", "exponent" if "Pow" in node.name() else "other"):
        with contextlib.suppress(Exception):
            if name == "exponent" or hasattr(saved_value(node, name), "shape"):
                found.append(f"_saved_{name}")
    return found


class SavedTensor:
    """A place where a tensor is saved for backward, on which hooks can be set."""

    _holder: Any

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Pack the tensor away now, unpack it when it is needed. Raises RuntimeError when that is too late."""
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("register_hooks(): incompatible function arguments: two callables are wanted")
        held, tensor = self._holder.look()
        if type(held) is Packed:
            raise RuntimeError(f"{CHANGED} whose hooks have already been set. There is one pair of hooks at a time")
        if held is None:
            raise RuntimeError(f"{CHANGED} with value None is forbidden")
        self._holder.put(packed(tensor.detach(), (pack_hook, unpack_hook)))


def saved_tensor(holder: Any) -> SavedTensor:
    """Return the handle of a place: holder has look(), which gives what is there and its Tensor, and put(value)."""
    result = object.__new__(SavedTensor)
    result._holder = holder
    return result


class Place:
    """A slot of a node, or a position in it."""

    def __init__(self, node: Node, place: int):
        self.node, self.place = node, place

    def look(self) -> tuple[Any, Any]:
        """Return what is kept in the place, and the tensor that it stands for."""
        node = self.node
        if node.rule.apply is second_time:
            raise RuntimeError(f"{CHANGED} after it has been freed. {FREED}")
        values = node.held
        held = values[self.place] if self.place < len(values) else None
        if not is_array(held):
            return held, None
        return held, as_saved(held, (node, *node.parents)[self.place])

    def put(self, value: Packed) -> None:
        """Keep a packed value instead."""
        node: Any = self.node
        let_pack(node)
        if node.rule.kind in (MANY, OWNING):
            values = list(raw(node, "x"))
            values[self.place] = value
            SLOTS["x"].__set__(node, tuple(values))
        else:
            SLOTS[("out", "x", "y")[self.place]].__set__(node, value)


def raw_saved(node: Node, name: str) -> SavedTensor:
    """Return the handle of what a node saved under a name. Raises AttributeError when there is no such thing."""
    place = place_of(node, name)
    if place is None or place >= len(node.held):
        raise AttributeError(f"'{node.name()}' saved no {name!r}")
    return saved_tensor(Place(node, place))


__all__ = ["SavedTensor", "raw_saved", "saved_names", "saved_tensor", "saved_value"]
