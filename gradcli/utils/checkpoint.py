"""Functions whose saved tensors are let go of after forward, and computed anew in backward."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..face.draw import generator
from ..tape.hooking import saved_tensors_hooks
from ..tape.modes import enable_grad, state
from ..tape.tensor import Tensor

SETTINGS = ("preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")


class Recomputed:
    """One call: what it saves is only numbered, and found again by a second call when backward asks for it."""

    def __init__(self, function: Callable, args: tuple, kwargs: dict):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.rng = copy.deepcopy(generator.rng)
        self.count = 0
        self.found: dict[int, Tensor] = {}

    def pack(self, tensor: Tensor) -> int:
        """Return the number of a saved tensor."""
        self.count += 1
        return self.count - 1

    def unpack(self, place: int) -> Tensor:
        """Return a saved tensor. Raises RuntimeError when the second call saved others than the first."""
        if place not in self.found:
            saved: list[Tensor] = []
            now, generator.rng = generator.rng, copy.deepcopy(self.rng)
            args = [x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in self.args]
            try:
                with enable_grad(), saved_tensors_hooks(lambda x: saved.append(x.detach()), lambda x: x):
                    self.function(*args, **self.kwargs)
            finally:
                generator.rng = now
            if len(saved) != self.count:
                raise RuntimeError(
                    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                    f"recomputation.\nNumber of tensors saved during forward: {self.count}\nNumber of tensors saved "
                    f"during recomputation: {len(saved)}."
                )
            self.found = dict(enumerate(saved))
        return self.found.pop(place)


def checkpoint(function: Callable, *args: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Return function(*args, **kwargs), which is called again in backward rather than what it saves kept."""
    kwargs = {word: value for word, value in kwargs.items() if word not in SETTINGS}
    if not state.grad:
        return function(*args, **kwargs)
    call = Recomputed(function, args, kwargs)
    with saved_tensors_hooks(call.pack, call.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, **settings: Any) -> Any:
    """Apply functions one after another; all segments of them but the last are checkpoints."""
    functions = list(functions)
    size = len(functions) // segments

    def run(part: list) -> Callable:
        def call(x: Any) -> Any:
            for function in part:
                x = function(x)
            return x

        return call

    end = size * (segments - 1)
    for start in range(0, end, max(size, 1)):
        input = checkpoint(run(functions[start : start + size]), input, **settings)
    return run(functions[end:])(input)


__all__ = ["checkpoint", "checkpoint_sequential"]
