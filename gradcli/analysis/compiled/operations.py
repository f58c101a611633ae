"""The operations that C has, and all others in terms of these."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...rules.table import TABLE
from .expression import HELD, INPUT, SELECT, Expression, OperationGraph, RefusedError, below, refuse

CALLS = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "cbrt": "cbrt", "cos": "cos", "cosh": "cosh", "erf": "erf", "erfc": "erfc", "exp": "exp",
    "exp2": "exp2", "expm1": "expm1", "fmod": "fmod", "hypot": "hypot", "log": "log", "log10": "log10",
    "log1p": "log1p", "log2": "log2", "power": "pow", "sin": "sin", "sinh": "sinh", "tan": "tan", "tanh": "tanh",
}  # fmt: skip
"""Functions of the C library, with loops of their own."""
INLINE = {
    "absolute": "__builtin_fabs({0})", "add": "({0} + {1})", "ceil": "__builtin_ceil({0})",
    "copysign": "__builtin_copysign({0}, {1})", "divide": "({0} / {1})", "flat": "{0}", HELD: "{0}",
    "floor": "__builtin_floor({0})", "fmax": "({0} >= {1} || {1} != {1} ? {0} : {1})",
    "fmin": "({0} <= {1} || {1} != {1} ? {0} : {1})", "maximum": "({0} >= {1} || {0} != {0} ? {0} : {1})",
    "minimum": "({0} <= {1} || {0} != {0} ? {0} : {1})", "multiply": "({0} * {1})", "negative": "(-{0})",
    "positive": "{0}", "deg2rad": "({0} * 0x1.1df46a2529d39p-6)",
    "rad2deg": "({0} * 0x1.ca5dc1a63c1f8p+5)", "reciprocal": "(1.0 / {0})", "round": "__builtin_rint({0})",
    "sign": "({0} > 0.0 ? 1.0 : {0} < 0.0 ? -1.0 : {0} == 0.0 ? 0.0 : {0})", "sqrt": "__builtin_sqrt({0})",
    "square": "({0} * {0})", "subtract": "({0} - {1})", "trunc": "__builtin_trunc({0})", SELECT: "({0} ? {1} : {2})",
    "less": "({0} < {1})", "less_equal": "({0} <= {1})", "greater": "({0} > {1})", "greater_equal": "({0} >= {1})",
    "equal": "({0} == {1})", "not_equal": "({0} != {1})", "isnan": "({0} != {0})",
    "isinf": "(__builtin_fabs({0}) == __builtin_inf())", "isfinite": "(__builtin_fabs({0}) < __builtin_inf())",
    "isposinf": "({0} == __builtin_inf())", "isneginf": "({0} == -__builtin_inf())",
    "logical_and": "({0} && {1})", "bitwise_and": "({0} && {1})", "logical_or": "({0} || {1})",
    "bitwise_or": "({0} || {1})", "logical_xor": "(!{0} != !{1})", "bitwise_xor": "(!{0} != !{1})",
    "logical_not": "(!{0})", "invert": "(!{0})", "signbit": "(__builtin_copysign(1.0, {0}) < 0.0)",
}  # fmt: skip
"""Arithmetic and choices, as NumPy has them: nan where an operand of maximum is, and 0 for the sign of 0."""


def logaddexp(graph: OperationGraph, x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)): the larger and what the smaller adds; for equal ones, also infinite, x + log 2."""
    rest = np.log1p(np.exp(-np.absolute(x - y)))
    return graph.apply(SELECT, (np.equal(x, y), x + np.log(2.0), graph.apply("maximum", (x, y), {}) + rest), {})


def remainder(graph: OperationGraph, x: Any, y: Any) -> Any:
    """x - y floor(x / y), with the sign of y, as Python's."""
    rest, adjusted = divide_rest(graph, x, y)
    signed = graph.apply(SELECT, (equal(graph, rest, 0.0), graph.apply("copysign", (0.0, y), {}), rest), {})
    return graph.apply(SELECT, (adjusted, rest + y, signed), {})


