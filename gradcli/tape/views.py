"""Views: tensors that share another's memory, and how their history follows an in-place change of it."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..rules.table import Primitive
from .modes import state
from .tensor import Tensor
from .versions import memory_of


def track_view(view: Tensor, source: Tensor, primitive: Primitive, params: dict) -> None:
    """Note that `view` was taken from `source`, if they share memory.

    The chain of primitives that leads from the base to the view is kept, to take the view again.
    """
    data = view._data
    if not isinstance(data, np.ndarray) or memory_of(data) is not memory_of(source._data):
        return
    view._chain = (*source._chain, (primitive, params))
    if not state.grad:
        view._made_without_grad = True
    register(view, source if source._base is None else source._base)


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


def retake_views(base: Tensor) -> None:
    """Give every view of `base` the history that follows from the base's present one."""
    from .record import record

    if base._views is None:
        return
    for view in base._views.living():
        again: Any = base
        for primitive, params in view._chain:
            again = record(primitive, (again,), params)
        move_retained(view, again._node)
        view._node = again._node


def move_retained(tensor: Tensor, node: Any) -> None:
    """Let a tensor that gets a new node keep retaining its gradient there."""
    from .hooks import table_of

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
