"""The symbolic twin: elements are sympy's expressions. Expressions are built by running the program, never parsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy

from ..errors import GradcliError
from ..rules.table import Primitive
from .array import ExactArray, exact
from .field import Field, Literal, elementwise


class Symbolic(Field):
    """Expressions in real symbols."""

    name = "symbols"
    lazy_pieces = False
    constants: Mapping[str, Any] = {"pi": sympy.pi, "e": sympy.E, "tau": 2 * sympy.pi}

    def __init__(self) -> None:
        self.functions = FUNCTIONS

    def number(self, x: Any) -> Any:
        """Return a number as an exact one: 0.1 is 1/10."""
        if isinstance(x, sympy.Basic):
            return x
        if isinstance(x, Literal):
            return self.constants[x.text] if x.text in self.constants else rational(x.text)
        if isinstance(x, bool | np.bool_):
            return sympy.true if x else sympy.false
        if isinstance(x, complex | np.complexfloating):
            return self.number(float(x.real)) + sympy.I * self.number(float(x.imag))
        if isinstance(x, int | np.integer):
            return sympy.Integer(int(x))
        return rational(repr(float(x)))

    def counted(self, x: Any) -> Any:
        """Return an operand of a function: true counts as 1, a relation as 1 where it holds."""
        found = self.number(x)
        if found in (sympy.true, sympy.false):
            return sympy.Integer(int(bool(found)))
        if isinstance(found, sympy.logic.boolalg.Boolean) and not isinstance(found, sympy.Symbol):
            return sympy.Piecewise((1, found), (0, True))
        return found

    def given(self, name: str, value: Any) -> Any:
        """Return symbols of an input's shape. Raises GradcliError for a complex input."""
        elements = np.asarray(value).view(np.ndarray).ravel().tolist()
        if any(
            isinstance(e, complex) or (isinstance(e, sympy.Basic) and e.is_extended_real is False) for e in elements
        ):
            raise GradcliError(
                f"'{name}' is complex; formulas are made for real inputs",
                hint="'gradcli grad --digits 50' computes with complex numbers",
                kind="exact",
            )
        return symbols_for(name, np.shape(value))

    def as_float(self, x: Any) -> float | None:
        """Return a number rounded; None for what holds symbols."""
        found = self.number(x)
        return float(found) if found.is_real and found.is_number else None

    def is_condition(self, x: Any) -> bool:
        """Return whether an element is a relation, or true or false."""
        return isinstance(x, bool | np.bool_ | sympy.logic.boolalg.Boolean)

    def is_element(self, x: Any) -> bool:
        """Return whether x is an expression or a relation."""
        return isinstance(x, sympy.Basic)

    def compare(self, name: str) -> Callable | None:
        """Return the function that makes a relation; True or False where it is known."""
        function = RELATIONS.get(name)
        if function is None:
            return None

        def call(*xs: Any) -> Any:
            result = function(*(self.number(x) for x in xs))
            return bool(result) if result in (sympy.true, sympy.false) else result

        return call

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        """Return x where the condition holds, else y: a Piecewise where that is open."""
        x, y = self.number(x), self.number(y)
        if isinstance(condition, sympy.Expr):
            condition = sympy.Ne(condition, 0)
        if condition in (True, False):
            return x if condition else y
        return sympy.Piecewise((x, condition), (y, True))

    def partial(self, primitive: Primitive, place: int, operands: tuple, out: Any, params: dict) -> Any:
        """Return partial derivatives: those of the twin for a fresh symbol, at the operands."""
        twin, more = self.twin(primitive, params)

        def derivative(*xs: Any) -> Any:
            t = sympy.Dummy(real=True)
            formula = twin(*xs[:place], t, *xs[place + 1 :])
            return sympy.diff(formula, t).subs(t, xs[place])

        return exact(elementwise(derivative, (*(np.asarray(x).view(np.ndarray) for x in operands), *more)))

    def guarded(self, function: Callable, primitive: Primitive, params: dict) -> Callable:
        """Return a twin that makes its arguments exact numbers first."""

        def call(*xs: Any) -> Any:
            return self.number(function(*(self.counted(x) for x in xs)))

        return call


def is_own(error: BaseException) -> bool:
    """Return whether an error was raised inside sympy."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).startswith("sympy.")


def rational(text: str) -> Any:
    """Return a decimal number as a fraction; infinity and nan as they are."""
    if text in ("inf", "-inf"):
        return sympy.oo if text == "inf" else -sympy.oo
    return sympy.nan if text == "nan" else sympy.Rational(text)


def larger(a: Any, b: Any) -> Any:
    """The larger of two, as a choice."""
    return chosen(sympy.Ge(a, b), a, b)


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two, as a choice."""
    return chosen(sympy.Le(a, b), a, b)


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """Return a if the condition is true, b if it is false, else a Piecewise of both."""
    if condition in (sympy.true, sympy.false):
        return a if condition else b
    return sympy.Piecewise((a, condition), (b, True))


FUNCTIONS: dict[str, Any] = {
    **{
        name: getattr(sympy, name)
        for name in (
            "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log sqrt floor erf erfc erfinv "
            "erfi gamma loggamma polygamma besselj bessely besseli besselk airyai airyaiprime polylog zeta "
            "expint Ei Piecewise Eq pi sign nan"
        ).split()
    },
    "ceil": sympy.ceiling,
    "erfcinv": lambda x: sympy.erfinv(1 - x),
    "abs": sympy.Abs,
    "cbrt": lambda x: sympy.sign(x) * sympy.Abs(x) ** sympy.Rational(1, 3),
    "trunc": lambda x: sympy.sign(x) * sympy.floor(sympy.Abs(x)),
    "round": lambda x: sympy.floor(x + sympy.Rational(1, 2)),
    "maximum": larger,
    "minimum": smaller,
    "betainc_regularized": sympy.betainc_regularized,
    "gammainc_regularized": lambda a, x: sympy.lowergamma(a, x) / sympy.gamma(a),
    "gammaincc_regularized": lambda a, x: sympy.uppergamma(a, x) / sympy.gamma(a),
    "matrix": lambda array: sympy.Matrix(array.tolist()),
}
RELATIONS: dict[str, Callable] = {
    "less": sympy.Lt,
    "less_equal": sympy.Le,
    "greater": sympy.Gt,
    "greater_equal": sympy.Ge,
    "equal": sympy.Eq,
    "not_equal": sympy.Ne,
    "logical_and": sympy.And,
    "logical_or": sympy.Or,
    "logical_not": sympy.Not,
    "isnan": lambda x: sympy.Eq(x, sympy.nan) if x is sympy.nan else sympy.false,
    "isinf": lambda x: sympy.true if x in (sympy.oo, -sympy.oo) else sympy.false,
    "isfinite": lambda x: sympy.false if x in (sympy.oo, -sympy.oo, sympy.nan) else sympy.true,
    "signbit": lambda x: sympy.Lt(x, 0),
}


def symbols_for(name: str, shape: tuple[int, ...]) -> ExactArray:
    """Return an array of real symbols: x, or x[0], x[0,1] and so on."""
    out = np.empty(shape, object)
    for index in np.ndindex(shape):
        label = f"{name}[{','.join(map(str, index))}]" if index else name
        out[index] = sympy.Symbol(label, real=True)
    return out.view(ExactArray)
