"""Formulas at a point: their values in many digits, and limits where they have none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy
from mpmath.libmp import to_str
from sympy.printing.str import StrPrinter

from ..errors import GradcliError, TimeIsUp
from ..exact.array import ExactArray
from ..exact.symbolic import Symbolic, resolve_unknown
from ..lang.time_limits import any_length, time_left, within
from .symbolic_run import Symbols, as_expressions

DIGITS = 30
GUARD = 10
"""More digits to compute with, so that the last one printed is right."""


def every_input(symbols: Symbols) -> dict[str, np.ndarray]:
    """Return the symbols of all inputs: also of those that are not differentiated."""
    expressions = dict(symbols.inputs)
    for name, tensor in symbols.run.names.items():
        data = getattr(tensor, "_data", None)
        if isinstance(data, ExactArray):
            elements = as_expressions(data).ravel().tolist()
            own = elements and all(isinstance(e, sympy.Symbol) for e in elements)
            if own and elements[0].name.partition("[")[0] == name:
                expressions.setdefault(name, as_expressions(data))
    return expressions


def point_of(symbols: Symbols, at: Mapping[str, Any]) -> dict[Any, Any]:
    """Return the exact number for every symbol: as given, else the program's own. Raises GradcliError for none."""
    field = Symbolic()
    point: dict[Any, Any] = dict(symbols.point)
    for name, array in every_input(symbols).items():
        if name not in at:
            if point.keys() >= set(array.ravel().tolist()):
                continue
            raise GradcliError(f"--at gives no value for '{name}'", hint=f"add --at {name}=1", kind="name")
        values = np.asarray(at[name]).view(np.ndarray)
        if values.shape != array.shape:
            raise GradcliError(
                f"--at: '{name}' has shape {array.shape}; the value has shape {values.shape}", kind="shape"
            )
        for s, x in zip(array.ravel().tolist(), values.ravel().tolist(), strict=True):
            point[s] = resolve_unknown(field.number(x))
    return point


def number_at(expr: Any, point: Mapping[Any, Any], digits: int = DIGITS) -> Any:
    """Return an expression's value at a point, to so many digits and a few more; nan where it has none."""
    expr = sympy.sympify(expr)
    try:
        result = expr.xreplace(point)
        result = sympy.sympify(result).doit() if result.has(sympy.Piecewise) else result
        return sympy.N(result, digits + GUARD)
    except (ValueError, TypeError, ZeroDivisionError):
        return sympy.nan


def evaluate_at(expr: Any, point: Mapping[Any, Any], digits: int) -> str:
    """Return an expression's value at a point as text."""
    value = number_at(expr, point, digits)
    if value in (sympy.zoo, sympy.nan):
        return sides(expr, point)
    return Rounded(digits).doprint(value).replace("oo", "inf")


class Rounded(StrPrinter):
    """Prints numbers that are known to more digits."""

    def __init__(self, digits: int = DIGITS):
        super().__init__()
        self.digits = digits

    def _print_Float(self, expr: Any) -> str:  # noqa: N802 - the name that sympy looks for
        with any_length():
            return to_str(expr._mpf_, self.digits, strip_zeros=self._print_level > 1)


def sides(expr: Any, point: Mapping[Any, Any]) -> str:
    """Return the one-sided limits at a point where a formula has no value, if sympy finds them in time."""
    free = sorted(sympy.sympify(expr).free_symbols, key=lambda s: s.name)
    for s in free:
        others = {t: x for t, x in point.items() if t is not s}
        try:
            with within(time_left(5)):
                left, right = (sympy.limit(expr.xreplace(others), s, point[s], side) for side in "-+")
        except (TimeIsUp, NotImplementedError, ValueError, TypeError):
            continue
        return f"singular: {left} from below, {right} from above, in {s.name}".replace("oo", "inf")
    return "nan"


def as_number(value: Any) -> complex | float:
    """Return a value of sympy's as a float (complex where it is)."""
    try:
        number = complex(value)
    except TypeError:
        return float("nan")
    return number.real if number.imag == 0 else number
