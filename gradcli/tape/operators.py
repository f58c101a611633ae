"""The operators of Tensors; NumPy's protocols are joined to them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.index import Index, getitem
from ..rules.matrix_products import matmul
from ..rules.table import Primitive
from . import inplace, protocols
from .dtypes import strided
from .elementwise import binary, unary
from .modes import allowed, state
from .record import as_operand, dispatch, record
from .tensor import Tensor
from .torch_errors import ShapeError, as_pytorch, bad_index

BINARY = {
    "add": (operator.add, "add"),
    "sub": (operator.sub, "subtract"),
    "mul": (operator.mul, "multiply"),
    "truediv": (operator.truediv, "divide"),
    "floordiv": (operator.floordiv, "floor_divide"),
    "mod": (operator.mod, "remainder"),
    "pow": (None, "power"),
}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
BITS = {
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
recorders: dict[str, Callable] = {}


def recorder_for(primitive: Primitive) -> Callable | None:
    """Return the quick recorder of an elementwise entry of one or two operands alone; None for any other entry."""
    recorder = recorders.get(primitive.name)
    if recorder is None and primitive.kind == "elementwise" and primitive.bind is None and primitive.arity in (1, 2):
        made = unary(primitive) if primitive.arity == 1 else binary(primitive)
        recorder = recorders.setdefault(primitive.name, made)
    return recorder


SYMMETRIC = ("add", "mul")


def install(name: str, method: Callable) -> None:
    """Set a special method of Tensor, named so that tracebacks and help show it."""
    method.__name__ = name
    setattr(Tensor, name, method)


def operand(x: Any) -> bool:
    """Return whether an operator takes x as its other operand."""
    return isinstance(x, Tensor | int | float | complex | np.ndarray | np.generic | list | tuple)


def install_arithmetic(name: str, apply: Callable | None, primitive: Any) -> None:
    """Install an operator, its reflection, and its in-place form."""
    function = binary(primitive, apply)
    recorders[primitive.name] = function

    def reflected(self: Tensor, other: Any) -> Any:
        if type(other) is int or type(other) is float:
            if name in SYMMETRIC and state.recorder is None:
                return function(self, other)  # PyTorch's order, and the quicker one
            if name == "truediv" and allowed.float_of_grad and self.dtype.kind == "f":
                return recorders["multiply"](recorders["reciprocal"](self), other)  # as PyTorch rounds
        return function(as_operand(other), self) if operand(other) else NotImplemented

    def in_place(self: Tensor, other: Any) -> Any:
        return inplace.update(self, lambda: function(self, as_operand(other)))

    install(f"__{name}__", function)
    install(f"__r{name}__", reflected)
    if name == "truediv":
        install("__rdiv__", reflected)  # PyTorch has kept the name
    install(f"__i{name}__", in_place)


def install_constant(name: str, primitive: Any, reflect: bool) -> None:
    """Install an operator without derivative."""

    def function(self: Tensor, other: Any) -> Any:
        return dispatch(primitive, (self, as_operand(other))) if operand(other) else NotImplemented

    def reflected(self: Tensor, other: Any) -> Any:
        return dispatch(primitive, (as_operand(other), self)) if operand(other) else NotImplemented

    install(f"__{name}__", function)
    if reflect:
        install(f"__r{name}__", reflected)
        install(f"__i{name}__", lambda self, other: inplace.update(self, lambda: function(self, other)))


def matrix_product(self: Tensor, other: Any) -> Any:
    """self @ other."""
    return matmul_checking(self, as_operand(other)) if operand(other) else NotImplemented


def matmul_checking(x: Any, y: Any) -> Any:
    """Return x @ y. Raises RuntimeError for shapes that do not fit."""
    if allowed.float_of_grad and isinstance(x, Tensor) and isinstance(y, Tensor) and x.dtype != y.dtype:
        raise types_error(x, y)
    return multiply(x, y)


def multiply(x: Any, y: Any) -> Any:
    """Return x @ y as it was computed. Raises RuntimeError for shapes that do not fit."""
    try:
        return matmul(x, y)
    except ValueError as error:
        raise shapes_error(x, y) or as_pytorch(error) from None


def types_error(x: Tensor, y: Tensor) -> Exception:
    """Return PyTorch's error for vectors or matrices of different types."""
    if x.ndim == y.ndim == 1:
        return RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {x.dtype.title} and {y.dtype.title}"
        )
    return RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {x.dtype.scalar} != {y.dtype.scalar}")


