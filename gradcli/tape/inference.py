"""Inference mode marks the tensors that are made in it."""

from __future__ import annotations

from typing import Any

from .modes import inference_mode, state
from .tensor import Tensor

_modes = [0]


def _mark(self: Tensor, *_: Any, **__: Any) -> None:
    if state.inference:
        self._inference = True


def _watch_inference(begins: bool) -> None:
    """Have tensors marked as they are made while there is any inference mode; at other times that costs nothing."""
    _modes[0] += 1 if begins else -1
    if _modes[0]:
        Tensor.__init__ = _mark  # type: ignore[method-assign, assignment]
    elif "__init__" in vars(Tensor):
        del Tensor.__init__


inference_mode.listeners = (_watch_inference,)
