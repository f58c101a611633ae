"""Print formulas in the expression language, in LaTeX, and as functions in Python or C."""

from __future__ import annotations

import functools
import keyword
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import sympy
from sympy.printing.c import C99CodePrinter
from sympy.printing.codeprinter import PrintMethodNotImplementedError
from sympy.printing.pycode import PythonCodePrinter
from sympy.printing.str import StrPrinter

from ..results.base import label
from ..results.studies import element_symbol

RENAMED = {
    "Abs": "abs", "ceiling": "ceil", "loggamma": "gammaln", "Ei": "expi",
    "besselj": "jv", "bessely": "yv", "besseli": "iv", "besselk": "kv",
    "airyai": "airy_ai", "airyaiprime": "airy_ai_slope", "LambertW": "lambertw",
    "elliptic_k": "ellipk", "elliptic_e": "ellipe",
}  # fmt: skip
OF_ORDER = {("polygamma", 0): "digamma", ("expint", 1): "exp1"}
CONSTANTS = {
    "Exp1": "e", "Infinity": "inf", "NegativeInfinity": "-inf",
    "ComplexInfinity": "inf", "ImaginaryUnit": "1j",
}  # fmt: skip


class LanguagePrinter(StrPrinter):
    """Writes an expression in the expression language."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        """Sort the terms of a sum, because sympy's order of Piecewise terms changes between runs."""
        terms = super()._as_ordered_terms(expr, order)
        return sorted(terms, key=lambda t: self._print(t) if t.has(sympy.Piecewise) else "")

    def _print_Function(self, expr: Any) -> str:
        name = type(expr).__name__
        args = ", ".join(self._print(x) for x in expr.args)
        if own := OF_ORDER.get((name, *expr.args[:1])):
            return f"{own}({self._print(expr.args[1])})"
        if name in ("lowergamma", "uppergamma"):
            function = "gammainc" if name == "lowergamma" else "gammaincc"
            return f"({function}({args})*gamma({self._print(expr.args[0])}))"
        if name == "betainc_regularized":
            a, b, _, x = expr.args
            return f"betainc({self._print(a)}, {self._print(b)}, {self._print(x)})"
        if name == "erfi":
            (x,) = expr.args
            return f"(2/sqrt(pi)*exp(({self._print(x)})**2)*dawsn({self._print(x)}))"
        if name == "polylog" and expr.args[0] == 2:
            return f"spence({self._print(1 - expr.args[1])})"
        more = ", 1" if (name, len(expr.args)) == ("zeta", 1) else ""  # Riemann's zeta is Hurwitz's at 1
        return f"{RENAMED.get(name, name)}({args}{more})"

    def _print_ExtremeBase(self, expr: Any) -> str:
        args = ", ".join(self._print(x) for x in expr.args)
        return f"{type(expr).__name__}({args})" if len(expr.args) == 2 else f"{expr.short_name}([{args}])"

    _print_Abs = _print_polygamma = _print_lowergamma = _print_uppergamma = _print_Function
    _print_LambertW = _print_elliptic_k = _print_elliptic_e = _print_Function

    def _print_Piecewise(self, expr: Any) -> str:
        result = self._print(expr.args[-1].expr)
        if expr.args[-1].cond is not sympy.true and expr.args[-1].cond != True:  # noqa: E712
            result = f"where({self._print(expr.args[-1].cond)}, {result}, nan)"
        for piece in reversed(expr.args[:-1]):
            result = f"where({self._print(piece.cond)}, {self._print(piece.expr)}, {result})"
        return result

    def _print_Relational(self, expr: Any) -> str:
        return f"{self._print(expr.lhs)} {expr.rel_op} {self._print(expr.rhs)}"

    def _print_And(self, expr: Any) -> str:
        return " & ".join(f"({self._print(x)})" for x in expr.args)

    def _print_Or(self, expr: Any) -> str:
        return " | ".join(f"({self._print(x)})" for x in expr.args)

    def _print_Not(self, expr: Any) -> str:
        return f"~({self._print(expr.args[0])})"

    def _print_ITE(self, expr: Any) -> str:
        condition, yes, no = (self._print(x) for x in expr.args)
        return f"(({condition}) & ({yes})) | (~({condition}) & ({no}))"

    def _print_constant(self, expr: Any) -> str:
        return CONSTANTS[type(expr).__name__]

    _print_Exp1 = _print_Infinity = _print_NegativeInfinity = _print_constant
    _print_ComplexInfinity = _print_ImaginaryUnit = _print_constant


