"""Contexts in which what is saved for backward is packed away and unpacked again by hooks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .kinds import change
from .packing import stack
from .tensor import Tensor


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
        stack.pairs.append((self.pack_hook, self.unpack_hook))
        change(packed=1)

    def __exit__(self, *_: Any) -> None:
        if stack.pairs:
            stack.pairs.pop()
            change(packed=-1)


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


__all__ = ["disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]