def shapes_error(x: Any, y: Any) -> Exception | None:
    """Return PyTorch's error for shapes that matrices cannot be multiplied with."""
    a, b = (tuple(getattr(t, "shape", ())) for t in (x, y))
    if not a or not b:
        return None
    if len(a) == len(b) == 3 and a[0] == b[0]:
        return ShapeError(stacks_text(a, b))
    if len(b) > 2:
        return None
    if len(a) == len(b) == 1:
        return ShapeError(
            f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same number of "
            f"elements, but got {a[0]} and {b[0]} elements respectively"
        )
    if len(b) == 1:
        rows = math.prod(a[:-1])
        return ShapeError(f"size mismatch, got input ({rows}), mat ({rows}x{a[-1]}), vec ({b[0]})")
    a = (math.prod(a[:-1]), a[-1])
    return ShapeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")


def stacks_text(a: Sequence[int], b: Sequence[int]) -> str:
    """Return PyTorch's message for the shapes of stacks that do not fit."""
    wanted, got = [a[0], a[2]], list(b[:2])
    return f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: {got}."


def getitem_method(self: Tensor, key: Any) -> Tensor:
    """Elements at any NumPy index; a view where NumPy's would be one."""
    if self.record_level > 1:
        return getitem.function(self, key)
    try:
        return record(getitem, (self,), {"index": Index(key, self._data.shape)})
    except IndexError as error:
        raise bad_index(error, self._data.shape) from None


for _name, (_apply, _entry) in BINARY.items():
    install_arithmetic(_name, _apply, entry(_entry))
for _name, _entry in COMPARISONS.items():
    install_constant(_name, entry(_entry), False)
for _name, _entry in BITS.items():
    install_constant(_name, entry(_entry), True)
for _name, _entry in {"neg": "negative", "abs": "absolute", "pos": "positive", "invert": "invert"}.items():
    _primitive = entry(_entry)
    if _primitive.rules:
        recorders[_entry] = unary(_primitive)
        install(f"__{_name}__", recorders[_entry])
    else:
        install(f"__{_name}__", lambda self, primitive=_primitive: dispatch(primitive, (self,)))
recorders["reciprocal"] = unary(entry("reciprocal"))
install("__matmul__", matrix_product)
install("__rmatmul__", lambda self, other: matmul_checking(as_operand(other), self))
install("__getitem__", getitem_method)
install("__setitem__", inplace.setitem)

Tensor.T = property(lambda self: entry("transpose").function(self))  # type: ignore[attr-defined]
Tensor.layout = property(lambda self: strided)  # type: ignore[attr-defined]
Tensor.mT = property(lambda self: entry("swapaxes").function(self, -1, -2))  # type: ignore[attr-defined]
Tensor.H = property(lambda self: self.conj().T)  # type: ignore[attr-defined]
Tensor.mH = property(lambda self: self.conj().mT)  # type: ignore[attr-defined]


def install_part(name: str) -> None:
    """Install the real or imaginary part, which can be assigned to."""

    def get(self: Tensor) -> Tensor:
        if name == "imag" and self.dtype.kind != "c":
            raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
        return entry(name).function(self)

    def change(self: Tensor, value: Any) -> None:
        inplace.setitem(get(self), ..., value)

    setattr(Tensor, name, property(get, change))


install_part("real")
install_part("imag")


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Record a NumPy ufunc call; products that do not fit raise what PyTorch raises."""
    if ufunc is np.matmul and method == "__call__" and not kwargs:
        return matmul_checking(*inputs)
    return protocols.array_ufunc(self, ufunc, method, *inputs, **kwargs)


install("__array_ufunc__", array_ufunc)
install("__array_function__", protocols.array_function)
Tensor.__array_priority__ = 1000  # type: ignore[attr-defined]
