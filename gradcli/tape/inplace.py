"""In-place changes: memory is written, and the history of the tensor, its base and its views follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.index import Index
from .modes import state
from .node import MANY, OWNING, Node
from .record import cast, make_node
from .tensor import Tensor
from .versions import mark_changed, memory_of
from .views import move_retained, region_of, retake_views


def check_allowed(target: Tensor) -> None:
    """Raise RuntimeError where an in-place change would make gradients wrong or is impossible."""
    if not target._array().flags.writeable:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location, or its memory is read-only. Please clone() the tensor before performing the operation."
        )
    if not state.grad:
        return
    if target._node is not None and target._node.leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation; "
            "do it inside no_grad(), or on a clone()"
        )
    base = target._base
    if base is not None:
        if base._node is not None and base._node.leaf:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation; "
                "do it inside no_grad(), or on a clone()"
            )
        if target._made_without_grad and base._node is not None:
            raise RuntimeError(
                "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
                "Make the view with grad mode on, or clone() it."
            )


def update(target: Tensor, compute: Callable[[], Any]) -> Tensor:
    """Replace the elements of `target` by what `compute` returns, and let gradients flow accordingly.

    Raises RuntimeError when the result has another shape, or a type that the target cannot hold.
    """
    check_allowed(target)
    result = compute()
    if not isinstance(result, Tensor):
        result = Tensor._wrap(np.asarray(result), None)
    data = target._array()
    if result._data.dtype != data.dtype:
        if not np.can_cast(result._data.dtype, data.dtype, "same_kind"):
            raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {target.dtype}")
        result = cast(result, data.dtype)
    if result._data.shape != data.shape:
        if np.broadcast_shapes(result._data.shape, data.shape) != data.shape:
            raise RuntimeError(
                f"output with shape {list(data.shape)} doesn't match the broadcast shape {list(result._data.shape)}"
            )
        result = entry("broadcast_to")(result, shape=data.shape)
    _write(data, result)
    if state.grad:
        _rebase(target, result._node)
    return target


def _write(data: np.ndarray, result: Tensor) -> None:
    """Copy the result into memory; what its node saved of that memory is kept as it was or as it becomes."""
    node, out, memory = result._node, result._data, memory_of(data)
    if node is not None and node.rule.saves:
        kept = tuple(data if x is out else _kept(x, memory) for x in node.saved)
        if node.rule.kind in (MANY, OWNING):
            node.x = kept
        else:
            node.out, node.x, node.y = (*kept, None)[:3]
    np.copyto(data, out.copy() if isinstance(out, np.ndarray) and memory_of(out) is memory else out)
    mark_changed(data)
    if node is not None and node.rule.saves:
        _renew(node)


def _kept(x: Any, memory: np.ndarray) -> Any:
    return x.copy() if isinstance(x, np.ndarray) and memory_of(x) is memory else x


def _renew(node: Node) -> None:
    """Make a node that was just recorded newer than the change that it is part of."""
    from .node import next_seq

    node.seq = next_seq()


def _rebase(target: Tensor, node: Node | None) -> None:
    """Give the target a new history; a view hands it on to its base."""
    base = target._base
    if base is None:
        if node is None and target._node is None:
            return
        move_retained(target, node)
        target._node = node
        retake_views(target)
    elif node is not None or base._node is not None:
        index = _region_index(target)
        _overwrite(base, index, target._data, node)


def _region_index(view: Tensor) -> Index:
    """Return the index of a view's elements in its base."""
    base = view._base
    if len(view._chain) == 1 and "index" in view._chain[0][1]:
        return view._chain[0][1]["index"]
    return Index(np.unravel_index(region_of(view), base._data.shape), base._data.shape)


def _overwrite(base: Tensor, index: Index, value: Any, node: Node | None) -> None:
    """Record that the elements of `base` at an index were replaced."""
    replaced = make_node(entry("setitem"), (base._node, node), base._data, [base._data, value], {"index": index})
    move_retained(base, replaced)
    base._node = replaced
    retake_views(base)


def setitem(target: Tensor, key: Any, value: Any) -> None:
    """target[key] = value, recorded. Raises IndexError and RuntimeError for keys and values that do not fit."""
    check_allowed(target)
    index = Index(key, target._data.shape)
    if target._base is not None and state.grad:
        if index.basic:
            update(target[key], lambda: value)
        else:
            update(target, lambda: entry("setitem")(target, value, index=index))
        return
    data = target._array()
    value = value if isinstance(value, Tensor) else Tensor._wrap(np.asarray(value), None)
    if value._data.dtype != data.dtype:
        if RANKS[value._data.dtype.kind] > RANKS[data.dtype.kind] and value._node is not None:
            raise RuntimeError(f"a value of type {value.dtype} cannot be put into a tensor of type {target.dtype}")
        value = cast(value, data.dtype)
    raw = value._data
    if isinstance(raw, np.ndarray) and memory_of(raw) is memory_of(data):
        raw = raw.copy()
    try:
        data[index.key] = raw
    except ValueError as error:
        raise RuntimeError(f"shape mismatch in an indexed assignment: {error}") from None
    mark_changed(data)
    if state.grad and (target._node is not None or value._node is not None):
        _overwrite(target, index, raw, value._node)


RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3, "O": 4}
