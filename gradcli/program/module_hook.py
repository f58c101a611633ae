"""Hooks given on the command line for modules: NAME=ACTION, NAME.forward=ACTION, NAME.forward_pre=ACTION."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tape.tensor import Tensor
from .tensor_hook import Hook

Parts = tuple[str, tuple, bool]
"""What a hook sees: a word for it, its values, and whether they are one value rather than a tuple."""


def attach(name: str, module: Any, hooks: Sequence[Hook], known: dict[str, list]) -> None:
    """Put those hooks on a module that name it; note under which names it could be meant.

    known: for each such name, the modules that the hooks were put on already.
    """
    for suffix, register in (
        ("", module.register_full_backward_hook),
        (".forward", module.register_forward_hook),
        (".forward_pre", module.register_forward_pre_hook),
    ):
        done = known.setdefault(name + suffix, [])
        if not any(x is module for x in done):
            done.append(module)
            for hook in hooks:
                if hook.name == name + suffix:
                    register(as_module_hook(hook, suffix))


def as_module_hook(hook: Hook, suffix: str) -> Callable:
    """Return a hook's action as a function of a module and what PyTorch hands to module hooks."""
    if hook.from_user is not None:
        return hook.from_user
    call = print_seen if hook.action == "print" else replace_first

    def backward(module: Any, grad_input: tuple, grad_output: tuple) -> Any:
        return call(hook, ("grad_input", grad_input, False), ("grad_output", grad_output, False))

    def forward(module: Any, inputs: tuple, output: Any) -> Any:
        single = not isinstance(output, tuple)
        return call(hook, ("output", (output,) if single else output, single), ("input", inputs, False))

    def forward_pre(module: Any, inputs: tuple) -> Any:
        return call(hook, ("input", inputs, False))

    kinds: dict[str, Callable] = {"": backward, ".forward": forward, ".forward_pre": forward_pre}
    return kinds[suffix]


def print_seen(hook: Hook, *parts: Parts) -> None:
    for word, values, single in reversed(parts):
        for i, x in enumerate(values):
            hook.show_as(f" {word}" if single else f" {word}[{i}]", x.detach() if isinstance(x, Tensor) else x)


def replace_first(hook: Hook, first: Parts, *_: Parts) -> Any:
    """Return the first of what a hook sees, its tensors replaced by the value of the hook's expression."""
    word, values, single = first
    recorded = word != "grad_input"
    new = tuple(hook.function(x, recorded) if isinstance(x, Tensor) and x.dtype.kind in "fc" else x for x in values)
    return new[0] if single else new
