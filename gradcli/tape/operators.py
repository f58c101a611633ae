"""The operators of Tensors, and the quick recorders of elementwise functions, each built from its entry.

A quick recorder makes one type test, one NumPy call, one Tensor and one node. Unusual calls (mixed shapes or types,
large or complex arrays, other operands, a recording mode) fall back to `record`, which takes 2.4 to 5.9 times as long.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.table import ARRAY, Primitive
from .dtypes import imitation
from .memory import next_seq
from .modes import moded, state, suspended
from .node import Node, Rule
from .record import dispatch, keep_flags
from .send import LARGE, elementwise_sender
from .tensor import Parameter, Tensor, as_operand, is_operand


@functools.cache
def changes() -> Any:
    """Return the module of in-place changes, loaded at the first one."""
    from . import inplace

    return inplace


@functools.cache
def protocols() -> Any:
    """Return the module of NumPy's protocols, loaded when NumPy first meets a Tensor."""
    from . import protocols

    return protocols


_keys: dict = {}
PAGE = 4096  # the usual size of a memory page, in bytes


@functools.cache
def keep_freed_memory() -> None:
    """Make the C library keep up to 64 MB of freed memory, once an array exceeds a page.

    glibc returns freed memory to the system if it exceeds twice the largest block freed so far. Freeing a large,
    untouched block therefore avoids page faults in later passes, which then take 0.2 to 0.8 of the time.
    """
    np.empty(32_000_000, np.uint8)


def key_of(tensor: Tensor) -> Any:
    """Return the tensor's key; None if it is large or not real floating-point, so that no quick recorder applies."""
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
    """Return the recorder of a function of two operands. apply: computes it; by default, the entry does."""
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
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "pow": "power",
}  # fmt: skip
COMPARISON_METHODS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal",
}  # fmt: skip
BITS = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
recorders: dict[str, Callable] = {}


def recorder_for(primitive: Primitive) -> Callable | None:
    """Return the quick recorder of an elementwise entry of one or two operands; None for other entries."""
    recorder = recorders.get(primitive.name)
    if recorder is None and primitive.kind == "elementwise" and primitive.bind is None and primitive.arity in (1, 2):
        made = unary(primitive) if primitive.arity == 1 else binary(primitive)
        recorder = recorders.setdefault(primitive.name, made)
    return recorder


SYMMETRIC = ("add", "mul")
METHODS: dict[str, Callable] = {}
"""The operators by name; the package makes them methods of Tensors."""


def offer_operator(name: str, function: Callable, reflected: Callable) -> None:
    METHODS[f"__{name}__"] = function
    METHODS[f"__r{name}__"] = reflected
    METHODS[f"__i{name}__"] = lambda self, other: changes().update(self, lambda: function(self, as_operand(other)))


def offer_arithmetic(name: str, apply: Callable | None, primitive: Any) -> None:
    function = recorders[primitive.name] = binary(primitive, apply)

    def reflected(self: Tensor, other: Any) -> Any:
        if type(other) is int or type(other) is float:
            if name in SYMMETRIC and state.recorder is None:
                return function(self, other)  # PyTorch's order of operands, and quicker
            if name == "truediv" and imitation.of_torch and self.dtype.kind == "f":
                return recorders["multiply"](recorders["reciprocal"](self), other)  # as PyTorch rounds
        return function(as_operand(other), self) if is_operand(other) else NotImplemented

    offer_operator(name, function, reflected)


def offer_constant(name: str, primitive: Any) -> None:
    """Offer an operator without a derivative. Python reflects comparisons itself; they have no in-place form."""

    def function(self: Tensor, other: Any) -> Any:
        return dispatch(primitive, (self, as_operand(other))) if is_operand(other) else NotImplemented

    def reflected(self: Tensor, other: Any) -> Any:
        return dispatch(primitive, (as_operand(other), self)) if is_operand(other) else NotImplemented

    if name in COMPARISON_METHODS:
        METHODS[f"__{name}__"] = function
    else:
        offer_operator(name, function, reflected)


for _name, _entry in BINARY.items():
    offer_arithmetic(_name, None if _name == "pow" else getattr(operator, _name), entry(_entry))
for _name, _entry in {**COMPARISON_METHODS, **BITS}.items():
    offer_constant(_name, entry(_entry))
for _name, _entry in {"neg": "negative", "abs": "absolute", "pos": "positive", "invert": "invert"}.items():
    _primitive = entry(_entry)
    if _primitive.rules:
        recorders[_entry] = unary(_primitive)
        METHODS[f"__{_name}__"] = recorders[_entry]
    else:
        METHODS[f"__{_name}__"] = lambda self, primitive=_primitive: dispatch(primitive, (self,))
recorders["reciprocal"] = unary(entry("reciprocal"))
METHODS["__setitem__"] = lambda self, key, value: changes().setitem(self, key, value)
METHODS["__array_ufunc__"] = lambda self, *args, **named: protocols().array_ufunc(self, *args, **named)
METHODS["__array_function__"] = lambda self, *args: protocols().array_function(self, *args)
