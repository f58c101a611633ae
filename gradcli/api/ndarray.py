"""The methods of ndarray on Tensors, with NumPy's meaning, for functions that take arrays.

`x.var()` divides by n in NumPy, and by n - 1 in PyTorch. A method of Tensors that ndarray has, too, has both meanings,
and `methods_of_arrays` decides between them. NumPy's is that of the function of the same name, so that the table has
the entry.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np

from ..errors import describe_missing
from ..tape import inplace
from ..tape.modes import state
from ..tape.protocols import cast_to, reshape_function
from ..tape.tensor import Tensor
from . import method as method_of_tensors

NAMESAKES = """
    all any argmax argmin argpartition argsort choose clip conj conjugate copy cumprod cumsum diagonal dot max mean min
    nonzero prod ravel repeat round searchsorted squeeze std sum swapaxes take trace var
""".split()
"""Methods with the arguments of NumPy's function of the same name."""


def as_one_argument(given: tuple) -> Any:
    """Return the arguments of x.reshape(2, 3) or x.reshape((2, 3)) as one."""
    return given[0] if len(given) == 1 else given


def reshape_method(self: Tensor, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    return reshape_function(self.clone() if copy else self, as_one_argument(shape), order)


def transpose_method(self: Tensor, *axes: Any) -> Any:
    return np.transpose(self, as_one_argument(axes) if axes else None)


def flatten_method(self: Tensor, order: str = "C") -> Any:
    return reshape_function(self, -1, order).clone()


def compress_method(self: Tensor, condition: Any, axis: int | None = None) -> Any:
    return np.compress(condition, self, axis)


def astype_method(self: Tensor, dtype: Any, order: str = "K", casting: str = "unsafe", **_: Any) -> Any:
    return cast_to(np.copy(self), dtype)


def view_method(self: Tensor, dtype: Any = None) -> Any:
    """Return a view of the elements. Raises TypeError for another type, whose numbers would not depend on these."""
    if dtype is not None and self.dtype != dtype:
        raise TypeError("gradcli cannot record x.view(dtype), which reads memory as another type; x.astype converts it")
    return self[...]


def sort_method(self: Tensor, axis: int = -1, **_: Any) -> None:
    inplace.update(self, lambda: np.sort(self, axis))


def partition_method(self: Tensor, kth: Any, axis: int = -1, **_: Any) -> None:
    inplace.update(self, lambda: np.partition(self, kth, axis))


def fill_method(self: Tensor, value: Any) -> None:
    self[...] = value


def flat_elements(self: Tensor) -> Any:
    """Return a view of all elements. Raises TypeError if there is none, so that changes of a copy are not lost."""
    if not self._data.flags.c_contiguous:
        raise TypeError("gradcli cannot record x.flat of an array that is not contiguous; write x.ravel()")
    return reshape_function(self, -1)


NDARRAY_FORMS: dict[str, Any] = {
    **{name: getattr(np, name) for name in NAMESAKES},
    "reshape": reshape_method,
    "transpose": transpose_method,
    "flatten": flatten_method,
    "compress": compress_method,
    "astype": astype_method,
    "view": view_method,
    "sort": sort_method,
    "partition": partition_method,
    "fill": fill_method,
    "size": property(lambda self: self._data.size),
    "itemsize": property(lambda self: self._data.itemsize),
    "nbytes": property(lambda self: self._data.nbytes),
    "flat": property(flat_elements),
}
"""The attributes of ndarray that Tensors have in a function of arrays, besides those with one meaning."""


class TwoMeanings:
    """An attribute of Tensors that follows NumPy in functions of arrays, and PyTorch (if it has one) elsewhere."""

    def __init__(self, name: str, of_tensors: Callable | None):
        self.name, self.of_tensors, self.of_arrays = name, of_tensors, NDARRAY_FORMS[name]

    def __get__(self, tensor: Tensor | None, kind: type) -> Any:
        if tensor is None:
            return self.of_tensors or self
        form = self.of_arrays if state.arrays else self.of_tensors
        if form is None:
            raise AttributeError(describe_missing(f"Tensor.{self.name}", ()))
        return form.__get__(tensor) if isinstance(form, property) else MethodType(form, tensor)


def attribute(name: str) -> Any:
    """Return what class Tensor has under a name, or None."""
    found = method_of_tensors(name)
    if name in NDARRAY_FORMS and (found is not None or state.arrays):
        return TwoMeanings(name, found)
    return found
