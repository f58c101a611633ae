"""Tensors that contain one value per point of a vmap, along a hidden leading axis."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterable
from typing import Any, NoReturn

from ..errors import NotBatchableError
from ..rules import entry
from ..rules.table import batched_call
from ..tape.tensor import Tensor


def refuse(*_: Any, **__: Any) -> NoReturn:
    raise NotBatchableError(
        "under vmap, a tensor contains the values of all points, so code cannot read or change single values (as in "
        "`if x > 0`, float(x), or in-place operations)"
    )


class Outline:
    """Shape and type of data whose values cannot be read."""

    __slots__ = ("dtype", "itemsize", "nbytes", "ndim", "shape", "size")

    def __init__(self, shape: tuple, dtype: Any):
        self.shape, self.ndim, self.size = shape, len(shape), math.prod(shape)
        self.dtype, self.itemsize, self.nbytes = dtype, dtype.itemsize, math.prod(shape) * dtype.itemsize

    def __getattr__(self, name: str) -> NoReturn:
        refuse()

    __hash__ = None  # type: ignore[assignment]
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __iter__ = __len__ = refuse  # type: ignore[assignment]
    __getitem__ = __setitem__ = __array__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = refuse  # type: ignore[assignment]
    __rsub__ = __truediv__ = __rtruediv__ = __neg__ = __invert__ = __and__ = __or__ = __float__ = refuse  # type: ignore[assignment]


class Active(threading.local):
    """The vmap levels open in this thread, outermost first, as pairs (level, size)."""

    levels: tuple[tuple[int, int], ...] = ()


active = Active()


class Batched(Tensor):
    """A tensor of one vmap level. `_value` has the hidden axis first, and may itself be a Batched of an outer level."""

    record_level = 2
    _value: Any

    @staticmethod
    def __record__(primitive: Any, operands: tuple, params: dict) -> Any:
        kind, size = innermost_level(operands)
        flags = [type(x) is kind for x in operands]
        values = [x._value if flag else x for x, flag in zip(operands, flags, strict=True)]
        result = batched_call(primitive, values, flags, size, params)
        return tuple(kind.of(part) for part in result) if isinstance(result, tuple) else kind.of(result)

    @staticmethod
    def gradients(grad: Any, outputs: tuple, vectors: tuple, given: tuple, materialize: bool) -> tuple:
        """Run `grad` once for all points, with outputs from outside vmap and vectors from inside."""
        kind, size = innermost_level(vectors)
        values = [v._value if type(v) is kind else v.expand(size, *v.shape) for v in vectors]
        if any(isinstance(x, Batched) for x in (*outputs, *values)):
            refuse()
        targets, retain, create, only, unused = given
        gradients = grad(outputs, targets, values, retain, create, only, unused, True, materialize)
        return tuple(None if g is None else kind.of(g) for g in gradients)

    @classmethod
    def of(cls, value: Any) -> Batched:
        """Wrap `value`; its first axis becomes the hidden axis."""
        result = object.__new__(cls)
        result._value = value
        return result

    @property
    def _data(self) -> Any:  # type: ignore[override]
        return Outline(tuple(self._value.shape[1:]), self._value._data.dtype)

    @property
    def _node(self) -> Any:  # type: ignore[override]
        return self._value._node

    _key = None  # type: ignore[assignment]
    _array = refuse

    def detach(self) -> Tensor:
        return type(self).of(self._value.detach())

    def __getitem__(self, key: Any) -> Tensor:
        return entry("getitem").function(self, key)

    def __repr__(self) -> str:
        return f"Batched(shape={list(self.shape)}, dtype={self.dtype})"

    requires_grad_ = register_hook = retain_grad = backward = refuse  # type: ignore[assignment]
    item = __float__ = __int__ = __complex__ = __bool__ = refuse  # type: ignore[assignment]
    __index__ = tolist = numpy = __array__ = __contains__ = __setitem__ = __reduce__ = __deepcopy__ = detach_ = refuse  # type: ignore[assignment]


def innermost_level(operands: Iterable) -> tuple[type[Batched], int]:
    newest = max((x for x in operands if isinstance(x, Batched)), key=lambda x: x.record_level)
    return type(newest), newest._value.shape[0]


@functools.cache
def level_class(level: int) -> type[Batched]:
    return type(f"Batched{level}", (Batched,), {"record_level": level + 1})


def lift(x: Tensor) -> Tensor:
    """Unwrap a tensor from all levels, with one leading axis for each open level."""
    levels = []
    while isinstance(x, Batched):
        levels.append(x.record_level - 1)
        x = x._value
    unwrapped: Tensor = x
    for place, (level, size) in enumerate(active.levels):
        if level not in levels:
            unwrapped = unwrapped.unsqueeze(place)
            unwrapped = unwrapped.expand(*unwrapped.shape[:place], size, *unwrapped.shape[place + 1 :])
    return unwrapped


def cover(unwrapped: Tensor) -> Tensor:
    """Wrap a tensor whose leading axes are the open levels: the inverse of `lift`."""
    for level, _ in active.levels:
        unwrapped = level_class(level).of(unwrapped)
    return unwrapped