def with_decimals(expr: Any) -> Any:
    """Replace long fractions by decimals, such as 1.0507009873554804934, if those are exact."""
    unit = 10**400
    long = [r for r in sympy.sympify(expr).atoms(sympy.Rational) if max(abs(r.p), r.q) > EXACT and unit % r.q == 0]
    return expr.xreplace({r: sympy.Float(r, len(str(r * unit).strip("-0"))) for r in long}) if long else expr


def text(expr: Any) -> str:
    return LanguagePrinter().doprint(expr)


HALF = sympy.Rational(1, 2)


def latex(expr: Any, names: Mapping[Any, str] | None = None) -> str:
    """Write LaTeX, with subscripts for array elements. names: LaTeX for some of the symbols."""
    symbols = {s: element_symbol(s.name) for s in getattr(expr, "free_symbols", ())}
    if hasattr(expr, "replace") and expr.has(sympy.Pow):
        expr = expr.replace(lambda part: part.is_Mul, lambda part: join_roots(join_cube_root(part)))
    text = sympy.latex(expr, symbol_names={**symbols, **(names or {})})
    return re.sub(r"\\sqrt\{(\d+)\} \\sqrt\{\\pi\}", r"\\sqrt{\1 \\pi}", text)


def join_cube_root(product: Any) -> Any:
    """Write sign(x) |x|^(1/3) in a product as the real cube root of x; likewise for its powers."""
    powers = product.as_powers_dict()
    for base, power in list(powers.items()):
        thirds = 3 * power
        if isinstance(base, sympy.Abs) and power.is_Rational and power.q == 3:
            sign = sympy.sign(base.args[0])
            if (powers.get(sign, 0) - thirds) % 2 == 0:
                rest = product / (base**power * sign ** powers.get(sign, 0))
                return rest * sympy.Pow(base.args[0], power)
    return product


def join_roots(product: Any) -> Any:
    """Join roots of numbers in a product, such as √2 √π to √(2π), if that is shorter."""
    roots = [x for x in product.args if x.is_Pow and x.base.is_positive and not x.free_symbols and abs(x.exp) == HALF]
    if len(roots) < 2:
        return product
    numbers = [x for x in product.args if x.is_Rational]
    square = sympy.Mul(*roots, *numbers) ** 2
    top, bottom = square.as_numer_denom()
    if 1 not in (top, bottom):
        return product
    rest = product / sympy.Mul(*roots, *numbers)
    parts = [sympy.sqrt(top), *([sympy.Pow(bottom, -HALF, evaluate=False)] if bottom != 1 else [])]
    rest = -rest if sympy.Mul(*numbers).is_negative else rest
    parts = [x for x in (*sympy.Mul.make_args(rest), *parts) if x != 1]
    return parts[0] if len(parts) == 1 else sympy.Mul(*parts, evaluate=False)


Inputs = Sequence[tuple[str, tuple[int, ...]]]
Derivatives = Sequence[tuple[str, tuple, list]]
EXACT = 1 << 53  # larger integers are written as floats
C_NAMES = frozenset(
    # keywords
    "alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern false "
    "float for goto if inline int long nullptr register restrict return short signed sizeof static static_assert "
    "struct switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while _Alignas _Alignof "
    "_Atomic _BitInt _Bool _Complex _Decimal32 _Decimal64 _Decimal128 _Generic _Imaginary _Noreturn _Static_assert "
    "_Thread_local "
    # functions of math.h
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod fpclassify frexp hypot ilogb isfinite isinf isnan isnormal ldexp lgamma llrint llround log log10 "
    "log1p log2 logb lrint lround modf nan nearbyint nextafter pow remainder remquo rint round scalbln scalbn "
    "signbit sin sinh sqrt tan tanh tgamma trunc "
    # macros of math.h, and macros that some compilers predefine
    "HUGE_VAL HUGE_VALF HUGE_VALL INFINITY MAXFLOAT M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI "
    "M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 NAN i386 linux unix".split()
)


