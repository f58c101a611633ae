"""Hooks: functions of the user's that see, and may replace, gradients on their way."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from typing import Any

from ..errors import add_advice

_ids = itertools.count()


class RemovableHandle:
    """What registering a hook returns. `remove()` ends the hook; a `with` block removes it at its end."""

    def __init__(self, hooks: OrderedDict, on_remove: Any = None):
        self.id = next(_ids)
        self._hooks = weakref.ref(hooks)
        self._on_remove = on_remove

    def remove(self) -> None:
        """Take the hook away; doing so twice is fine."""
        hooks = self._hooks()
        if hooks is not None and hooks.pop(self.id, None) is not None and self._on_remove:
            self._on_remove()

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


class HookTable:
    """The hooks of one node: on the gradient of its output, before it, after it, and after accumulation.

    packed: whether the node keeps saved values packed by hooks.
    """

    packed = False

    def __init__(self) -> None:
        self.tensor: OrderedDict = OrderedDict()
        self.retain: list = []
        self.pre: OrderedDict = OrderedDict()
        self.post: OrderedDict = OrderedDict()
        self.accumulated: OrderedDict = OrderedDict()
        self.metadata: dict = {}

    def add(self, kind: str, hook: Any, on_remove: Any = None) -> RemovableHandle:
        """Append a hook of a kind (`tensor`, `pre`, `post`, `accumulated`) and return its handle."""
        if kind not in ("pre", "post") and not callable(hook):
            raise TypeError(f"a hook must be callable, not {type(hook).__name__}")
        hooks = getattr(self, kind)
        handle = RemovableHandle(hooks, on_remove)
        hooks[handle.id] = hook
        return handle


def run_tensor_hooks(node: Any, g: Any, plan: Any) -> Any:
    """Return the cotangent after the tensor hooks of its node, in their order, then retain it.

    plan: the backward pass, which knows whether cotangents are raw. A hook gets a copy of its own, so that
    what it does to it in place reaches this gradient and no other. Raises RuntimeError when a hook returns
    something unfit.
    """
    table = node.hooks
    for hook in list(table.tensor.values()):
        tensor = plan.wrap(g if plan.create else g.copy())
        try:
            result = hook(tensor)
            g = plan.unwrap(tensor if result is None else check_hook_result(result, tensor, hook))
        except Exception as error:
            name = getattr(hook, "__name__", type(hook).__name__)
            blame(error, node, f"the hook {name!r} on the gradient of ", f"shape {tuple(tensor.shape)}")
            raise
    for reference in table.retain:
        tensor = reference()
        if tensor is not None:
            tensor._retain(plan.wrap(g if plan.create else g.copy()))
    return g


def blame(error: Exception, node: Any, what: str, otherwise: str) -> None:
    """Let an error say which hook raised it: as a note, and as (node, words) for those who know names of tensors."""
    error.add_note(f"raised in {what}a tensor of {otherwise} made by {node.name()}")
    error.hooked = (node, what)  # type: ignore[attr-defined]


def check_hook_result(result: Any, given: Any, hook: Any) -> Any:
    """Return a hook's result as a cotangent like the one it was given."""
    name = getattr(hook, "__name__", type(hook).__name__)
    if not hasattr(result, "_data"):
        raise add_advice(
            TypeError(f"expected Variable, but hook returned '{type(result).__name__}'"),
            f"hook '{name}' must return a Tensor (the new gradient) or None",
        )
    if result.shape != given.shape:
        raise add_advice(
            RuntimeError(f"hook '{name}' has changed the size of value"),
            f"the gradient has shape {list(given.shape)}, what the hook returned {list(result.shape)}",
        )
    if result.dtype != given.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of the gradient: {given.dtype} to {result.dtype}")
    return result
