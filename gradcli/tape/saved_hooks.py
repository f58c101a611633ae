"""Hooks on what is saved for backward: a pair of functions that pack tensors away and bring them back."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import versions
from .hooks import table_of
from .modes import no_grad
from .node import Node, Packed, is_array
from .record import Mode, begin, end
from .tensor import Tensor

Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


class _Stack(threading.local):
    """The pairs of hooks in force in this thread, the innermost last; `refusal` is why there may be none."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Hooks, Packing]] = []
        self.refusal: str | None = None


stack = _Stack()


class Packing(Mode):
    """Records nodes whose saved arrays go through the hooks in force.

    Such a node counts as one with hooks, so that backward unpacks what it saved.
    """

    def make_node(self, primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
        """Return the node of a computed result. The last operand is packed first, as PyTorch does."""
        node = self.below.make_node(primitive, nodes, out, raws, params)
        hooks = hooks_of()
        if hooks is not None and stack.pairs[-1][1] is self:
            pairs = list(zip(node.saved, (node, *nodes), strict=True))
            node.saved = tuple([pack(x, parent, hooks) for x, parent in pairs[::-1]][::-1])
            table_of(node).packed = True
        return node


def hooks_of() -> Hooks | None:
    """Return the hooks in force in this thread."""
    return stack.pairs[-1][0] if stack.pairs else None


def pack_tensor(tensor: Tensor, hooks: Hooks) -> Packed:
    """Return a tensor packed. Raises RuntimeError when the hook changes it in place."""
    pack_hook, unpack_hook = hooks
    before = tensor._version
    with no_grad():
        content = pack_hook(tensor)
    if tensor._version != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook."
        )
    return Packed(content, lambda content: unpacked_data(unpack_hook, content))


def unpacked_data(unpack_hook: Callable[[Any], Any], content: Any) -> Any:
    """Return the raw data that an unpack hook gives back. Raises TypeError when it returns no Tensor."""
    with no_grad():
        tensor = unpack_hook(content)
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(tensor).__name__}"
        )
    data = tensor._data
    return versions.separate(data) if isinstance(data, np.ndarray) else data


def pack(x: Any, node: Any, hooks: Hooks) -> Any:
    """Return a saved value packed if it is an array; shapes and Python numbers stay as they are.

    node: of the operand or the result that x is the data of.
    """
    if type(x) is tuple and x and all(is_array(part) for part in x):
        return tuple([pack(part, None, hooks) for part in x])
    if not is_array(x):
        return x
    if node is not None and node.leaf and node.variable._data is x:
        return pack_tensor(node.variable, hooks)
    return pack_tensor(Tensor._wrap(x, node), hooks)


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
        packing = Packing()
        stack.pairs.append(((self.pack_hook, self.unpack_hook), packing))
        begin(packing)

    def __exit__(self, *_: Any) -> None:
        if stack.pairs:
            end(stack.pairs.pop()[1])


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
