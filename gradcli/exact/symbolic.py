"""Symbols: a field whose elements are sympy expressions, built by running the program."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy

from ..errors import GradcliError
from ..results.base import label
from ..rules.exact import map_elements, without_field
from ..rules.table import Primitive
from .field import ExactArray, Field, Literal, exact

MOST_POWER_BITS = 1024  # an exact power with more bits is rounded


class Unknown(sympy.Dummy):
    """A nan that can be differentiated, unlike sympy's own nan, whose derivative is 0."""

    def __new__(cls) -> Unknown:
        return super().__new__(cls, "nan", real=True)

    def __float__(self) -> float:
        return float("nan")

    def __complex__(self) -> complex:
        return complex("nan")


class const(sympy.Function):  # noqa: N801 - its name in programs
    """An expression that is treated as constant in differentiation."""

    @classmethod
    def eval(cls, x: Any) -> Any:
        return x if x.is_number else None

    def fdiff(self, argindex: int = 1) -> Any:
        return sympy.Integer(0)

    def _eval_is_extended_real(self) -> Any:
        return self.args[0].is_extended_real


class ExtremeBase(sympy.Function):
    """The largest or smallest of several expressions. Ties share the slope equally, as in the engine.

    chooses_first: relation that holds if the first of two is the result. is_ahead: relation that holds if it is the
    only result. sympy's printers find this class by its name, which must end in "Base".
    """

    chooses_first: Callable
    is_ahead: Callable

    @classmethod
    def eval(cls, *xs: Any) -> Any:
        """Return the result if it is certain; otherwise drop the expressions that cannot be the result."""
        ahead = [x for i, x in enumerate(xs) if not any(cls.is_ahead(y, x) == True for y in xs)]  # noqa: E712
        if len(set(ahead)) == 1:
            return ahead[0]
        return None if len(ahead) == len(xs) else cls(*ahead)

    def fdiff(self, argindex: int = 1) -> Any:
        x, others = self.args[argindex - 1], [y for i, y in enumerate(self.args, 1) if i != argindex]
        if len(others) == 1:
            ahead, tied = type(self).is_ahead(x, *others), sympy.Eq(x, *others)
            return sympy.Piecewise((1, ahead), (sympy.Rational(1, 2), tied), (0, True))
        ties = sympy.Add(1, *(sympy.Piecewise((1, sympy.Eq(x, y)), (0, True)) for y in others))
        return choose_symbolic(sympy.And(*(type(self).chooses_first(x, y) for y in others)), 1 / ties, 0)

    def _eval_is_extended_real(self) -> Any:
        return all(x.is_extended_real for x in self.args) or None

    def _eval_rewrite_as_Piecewise(self, *xs: Any, **_: Any) -> Any:  # noqa: N802 - sympy looks for this name
        first = (sympy.And(*(type(self).chooses_first(x, y) for y in xs if y is not x)) for x in xs)
        return sympy.Piecewise(*zip(xs, first, strict=True))

    @property
    def short_name(self) -> str:
        return type(self).__name__[:3]

    def _latex(self, printer: Any, exp: str = "") -> str:
        name = rf"\{self.short_name}" + (f"^{{{exp}}}" if exp else "")
        return rf"{name}\left({', '.join(map(printer.doprint, self.args))}\right)"


class maximum(ExtremeBase):  # noqa: N801 - its name in programs
    chooses_first, is_ahead = sympy.Ge, sympy.Gt


class minimum(ExtremeBase):  # noqa: N801 - its name in programs
    chooses_first, is_ahead = sympy.Le, sympy.Lt


