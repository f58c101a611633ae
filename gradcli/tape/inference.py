"""Inference mode marks the tensors that are made in it; backward must not rely on them."""

from __future__ import annotations

import weakref
from typing import Any

from . import kinds
from .modes import inference_mode, state
from .tensor import Tensor
from .versions import memory_of

_modes = [0]
made: dict[int, weakref.ref] = {}
"""The living tensors made in inference mode, by id."""
memories: dict[int, weakref.ref] = {}
"""Those among them that may not be saved, by the id of the memory that they hold."""

SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)


def _mark(self: Tensor, *_: Any, **__: Any) -> None:
    if state.inference:
        self._inference = True
        key = id(self)
        made[key] = weakref.ref(self, lambda _: forget(key))


def forget(key: int) -> None:
    """Note that a tensor made in inference mode is no more."""
    made.pop(key, None)
    if not made and memories:
        _watch_memories()


def _watch_inference(begins: bool) -> None:
    """Have tensors marked as they are made while there is any inference mode; at other times that costs nothing."""
    _modes[0] += 1 if begins else -1
    if _modes[0]:
        Tensor.__init__ = _mark  # type: ignore[method-assign, assignment]
    elif "__init__" in vars(Tensor):
        del Tensor.__init__
    if not begins:
        _watch_memories()


def _watch_memories() -> None:
    """Have new nodes checked while any tensor made in inference mode lives."""
    memories.clear()
    for reference in list(made.values()):
        tensor = reference()
        if tensor is not None and tensor._inference and "_value" not in vars(tensor):
            memories[id(memory(tensor._data))] = reference
    guard = check_normal if memories else None
    if guard is not kinds.active.guard:
        kinds.active.guard = guard
        kinds.change()


def memory(raw: Any) -> Any:
    """Return the array that owns the memory of raw data, or a scalar itself."""
    return memory_of(raw) if hasattr(raw, "strides") and hasattr(raw, "base") and raw.ndim else raw


def check_normal(saved: Any) -> None:
    """Raise RuntimeError for something saved that was made in inference mode."""
    if type(saved) is tuple:
        for x in saved:
            check_normal(x)
    elif hasattr(saved, "ndim"):
        owner = memory(saved)
        reference = memories.get(id(owner))
        tensor = None if reference is None else reference()
        if tensor is not None and memory(tensor._data) is owner:
            raise RuntimeError(SAVED)


inference_mode.listeners = (_watch_inference,)
