"""Parameters: tensors that a module trains."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import defaults
from .tensor import Tensor


class Parameter(Tensor):
    """A leaf that requires grad and that a module it is assigned to counts among its parameters.

    It shares the memory of `data`. Its operations are recorded as quickly as those of other tensors, and give
    plain tensors.
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """Return a parameter on a tensor's memory. Raises TypeError for anything else than a tensor."""
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"a Parameter needs a Tensor, not {type(data).__name__}; make one with tensor(...)")
        self: Parameter = object.__new__(cls)
        self._data = np.zeros(0, defaults.float) if data is None else data._array()
        self._node = self._key = None
        if requires_grad:
            self.requires_grad_()
        return self

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()