class Symbolic(Field):
    """Expressions in real symbols."""

    advice = "compute its derivative as numbers, with 'gradcli grad'"
    lazy_pieces = False
    constants: Mapping[str, Any] = {"pi": sympy.pi, "e": sympy.E, "tau": 2 * sympy.pi}

    def __init__(self) -> None:
        self.functions = SYMBOLIC_FUNCTIONS
        self.met_nan = False
        self.point: dict[Any, Any] = {}

    def number(self, x: Any) -> Any:
        if isinstance(x, sympy.Basic):
            return self.unknown() if x is sympy.nan else x
        if isinstance(x, Literal):
            if x.text in self.constants:
                return self.constants[x.text]
            return rational(x.text if x and math.isfinite(x) else repr(float(x)))
        if isinstance(x, bool | np.bool_):
            return sympy.true if x else sympy.false
        if isinstance(x, complex | np.complexfloating):
            return self.number(float(x.real)) + sympy.I * self.number(float(x.imag))
        if isinstance(x, int | np.integer):
            return sympy.Integer(int(x))
        return self.number(rational(repr(float(x))))

    def unknown(self) -> Unknown:
        self.met_nan = True
        return Unknown()

    def is_nan(self, x: Any) -> bool:
        return self.met_nan and x.has(Unknown)

    def as_number(self, x: Any) -> Any:
        value = self.number(x)
        if value in (sympy.true, sympy.false):
            return sympy.Integer(int(bool(value)))
        if isinstance(value, sympy.logic.boolalg.Boolean) and not isinstance(value, sympy.Symbol):
            return sympy.Piecewise((1, value), (0, True))
        return value

    def input_array(self, name: str, value: Any) -> Any:
        elements = without_field(value).ravel().tolist()
        kinds = (e.is_extended_real if isinstance(e, sympy.Basic) else not isinstance(e, complex) for e in elements)
        if any(is_real is False for is_real in kinds):
            message = f"'{name}' is complex; formulas support only real inputs"
            raise GradcliError(message, hint="'gradcli grad --digits 50' computes with complex numbers", kind="exact")
        symbols = symbols_for(name, np.shape(value))
        pairs = zip(without_field(symbols).ravel().tolist(), elements, strict=True)
        self.point.update((s, self.number(e)) for s, e in pairs if e == e)
        return symbols

    def as_constant(self, x: Any) -> Any:
        return const(self.number(x))

    def decide(self, condition: Any) -> bool:
        truth = sympy.sympify(condition).xreplace(self.point)
        if truth not in (sympy.true, sympy.false):
            message = "the elements that a mask selects depend on the inputs, which have no values"
            hint = "give values to the inputs, or choose with where(condition, x, y)"
            raise GradcliError(message, hint=hint, kind="exact")
        return bool(truth)

    def as_float(self, x: Any) -> float | None:
        value = self.number(x)
        return float(value) if value.is_real and value.is_number else None

    def is_condition(self, x: Any) -> bool:
        return isinstance(x, bool | np.bool_ | sympy.logic.boolalg.Boolean) and not isinstance(x, sympy.Symbol)

    def is_element(self, x: Any) -> bool:
        return isinstance(x, sympy.Basic)

    def is_complex(self, x: Any) -> bool:
        return isinstance(x, sympy.Expr) and x.has(sympy.I)

    def parts(self, x: Any) -> tuple[Any, Any]:
        return self.number(x).as_real_imag()

    def compare(self, name: str) -> Callable | None:
        function = RELATIONS.get(name)
        if function is None:
            return None

        def call(*xs: Any) -> Any:
            numbers = tuple(self.number(x) for x in xs)
            if any(self.is_nan(x) for x in numbers):
                return name in ("not_equal", "isnan")
            result = function(*numbers)
            return bool(result) if result in (sympy.true, sympy.false) else result

        return call

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        x, y = self.number(x), self.number(y)
        if isinstance(condition, sympy.Expr):
            condition = sympy.Ne(condition, 0)
        return choose_symbolic(condition, x, y)

    def partial(self, primitive: Primitive, place: int, operands: tuple, params: dict) -> Any:
        twin, more = self.twin(primitive, params)

        def derivative(*xs: Any) -> Any:
            t = sympy.Dummy(real=True)
            formula = twin(*xs[:place], t, *xs[place + 1 :])
            return sympy.diff(formula, t).subs(t, xs[place])

        return exact(map_elements(derivative, (*map(without_field, operands), *more)))

    def guard(self, function: Callable, primitive: Primitive, params: dict) -> Callable:
        def call(*xs: Any) -> Any:
            operands = tuple(self.as_number(x) for x in xs)
            nan = [self.is_nan(x) for x in operands]
            if any(nan):
                return self.with_nan(function, primitive.name, operands, nan)
            if all(x.is_number for x in operands):
                rounded = in_floats(primitive, operands, params)
                if rounded is not None:
                    return rounded
            return self.number(function(*operands))

        return call

    def with_nan(self, function: Callable, name: str, operands: tuple, nan: list[bool]) -> Any:
        """Return a twin's result if some operands are nan: usually a nan that has the twin's derivatives."""
        if name in ("fmax", "fmin") and not all(nan):
            return operands[nan.index(False)]
        if name in ("maximum", "minimum"):
            return sum(operands)
        result = self.number(function(*operands))
        return result if name == "power" or self.is_nan(result) else result + self.unknown()


