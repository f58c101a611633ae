"""What a program computes for one point, as a graph of the table's elementwise operations, and its derivatives."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...errors import GradcliError
from ...exact.array import as_plain, exact
from ...exact.record import name_for_users
from ...rules.exact import map_elements
from ...rules.table import BY_NUMPY, TABLE, Primitive

SELECT, HELD, INPUT = "where", "const", "input"
CONDITIONS = frozenset(
    "less less_equal greater greater_equal equal not_equal logical_and logical_or logical_not logical_xor "
    "bitwise_and bitwise_or bitwise_xor invert isnan isinf isfinite signbit isneginf isposinf".split()
)
"""Operations whose results are true or false."""


class RefusedError(GradcliError):
    """Something is not compiled; the message says what, and why where it is not for what it is."""

    def __init__(self, what: str, why: str = "is not compiled"):
        super().__init__(f"{what} {why}", kind="compile")


class OperationGraph:
    """Keeps the operations of one recording, so that equal ones are one."""

    def __init__(self) -> None:
        self.known: dict[Any, Expression] = {}

    def input(self, name: str, index: tuple[int, ...] = ()) -> Expression:
        return self.join(INPUT, (), {"name": name, "index": index})

    def apply(self, name: str, args: Iterable[Any], params: dict[str, Any]) -> Any:
        """Return the result of an operation of the table; a number where all operands are."""
        operands = tuple(x if isinstance(x, Expression) else number(x) for x in args)
        if not any(isinstance(x, Expression) for x in operands):
            return number(TABLE[name].forward(*operands, **params))
        if name == SELECT and not isinstance(operands[0], Expression):
            return operands[1] if operands[0] else operands[2]
        if name == "multiply" and 1.0 in [x for x in operands if not isinstance(x, Expression)]:
            return operands[0] if isinstance(operands[0], Expression) else operands[1]
        return self.join(name, operands, params)

    def join(self, name: str, operands: tuple, params: dict[str, Any]) -> Expression:
        """Return the operation, the one that there is where there is one."""
        key = (name, *((id(x) if isinstance(x, Expression) else repr(x)) for x in operands), repr(params))
        if key not in self.known:
            self.known[key] = Expression(self, name, operands, params, len(self.known))
        return self.known[key]


class Expression(NDArrayOperatorsMixin):
    """An operation on other expressions and numbers. It looks to rules like a 0-d array of NumPy's.

    place: later ones are made of earlier ones.
    """

    ndim, size, shape = 0, 1, ()
    record_level = 1
    __hash__ = object.__hash__

    def __init__(self, graph: OperationGraph, name: str, operands: tuple, params: dict[str, Any], place: int):
        self.graph, self.name, self.operands, self.params, self.place = graph, name, operands, params, place

    @property
    def is_condition(self) -> bool:
        return self.name in CONDITIONS

    @property
    def dtype(self) -> Any:
        return np.dtype(bool if self.is_condition else float)

    def astype(self, dtype: Any) -> Any:
        """Return a condition as 1 or 0 where a number is wanted. Raises RefusedError for another type."""
        kind = np.dtype(dtype)
        if kind == self.dtype:
            return self
        if kind.kind == "f":
            return self.graph.apply(SELECT, (self, 1.0, 0.0), {}) if self.is_condition else self
        raise RefusedError(f"a value of type {kind}")

    def __bool__(self) -> bool:
        raise RefusedError("a program that branches on values")

    def __float__(self) -> float:
        raise RefusedError("a program that takes a value for a Python number")

    __int__ = __index__ = __complex__ = __float__  # type: ignore[assignment]

    @staticmethod
    def __record__(primitive: Primitive, operands: tuple, params: dict) -> Any:
        """Note an operation that a rule calls."""
        if primitive.kind not in ("elementwise", "constant") and primitive.name != SELECT:
            raise RefusedError(f"'{name_for_users(primitive)}'")
        return graph_of(operands).apply(primitive.name, operands, params)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **_: Any) -> Any:
        primitive = BY_NUMPY.get(ufunc)
        if primitive is None or method != "__call__" or out is not None:
            raise RefusedError(f"'{ufunc.__name__}'")
        if any(isinstance(x, np.ndarray) and (x.ndim or x.dtype == object) for x in inputs):
            return exact(map_elements(lambda *xs: self.graph.apply(primitive.name, xs, {}), as_plain(inputs)))
        return self.graph.apply(primitive.name, inputs, {})

    def __array_function__(self, function: Any, _types: Any, args: Any, kwargs: Any) -> Any:
        if function not in LIKE_ARRAYS:
            raise RefusedError(f"'{function.__name__}'")
        return LIKE_ARRAYS[function](self.graph, *args, **kwargs)


LIKE_ARRAYS: dict[Any, Callable] = {
    np.where: lambda graph, *args: graph.apply(SELECT, args, {}),
    np.zeros_like: lambda _graph, *_, **__: np.float64(0),
    np.ones_like: lambda _graph, *_, **__: np.float64(1),
    np.full_like: lambda _graph, _, value, **__: np.float64(value),
    np.broadcast_arrays: lambda _graph, *args: args,
    np.shape: lambda *_: (),
    np.ndim: lambda *_: 0,
    np.result_type: lambda *_: np.dtype(float),
    np.iscomplexobj: lambda *_: False,
    np.real: lambda _graph, x: x,
    np.copy: lambda _graph, x: x,
}
"""What rules ask of arrays besides arithmetic."""


def graph_of(operands: Iterable[Any]) -> OperationGraph:
    return next(x.graph for x in operands if isinstance(x, Expression))


def number(x: Any) -> Any:
    """Return a constant, or one in an array of no axes, in double precision. Raises RefusedError for others."""
    if isinstance(x, np.ndarray):
        x = x.item() if x.size == 1 else x
    if isinstance(x, Expression | bool | np.bool_):
        return x
    if not isinstance(x, int | float | np.integer | np.floating):
        raise RefusedError(f"a constant of type {type(x).__name__}")
    return np.float64(x)


def below(roots: Iterable[Any]) -> list[Expression]:
    """Return all that expressions are made of, the earliest first."""
    by_place: dict[int, Expression] = {}
    waiting = [x for x in roots if isinstance(x, Expression)]
    while waiting:
        x = waiting.pop()
        if x.place not in by_place:
            by_place[x.place] = x
            waiting += [y for y in x.operands if isinstance(y, Expression)]
    return [by_place[place] for place in sorted(by_place)]


def differentiate(output: Any, inputs: Sequence[Expression]) -> list[Any]:
    """Return the derivatives by each input, by the rules of the table, going backward from the output."""
    cotangents: dict[int, Any] = {output.place: np.float64(1)} if isinstance(output, Expression) else {}
    for x in reversed(below([output])):
        g = cotangents.get(x.place)
        if g is None or x.name in (INPUT, HELD):
            continue
        for i, operand in enumerate(x.operands):
            if isinstance(operand, Expression) and not operand.is_condition:
                part = product(x, i, g)
                if part is not None:
                    there = cotangents.get(operand.place)
                    cotangents[operand.place] = part if there is None else there + part
    return [cotangents.get(x.place, np.float64(0)) for x in inputs]


def product(x: Expression, place: int, g: Any) -> Any:
    """Return a cotangent times the partial derivative of an operation; None where that is 0 everywhere."""
    if x.name == SELECT:
        return x.graph.apply(SELECT, (x.operands[0], *((g, 0.0) if place == 1 else (0.0, g))), {})
    rules = TABLE[x.name].rules
    if not rules:
        return None
    rule = rules[place]
    if callable(rule):
        operands = [float(y) if isinstance(y, np.floating) else y for y in x.operands]
        with refuse(x.name):
            return number(g * rule(x, *operands, **x.params))
    return None if rule == 0 else g if rule == 1 else -g if rule == -1 else g * rule


@contextlib.contextmanager
def refuse(name: str) -> Iterator[None]:
    """Refuse an operation by its name, whatever is raised in the block."""
    try:
        with np.errstate(all="ignore"):
            yield
    except Exception as error:
        raise RefusedError(f"'{name}'") from error
