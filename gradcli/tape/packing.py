"""Hooks on what is saved for backward: a pair of functions that pack tensors away and bring them back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from . import versions
from .modes import no_grad
from .node import is_array
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


def packed(tensor: Tensor, hooks: Hooks) -> Packed:
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
    return packed(as_saved(x, node), hooks)


__all__ = ["Packed", "as_saved", "hooks_of", "pack", "packed", "stack"]
