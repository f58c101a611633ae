"""Formulas as columns of a SELECT, in the part of SQL that DuckDB and PostgreSQL (12 and newer) share."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.printing.codeprinter import CodePrinter, PrintMethodNotImplementedError
from sympy.printing.precedence import precedence

from .code import EXACT, Derivatives, Inputs, UniqueNames, nest_lists

FUNCTIONS = (
    "exp log:ln sin cos tan cot asin acos atan atan2 sinh cosh tanh asinh acosh atanh sign Abs:abs floor "
    "ceiling:ceil Max:greatest Min:least"
)
"""Functions of both: sympy's name, and that of SQL where it is another."""
NAMED = dict((part.split(":") * 2)[:2] for part in FUNCTIONS.split())
NAN = "CAST('NaN' AS float8)"
CONSTANTS = {
    "Infinity": "CAST('Infinity' AS float8)",
    "NegativeInfinity": "CAST('-Infinity' AS float8)",
    "NaN": NAN,
    "ComplexInfinity": NAN,
    "BooleanTrue": "TRUE",
    "BooleanFalse": "FALSE",
}


class _Sql(CodePrinter):
    """Expressions in SQL: columns in double precision, arrays counted from 1."""

    language = "SQL"
    printmethod = "_sql"

    def __init__(self, names: UniqueNames):
        super().__init__({"strict": True})
        self.known_functions = NAMED
        self.names = names
        self.columns = {parameter: name for name, parameter in names.parameters.items()}

    def _print_Symbol(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        parameter, index, _ = self.names.elements[expr.name]
        column = quote(self.columns[parameter]) + "".join(f"[{i + 1}]" for i in index)
        return f"CAST({column} AS float8)" if index else f"{column}::float8"

    def _print_Float(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        text = repr(float(expr))
        return text if "e" in text else f"{text}e0"  # with an exponent, it is double precision and no decimal

    _print_Rational = _print_Float  # noqa: N815

    def _print_Integer(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return self._print_Float(expr) if abs(expr) > EXACT else f"{expr}"

    def _print_NumberSymbol(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return self._print_Float(expr)

    _print_Exp1 = _print_Pi = _print_NumberSymbol  # noqa: N815

    def _print_constant(self, expr: Any) -> str:
        return CONSTANTS[type(expr).__name__]

    _print_Infinity = _print_NegativeInfinity = _print_NaN = _print_ComplexInfinity = _print_constant  # noqa: N815
    _print_BooleanTrue = _print_BooleanFalse = _print_constant  # noqa: N815

    def _print_Pow(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        base, power = expr.as_base_exp()
        if power == -1:
            return f"1/{self.parenthesize(base, precedence(expr))}"
        if power == sympy.Rational(1, 2):
            return f"sqrt({self._print(base)})"
        if power == -sympy.Rational(1, 2):
            return f"1/sqrt({self._print(base)})"
        return f"power({self._print(base)}, {self._print(power)})"

    def _print_Mod(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        x, y = expr.args
        return f"({self._print(x - y * sympy.floor(x / y))})"

    def _print_Relational(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        sign = {"==": "=", "!=": "<>"}.get(expr.rel_op, expr.rel_op)
        return f"{self.parenthesize(expr.lhs, 40)} {sign} {self.parenthesize(expr.rhs, 40)}"

    def _print_And(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return "(" + " AND ".join(map(self._print, expr.args)) + ")"

    def _print_Or(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return "(" + " OR ".join(map(self._print, expr.args)) + ")"

    def _print_Not(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return f"(NOT {self._print(expr.args[0])})"

    def _print_Piecewise(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        parts = [(self._print_Float(e) if e.is_Integer else self._print(e), c) for e, c in expr.args]  # 1/2 is 0
        cases = [f"WHEN {self._print(c)} THEN {e}" for e, c in parts if c != sympy.true]
        rest = [e for e, c in parts if c == sympy.true][:1] or [NAN]
        return f"(CASE {' '.join(cases)} ELSE {rest[0]} END)" if cases else f"({rest[0]})"

    def _print_ITE(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return self._print(expr.rewrite(sympy.Piecewise, deep=False))

    def _print_ImaginaryUnit(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        raise PrintMethodNotImplementedError(">: complex numbers")


def quote(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def sql_code(target: str, inputs: Inputs, value: Any, derivatives: Derivatives) -> str:
    """Return columns of a SELECT: the value, and d_NAME for every input; arrays as arrays, one in another by rows."""
    printer = _Sql(UniqueNames(inputs, ()))
    wanted = [("value", (), [value]), *((f"d_{label}", shape, elements) for label, shape, elements in derivatives)]
    columns = [
        f"{nest_lists([printer._print(e) for e in elements], shape, 'ARRAY[')} AS {quote(label)}"
        for label, shape, elements in wanted
    ]
    return ",\n".join(columns) + "\n"
