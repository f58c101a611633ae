"""Two tensors that trade everything but their identity."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

from .leaf import AccumulateGrad
from .tensor import Tensor


class Swapped(AccumulateGrad):
    """The old node of a leaf that was swapped: graphs that were recorded before cannot reach the leaf any more."""

    __slots__ = ()

    def accumulate(self, g: Any, owned: bool, create: bool) -> None:
        """Raise RuntimeError."""
        raise RuntimeError(
            "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to "
            "run backward on a tensor that was swapped. Call backward before the tensors are swapped, or run forward "
            "again after it; a module's to(), half() and the like swap under set_swap_module_params_on_conversion."
        )


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let each of two tensors be what the other was: data, type, history, gradient, hooks and attributes.

    Raises RuntimeError, and changes nothing, where the user or a base holds one of them weakly, or where their
    classes have different slots. Graphs recorded from a leaf before cannot be run backward to it.
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if held_weakly(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots: Any = getattr(copyreg, "_slotnames")  # noqa: B009 - not in the type stubs
    if set(slots(type(t1))) != set(slots(type(t2))):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for name in ("__class__", "__dict__", "_data", "_key", "_node"):
        first, second = getattr(t1, name), getattr(t2, name)
        setattr(t1, name, second)
        setattr(t2, name, first)
    for t in (t1, t2):
        if is_grad_leaf(t):
            old = t._node
            t._node = AccumulateGrad(t)
            t._node.hooks, old.hooks = old.hooks, None
            old.__class__, old.tensor_ref = Swapped, gone


def gone() -> None:
    """Return None, as a weak reference does to a tensor that is no more."""


def is_grad_leaf(t: Tensor) -> bool:
    """Return whether a tensor's node is one that adds up gradients."""
    return type(t._node) is AccumulateGrad


def held_weakly(t: Tensor) -> bool:
    """Return whether there are weak references to a tensor besides its own node's."""
    if not is_grad_leaf(t):
        return bool(weakref.getweakrefs(t))
    node: Any = t._node
    node.tensor_ref = None
    try:
        return bool(weakref.getweakrefs(t))
    finally:
        node.tensor_ref = weakref.ref(t)


__all__ = ["swap_tensors"]
