"""The operators of Tensors, and NumPy's protocols: `np.sin(t)` and `ndarray * t` record as well."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules import by_numpy, entry
from ..rules.index import Index, getitem
from ..rules.product import matmul
from . import inplace
from .promote import as_operand
from .quick import binary, unary
from .record import dispatch, record
from .refusal import as_pytorch
from .tensor import Tensor

BINARY = {
    "add": (operator.add, "add"),
    "sub": (operator.sub, "subtract"),
    "mul": (operator.mul, "multiply"),
    "truediv": (operator.truediv, "divide"),
    "floordiv": (operator.floordiv, "floor_divide"),
    "mod": (operator.mod, "remainder"),
    "pow": (operator.pow, "power"),
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


def install(name: str, method: Callable) -> None:
    """Set a special method of Tensor, named so that tracebacks and help show it."""
    method.__name__ = name
    setattr(Tensor, name, method)


def operand(x: Any) -> bool:
    """Return whether an operator takes x as its other operand."""
    return isinstance(x, Tensor | int | float | complex | np.ndarray | np.generic | list | tuple)


def install_arithmetic(name: str, apply: Callable, primitive: Any) -> None:
    """Install an operator, its reflection, and its in-place form."""
    function = binary(primitive, apply)
    recorders[primitive.name] = function

    def reflected(self: Tensor, other: Any) -> Any:
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
    return checked_product(self, as_operand(other)) if operand(other) else NotImplemented


def checked_product(x: Any, y: Any) -> Any:
    """Return x @ y. Raises RuntimeError for shapes that do not fit."""
    try:
        return matmul(x, y)
    except ValueError as error:
        raise as_pytorch(error) from None


def getitem_method(self: Tensor, key: Any) -> Tensor:
    """Elements at any NumPy index; a view where NumPy's would be one."""
    if type(self) is not Tensor:
        return getitem.function(self, key)
    return record(getitem, (self,), {"index": Index(key, self._data.shape)})


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
install("__matmul__", matrix_product)
install("__rmatmul__", lambda self, other: checked_product(as_operand(other), self))
install("__getitem__", getitem_method)
install("__setitem__", inplace.setitem)

Tensor.T = property(lambda self: entry("transpose").function(self))  # type: ignore[attr-defined]
Tensor.mT = property(lambda self: entry("swapaxes").function(self, -1, -2))  # type: ignore[attr-defined]
Tensor.H = property(lambda self: self.conj().T)  # type: ignore[attr-defined]
Tensor.mH = property(lambda self: self.conj().mT)  # type: ignore[attr-defined]


def install_part(name: str) -> None:
    """Install the real or imaginary part, which can be assigned to."""
    primitive = entry(name)

    def get(self: Tensor) -> Tensor:
        return primitive.function(self)

    def change(self: Tensor, value: Any) -> None:
        if name == "imag" and self.dtype.kind != "c":
            raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
        inplace.setitem(primitive.function(self), ..., value)

    setattr(Tensor, name, property(get, change, doc=primitive.doc))


install_part("real")
install_part("imag")


# -- NumPy's protocols ---------------------------------------------------------------------------


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Record a NumPy ufunc call. Raises TypeError for what would lose the graph."""
    if kwargs.pop("out", None) is not None:
        raise TypeError(
            f"np.{ufunc.__name__} cannot write into an ndarray what comes from a Tensor (out= or an in-place "
            "operator on an ndarray): write `a = a + t` instead of `a += t`"
        )
    if method == "__call__" and not kwargs:
        primitive = by_numpy(ufunc) or (matmul_entry() if ufunc is np.matmul else None)
        if primitive is not None:
            if primitive.kind == "composition":
                return checked_product(*inputs) if ufunc is np.matmul else primitive.function(*inputs)
            return dispatch(primitive, tuple(as_operand(x) for x in inputs))
    reduction = {("add", "reduce"): "sum", ("multiply", "reduce"): "prod", ("maximum", "reduce"): "max"}.get(
        (ufunc.__name__, method)
    )
    if reduction is not None:
        return entry(reduction).function(*inputs, **{"axis": 0, **kwargs})
    what = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    raise TypeError(f"gradcli cannot record {what}{' with ' + ', '.join(kwargs) + '=' if kwargs else ''}")


def matmul_entry() -> Any:
    """The table's matmul."""
    return entry("matmul")


def array_function(self: Tensor, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
    """Record a NumPy function call. Raises TypeError for functions that are not in the table."""
    if any(not issubclass(t, Tensor | np.ndarray) for t in types):
        return NotImplemented
    primitive = by_numpy(function)
    if primitive is None:
        plain = PLAIN.get(function)
        if plain is not None:
            return plain(*args, **kwargs)
        from ..errors import did_you_mean
        from ..rules import full_table

        advice = did_you_mean(function.__name__, full_table())
        raise TypeError(
            f"gradcli has no derivative of np.{function.__name__}"
            + (f"; {advice}" if advice else "; use detach() to compute it outside the graph")
        )
    return primitive.function(*args, **kwargs)


def raw(x: Any) -> Any:
    """Return a Tensor's data; anything else as it is."""
    return x._data if isinstance(x, Tensor) else x


PLAIN: dict[Any, Any] = {
    np.shape: lambda x: tuple(x.shape),
    np.ndim: lambda x: x.ndim,
    np.size: lambda x, axis=None: x._data.size if axis is None else x._data.shape[axis],
    np.iscomplexobj: lambda x: x._data.dtype.kind == "c",
    np.isrealobj: lambda x: x._data.dtype.kind != "c",
    np.array_equal: lambda x, y, **options: np.array_equal(raw(x), raw(y), **options),
    np.allclose: lambda x, y, *args, **options: np.allclose(raw(x), raw(y), *args, **options),
    np.result_type: lambda *xs: np.result_type(*(raw(x) for x in xs)),
    np.array_repr: lambda x, *_: repr(x),
}
"""NumPy functions that ask about an array rather than compute with it."""

install("__array_ufunc__", array_ufunc)
install("__array_function__", array_function)
Tensor.__array_priority__ = 1000  # type: ignore[attr-defined]
