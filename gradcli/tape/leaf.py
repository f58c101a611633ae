"""Leaves, where gradients are added up, and when memory was last changed in place.

Recording an operation costs nothing here: nodes and in-place changes draw numbers from one sequence, and an
array saved by a node was changed since exactly when its memory's last change is newer than the node.
"""

from __future__ import annotations

import re
import weakref
from typing import Any

import numpy as np

from ..errors import add_advice
from .dtypes import as_dtype, naming
from .hooks import add_hook
from .modes import observers, state
from .node import Node, Rule, next_seq


class _Stamp:
    __slots__ = ("by", "count", "keep", "recent", "seq")

    def __init__(self, keep: Any):
        self.by = ""
        self.count = 0
        self.recent: list[int] = []
        self.seq = 0
        self.keep = keep


_stamps: dict[int, _Stamp] = {}


class _LatestChange:
    __slots__ = ("seq",)
    seq: int


newest = _LatestChange()
"""The sequence number of the latest in-place change anywhere (numbers count down)."""
newest.seq = 0


def memory_of(array: Any) -> Any:
    """Return the array that owns the memory of `array` (`.data` of a tensor counts as an owner)."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def address_of(array: np.ndarray) -> int:
    """Return the address of the first element."""
    return array.__array_interface__["data"][0]


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


REMEMBERED = 100
"""Changes of one piece of memory whose numbers are kept, to tell the version that a node expected."""


def mark_changed(array: np.ndarray, by: str = "") -> None:
    """Note that the memory of `array` changes now, by a recorded operation of a name."""
    stamp = _entry(memory_of(array))
    stamp.count += 1
    stamp.by = by
    stamp.seq = newest.seq = next_seq()
    stamp.recent.append(stamp.seq)
    if len(stamp.recent) > REMEMBERED:
        del stamp.recent[: REMEMBERED // 2]


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


def change_since(array: Any, node: Node) -> _Stamp | None:
    """Return the stamp of an array's memory where that was changed in place after a node was made."""
    owner = memory_of(array) if isinstance(array, np.ndarray) else array
    stamp = _stamps.get(id(owner))
    return stamp if stamp is not None and stamp.seq < node.seq else None


def check_unchanged(node: Node, saved: tuple | None = None) -> None:
    """Raise RuntimeError when something that `node` saved was changed in place since."""
    for position, array in enumerate(node.kept if saved is None else saved):
        if isinstance(array, tuple):
            check_unchanged(node, array)
        elif isinstance(array, np.ndarray | np.generic):
            stamp = change_since(array, node)
            if stamp is not None:
                what = "output" if position == 0 else f"operand {position}"
                raise add_advice(
                    RuntimeError(text_of_modified(array, stamp, node, position)),
                    f"it is the {what} of {node.name()}: keep the old value with clone(), or do not work in place",
                )


def text_of_modified(array: Any, stamp: _Stamp, node: Node, position: int) -> str:
    """Return PyTorch's message about something saved that has been changed."""
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
    """Return the message that something is at another version than expected."""
    advice = (
        "the backtrace further above shows the operation that failed to compute its gradient. The variable in "
        "question was changed in there or anywhere later. Good luck!"
        if state.anomaly
        else "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{dtype.title}Tensor {list(shape)}]{origin} is at version {version}; expected version {expected} "
        f"instead. Hint: {advice}"
    )


ACCUMULATE = Rule("AccumulateGrad", lambda node, g: ())


class AccumulateGrad(Node):
    """Where a leaf's gradient is added up. It knows the leaf weakly and keeps its data."""

    __slots__ = ("data", "tensor_ref", "wrap")
    leaf = True
    nameless = False

    def __init__(self, tensor: Any):
        self.seq = next_seq()
        self.rule = ACCUMULATE
        self.all_parents = self.all_kept = ()
        self.hooks = None
        self.tensor_ref = weakref.ref(tensor)
        self.data = tensor._data
        self.wrap = tensor._wrap
        for observer in observers:
            observer.see_leaf(tensor)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad" if naming.addresses else "AccumulateGrad"

    def __repr__(self) -> str:
        return super().__repr__().replace("torch::autograd::", "")

    def register_hook(self, hook: Any) -> Any:
        return add_hook(self, "post", hook)

    @property
    def variable(self) -> Any:
        """The leaf; made anew from its data if the user let go of it."""
        tensor = self.tensor_ref()
        if tensor is None:
            tensor = self.wrap(self.data, self)
            self.tensor_ref = weakref.ref(tensor)
        return tensor

    def accumulate(self, g: Any, owned: bool, create: bool) -> None:
        """Add the cotangent to the leaf's `.grad`.

        g: a Tensor when create says that the graph of the gradient is wanted, else a raw array; owned says
        that nobody else holds it.
        """
        leaf = self.tensor_ref()
        if leaf is None:
            leaf = self.variable
        if leaf._node is None:
            return  # it was frozen since
        old = leaf._grad
        if create:
            g = g if g._data.dtype == leaf._data.dtype else g.to(leaf.dtype)
            if old is not None:
                g = old + g
            elif g._node is None or g._base is not None:
                g = g.clone()  # memory of its own, that may be changed in place
            leaf._grad = g
            return
        dtype = leaf._data.dtype
        if g.dtype != dtype:
            g, owned = cast_raw(g, dtype), True
        if old is None:
            leaf._grad = leaf._wrap(g if owned or not isinstance(g, np.ndarray) else g.copy(), None)
        elif old._array().flags.writeable:
            data = old._data
            data += g
            mark_changed(data)
        else:
            leaf._grad = leaf._wrap(old._data + g, None)


def clear_grad(parameter: Any, set_to_none: bool) -> None:
    """Forget a tensor's gradient, or make it zeros."""
    grad = parameter._grad
    if set_to_none or grad is None:
        parameter._grad = None
    else:
        parameter._grad = (grad if grad._node is None else grad.detach()).zero_()


def cast_raw(g: Any, dtype: Any) -> Any:
    """Return raw data in another dtype; a complex cotangent of something real keeps its real part."""
    if g.dtype.kind == "c" and dtype.kind != "c":
        g = g.real
    return g.astype(dtype)


def check_gradient(tensor: Any, value: Any) -> None:
    """Raise TypeError or RuntimeError unless a value can be a tensor's `.grad`: a Tensor of its shape and type."""
    if not hasattr(value, "_node"):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign a Tensor as its own grad")
    if value.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
            f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
    if value.dtype != tensor.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value.dtype.title.lower()}' to a tensor with "
            f"grad_dtype '{tensor.dtype.title}'. The gradient must match the tensor's grad_dtype "
            "(defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a "
            "specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes "
            "of a tensor and its gradient may break downstream systems that assume they match."
        )
