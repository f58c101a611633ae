"""Track when memory that tensors share was last changed in place.

Recording costs nothing here. Nodes and in-place changes take numbers from the same sequence: an array has changed since
a node saved it if the last change of its memory is newer than the node.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np


class _Stamp:
    __slots__ = ("by", "count", "keep", "recent", "seq")

    def __init__(self, keep: Any):
        self.by, self.count, self.seq, self.keep = "", 0, 0, keep
        self.recent: list[int] = []


_stamps: dict[int, _Stamp] = {}


next_seq = itertools.count(0, -1).__next__
"""Sequence numbers count down: backward pops the newest, the smallest, from a min-heap."""


class _LatestChange:
    __slots__ = ("seq",)  # read for every node in backward, and a slot is quicker than a class attribute
    seq: int


newest = _LatestChange()  # the sequence number of the latest in-place change anywhere
newest.seq = 0


def memory_of(array: Any) -> Any:
    """Return the array that owns the memory of `array`; `.data` of a tensor counts as an owner."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def separate(array: np.ndarray) -> np.ndarray:
    """Return an array that shares the memory but counts as another owner: its changes do not count for `array`."""
    return np.asarray(_Borrowed(array))


def lender_of(array: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory of `array`, looking through `separate`."""
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


REMEMBERED = 100  # changes remembered per block of memory, to report the version that a node expected


def mark_changed(array: np.ndarray, by: str = "") -> None:
    """Record that the memory of `array` changes now. by: the name of the operation, if it is recorded."""
    stamp = _entry(memory_of(array))
    stamp.count += 1
    stamp.by = by
    stamp.seq = newest.seq = next_seq()
    stamp.recent.append(stamp.seq)
    if len(stamp.recent) > REMEMBERED:
        del stamp.recent[: REMEMBERED // 2]


def adopt(scalar: np.generic, array: np.ndarray) -> None:
    """Count later changes of `array`, which replaces the immutable `scalar`, as changes of the scalar, too."""
    stamp = _entry(array)
    _stamps[id(scalar)] = stamp
    weakref.finalize(array, _stamps.pop, id(scalar), None)
    stamp.keep = (stamp.keep, scalar)


def version(array: Any) -> int:
    """Return how often the memory of `array` was changed in place."""
    stamp = _stamps.get(id(memory_of(array)))
    return stamp.count if stamp else 0


def change_since(array: Any, seq: int) -> _Stamp | None:
    """Return the stamp of an array's memory if it was changed in place after a sequence number, else None."""
    owner = memory_of(array) if isinstance(array, np.ndarray) else array
    stamp = _stamps.get(id(owner))
    return stamp if stamp is not None and stamp.seq < seq else None
