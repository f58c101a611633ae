"""Attributes of tensors that only old programs know."""

from __future__ import annotations

import warnings
from typing import Any

from .tensor import Tensor


def old_name(name: str, read: Any, write: Any = None) -> None:
    """Give tensors an attribute: it is read, and deleting it raises RuntimeError."""

    def refuse(self: Tensor) -> None:
        raise RuntimeError(f"'{name}' of a Tensor cannot be deleted")

    setattr(Tensor, name, property(read, write, refuse))


def volatile(self: Tensor) -> bool:
    """False: what was volatile long ago is now under no_grad."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def backward_hooks(self: Tensor) -> Any:
    """The hooks on the gradient by number, None where there were never any; or what was put here."""
    if "_put_hooks" in vars(self):
        return self._put_hooks
    return None if self._node is None or self._node.hooks is None else self._node.hooks.tensor


def put_hooks(self: Tensor, hooks: Any) -> None:
    """Keep something here; it is not called."""
    self._put_hooks = hooks  # type: ignore[attr-defined]


old_name("_grad_fn", lambda self: self.grad_fn)
old_name("_backward_hooks", backward_hooks, put_hooks)
old_name("volatile", volatile)
