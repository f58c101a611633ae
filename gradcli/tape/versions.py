"""When memory was last changed in place, so that backward never uses a value that is no longer there.

Recording an operation costs nothing here: nodes and in-place changes draw numbers from one sequence, and an
array saved by a node was changed since exactly when its memory's last change is newer than the node.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .node import Node, next_seq


class _Stamp:
    __slots__ = ("count", "keep", "seq")

    def __init__(self, keep: Any):
        self.count = 0
        self.seq = 0
        self.keep = keep


_stamps: dict[int, _Stamp] = {}


class newest:  # noqa: N801 - a namespace
    """The sequence number of the latest in-place change anywhere (numbers count down)."""

    seq = 0


def memory_of(array: Any) -> Any:
    """Return the array that owns the memory of `array` (`.data` of a tensor counts as an owner)."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def separate(array: np.ndarray) -> np.ndarray:
    """Return the same memory as an owner of its own, whose changes are not tracked for `array`."""
    return np.asarray(_Borrowed(array))


def lender_of(array: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory of `array`, also where that was made an owner of its own."""
    owner = memory_of(array)
    while isinstance(owner.base, _Borrowed):
        owner = memory_of(owner.base.array)
    return owner


class _Borrowed:
    def __init__(self, array: np.ndarray):
        self.array = array
        self.__array_interface__ = array.__array_interface__


def _entry(owner: np.ndarray) -> _Stamp:
    key = id(owner)
    stamp = _stamps.get(key)
    if stamp is None:
        stamp = _stamps[key] = _Stamp(weakref.ref(owner, lambda _: _stamps.pop(key, None)))
    return stamp


def mark_changed(array: np.ndarray) -> None:
    """Note that the memory of `array` changes now."""
    stamp = _entry(memory_of(array))
    stamp.count += 1
    stamp.seq = newest.seq = next_seq()


def adopt(scalar: np.generic, array: np.ndarray) -> None:
    """Let later changes of `array`, which took over the value of an immutable `scalar`, count for it too."""
    stamp = _entry(array)
    _stamps[id(scalar)] = stamp
    weakref.finalize(array, _stamps.pop, id(scalar), None)
    stamp.keep = (stamp.keep, scalar)


def version(array: Any) -> int:
    """Return how often the memory of `array` was changed in place."""
    stamp = _stamps.get(id(memory_of(array)))
    return stamp.count if stamp else 0


def check_unchanged(node: Node, saved: tuple) -> None:
    """Raise RuntimeError when something that `node` saved was changed in place since."""
    for position, array in enumerate(saved):
        if isinstance(array, tuple):
            check_unchanged(node, array)
        elif isinstance(array, np.ndarray | np.generic):
            owner = memory_of(array) if isinstance(array, np.ndarray) else array
            stamp = _stamps.get(id(owner))
            if stamp is not None and stamp.seq < node.seq:
                what = "output" if position == 0 else f"operand {position}"
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace "
                    f"operation: the {what} of {node.name()}, of shape {list(np.shape(array))}, is at version "
                    f"{stamp.count}. Hint: keep the old value with clone(), or use an operation that is not "
                    "in place"
                )
