"""The operators of Tensors, and the quick recorders of elementwise functions, each built from its entry.

One type test, one NumPy call, one Tensor, one node. Whatever is unusual (mixed shapes or types, large or complex
arrays, other kinds of operands, a mode of recording) falls back to `record`, which takes 2.4 to 5.9 times as long.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.index import Index, getitem
from ..rules.matrix_products import matmul
from ..rules.table import ARRAY, Primitive
from . import inplace, protocols
from .dtypes import ShapeError, as_pytorch, bad_index, strided
from .memory import next_seq
from .modes import allowed, moded, state, suspended
from .node import Node, Rule
from .record import LARGE, as_operand, dispatch, elementwise_sender, keep_flags, record
from .tensor import Parameter, Tensor

_keys: dict = {}
PAGE = 4096
"""Bytes of a page of memory, mostly."""


@functools.cache
def keep_freed_memory() -> None:
    """Have the C library keep up to 64 MB of freed memory, once arrays of more than a page are computed with.

    glibc returns freed memory to the system beyond twice the largest block that was freed so far. Freeing a block,
    of which nothing was touched, spares every later pass the page faults: it takes 0.2 to 0.8 of the time.
    """
    np.empty(32_000_000, np.uint8)


def key_of(tensor: Tensor) -> Any:
    """Return the tensor's key, None if it is large or holds no real floats: it is not for quick operations."""
    data = tensor._data
    if data.nbytes > PAGE:
        keep_freed_memory()
    if data.dtype.char not in "df" or not data.dtype.isnative or data.size >= LARGE:
        return None
    if len(_keys) > 10_000:
        _keys.clear()
    kind = (data.dtype.char, data.shape)
    key = tensor._key = _keys.setdefault(kind, kind)
    return key


def unary(primitive: Primitive) -> Callable[[Any], Any]:
    """Return the recorder of an elementwise function of one operand."""
    keep_out, keep_x = (flag == ARRAY for flag in (*primitive.keeps[0], 0, 0)[:2])
    forward = primitive.forward
    rule = Rule(primitive.node, elementwise_sender(primitive), primitive.saves, primitive, fresh=True, arity=1)

    def function(x: Any) -> Any:
        if (
            (type(x) is not Tensor and type(x) is not Parameter)
            or (key := x._key or key_of(x)) is None
            or (moded and state.recorder is not None)
        ):
            return dispatch(primitive, (x,))
        result = Tensor()
        data = x._data
        out = result._data = forward(data)
        result._key = key
        parent = x._node
        if parent is not None and (not suspended or state.grad):
            node = result._node = Node()
            node.seq = next_seq()
            node.rule = rule
            node.hooks = None
            node.parent = parent
            node.kept_out = out if keep_out else None
            node.kept_x = data if keep_x else None
        else:
            result._node = None
        return result

    return _give_name(function, primitive)


def binary(primitive: Primitive, apply: Callable | None = None) -> Callable[[Any, Any], Any]:
    """Return the recorder of an elementwise function of two operands; `apply` computes it on raw data.

    Nodes for a Python number on the right have a name of their own where the entry has one.
    """
    both, left, right = (
        tuple(flag == ARRAY for flag in keep_flags(primitive, needed))
        for needed in ((True, True), (True, False), (False, True))
    )
    send = elementwise_sender(primitive)
    of_tensors = Rule(primitive.node, send, primitive.saves, primitive, fresh=True, arity=2)
    number = primitive.variants[1]
    of_number = of_tensors if number is None else of_tensors.rename(number)
    forward = apply or primitive.forward

    def function(x: Any, y: Any) -> Any:
        if (
            (type(x) is not Tensor and type(x) is not Parameter)
            or (key := x._key or key_of(x)) is None
            or (moded and state.recorder is not None)
        ):
            return dispatch(primitive, (x, y))
        if type(y) is Tensor or type(y) is Parameter:
            if key is not (y._key or key_of(y)):
                return dispatch(primitive, (x, y))
            q = y._node
            b = y._data
            rule = of_tensors
        elif type(y) is float or type(y) is int:
            q = None
            b = y
            rule = of_number
        else:
            return NotImplemented if type(y) is str else dispatch(primitive, (x, y))
        result = Tensor()
        p = x._node
        a = x._data
        out = result._data = forward(a, b)
        result._key = key
        if (p is None and q is None) or (suspended and not state.grad):
            result._node = None
            return result
        node = result._node = Node()
        node.seq = next_seq()
        node.rule = rule
        node.hooks = None
        node.parent = p
        node.other_parent = q
        keep_out, keep_x, keep_y = both if p is not None and q is not None else left if q is None else right
        node.kept_out = out if keep_out else None
        node.kept_x = a if keep_x else None
        node.kept_y = b if keep_y else None
        return result

    return _give_name(function, primitive)


def _give_name(function: Any, primitive: Primitive) -> Any:
    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = primitive.doc
    return function


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
