"""A context in which saved tensors may be changed in place: their old values are kept aside just before."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

from .hooking import saved_tensors_hooks
from .inplace import before_change
from .tensor import Tensor
from .versions import address_of, memory_of


class Handle:
    """What a node keeps in place of a tensor."""


def tid_of(tensor: Tensor) -> tuple:
    """Return what tells a tensor's memory and its version from others."""
    raw = tensor._data
    return address_of(raw), raw.shape, raw.strides, raw.dtype, tensor._version


class Keeper:
    """What is saved while the context is open, and the copies made because it was about to change.

    original, cloned: the tensors by handle; tid_to_weakhandle: the handle of a tensor in its present version.
    """

    def __init__(self) -> None:
        self.original: MutableMapping[Handle, Tensor] = weakref.WeakKeyDictionary()
        self.cloned: MutableMapping[Handle, Tensor] = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle: MutableMapping[tuple, Handle] = weakref.WeakValueDictionary()

    def pack(self, tensor: Tensor) -> Handle:
        """Return a handle for a tensor: the same one while it is not changed."""
        data = tensor.detach()
        tid = tid_of(data)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = self.tid_to_weakhandle[tid] = Handle()
            self.original[handle] = data
        return handle

    def unpack(self, handle: Handle) -> Tensor:
        """Return the tensor as it was saved. Raises AssertionError outside of the context."""
        if active.keeper is not self:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "recorded: call backward before the context ends"
            )
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def rescue(self, target: Tensor) -> None:
        """Copy what was saved of memory that is about to change."""
        memory = memory_of(target._array())
        for handle, tensor in list(self.original.items()):
            if memory_of(tensor._data) is memory:
                self.cloned[handle] = tensor.clone()
                del self.original[handle]
                self.tid_to_weakhandle.pop(tid_of(tensor), None)


class active:  # noqa: N801 - a namespace
    """The keeper of the open context."""

    keeper: Any = None


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[Keeper]:
    """Let tensors that were saved for backward be changed in place; backward sees their old values.

    Both passes must run inside. Raises RuntimeError when the context is nested in another.
    """
    if active.keeper is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    keeper = active.keeper = Keeper()
    before_change.append(keeper.rescue)
    try:
        with saved_tensors_hooks(keeper.pack, keeper.unpack):
            yield keeper
    finally:
        before_change.remove(keeper.rescue)
        active.keeper = None
        keeper.original.clear()
        keeper.cloned.clear()


__all__ = ["allow_mutation_on_saved_tensors"]