def was_raised_by_sympy(error: BaseException) -> bool:
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__", "")).startswith("sympy.")


def in_floats(primitive: Primitive, numbers: tuple, params: dict) -> Any:
    """Return the floating-point result if it is infinite or would need too many exact digits; else None."""
    try:
        with np.errstate(all="ignore"):
            out = float(primitive.forward(*(np.float64(float(x)) for x in numbers), **params))
    except (TypeError, ValueError):
        return None  # complex
    if math.isinf(out):
        return rational(repr(out)) if all(x.is_finite for x in numbers) else None
    if primitive.name != "power" or math.isnan(out):
        return None
    base, exponent = numbers
    bits = max(int(n).bit_length() for n in (base.p, base.q)) if base.is_Rational else 64
    return rational(repr(out)) if bits * abs(exponent) > MOST_POWER_BITS else None


def resolve_unknown(expr: Any) -> Any:
    """Replace unknown numbers by nan; comparisons with them become false, except !=."""
    expr = sympy.sympify(expr)
    if not expr.has(Unknown):
        return expr
    expr = expr.replace(
        lambda e: isinstance(e, sympy.core.relational.Relational) and e.has(Unknown),
        lambda e: sympy.true if isinstance(e, sympy.Ne) else sympy.false,
    )
    return sympy.sympify(expr).xreplace(dict.fromkeys(expr.atoms(Unknown), sympy.nan))


def rational(text: str) -> Any:
    """Convert a decimal number to a fraction, or to sympy's infinity or nan."""
    if text in ("inf", "-inf"):
        return sympy.oo if text == "inf" else -sympy.oo
    return sympy.nan if text == "nan" else sympy.Rational(text)


def choose_symbolic(condition: Any, a: Any, b: Any) -> Any:
    if condition in (sympy.true, sympy.false):
        return a if condition else b
    return sympy.Piecewise((a, condition), (b, True))


OWN_NAMES = (
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log sqrt floor erf erfc erfinv erfi gamma "
    "loggamma polygamma besselj bessely besseli besselk airyai airyaiprime polylog zeta expint Ei "
    "betainc_regularized Piecewise Eq pi sign nan LambertW elliptic_k elliptic_e"
)
SYMBOLIC_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(sympy, name) for name in OWN_NAMES.split()},
    "ceil": sympy.ceiling,
    "erfcinv": lambda x: sympy.erfinv(1 - x),
    "abs": sympy.Abs,
    "cbrt": lambda x: sympy.sign(x) * sympy.Abs(x) ** sympy.Rational(1, 3),
    "trunc": lambda x: sympy.sign(x) * sympy.floor(sympy.Abs(x)),
    "round": lambda x: sympy.floor(x + sympy.Rational(1, 2)),
    "maximum": maximum,
    "minimum": minimum,
    "gammainc_regularized": lambda a, x: sympy.lowergamma(a, x) / sympy.gamma(a),
    "gammaincc_regularized": lambda a, x: sympy.uppergamma(a, x) / sympy.gamma(a),
    "matrix": lambda array: sympy.Matrix(array.tolist()),
}
RELATIONS: dict[str, Callable] = {
    "less": sympy.Lt, "less_equal": sympy.Le, "greater": sympy.Gt, "greater_equal": sympy.Ge,
    "equal": sympy.Eq, "not_equal": sympy.Ne,
    "logical_and": sympy.And, "logical_or": sympy.Or, "logical_not": sympy.Not,
    "isnan": lambda x: sympy.false,
    "isinf": lambda x: sympy.true if x in (sympy.oo, -sympy.oo) else sympy.false,
    "isfinite": lambda x: sympy.false if x in (sympy.oo, -sympy.oo) else sympy.true,
    "signbit": lambda x: sympy.Lt(x, 0),
}  # fmt: skip


def symbols_for(name: str, shape: tuple[int, ...]) -> ExactArray:
    out = np.empty(shape, object)
    for index in np.ndindex(shape):
        out[index] = sympy.Symbol(label(name, index), real=True)
    return out.view(ExactArray)
