"""Memory that tensors share: when it was last changed in place, and which tensors are views of which.

Recording costs nothing here. Nodes and in-place changes draw numbers from one sequence: an array saved by a node has
changed since if its memory's last change is newer than the node.
"""

from __future__ import annotations

import itertools
import re
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import add_advice
from .dtypes import as_dtype
from .modes import state

if TYPE_CHECKING:
    from ..rules.table import Primitive
    from .node import Node
    from .tensor import Tensor


class _Stamp:
    __slots__ = ("by", "count", "keep", "recent", "seq")

    def __init__(self, keep: Any):
        self.by, self.count, self.seq, self.keep = "", 0, 0, keep
        self.recent: list[int] = []


_stamps: dict[int, _Stamp] = {}


next_seq = itertools.count(0, -1).__next__
"""Sequence numbers count down: backward pops the newest, the smallest, from a min-heap."""


class _LatestChange:
    __slots__ = ("seq",)  # read for every node of a backward: a slot is quicker than a class attribute
    seq: int


newest = _LatestChange()  # the sequence number of the latest in-place change anywhere
newest.seq = 0


def memory_of(array: Any) -> Any:
    """Return the array that owns the memory of `array`; `.data` of a tensor counts as an owner."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def separate(array: np.ndarray) -> np.ndarray:
    """Return the same memory as an owner of its own: its changes do not count as changes of `array`."""
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


REMEMBERED = 100  # numbers of changes kept per memory, to report the version that a node expected


def mark_changed(array: np.ndarray, by: str = "") -> None:
    """Note that the memory of `array` changes now, by an operation called `by` if it is recorded."""
    stamp = _entry(memory_of(array))
    stamp.count += 1
    stamp.by = by
    stamp.seq = newest.seq = next_seq()
    stamp.recent.append(stamp.seq)
    if len(stamp.recent) > REMEMBERED:
        del stamp.recent[: REMEMBERED // 2]


def adopt(scalar: np.generic, array: np.ndarray) -> None:
    """Count later changes of `array`, which took over the value of an immutable `scalar`, for the scalar, too."""
    stamp = _entry(array)
    _stamps[id(scalar)] = stamp
    weakref.finalize(array, _stamps.pop, id(scalar), None)
    stamp.keep = (stamp.keep, scalar)


def version(array: Any) -> int:
    """Return how often the memory of `array` was changed in place."""
    stamp = _stamps.get(id(memory_of(array)))
    return stamp.count if stamp else 0


def change_since(array: Any, node: Node) -> _Stamp | None:
    """Return the stamp of an array's memory if it was changed in place after a node was made, else None."""
    owner = memory_of(array) if isinstance(array, np.ndarray) else array
    stamp = _stamps.get(id(owner))
    return stamp if stamp is not None and stamp.seq < node.seq else None


def check_unchanged(node: Node, saved: tuple | None = None) -> None:
    """Raise RuntimeError if something `node` saved was changed since; what its rule can spare is dropped instead."""
    spares = () if node.rule.primitive is None else node.rule.primitive.spares
    for position, array in enumerate(node.kept if saved is None else saved):
        if isinstance(array, tuple):
            check_unchanged(node, array)
        elif isinstance(array, np.ndarray | np.generic):
            stamp = change_since(array, node)
            if stamp is not None and position in spares:
                node.kept = (*node.kept[:position], None, *node.kept[position + 1 :])
            elif stamp is not None:
                what = "output" if position == 0 else f"operand {position}"
                hint = f"it is the {what} of {node.name()}: keep the old value with clone(), or do not work in place"
                raise add_advice(RuntimeError(text_of_modified(array, stamp, node, position)), hint)


def text_of_modified(array: Any, stamp: _Stamp, node: Node, position: int) -> str:
    """Return PyTorch's message for a saved array that was changed."""
    owner = memory_of(array) if isinstance(array, np.ndarray) else array
    is_whole = (array.shape, array.strides) == (owner.shape, owner.strides)
    if position == 0:
        name = node.name()
    else:
        name = stamp.by if is_whole or node.parents[position - 1] is None else "AsStrided"
    origin = f", which is output 0 of {name_in_messages(name)}," if name else ""
    expected = stamp.count - sum(seq < node.seq for seq in stamp.recent)
    return text_of_change(as_dtype(array.dtype), array.shape, origin, stamp.count, expected)


def name_in_messages(name: str) -> str:
    return f"torch::autograd::{name}" if name.startswith("Copy") else re.sub(r"Backward\d*$", "", name)


def text_of_change(dtype: Any, shape: Any, origin: str, version: int, expected: int) -> str:
    """Return PyTorch's message for a version other than the expected one."""
    hint = (
        " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{dtype.title}Tensor {list(shape)}]{origin} is at version {version}; expected version {expected} "
        f"instead.{'' if state.anomaly else hint}"
    )


NO_GRAD, CUSTOM, PART = "no_grad", "custom", "part"
"""Origins of views that may not be changed in place while gradients are recorded."""
OF_PARTS = frozenset(("real_part", "imag_part", "view_as_real", "view_as_complex"))
"""Entries whose views have another type than the base."""


def track_view(view: Tensor, source: Tensor, primitive: Primitive, params: dict) -> None:
    """Note that `view` shares memory with `source`, if so, and by which primitives to take it again."""
    data = view._data
    if not isinstance(data, np.ndarray) or memory_of(data) is not memory_of(source._data):
        return
    view._chain = (*source._chain, (primitive, params))
    origin = source._origin if state.grad else NO_GRAD
    if origin is None and primitive.name in OF_PARTS:
        origin = PART
    if origin is not None:
        view._origin = origin
    register(view, source if source._base is None else source._base)


def why_not(view: Tensor, what: str = "is being") -> str:
    """Return why a view may not be changed in place while gradients are recorded."""
    if view._origin == NO_GRAD:
        return (
            f"A view was created in no_grad mode and {what} modified inplace with grad mode enabled. Given that "
            "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
            "both the view and the inplace either both inside the no_grad block (if you don't want the inplace "
            "to be tracked) or both outside (if you want the inplace to be tracked)."
        )
    if view._origin == PART:
        return (
            f"a view of real and imaginary parts {what} modified inplace with grad mode enabled: make a new tensor "
            "with complex(real, imag), or make the change inside a no_grad block"
        )
    name = (
        "A view" if view._node is None else f"Output {view.output_nr} of {name_in_messages(view._node.public.name())}"
    )
    return (
        f"{name} is a view and {what} modified inplace. This view was created inside a custom Function (or because an "
        "input was returned as-is) and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
        "this by cloning the output of the custom Function."
    )


def register(view: Tensor, base: Tensor) -> None:
    """Note that a tensor is a view of a base."""
    view._base = base
    references = base._views
    if references is None:
        references = base._views = []
    elif (
        len(references) >= 16 and len(references).bit_count() == 1
    ):  # at powers of two, drop dead views if they are half
        living = [r for r in references if r() is not None]
        if 2 * len(living) <= len(references):
            references[:] = living
    references.append(weakref.ref(view))


def views_of(base: Tensor) -> list[Tensor]:
    return [view for view in (r() for r in base._views or ()) if view is not None]
