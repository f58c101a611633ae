"""Formulas as text: the expression language, LaTeX, Python and C."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import sympy
from sympy.printing.c import C99CodePrinter
from sympy.printing.pycode import PythonCodePrinter
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
    "log": "log",
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
        symbol = {"==": "==", "!=": "!="}.get(expr.rel_op, expr.rel_op)
        return f"{self._print(expr.lhs)} {symbol} {self._print(expr.rhs)}"

    def _print_And(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return " & ".join(f"({self._print(x)})" for x in expr.args)

    def _print_Or(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return " | ".join(f"({self._print(x)})" for x in expr.args)

    def _print_Not(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return f"~({self._print(expr.args[0])})"

    def _print_ITE(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        condition, yes, no = (self._print(x) for x in expr.args)
        return f"(({condition}) & ({yes})) | (~({condition}) & ({no}))"

    def _print_BooleanTrue(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return "True"

    def _print_BooleanFalse(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return "False"

    def _print_Exp1(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return "e"

    def _print_Infinity(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return "inf"

    def _print_NegativeInfinity(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return "-inf"

    def _print_ComplexInfinity(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return "inf"

    def _print_ImaginaryUnit(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return "1j"


def text(expr: Any) -> str:
    """Return an expression in the expression language."""
    return LanguagePrinter().doprint(expr)


def latex(expr: Any) -> str:
    """Return an expression in LaTeX; elements of arrays get indices below."""
    names = {s: latex_name(s.name) for s in expr.free_symbols} if hasattr(expr, "free_symbols") else {}
    return sympy.latex(expr, symbol_names=names)


def latex_name(name: str) -> str:
    """Return a symbol's name: x_{0,1} for x[0,1]."""
    base, bracket, rest = name.partition("[")
    greek = sympy.latex(sympy.Symbol(base))
    return (
        f"{greek}_{{{rest.rstrip(']')}}}" if bracket and "_" not in greek else greek + (f"[{rest}" if bracket else "")
    )


def pretty(expr: Any, unicode: bool = True) -> str:
    """Return an expression over several lines."""
    return sympy.pretty(expr, use_unicode=unicode, wrap_line=False)


# -- code -----------------------------------------------------------------------------------------------


class _Python(PythonCodePrinter):
    """Python with the math module's functions by their bare names."""

    def _module_format(self, fqn: str, register: bool = True) -> str:
        super()._module_format(fqn, register)
        return fqn.split(".")[-1]


class _C(C99CodePrinter):
    """C99 whose array elements are indexed."""

    def __init__(self, names: dict[str, str]):
        super().__init__({"strict": True})
        self.names = names

    def _print_Symbol(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return self.names.get(expr.name, expr.name)


Inputs = Sequence[tuple[str, tuple[int, ...]]]


def identifier(name: str) -> str:
    """Return a name that programming languages take: net.0.weight becomes net_0_weight."""
    return re.sub(r"\W", "_", name)


def shared(exprs: Sequence[Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Return common parts with their names, and the expressions in terms of them."""
    parts, rest = sympy.cse(list(exprs), symbols=sympy.numbered_symbols("t"), optimizations="basic")
    return parts, rest


def nested(words: list[str], shape: tuple[int, ...]) -> str:
    """Return texts as nested lists of a shape."""
    if not shape:
        return words[0]
    step = len(words) // shape[0] if shape[0] else 0
    return "[" + ", ".join(nested(words[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])) + "]"


def python_code(target: str, inputs: Inputs, value: Any, derivatives: Sequence[tuple[str, tuple, list]]) -> str:
    """Return a Python function of the inputs that returns the value and the derivatives.

    derivatives: label, shape and expressions of each.
    """
    printer = _Python({"fully_qualified_modules": False, "strict": True})
    parts, rest = shared([value, *(e for _, _, found in derivatives for e in found)])
    body = [f"    {name} = {printer.doprint(part)}" for name, part in parts]
    words = [printer.doprint(e) for e in rest]
    body.append(f"    value = {words[0]}")
    place, returned = 1, ["value"]
    for label, shape, found in derivatives:
        name = f"d_{identifier(label)}"
        body.append(f"    {name} = {nested(words[place : place + len(found)], shape)}")
        place += len(found)
        returned.append(name)
    functions = sorted({name for names in printer.module_imports.values() for name in names})
    imports = f"from math import {', '.join(functions)}\n\n\n" if functions else ""
    arguments = ", ".join(identifier(name) for name, _ in inputs)
    lines = [f"def value_and_gradient({arguments}):", f'    """Value and derivatives of {doc(target)}."""', *body]
    return imports + "\n".join([*lines, f"    return {', '.join(returned)}", ""])


def doc(target: str) -> str:
    """Return a target as it may stand in a docstring or comment."""
    return " ".join(target.split()).replace("\\", "\\\\").replace('"""', "'''").replace("*/", "* /")


def c_code(target: str, inputs: Inputs, value: Any, derivatives: Sequence[tuple[str, tuple, list]]) -> str:
    """Return a C function that returns the value and stores the derivatives; arrays are flat, rows first."""
    names: dict[str, str] = {}
    for name, shape in inputs:
        for k, index in enumerate(indices(shape)):
            names[f"{name}[{','.join(map(str, index))}]" if index else name] = (
                f"{identifier(name)}[{k}]" if shape else identifier(name)
            )
    printer = _C(names)
    parts, rest = shared([value, *(e for _, _, found in derivatives for e in found)])
    body = [f"    const double {name} = {printer.doprint(part)};" for name, part in parts]
    words = [printer.doprint(e) for e in rest]
    place = 1
    for label, shape, found in derivatives:
        name = f"d_{identifier(label)}"
        for k in range(len(found)):
            body.append(f"    {name}[{k}] = {words[place + k]};" if shape else f"    *{name} = {words[place + k]};")
        place += len(found)
    arguments = [f"const double *{identifier(n)}" if s else f"double {identifier(n)}" for n, s in inputs]
    arguments += [f"double *d_{identifier(label)}" for label, _, _ in derivatives]
    head = f"/* Value and derivatives of {doc(target)}. */\ndouble value_and_gradient({', '.join(arguments)})\n{{\n"
    return "#include <math.h>\n\n" + head + "\n".join([*body, f"    return {words[0]};", "}", ""])


def indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return all indices of an array of a shape, the last axis fastest."""
    import numpy as np

    return list(np.ndindex(shape))
