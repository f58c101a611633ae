"""A program run on symbols, and the derivatives of what comes out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import sympy

from ..errors import GradcliError, TimeIsUp, describe_error
from ..exact.record import exactly
from ..exact.symbolic import Symbolic, is_own
from ..lang.time_limits import SHORTEST, time_left, within
from ..program.base import Program, Run, line_span, silence_prints
from ..results.labels import labels
from ..rules.exact import map_elements
from .gradient import Request

MAX_SYMBOLS = 64
TIMEOUT = 20.0


class Symbols:
    """A program run on symbols: its output, and the symbols of every input.

    output: an object array of expressions. inputs: object arrays of symbols by name. point: the numbers that symbols
    stand for, where the inputs have values.
    """

    def __init__(
        self,
        program: Program,
        given: Mapping[str, Any],
        request: Request,
        max_symbols: int = MAX_SYMBOLS,
    ):
        self.title = program.title
        self.vector = request.vector
        alone = program.missing(given)
        given = {**given, **dict.fromkeys(alone, np.float64(np.nan))}
        sizes = {name: int(np.size(x)) for name, x in given.items()}
        self.refuse_many(sum(sizes.values()), max_symbols)
        field = Symbolic()
        self.point = field.point
        with exactly(field):
            self.run = run = on_symbols(program, given, request, alone)
            self.inputs = {name: as_expressions(leaf._data) for name, leaf in run.leaves.items()}
            self.refuse_many(sum(x.size for x in self.inputs.values()), max_symbols)
            self.grads: dict[str, np.ndarray] | None = None
            self.output = np.array(sympy.nan, dtype=object)
            if run.output is not None:
                self.output = as_expressions(run.output._data)
            else:
                self.grads = {
                    name: as_expressions(leaf._grad._data)
                    if leaf._grad is not None
                    else as_expressions(np.zeros(np.shape(leaf._data)))
                    for name, leaf in run.leaves.items()
                }

    def refuse_many(self, count: int, limit: int) -> None:
        """Raise GradcliError for more symbols than there may be."""
        if count > limit:
            raise GradcliError(
                f"the inputs have {count} elements; formulas are made for at most {limit}",
                hint="use smaller arrays, narrow with --wrt, or raise --max-symbols; "
                "'gradcli grad --digits 50' gives numbers at any size",
                kind="limit",
            )


NEEDS_NUMBERS = ("truth value of Relational", "convert expression to float", "Cannot convert symbols")


def on_symbols(program: Program, given: Mapping[str, Any], request: Request, alone: list[str]) -> Run:
    """Run a program on symbols, what it prints suppressed. alone: inputs that are single symbols for want of a value.

    Raises GradcliError, naming the line, where it needs numbers: in an `if`, for example.
    """
    try:
        with silence_prints(program):
            return program.run(given, wrt=request.wrt, out=request.out)
    except GradcliError as error:
        if not isinstance(error.cause, TypeError) or not any(s in str(error.cause) for s in NEEDS_NUMBERS):
            if alone and error.kind == "shape" and error.hint is None:
                error.hint = f"'{alone[0]}' is a single number, having no value; for a vector: --shape {alone[0]}=3"
            raise
        raise GradcliError(
            "the program needs a number here, and has only a symbol",
            span=line_span(*error.cause_line) if error.cause_line else None,
            hint="choose with where(condition, x, y), which is a formula, instead of an if",
            kind="exact",
        ) from None


def as_expressions(x: Any) -> np.ndarray:
    """Return exact data as an ordinary object array of expressions."""
    raw = np.asarray(x).view(np.ndarray)
    return raw if raw.dtype == object else map_elements(Symbolic().number, (raw,))


def differentiate(exprs: Iterable[Any], symbols: np.ndarray) -> list[Any]:
    """Return the derivatives of each expression by each symbol."""
    return [drop_jumps(sympy.diff(expr, s)) for expr in exprs for s in symbols.flat]


def drop_jumps(expr: Any) -> Any:
    """Return a derivative without what has no value: the slope of a jump is 0 beside it."""
    expr = sympy.sympify(expr)
    if expr.has(sympy.DiracDelta):
        expr = expr.replace(sympy.DiracDelta, lambda *_: sympy.Integer(0))
    steps = (sympy.floor, sympy.ceiling, sympy.sign)
    flat = [d for d in expr.atoms(sympy.Derivative) if isinstance(d.expr, steps)]
    flat += [
        s for s in expr.atoms(sympy.Subs) if isinstance(s.expr, sympy.Derivative) and isinstance(s.expr.expr, steps)
    ]
    if flat:
        expr = expr.xreplace(dict.fromkeys(flat, sympy.Integer(0)))
    return expr.replace(
        lambda e: isinstance(e, sympy.polylog) and e.args[0] == 1, lambda e: -sympy.log(1 - e.args[1])
    )


def derive_in_time(seconds: float, work: Callable[[], Any], spent: float = 0.0) -> Any:
    """Return what work returns. Raises GradcliError when it takes longer than that, with what is spent already."""
    try:
        with within(time_left(max(seconds - spent, SHORTEST))):
            return work()
    except TimeIsUp:
        raise GradcliError(
            f"the formulas take longer than {seconds:g} s",
            hint="wait longer with --timeout, narrow with --wrt, or use 'gradcli grad --digits 50' for numbers",
            kind="limit",
        ) from None
    except RecursionError:
        raise GradcliError(
            "the formulas are nested too deeply", hint="use 'gradcli grad --digits 50' for numbers", kind="limit"
        ) from None
    except (TypeError, ValueError, AttributeError, NotImplementedError, ArithmeticError, IndexError) as error:
        if not is_own(error):
            raise
        raise GradcliError(
            f"sympy cannot do this: {describe_error(error)}",
            hint="use 'gradcli grad --digits 50' for numbers",
            kind="exact",
        ) from None


def derivatives(symbols: Symbols, order: int) -> list[tuple[str, tuple, list[Any]]]:
    """Return label, shape and expressions of the derivatives of an order, each unordered pair of inputs once.

    Elements of arrays are the last axes' elements. The labels of an output with several elements name them: out[0]/x.
    For orders above 1, the output must be scalar, and the label of every single derivative names its elements.
    """
    if symbols.grads is not None:
        if order > 1 or symbols.vector is not None:
            raise GradcliError(
                f"--{'order' if order > 1 else 'gradient'} has no use here: the script runs backward itself",
                hint="name what to differentiate: --out NAME",
                kind="usage",
            )
        return [(name, g.shape, g.ravel().tolist()) for name, g in symbols.grads.items()]
    if order == 1:
        rows = [""]
        if is_vector(symbols):
            rows = [f"{label}/" for label in labels(symbols.run.output_name or "out", symbols.output.shape)]
        every = symbols.output.flat if is_vector(symbols) else [scalar(symbols)]
        return [
            (f"{row}{name}", array.shape, differentiate([expr], array))
            for row, expr in zip(rows, every, strict=True)
            for name, array in symbols.inputs.items()
        ]
    expr = scalar(symbols)
    every = [s for array in symbols.inputs.values() for s in array.ravel().tolist()]
    known: dict[tuple, Any] = {(): expr}
    for k in range(1, order + 1):
        known = {
            places: drop_jumps(sympy.diff(known[places[:-1]], every[places[-1]]))
            for places in itertools.combinations_with_replacement(range(len(every)), k)
        }
    return [("/".join(every[i].name for i in places), (), [value]) for places, value in known.items()]


def is_vector(symbols: Symbols) -> bool:
    return symbols.grads is None and symbols.vector is None and symbols.output.size != 1


def scalar(symbols: Symbols) -> Any:
    """Return the output's expression, or its product with the vector. Raises GradcliError unless it is single."""
    elements = symbols.output.ravel().tolist()
    if symbols.vector is not None:
        field = Symbolic()
        if symbols.vector.shape != symbols.output.shape:
            raise GradcliError(
                f"--gradient has shape {symbols.vector.shape}; the output has shape {symbols.output.shape}",
                hint="they must be equal",
                kind="shape",
            )
        weights = symbols.vector.ravel().tolist()
        return sympy.Add(*(field.number(w) * e for w, e in zip(weights, elements, strict=True)))
    if len(elements) != 1:
        raise GradcliError(
            f"the output has shape {symbols.output.shape}; second derivatives and code need a single number",
            hint="sum it, choose an element with --out, or give --gradient",
            kind="shape",
        )
    return sympy.sympify(elements[0])