def floor_divide(graph: OperationGraph, x: Any, y: Any) -> Any:
    """floor(x / y), from the remainder, so that rounding of the quotient does no harm; x / y where y is 0."""
    rest, adjusted = divide_rest(graph, x, y)
    quotient = (x - rest) / y
    quotient = graph.apply(SELECT, (adjusted, quotient - 1.0, quotient), {})
    floor = graph.apply("floor", (quotient,), {})
    floor = graph.apply(SELECT, (quotient - floor > 0.5, floor + 1.0, floor), {})
    zero = graph.apply("copysign", (0.0, x / y), {})
    whole = graph.apply(SELECT, (equal(graph, quotient, 0.0), zero, floor), {})
    return graph.apply(SELECT, (equal(graph, y, 0.0), x / y, whole), {})


def divide_rest(graph: OperationGraph, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the remainder with the sign of x, and whether that of Python differs from it."""
    rest = graph.apply("fmod", (x, y), {})
    other = graph.apply("not_equal", (graph.apply("less", (rest, 0.0), {}), graph.apply("less", (y, 0.0), {})), {})
    return rest, graph.apply("logical_and", (graph.apply("not_equal", (rest, 0.0), {}), other), {})


def equal(graph: OperationGraph, x: Any, y: Any) -> Any:
    return graph.apply("equal", (x, y), {})


def whole_power(x: Any, y: Any) -> Any:
    """A power with a constant exponent that NumPy, too, makes by multiplication or a root; None for others."""
    if not isinstance(x, Expression) or isinstance(y, Expression):
        return None
    if y in (1.0, 2.0, 3.0, 4.0):
        square = x * x
        return {1.0: x, 2.0: square, 3.0: square * x, 4.0: square * square}[float(y)]
    if y in (-1.0, -2.0):
        return 1.0 / (x if y == -1.0 else x * x)
    return np.sqrt(x) if y == 0.5 else np.float64(1) if y == 0.0 else None


def logaddexp2(graph: OperationGraph, x: Any, y: Any) -> Any:
    rest = np.log1p(np.exp2(-np.absolute(x - y))) / np.log(2.0)
    return graph.apply(SELECT, (equal(graph, x, y), x + 1.0, graph.apply("maximum", (x, y), {}) + rest), {})


def x_log(graph: OperationGraph, x: Any, y: Any, logarithm: str = "log") -> Any:
    """x log(y); 0 where x is 0 and y a number."""
    zero = graph.apply("logical_and", (equal(graph, x, 0.0), equal(graph, y, y)), {})
    return graph.apply(SELECT, (zero, 0.0, graph.apply("multiply", (x, graph.apply(logarithm, (y,), {})), {})), {})


SPECIAL: dict[str, Callable] = {
    "logaddexp": logaddexp,
    "logaddexp2": logaddexp2,
    "remainder": remainder,
    "floor_divide": floor_divide,
    "xlogy": x_log,
    "xlog1py": partial(x_log, logarithm="log1p"),
}
"""Functions of NumPy's that are made of others here."""


class Lowered:
    """Expressions in terms of what C has: CALLS and INLINE."""

    def __init__(self, graph: OperationGraph):
        self.graph = graph
        self.done: dict[int, Any] = {}
        self.active: set[str] = set()

    def lower(self, root: Any) -> Any:
        """Return an expression in terms of what C has. Raises RefusedError, naming what cannot be written so."""
        for x in below([root]):
            if x.place not in self.done:
                self.done[x.place] = self.lower_operation(x)
        return self.done[root.place] if isinstance(root, Expression) else root

    def lower_operation(self, x: Expression) -> Any:
        """Return an operation whose operands are done."""
        operands = [self.done[y.place] if isinstance(y, Expression) else y for y in x.operands]
        if x.name == INPUT:
            return x
        if x.name == "power" and (product := whole_power(*operands)) is not None:
            return product
        if (x.name in INLINE or x.name in CALLS) and not x.params:
            return self.graph.apply(x.name, operands, x.params) if x.name != HELD else operands[0]
        if x.name in self.active or (isinstance(TABLE[x.name].forward, np.ufunc) and x.name not in SPECIAL):
            raise RefusedError(f"'{x.name}'")
        self.active.add(x.name)
        with refuse(x.name):  # it, and not what it is made of, is what the user knows
            forward = partial(SPECIAL[x.name], self.graph) if x.name in SPECIAL else TABLE[x.name].forward
            result = self.lower(forward(*operands, **x.params))
        self.active.remove(x.name)
        return result
