"""PyTorch's names and arguments for the functions of the table.

Read signature (how an entry's `torch=` becomes a function) first, then wrap; create, index, shape and arithmetic have
what a signature cannot say. ndarray has the methods of NumPy's arrays, for functions that take arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tape import inplace
from ..tape.modes import set_grad_enabled
from ..tape.tensor import Tensor
from . import arithmetic, create, index, shape, signature  # noqa: F401 - importing these registers their functions
from .signature import resolve
from .wrap import METHOD_FORMS, OFFERED_METHODS, PUBLIC, rename_function

NEVER_IN_PLACE = {
    *("requires_grad", "detach", "retain_grad", "view", "reshape", "expand", "clone", "to", "contiguous"),
    *("view_as", "reshape_as", "expand_as", "expand_dims", "broadcast_to", "flatten", "unflatten", "ravel"),
    *("permute", "movedim", "moveaxis", "select", "narrow", "diagonal", "diag", "split", "chunk", "unbind"),
}
SHAPES_IN_PLACE = {"t", "transpose", "swapaxes", "swapdims", "squeeze", "unsqueeze"}
"""Methods whose in-place form changes shape and strides, but writes no elements."""
NO_NUMBERS = np.empty(0)


def method(name: str) -> Callable | None:
    """Return the method `name` of Tensors, or None; `name_` is the in-place form of a method."""
    function = METHOD_FORMS.get(name) or resolve(name)
    if function is not None:
        return function if name in OFFERED_METHODS else None
    if name.endswith("_") and not name.startswith("_") and name[:-1] not in NEVER_IN_PLACE:
        plain = METHOD_FORMS.get(name[:-1]) or resolve(name[:-1])
        if plain is not None and name[:-1] in OFFERED_METHODS:
            return in_place(plain, name)
    return None


def in_place(function: Callable, name: str) -> Callable:

    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return inplace.update(self, lambda: function(self, *args, **kwargs))

    def change_shape(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        inplace.check_allowed(self, NO_NUMBERS)
        with set_grad_enabled(not self.is_leaf):
            return inplace.take_form(self, function(self, *args, **kwargs))

    change = change_shape if name[:-1] in SHAPES_IN_PLACE else change
    return rename_function(change, name, f"In-place form of {name[:-1]}.")


def known_names() -> set[str]:
    """Return the names of all functions, for suggestions."""
    from ..rules import full_table
    from ..rules.table import BY_TORCH, NAMES

    full_table()
    entries = {name for name, entry in NAMES.items() if entry.public}
    return {name for name in {*PUBLIC, *BY_TORCH, *entries} if "." not in name}