class UniqueNames:
    """Chooses names for generated code: all different, and none reserved. kept: the reserved names of the language."""

    def __init__(self, inputs: Inputs, kept: Iterable[str]):
        self.taken = set(kept)
        self.parameters: dict[str, str] = {}
        legal = [name for name, _ in inputs if identifier(name) == name and name not in self.taken]
        for name in (*legal, *(n for n, _ in inputs if n not in legal)):  # names that can stay as they are come first
            self.parameters[name] = self.free(identifier(name))
        places = [(name, index, shape) for name, shape in inputs for index in np.ndindex(*shape)]
        self.elements = {label(n, index): (self.parameters[n], index, shape) for n, index, shape in places}

    def free(self, name: str) -> str:
        """Reserve a name, with underscores appended if it is taken."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def print_all(
    names: UniqueNames, printer: Any, value: Any, derivatives: Derivatives
) -> tuple[list[tuple[str, str]], str, list[list[str]]]:
    """Return (name, text) of common parts, then the value and the elements of each derivative in terms of them."""
    symbols = sympy.numbered_symbols("t", exclude=[sympy.Symbol(name) for name in names.taken])
    formulas = [value, *(e for _, _, elements in derivatives for e in elements)]
    parts, rest = sympy.cse(formulas, symbols=symbols, optimizations="basic")
    names.taken.update(symbol.name for symbol, _ in parts)
    words = iter([printer.doprint(e) for e in rest])
    shared = [(symbol.name, printer.doprint(part)) for symbol, part in parts]
    return shared, next(words), [list(islice(words, len(elements))) for _, _, elements in derivatives]


def identifier(name: str) -> str:
    """Convert a name to an identifier of a programming language: net.0.weight becomes net_0_weight."""
    word = re.sub(r"\W", "_", name)
    return f"_{word}" if word[:1].isdigit() else word


def doc(target: str) -> str:
    """Make a target safe inside a docstring or comment."""
    return " ".join(target.split()).replace("\\", "\\\\").replace('"""', "'''").replace("*/", "* /")


def nest_lists(words: list[str], shape: tuple[int, ...], left: str = "[") -> str:
    """Write texts as nested lists of the given shape. left: the opening bracket."""
    if not shape:
        return words[0]
    step = len(words) // shape[0] if shape[0] else 0
    rows = (words[i * step : (i + 1) * step] for i in range(shape[0]))
    return left + ", ".join(nest_lists(row, shape[1:], left) for row in rows) + "]"


def float_text(printer: Any, number: Any) -> str:
    rounded = float(number)
    return repr(rounded) if math.isfinite(rounded) else printer.doprint(sympy.oo if rounded > 0 else -sympy.oo)


class _Python(PythonCodePrinter):
    """Writes Python that calls math functions by their bare names, or by another name if an input has that name."""

    def __init__(self, names: UniqueNames):
        super().__init__({"fully_qualified_modules": False, "strict": True})
        self.names = names
        self.called: dict[tuple[str, str], str] = {}

    def _module_format(self, fqn: str, register: bool = True) -> str:
        module, _, name = fqn.rpartition(".")
        key = (module or "builtins", name)
        if key not in self.called:
            self.called[key] = self.names.free(name)
        return self.called[key]

    def _print_Symbol(self, expr: Any) -> str:
        parameter, index, _ = self.names.elements.get(expr.name, (expr.name, (), ()))
        return label(parameter, index)

    def _print_Integer(self, expr: Any) -> str:
        return float_text(self, expr) if abs(expr) > EXACT else super()._print_Integer(expr)

    def _print_NaN(self, expr: Any) -> str:
        return self._module_format("math.nan")

    _print_ComplexInfinity = _print_NaN

    def _print_ExtremeBase(self, expr: Any) -> str:
        return f"{self._module_format('builtins.' + expr.short_name)}({', '.join(map(self._print, expr.args))})"

    def imports(self) -> str:
        words: dict[str, list[str]] = {}
        for (module, name), used in sorted(self.called.items()):
            if module != "builtins" or name != used:
                words.setdefault(module, []).append(name if name == used else f"{name} as {used}")
        lines = [f"from {module} import {', '.join(names)}\n" for module, names in words.items()]
        return "".join(lines) + "\n\n" if lines else ""


