"""Print formulas in the expression language and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from ..results.studies import element_symbol

RENAMED = {
    "Abs": "abs", "ceiling": "ceil", "loggamma": "gammaln", "Ei": "expi",
    "besselj": "jv", "bessely": "yv", "besseli": "iv", "besselk": "kv",
    "airyai": "airy_ai", "airyaiprime": "airy_ai_slope", "LambertW": "lambertw",
    "elliptic_k": "ellipk", "elliptic_e": "ellipe",
}  # fmt: skip
OF_ORDER = {("polygamma", 0): "digamma", ("expint", 1): "exp1"}
PRINTED_CONSTANTS = {
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
        return PRINTED_CONSTANTS[type(expr).__name__]

    _print_Exp1 = _print_Infinity = _print_NegativeInfinity = _print_constant
    _print_ComplexInfinity = _print_ImaginaryUnit = _print_constant


LONGEST_FRACTION = 1 << 53  # numbers of longer fractions have no exact form as floats


def with_decimals(expr: Any) -> Any:
    """Replace long fractions by decimals, such as 1.0507009873554804934, if those are exact."""
    unit = 10**400
    long = [
        r
        for r in sympy.sympify(expr).atoms(sympy.Rational)
        if max(abs(r.p), r.q) > LONGEST_FRACTION and unit % r.q == 0
    ]
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
