"""Whether formulas are the derivatives that sympy finds, as formulas, and at which points they are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy

from ..analysis.symbolic import MAX_SYMBOLS, as_expressions, as_number, derive_in_time, differentiate, number_at
from ..errors import GradcliError
from ..exact.record import exactly
from ..exact.symbolic import Symbolic, symbols_for
from ..program.formula import Formula, FormulaProgram
from ..tape.modes import no_grad
from ..tape.tensor import Tensor

NOT_SHOWN = "sympy does not show that the formulas are equal"
SECONDS = 6.0
"""How long sympy may take."""
TOO_CLOSE = 1e-12
"""A smaller difference of two formulas, relative to either, is none."""


class Proof(NamedTuple):
    """equal: whether sympy shows it. points: those at which the formulas differ. note: what else there is to say."""

    equal: bool
    points: Sequence[Mapping[str, np.ndarray]] = ()
    note: str = NOT_SHOWN


def compare_formulas(
    program: FormulaProgram,
    claimed: Sequence[Formula],
    points: Sequence[Mapping[str, np.ndarray]],
    known: Sequence[str],
) -> Proof:
    """Return how claimed formulas compare with sympy's. known: inputs that stand for their numbers, in both."""
    shapes = {name: x.shape for name, x in points[0].items()}
    if sum(int(np.prod(shape)) for shape in shapes.values()) > MAX_SYMBOLS:
        return Proof(False, (), f"formulas are compared of at most {MAX_SYMBOLS} elements")
    if any(x.dtype.kind == "c" for at in points for x in at.values()):
        return Proof(False, (), "formulas of complex numbers are not compared")

    def work() -> Proof:
        symbols = {name: symbols_for(name, shape) for name, shape in shapes.items()}
        fixed = numbers_for(symbols, {name: points[0][name] for name in known})
        pairs = [
            tuple(e.replace(sympy.Eq, lambda *_: sympy.false).xreplace(fixed) for e in pair)  # but for ties
            for formula in claimed
            for pair in pairs_of(program, formula, symbols)
        ]
        apart = [at for at in points if any(differ(a, b, numbers_for(symbols, at)) for a, b in pairs)]
        return Proof(False, apart) if apart else Proof(all(is_zero(a - b) for a, b in pairs))

    try:
        return derive_in_time(SECONDS, work)
    except GradcliError as error:
        return Proof(False, (), f"{NOT_SHOWN}: {error.message}")


def is_zero(difference: Any) -> bool:
    """Return whether sympy shows that an expression is 0, wherever it has a value."""
    without_sign = difference.replace(sympy.sign, lambda x: x / sympy.Abs(x))
    ways = (sympy.expand, sympy.cancel, sympy.simplify)
    return any(way(form) == 0 for form in (difference, without_sign) for way in ways)


def numbers_for(symbols: Mapping[str, Any], at: Mapping[str, np.ndarray]) -> dict[Any, Any]:
    return {
        symbol: sympy.Rational(x)
        for name, array in at.items()
        for symbol, x in zip(as_expressions(symbols[name]).flat, np.ravel(array).tolist(), strict=True)
    }


def differ(derivative: Any, claimed: Any, at: Mapping[Any, Any]) -> bool:
    """Return whether two formulas differ at a point, where both have a value; vectors are numbers, too."""
    vectors = sorted((derivative.free_symbols | claimed.free_symbols) - at.keys(), key=lambda s: s.name)
    point = {**at, **{symbol: sympy.Integer(k) for k, symbol in enumerate(vectors, 2)}}
    right, wrong = (as_number(number_at(e, point)) for e in (derivative, claimed))
    known = np.isfinite(right) and np.isreal(right)
    return bool(known and abs(right - wrong) > TOO_CLOSE * max(abs(right), abs(wrong)))


def pairs_of(program: FormulaProgram, formula: Formula, symbols: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield sympy's derivative and the claimed one, element by element."""
    with exactly(Symbolic()), no_grad():
        leaves = {name: Tensor._wrap(x, None) for name, x in symbols.items()}
        result, names = program.run(leaves)
        output = result._data
        tangents = {f"v_{name}": symbols_for(f"v_{name}", np.shape(symbols[name])) for name in formula.names}
        v = symbols_for("v", np.shape(output)) if formula.option == "vjp" else tangents[f"v_{formula.names[0]}"]
        vectors = {name: x for name, x in {**tangents, "v": v}.items() if name in formula.vectors}
        tensors = {name: Tensor._wrap(x, None) for name, x in vectors.items()}
        claimed = formulas_of(program.value_of(formula, names, tensors)._data)
        rows = formulas_of(output)
    if formula.option == "jvp":
        slopes = ({n: differentiate([e], as_expressions(symbols[n])) for n in formula.names} for e in rows)
        rows = [sympy.Add(*(dot(tangents[f"v_{n}"], x) for n, x in every.items())) for every in slopes]
    else:
        rows = [dot(v, rows)] if formula.option == "vjp" else rows
        for name in formula.names:
            rows = differentiate(rows, as_expressions(symbols[name]))
    yield from zip(rows, claimed, strict=True)


def formulas_of(x: Any) -> list[Any]:
    """Return the elements of an array as formulas; conditions are 1 or 0."""
    elements = as_expressions(x).ravel().tolist()
    return [e if isinstance(e, sympy.Expr) else sympy.Piecewise((1, e), (0, True)) for e in elements]


def dot(vector: Any, expressions: Sequence[Any]) -> Any:
    return sympy.Add(*(v * e for v, e in zip(as_expressions(vector).flat, expressions, strict=True)))