def python_code(target: str, inputs: Inputs, value: Any, derivatives: Derivatives) -> str:
    """Write a Python function of value and derivatives. derivatives: (label, shape, expressions) of each."""
    names = UniqueNames(inputs, keyword.kwlist)
    printer = _Python(names)
    parts, word, slopes = print_all(names, printer, value, derivatives)
    texts = {label: nest_lists(words, shape) for (label, shape, _), words in zip(derivatives, slopes, strict=True)}
    arguments = [names.parameters[name] for name, _ in inputs]
    return printer.imports() + python_function(names, arguments, target, parts, word, texts)


def python_function(
    names: UniqueNames,
    arguments: Iterable[str],
    target: str,
    parts: Iterable[tuple[str, str]],
    value: str,
    derivatives: Mapping[str, str],
) -> str:
    """Write the function value_and_gradient. parts: (name, text) pairs. derivatives: texts by label."""
    returned = {names.free("value"): value}
    returned |= {names.free(f"d_{identifier(label)}"): text for label, text in derivatives.items()}
    lines = [
        f"def value_and_gradient({', '.join(arguments)}):",
        f'    """Value and derivatives of {doc(target)}."""',
        *(f"    {name} = {text}" for name, text in (*parts, *returned.items())),
        f"    return {', '.join(returned)}",
        "",
    ]
    return "\n".join(lines)


class _C(C99CodePrinter):
    """Writes C99, with array elements as indexed pointers."""

    def __init__(self, names: UniqueNames):
        # by default, sympy uses C's integer abs, and macros such as M_PI that C99 lacks
        super().__init__({"strict": True, "user_functions": {"Abs": "fabs"}, "math_macros": {}})
        self.names = names

    def _print_NumberSymbol(self, expr: Any) -> str:
        return repr(float(expr))

    def _print_ExtremeBase(self, expr: Any) -> str:
        return functools.reduce(lambda x, y: f"f{expr.short_name}({x}, {y})", map(self._print, expr.args))

    def _print_BooleanTrue(self, expr: Any) -> str:
        return "1"

    def _print_BooleanFalse(self, expr: Any) -> str:
        return "0"

    def _print_Symbol(self, expr: Any) -> str:
        parameter, index, shape = self.names.elements.get(expr.name, (expr.name, (), ()))
        return f"{parameter}[{int(np.ravel_multi_index(index, shape))}]" if index else parameter

    def _print_Integer(self, expr: Any) -> str:
        return float_text(self, expr) if abs(expr) > EXACT else super()._print_Integer(expr)

    def _print_Rational(self, expr: Any) -> str:
        return float_text(self, expr) if max(abs(expr.p), expr.q) > EXACT else super()._print_Rational(expr)

    def _print_ImaginaryUnit(self, expr: Any) -> str:
        raise PrintMethodNotImplementedError(">: complex numbers")


def c_code(target: str, inputs: Inputs, value: Any, derivatives: Derivatives) -> str:
    """Write a C function that returns the value and stores the derivatives; arrays are flat, in row-major order."""
    names = UniqueNames(inputs, C_NAMES)
    printer = _C(names)
    pointers = [names.free(f"d_{identifier(label)}") for label, _, _ in derivatives]
    parts, word, slopes = print_all(names, printer, value, derivatives)
    body = [f"    const double {name} = {part};" for name, part in parts]
    for pointer, (_, shape, _), words in zip(pointers, derivatives, slopes, strict=True):
        places = (f"{pointer}[{k}]" if shape else f"*{pointer}" for k in range(len(words)))
        body += [f"    {place} = {word};" for place, word in zip(places, words, strict=True)]
    arguments = [f"const double *{names.parameters[n]}" if s else f"double {names.parameters[n]}" for n, s in inputs]
    arguments += [f"double *{pointer}" for pointer in pointers]
    head = ["#include <math.h>", "", f"/* Value and derivatives of {doc(target)}. */"]
    head += [f"double value_and_gradient({', '.join(arguments)})", "{"]
    return "\n".join([*head, *body, f"    return {word};", "}", ""])
