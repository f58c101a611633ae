"""What Python's own functions ask of a tensor: float(), bool(), len(), repr(), copies and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import add_advice
from .modes import allowed, state

if TYPE_CHECKING:
    from .tensor import Tensor


class PythonProtocols:
    """The special methods behind Python's numbers, containers and texts. The Tensor inherits them."""

    __slots__ = ()
    _data: Any
    _node: Any
    if TYPE_CHECKING:  # the Tensor's own
        requires_grad: Any
        _grad: Any
        _array: Any
        __getitem__: Any

    # -- numbers ----------------------------------------------------------------------------------

    def _number(self, kind: Callable) -> Any:
        if self._node is not None and not allowed.float_of_grad:
            raise RuntimeError(
                f"{kind.__name__}() of a Tensor that requires grad would lose its graph: "
                "use tensor.detach() first, or tensor.item()"
            )
        if self._data.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if self._data.dtype.kind == "c" and kind is not complex and self._data.item().imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        value = self._data.item()
        return kind(value.real if isinstance(value, complex) and kind is not complex else value)

    def __float__(self) -> float:
        return self._number(float)

    def __int__(self) -> int:
        return self._number(int)

    def __complex__(self) -> complex:
        return self._number(complex)

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iub" or self._data.ndim:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __bool__(self) -> bool:
        if self._data.size != 1:
            amount = "more than one value" if self._data.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {amount} is ambiguous")
        return bool(self._data.item())

    # -- a container ------------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self._data.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._data.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._data.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(self._data.shape[0]))

    def __contains__(self, item: Any) -> bool:
        return bool((self._data == getattr(item, "_data", item)).any())

    # -- a text, and a key of dictionaries --------------------------------------------------------

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        from .printing import tensor_text

        return tensor_text(self)

    def _repr_html_(self) -> str:
        from .printing import tensor_html

        return tensor_html(self)

    def __format__(self, spec: str) -> str:
        if self._data.ndim == 0:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    # -- arrays, elements and copies ---------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Return the memory as an ndarray. Raises RuntimeError when the tensor requires grad."""
        if state.grad and not force and self.requires_grad:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        return self._array()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self._node is not None:
            raise RuntimeError(
                "this Tensor requires grad and NumPy would lose its graph: use tensor.detach() first, or "
                "gradcli.stack to join tensors"
            )
        return np.array(self._array(), dtype=dtype, copy=copy)

    def item(self) -> Any:
        """Return the only element as a Python number."""
        if self._data.size != 1:
            raise RuntimeError(f"a Tensor with {self._data.size} elements cannot be converted to Scalar")
        return self._data.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        return self._data.tolist()

    def __reduce__(self) -> Any:
        if self._node is not None and not self._node.leaf:
            raise add_advice(
                RuntimeError(
                    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                    "moment.  If you were attempting to deepcopy a module, this may be because of a "
                    "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
                ),
                "use detach() or clone() first",
            )
        return rebuild, (type(self), self._array(), self._node is not None)

    def __deepcopy__(self, memo: dict) -> Tensor:
        kind, data, wanted = self.__reduce__()[1]
        result = memo[id(self)] = rebuild(kind, data.copy(), wanted)
        if self._grad is not None:
            result._grad = self._grad.__deepcopy__(memo)
        return result


def rebuild(kind: type[Tensor], data: np.ndarray, wanted: bool) -> Tensor:
    result = object.__new__(kind)
    result._data = data
    result._node = result._key = None
    return result.requires_grad_() if wanted else result
