"""Functions that are computed anew in backward; here what they save is simply kept, which gives the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def checkpoint(function: Callable, *args: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Return function(*args, **kwargs)."""
    for word in ("preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"):
        kwargs.pop(word, None)
    return function(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, **settings: Any) -> Any:
    """Return what functions applied one after another make of the input."""
    for function in functions:
        input = function(input)
    return input


__all__ = ["checkpoint", "checkpoint_sequential"]
