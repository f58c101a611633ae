"""In-place changes, which write memory and update the history of the tensor, its base and its views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import add_advice
from ..rules import entry
from ..rules.index import ArrayIndex
from .memory import lender_of, mark_changed, memory_of, next_seq
from .modes import report_event, state
from .node import Node, refusing_node
from .record import cast, make_node, record, recorder, relabel
from .tensor import CUSTOM, Tensor, register_view, views_of
from .torch_errors import why_not


def check_allowed(target: Tensor, part: np.ndarray | None = None, subject: str = "a leaf Variable") -> None:
    """Raise RuntimeError if an in-place change (of a part) is impossible or would make gradients wrong."""
    if not writeable(target._array() if part is None else part):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location, or its memory is read-only. Please clone() the tensor before performing the operation."
        )
    if not state.grad:
        return
    base = target._base
    if target._origin is not None and (target._node is not None or (base is not None and base._node is not None)):
        raise RuntimeError(why_not(target))
    if target._node is not None and target._node.leaf:
        raise leaf_error(subject)
    if base is not None and (target._node is not None if base._node is None else base._node.leaf):
        raise leaf_error("a view of a leaf Variable")


def leaf_error(what: str, verb: str = "is being") -> BaseException:
    failure = RuntimeError(f"{what} that requires grad {verb} used in an in-place operation.")
    return add_advice(failure, "do it inside no_grad(), or on a clone()")


def writeable(data: np.ndarray) -> bool:
    """Make an array writeable if no elements share memory, as in one element of a broadcast; report success."""
    if data.flags.writeable:
        return True
    owner = memory_of(data)
    if owner.flags.writeable and all(stride or n == 1 for stride, n in zip(data.strides, data.shape, strict=True)):
        data.flags.writeable = True
        return True
    return False


def update(target: Tensor, compute: Callable[[], Any]) -> Tensor:
    """Replace the elements of `target` with the result of `compute`, and update the graph.

    A result that existed before is copied and keeps its history. Raises RuntimeError if the result does not fit the
    shape of the target, or if its type cannot be cast to the target's.
    """
    check_allowed(target)
    recorder().make_exact(target)
    if state.grad and target._base is not None and target._node is not None and target._node.hooks is not None:
        retake(target)  # its hooks see gradients of the old view only
    start = next_seq()
    result = compute()
    if not isinstance(result, Tensor):
        result = Tensor._wrap(np.asarray(result), None)
    foreign = result._node is None or result._node.seq > start
    data = target._array()
    if result._data.dtype != data.dtype:
        if not np.can_cast(result._data.dtype, data.dtype, "same_kind"):
            kinds = result.dtype.title, target.dtype.title
            raise RuntimeError(f"result type {kinds[0]} can't be cast to the desired output type {kinds[1]}")
        result = cast(result, data.dtype)
    if result._data.shape != data.shape:
        if not broadcasts(result._data.shape, data.shape):
            shapes = f"shape {list(data.shape)} doesn't match the broadcast shape {list(result._data.shape)}"
            raise RuntimeError(f"output with {shapes}")
        result = entry("broadcast_to")(result, shape=data.shape)
    node = result._node if state.grad else None
    if node is not None and target._origin is not None:
        raise RuntimeError(why_not(target))
    if foreign and state.grad and (node is not None or target._node is not None):
        node = copy_history(target, result)._node
    by = "" if node is None else "CopySlices" if target._base is not None else node.rule.name
    write_into(data, result._data, [] if node is None else newer_than(start, node), by)
    if state.grad:
        adopt_history(target, node)
    return report_event("change", result, target)


def broadcasts(shape: tuple, wide: tuple) -> bool:
    try:
        return np.broadcast_shapes(shape, wide) == wide
    except ValueError:
        return False


def copy_history(target: Tensor, source: Tensor) -> Tensor:
    """Return the source with a node of its own, which sends zeros to the target's old value."""
    if target._base is not None or target._node is None:
        return record(entry("copy_to"), (source,), {})
    return relabel(
        record(entry("setitem"), (target, source), {"index": ArrayIndex(..., target.shape)}), "CopyBackwards"
    )


def newer_than(start: int, node: Node) -> list[Node]:
    """Return a node and those of its ancestors recorded since sequence number `start`, oldest first."""
    newer = {node}
    stack = [node]
    while stack:
        for parent in stack.pop().parents:
            if parent is not None and parent.seq < start and parent not in newer:
                newer.add(parent)
                stack.append(parent)
    return sorted(newer, key=lambda each: -each.seq)


def write_into(data: np.ndarray, out: Any, nodes: list[Node], by: str = "") -> None:
    """Copy a result into memory. First copies values in that memory that the result's new nodes have saved."""
    memory = memory_of(data)
    for node in nodes:
        if node.rule.saves:
            saved = node.open()
            kept = tuple(
                data if x is out else (x.copy() if isinstance(x, np.ndarray) and lender_of(x) is memory else x)
                for x in saved
            )
            if all(new is old for new, old in zip(kept, saved, strict=True)):
                continue
            node.kept = kept
    np.copyto(data, out.copy() if isinstance(out, np.ndarray) and memory_of(out) is memory else out)
    mark_changed(data, by)
    for node in nodes:
        node.seq = next_seq()  # these nodes made the change, so they count as newer


