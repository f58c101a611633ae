"""Views: tensors that share another's memory, and how their history follows an in-place change of it."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..rules.table import Primitive
from .hooks import table_of
from .leaf import memory_of, name_in_messages
from .modes import state
from .tensor import Tensor

NO_GRAD, SEVERAL, CUSTOM = "no_grad", "several", "custom"
"""Origins of views that may not be changed in place where gradients are recorded; `_origin` is one with a place."""


def track_view(view: Tensor, source: Tensor, primitive: Primitive, params: dict) -> None:
    """Note that `view` was taken from `source`, if they share memory.

    The chain of primitives that leads from the base to the view is kept, to take the view again.
    """
    data = view._data
    if not isinstance(data, np.ndarray) or memory_of(data) is not memory_of(source._data):
        return
    view._chain = (*source._chain, (primitive, params))
    origin = source._origin if state.grad else (NO_GRAD, 0)
    if origin is not None:
        view._origin = origin
    register(view, source if source._base is None else source._base)


def one_of_several(views: tuple) -> tuple:
    """Mark what one function returned as views that may not be changed in place."""
    if state.grad:
        for i, view in enumerate(views):
            if view._base is not None:
                view._origin = (SEVERAL, i)
    return views


def alias(x: Tensor) -> Tensor:
    """Return a view of a whole tensor, without a node."""
    from ..rules import entry

    view = Tensor._wrap(x._array(), None)
    track_view(view, x, entry("reshape"), {"shape": x._data.shape})
    return view


def why_not(view: Tensor, what: str = "is being") -> str | None:
    """Return why a view may not be changed in place where gradients are recorded; None when it may."""
    if view._origin is None:
        return None
    origin, place = view._origin
    if origin == NO_GRAD:
        subject = "A view" if view.is_leaf and view._node is None else "a view of a view"
        if subject == "A view":
            return (
                f"A view was created in no_grad mode and {what} modified inplace with grad mode enabled. Given that "
                "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
                "both the view and the inplace either both inside the no_grad block (if you don't want the inplace "
                "to be tracked) or both outside (if you want the inplace to be tracked)."
            )
        return (
            f"a view of a view that was created in no_grad mode {what} modified inplace with grad mode enabled: make "
            "the first view with grad mode on, or make both the view and the change inside the no_grad block"
        )
    subject = f"Output {place} of {name_in_messages(view._node.public.name())}" if view._node is not None else "A view"
    if origin == SEVERAL:
        reason = (
            "This view is the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    else:
        reason = (
            "This view was created inside a custom Function (or because an input was returned as-is) and the "
            "autograd logic to handle view+inplace would override the custom backward associated with the custom "
            "Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
            "output of the custom Function."
        )
    return f"{subject} is a view and {what} modified inplace. {reason}"


def register(view: Tensor, base: Tensor) -> None:
    """Note that a tensor is a view of another, which is none itself."""
    view._base = base
    views = base._views
    if views is None:
        views = base._views = _Views()
    views.add(view)


class _Views:
    """The living views of a base, held weakly; the list is swept when it has doubled."""

    def __init__(self) -> None:
        self.references: list = []
        self.limit = 16

    def add(self, view: Tensor) -> None:
        """Remember a view."""
        if len(self.references) >= self.limit:
            self.references = [r for r in self.references if r() is not None]
            self.limit = 16 + 2 * len(self.references)
        self.references.append(weakref.ref(view))

    def living(self) -> list[Tensor]:
        """Return the views that somebody still holds."""
        return [view for view in (r() for r in self.references) if view is not None]


def move_retained(tensor: Tensor, node: Any) -> None:
    """Let a tensor that gets a new node keep retaining its gradient there."""
    old = tensor._node
    if old is None or node is None or old.leaf or old.hooks is None:
        return
    mine = [reference for reference in old.hooks.retain if reference() is tensor]
    if mine:
        old.hooks.retain = [reference for reference in old.hooks.retain if reference() is not tensor]
        table_of(node).retain.extend(mine)


def region_of(shape: tuple, chain: tuple) -> Any:
    """Return the positions, in a flattened array of a shape, of the elements that a chain of views leads to."""
    positions = np.arange(np.prod(shape, dtype=np.intp)).reshape(shape)
    for primitive, params in chain:
        positions = primitive.forward(positions, **params)
    return positions
