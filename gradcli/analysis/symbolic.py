"""The derivatives of a program as formulas."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import sympy
from sympy.printing.codeprinter import PrintMethodNotImplementedError

from ..errors import GradcliError, TimeIsUp
from ..exact import code as functions
from ..exact import printing
from ..exact.symbolic import resolve_unknown
from ..lang.time_limits import time_left, within
from ..program.base import Program
from ..results.exact import Derivative, Formula, FormulaMatrix, Formulas
from ..results.labels import labels
from .formula_values import evaluate_at, every_input, point_of
from .gradient import Request
from .symbolic_run import (
    MAX_SYMBOLS,
    TIMEOUT,
    Symbols,
    derivatives,
    derive_in_time,
    is_vector,
    scalar,
)

FUNCTION_NAMES = ("f", "g", "h", "F", "G", "H", "output")
"""What an output without a name is called, unless an input is called so."""

LIBRARIES = {
    "python": "Python's math module",
    "c": "C's math library",
}
"""What formulas as code are written with."""


def simplify_in_time(formulas: list, seconds: float) -> tuple[list, bool]:
    """Return expressions simplified, as far as that takes no longer; and whether it was finished."""
    try:
        with within(time_left(seconds)):
            return [(label, shape, [sympy.simplify(e) for e in exprs]) for label, shape, exprs in formulas], True
    except TimeIsUp:
        return formulas, False


def derive_formulas(
    program: Program,
    given: Mapping[str, Any],
    request: Request,
    *,
    order: int = 1,
    simplify: bool = False,
    timeout: float = TIMEOUT,
    at: Mapping[str, Any] | None = None,
    max_symbols: int = MAX_SYMBOLS,
    code: str = "",
    unicode: bool = True,
    digits: int = 15,
    steps: bool = False,
) -> Formulas:
    """Return the formulas of a program's derivatives.

    at: a point to evaluate them at. code: python or c, for a function with these formulas.
    """
    notes: list[str] = []
    start = time.monotonic()

    def differentiated() -> tuple[Symbols, list]:
        symbols = Symbols(program, given, request, max_symbols)
        expressions = derivatives(symbols, order)
        return symbols, [(label, shape, [resolve_unknown(e) for e in exprs]) for label, shape, exprs in expressions]

    symbols, formulas = derive_in_time(timeout, differentiated)
    spent = time.monotonic() - start
    if simplify:
        formulas, done = simplify_in_time(formulas, timeout)
        if not done:
            notes.append(f"simplifying took longer than {timeout:g} s, so the formulas are not simplified")

    def derive() -> Formulas:
        point = None if at is None else point_of(symbols, at)
        known = every_input(symbols)

        def derivative(label: str, expr: Any) -> Derivative:
            return Derivative(
                label, write_formula(expr, unicode), None if point is None else evaluate_at(expr, point, digits)
            )

        value = [
            derivative(label, e)
            for label, e in zip(labels("value", symbols.output.shape), symbols.output.ravel().tolist(), strict=True)
            if symbols.grads is None
        ]
        slopes = [
            derivative(label, e)
            for name, shape, exprs in formulas
            for label, e in zip(labels(name, shape), exprs, strict=True)
        ]
        text = ""
        if code:
            writer = {"python": functions.python_code, "c": functions.c_code}[code]
            inputs = [(name, array.shape) for name, array in known.items()]
            text = write_code(writer, code, symbols, inputs, formulas)
        lines: tuple[Formula, ...] = ()
        if steps:
            from .chain_rule import chain_rule

            by_input: dict[str, list[Derivative]] = {}
            for d in slopes:
                by_input.setdefault(d.name.partition("[")[0], []).append(d)
            lines = chain_rule(program, given, request.out, by_input, at is not None)
        return Formulas(
            symbols.title,
            tuple(value),
            tuple(slopes),
            order,
            text,
            lines,
            symbols.run.output_name,
            symbols.run.output_name or next(name for name in FUNCTION_NAMES if name not in known),
            sum(x.size for x in known.values()) == 1,
            matrix_of(symbols, slopes, order),
            tuple(notes),
        )

    return derive_in_time(timeout, derive, spent)


def matrix_of(symbols: Symbols, formulas: list[Derivative], order: int) -> FormulaMatrix | None:
    """Return the derivatives as a matrix: the Jacobian of several outputs, or the Hessian for several symbols."""
    columns = [label for name, x in symbols.inputs.items() for label in labels(name, x.shape)]
    if is_vector(symbols):
        rows, n = labels("", symbols.output.shape), len(columns)
        entries = tuple(tuple(formulas[i * n : i * n + n]) for i in range(len(rows)))
        return FormulaMatrix("jacobian", tuple(rows), tuple(columns), entries)
    if order != 2 or len(columns) < 2 or symbols.grads is not None:
        return None
    pairs = {tuple(d.name.split("/")): d for d in formulas}
    return FormulaMatrix(
        "hessian",
        tuple(columns),
        tuple(columns),
        tuple(tuple(pairs.get((a, b)) or pairs[b, a] for b in columns) for a in columns),
    )


def write_code(writer: Callable, code: str, symbols: Symbols, inputs: list, formulas: list) -> str:
    """Return the formulas as code. Raises GradcliError for functions that the language does not have."""
    try:
        return writer(symbols.title, inputs, resolve_unknown(scalar(symbols)), formulas)
    except PrintMethodNotImplementedError as error:
        found_name = re.search(r">: (\w[\w ]*)", str(error))
        library = LIBRARIES[code]
        raise GradcliError(
            f"{library} has no {found_name[1]}" if found_name else f"{library} lacks one of the functions",
            hint="use -f text, whose functions gradcli has",
            kind="exact",
        ) from None


def write_formula(expr: Any, unicode: bool) -> Formula:
    """Return an expression written in all ways."""
    expr = resolve_unknown(expr)
    return Formula(printing.text(expr), printing.latex(expr), printing.pretty(expr, unicode))