def adopt_history(target: Tensor, node: Node | None) -> None:
    """Give the target a new history; a view passes it on to its base."""
    base = target._base
    if base is None:
        if node is None and target._node is None:
            return
        set_history(target, node)
    elif not target._data.size:
        target._node = node
    elif node is not None or base._node is not None:
        overwrite(base, region(base._data.shape, target._chain), target._data, node)


def take_form(target: Tensor, view: Tensor) -> Tensor:
    """Turn the target into one of its own views: shape and strides change, but the memory does not.

    Other views of the target do not change.
    """
    mark_changed(target._array())
    others = [other for other in views_of(target) if other is not view]
    if target._base is None and others:
        base = Tensor._wrap(target._data, target._node)
        for other in (*others, target):
            register_view(other, base)
    target._chain, target._views = view._chain if target._base is not None else (), None
    if target.is_leaf:
        if target._node is not None:
            target._node.data = view._data
    else:
        move_retained(target, view._node)
        target._node = view._node
    target._data, target._key = view._data, None
    return target


def region(shape: tuple, chain: tuple) -> ArrayIndex:
    """Return the index of the elements that a chain of views selects from an array of this shape."""
    if len(chain) == 1 and "index" in chain[0][1]:
        return chain[0][1]["index"]
    positions = np.arange(np.prod(shape, dtype=np.intp)).reshape(shape)
    for primitive, params in chain:
        positions = primitive.forward(positions, **params)
    return ArrayIndex(np.unravel_index(positions, shape) if shape else (None,) * positions.ndim, shape)


def overwrite(base: Tensor, index: ArrayIndex, value: Any, node: Node | None, name: str = "CopySlices") -> None:
    """Record that the elements of `base` at an index were replaced. name: the name of the node."""
    replaced = make_node(entry("setitem"), (base._node, node), base._data, [base._data, value], {"index": index})
    replaced.rule = replaced.rule.rename(name)
    set_history(base, replaced)


def set_history(tensor: Tensor, node: Node | None) -> None:
    """Give a tensor another node, and derive the history of its views from it."""
    move_retained(tensor, node)
    tensor._node = node
    for view in views_of(tensor):
        if view._origin == CUSTOM and view._node is not None:
            message = why_not(view, "its base or another view of its base has been")
            view._node = refusing_node((view._data.shape, view._data.dtype), message, (view._node,))
        else:
            retake(view)


def retake(view: Tensor) -> None:
    """Derive the history of a view from the current history of its base."""
    again: Any = view._base
    for primitive, params in view._chain:
        again = record(primitive, (again,), params)
    move_retained(view, again._node)
    view._node = again._node


def setitem(target: Tensor, key: Any, value: Any) -> None:
    """Record target[key] = value. Raises IndexError and RuntimeError for keys and values that do not fit."""
    recorder().make_exact(target)
    data = target._array()
    index = ArrayIndex(key, data.shape)
    shape = index.result_shape()  # an index that does not fit is reported first
    part = None if data.flags.writeable or not index.basic else data[index.view_key]
    check_allowed(target, part, "a view of a leaf Variable")
    value = as_type_of(value, target)
    more = value.ndim - len(shape)
    if more > 0 and set(value.shape[:more]) == {1}:
        value = value.reshape(value.shape[more:])
    recorded = state.grad and (target._node is not None or value._node is not None)
    if target._base is not None and state.grad:
        if index.basic:
            update(target[key], lambda: value)
        else:
            update(target, lambda: entry("setitem")(target, value, index=index))
        return
    if recorded and index.whole:
        update(target, lambda: value)
        return
    raw = value._data
    if isinstance(raw, np.ndarray) and memory_of(raw) is memory_of(data):
        raw = raw.copy()
    try:
        if data.flags.writeable:
            data[index.key] = raw
        else:
            view = data[index.view_key]
            view.flags.writeable = True
            view[...] = raw
    except ValueError as error:
        raise RuntimeError(f"shape mismatch in an indexed assignment: {error}") from None
    mark_changed(data, "CopySlices" if recorded else "")
    if recorded:
        overwrite(target, index, raw, value._node, "CopySlices" if index.basic else "IndexPutBackward0")
    report_event("change", value, target)


def as_type_of(value: Any, target: Tensor) -> Tensor:
    """Return a value as a Tensor of the target's type. Raises RuntimeError if information would be lost."""
    dtype = target._data.dtype
    if not isinstance(value, Tensor):
        raw = np.asarray(value)
        if value is None or raw.dtype.kind not in "biufc" + "O" * (dtype.kind == "O"):
            raise TypeError(f"can't assign {type(value).__name__} to a tensor of type {target.dtype}")
        if raw.dtype.kind == "c" and dtype.kind not in "cO":
            if raw.imag.any():
                raise RuntimeError(f"value cannot be converted to type {target.dtype} without overflow")
            raw = raw.real
        return Tensor._wrap(raw.astype(dtype, copy=False), None)
    if value._node is not None and dtype.kind not in "fcO":
        raise RuntimeError(f"a value of type {value.dtype} cannot be put into a tensor of type {target.dtype}")
    return cast(value, dtype)


def move_retained(tensor: Tensor, node: Any) -> None:
    """Keep retain_grad active for a tensor that gets a new node."""
    old = tensor._node
    if old is None or node is None or old.leaf or old.hooks is None:
        return
    mine = [reference for reference in old.hooks.retain if reference() is tensor]
    if mine:
        old.hooks.retain = [reference for reference in old.hooks.retain if reference() is not tensor]
        node.hook_table.retain.extend(mine)
