"""What a module holds: parameters to train, and buffers; also those that have no shape yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..face.create import empty
from ..tape.dtypes import as_numpy, defaults
from ..tape.parameter import Parameter
from ..tape.tensor import Size, Tensor

NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
    "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
    "parameters before accessing their attributes."
)


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet; `materialize` makes it a usual one."""

    __slots__ = ()

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        """Return a parameter without a shape."""
        self: Any = Parameter.__new__(cls, None, requires_grad)
        self._data = np.zeros(0, as_numpy(dtype) or defaults.float)
        return self

    @property
    def shape(self) -> Size:
        """There is none. Raises RuntimeError."""
        raise RuntimeError(NO_SHAPE)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Take on a shape."""
        wanted = self.requires_grad
        self.__class__ = Parameter  # type: ignore[assignment]
        self.requires_grad_(False)
        self.data = empty(*shape, dtype=dtype or self.dtype)
        self.requires_grad_(wanted)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class Buffer(Tensor):
    """A tensor that becomes a buffer of the module it is assigned to; persistent: it is part of the state."""

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        """Return a buffer on a tensor's memory."""
        self: Any = object.__new__(cls)
        self._data = np.zeros(0, defaults.float) if data is None else data._array()
        self._node = self._key = None
        self.persistent = persistent
        return self


__all__ = ["Buffer", "Parameter", "UninitializedParameter"]
