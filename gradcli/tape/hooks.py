"""Hooks: user functions that see, and may replace, gradients or the tensors saved for backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import add_advice
from .memory import separate
from .modes import no_grad, state
from .node import Node, Packed, is_array
from .record import Mode, begin, end_mode
from .tensor import Tensor


def run_tensor_hooks(node: Any, g: Any, plan: Any) -> Any:
    """Run a node's tensor hooks in order; store the cotangent for retain_grad, and return it."""
    table = node.hooks
    for hook in list(table.tensor.values()):
        tensor = plan.wrap(g if plan.create else g.copy())  # a copy: in-place changes must not reach other gradients
        try:
            result = hook(tensor)
            g = plan.unwrap(tensor if result is None else check_hook_result(result, tensor, hook))
        except Exception as error:
            what = f"the hook {name_of_hook(hook)!r} on the gradient of "
            error.add_note(f"raised in {what}a tensor of shape {tuple(tensor.shape)} made by {node.name()}")
            error.hooked = (node, what)  # type: ignore[attr-defined]  # for callers that know the tensor's name
            raise
    for reference in table.retain:
        tensor = reference()
        if tensor is not None:
            gradient = plan.wrap(g if plan.create else g.copy())
            tensor._grad = gradient if tensor._grad is None else tensor._grad + gradient
    return g


def name_of_hook(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def check_hook_result(result: Any, given: Any, hook: Any) -> Any:
    """Return a hook's result. Raises TypeError and RuntimeError unless it is a tensor like the one given."""
    name = name_of_hook(hook)
    if not hasattr(result, "_data"):
        failure = TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
        raise add_advice(failure, f"hook '{name}' must return a Tensor (the new gradient) or None")
    if result.shape != given.shape:
        hint = f"the gradient has shape {list(given.shape)}, but the hook returned shape {list(result.shape)}"
        raise add_advice(RuntimeError(f"hook '{name}' has changed the size of value"), hint)
    if result.dtype != given.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of the gradient: {given.dtype} to {result.dtype}")
    return result


def check_hook_results(result: Any, given: tuple, hook: Any) -> tuple:
    """Return a node hook's gradients as a tuple. Raises TypeError and RuntimeError unless they match those given."""
    result = tuple(result) if isinstance(result, tuple | list) else (result,)
    name = name_of_hook(hook)
    for x in result:
        if x is not None and not isinstance(x, Tensor):
            raise TypeError(f"expected Tensors or None, but hook '{name}' returned '{type(x).__name__}'")
    if len(result) != len(given):
        counts = f"(got {len(result)}, but expected {len(given)})"
        raise RuntimeError(f"hook '{name}' has returned an incorrect number of values {counts}")
    if any(old is None and new is not None for old, new in zip(given, result, strict=True)):
        raise RuntimeError(f"hook '{name}': can't replace a None gradient with a non-None value")
    return tuple(
        new if new is None or new is old else check_hook_result(new, old, hook)
        for old, new in zip(given, result, strict=True)
    )


Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


class Packing(Mode):
    """A mode whose nodes pass their saved arrays through hooks, unless inner hooks take precedence."""

    def __init__(self, hooks: Hooks):
        self.hooks = hooks

    def make_node(self, primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
        node = self.below.make_node(primitive, nodes, out, raws, params)
        if innermost() is self:
            pairs = list(zip(node.kept, (node, *nodes), strict=True))
            # the last operand first, as PyTorch does
            node.kept = tuple([pack(x, parent, self.hooks) for x, parent in pairs[::-1]][::-1])
            node.hook_table.packed = True
        return node


def innermost() -> Packing | None:
    """Return the innermost mode of this thread that has hooks."""
    mode = state.recorder
    while mode is not None and not isinstance(mode, Packing):
        mode = mode.below
    return mode


def pack_tensor(tensor: Tensor, hooks: Hooks) -> Packed:
    """Pack a tensor. Raises RuntimeError if the hook changes it in place."""
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
    with no_grad():
        tensor = unpack_hook(content)
    if not isinstance(tensor, Tensor):
        got = f"got result of type {type(tensor).__name__}"
        raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but {got}")
    data = tensor._data
    return separate(data) if isinstance(data, np.ndarray) else data


def pack(x: Any, node: Any, hooks: Hooks) -> Any:
    """Pack a saved array; return other values unchanged. node: that of the operand or result whose data x is."""
    if type(x) is tuple and x and all(is_array(part) for part in x):
        return tuple([pack(part, None, hooks) for part in x])
    if not is_array(x):
        return x
    if node is not None and node.leaf and node.variable._data is x:
        return pack_tensor(node.variable, hooks)
    return pack_tensor(Tensor._wrap(x, node), hooks)


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """A context in which pack_hook(tensor) runs for every tensor saved for backward.

    Its result is saved instead; unpack_hook turns it back into the tensor. Of nested contexts, the innermost applies.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self.hooks = pack_hook, unpack_hook

    def __enter__(self) -> None:
        begin(Packing(self.hooks))

    def __exit__(self, *_: Any) -> None:
        mode = innermost()
        if mode is not None:
            end_mode(mode)
