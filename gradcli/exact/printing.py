"""Formulas as text: the expression language and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

RENAMED = {
    "Abs": "abs",
    "ceiling": "ceil",
    "loggamma": "gammaln",
    "besselj": "jv",
    "bessely": "yv",
    "besseli": "iv",
    "besselk": "kv",
    "airyai": "airy_ai",
    "airyaiprime": "airy_ai_slope",
    "Ei": "expi",
}
CONSTANTS = {
    "Exp1": "e",
    "Infinity": "inf",
    "NegativeInfinity": "-inf",
    "ComplexInfinity": "inf",
    "ImaginaryUnit": "1j",
}


class LanguagePrinter(StrPrinter):
    """Writes an expression so that the expression language reads it back."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        """Return the terms of a sum in an order that is the same in every run: sympy leaves that of choices open."""
        terms = super()._as_ordered_terms(expr, order)
        return sorted(terms, key=lambda t: self._print(t) if t.has(sympy.Piecewise) else "")

    def _print_Function(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        name = type(expr).__name__
        args = ", ".join(self._print(x) for x in expr.args)
        if name == "polygamma" and expr.args[0] == 0:
            return f"digamma({self._print(expr.args[1])})"
        if name == "expint" and expr.args[0] == 1:
            return f"exp1({self._print(expr.args[1])})"
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
        return f"{RENAMED.get(name, name)}({args})"

    _print_Abs = _print_polygamma = _print_lowergamma = _print_uppergamma = _print_Function  # noqa: N815

    def _print_Piecewise(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        result = self._print(expr.args[-1].expr)
        if expr.args[-1].cond is not sympy.true and expr.args[-1].cond != True:  # noqa: E712
            result = f"where({self._print(expr.args[-1].cond)}, {result}, nan)"
        for piece in reversed(expr.args[:-1]):
            result = f"where({self._print(piece.cond)}, {self._print(piece.expr)}, {result})"
        return result

    def _print_Relational(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return f"{self._print(expr.lhs)} {expr.rel_op} {self._print(expr.rhs)}"

    def _print_And(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return " & ".join(f"({self._print(x)})" for x in expr.args)

    def _print_Or(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return " | ".join(f"({self._print(x)})" for x in expr.args)

    def _print_Not(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return f"~({self._print(expr.args[0])})"

    def _print_ITE(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        condition, yes, no = (self._print(x) for x in expr.args)
        return f"(({condition}) & ({yes})) | (~({condition}) & ({no}))"

    def _print_constant(self, expr: Any) -> str:
        return CONSTANTS[type(expr).__name__]

    _print_Exp1 = _print_Infinity = _print_NegativeInfinity = _print_constant  # noqa: N815
    _print_ComplexInfinity = _print_ImaginaryUnit = _print_constant  # noqa: N815


def text(expr: Any) -> str:
    """Return an expression in the expression language."""
    return LanguagePrinter().doprint(expr)


def latex(expr: Any, names: Mapping[Any, str] | None = None) -> str:
    """Return an expression in LaTeX; elements of arrays get indices below. names: how to write some symbols."""
    latex_names = {s: latex_name(s.name) for s in expr.free_symbols} if hasattr(expr, "free_symbols") else {}
    return sympy.latex(expr, symbol_names={**latex_names, **(names or {})})


def latex_name(name: str) -> str:
    """Return a symbol's name: x_{0,1} for x[0,1]."""
    base, bracket, rest = name.partition("[")
    greek = sympy.latex(sympy.Symbol(base))
    return (
        f"{greek}_{{{rest.rstrip(']')}}}" if bracket and "_" not in greek else greek + (f"[{rest}" if bracket else "")
    )


def pretty(expr: Any, unicode: bool = True) -> str:
    return sympy.pretty(expr, use_unicode=unicode, wrap_line=False)
