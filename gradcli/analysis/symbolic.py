"""Derive formulas for the derivatives of a program, and evaluate them in many digits."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import sympy
from mpmath.libmp import to_str
from sympy.printing.str import StrPrinter

from ..errors import GradcliError, TimeIsUp, describe_error
from ..exact import printing
from ..exact.field import ExactArray
from ..exact.record import exactly
from ..exact.symbolic import Symbolic, resolve_unknown, was_raised_by_sympy
from ..lang.limits import SHORTEST_TIME, any_length, time_left, within
from ..program.base import Program, Run, check_output, check_vector, line_span, silence_prints
from ..request import Request
from ..results.base import labels
from ..results.studies import Derivative, FormulaMatrix, Formulas, PrintedFormula
from ..rules.exact import map_elements
from .gradient import check_has_inputs

MAX_SYMBOLS = Request().max_symbols
TIMEOUT = 20.0  # time limit in seconds for formulas, unless --timeout is given
LONGEST_READ = 150  # operations; rewriting longer formulas takes seconds
NUMBERS_INSTEAD = "use 'gradcli grad --digits 50' for numbers"


class Symbols:
    """A program run on symbols: the output as expressions, the symbols by input, and their values."""

    def __init__(self, program: Program, given: Mapping[str, Any], request: Request):
        self.title = program.title
        self.vector = request.gradient
        alone = program.missing(given)
        given = {**given, **dict.fromkeys(alone, np.float64(np.nan))}
        refuse_many(sum(np.size(x) for x in given.values()), request.max_symbols)
        field = Symbolic()
        self.point = field.point
        with exactly(field):
            self.run = run = on_symbols(program, given, request, alone)
            self.inputs = {name: as_expressions(leaf._data) for name, leaf in run.leaves.items()}
            refuse_many(sum(x.size for x in self.inputs.values()), request.max_symbols)
            self.grads: dict[str, np.ndarray] | None = None
            self.output = np.array(sympy.nan, dtype=object)
            if run.output is not None:
                check_has_inputs(run)
                check_output(run.output)
                self.output = as_expressions(run.output._data)
            else:
                self.grads = {
                    name: as_expressions(np.zeros(np.shape(leaf._data)) if leaf._grad is None else leaf._grad._data)
                    for name, leaf in run.leaves.items()
                }


def refuse_many(count: int, limit: int) -> None:
    if count > limit:
        message = f"the inputs have {count} elements; formulas can be derived for at most {limit}"
        hint = f"use smaller arrays, choose inputs with --wrt, or raise --max-symbols; {NUMBERS_INSTEAD} at any size"
        raise GradcliError(message, hint=hint, kind="limit")


NEEDS_NUMBERS = ("truth value of Relational", "convert expression to float", "Cannot convert symbols")


def on_symbols(program: Program, given: Mapping[str, Any], request: Request, alone: list[str]) -> Run:
    """Run a program on symbols. alone: inputs without value, hence scalars. Raises GradcliError if it needs numbers."""
    try:
        with silence_prints(program):
            return program.run(given, wrt=request.wrt, out=request.out)
    except GradcliError as error:
        if not isinstance(error.cause, TypeError) or not any(s in str(error.cause) for s in NEEDS_NUMBERS):
            if alone and error.kind == "shape" and error.hint is None:
                error.hint = f"'{alone[0]}' has no value, so it is a single number; for a vector: --shape {alone[0]}=3"
            raise
        message, span = "the program needs a number here, but has only a symbol", error.cause_line
        hint = "use where(condition, x, y), which works in formulas, instead of an if"
        raise GradcliError(message, span=line_span(*span) if span else None, hint=hint, kind="exact") from None


def as_expressions(x: Any) -> np.ndarray:
    raw = np.asarray(x).view(np.ndarray)
    return raw if raw.dtype == object else map_elements(Symbolic().number, (raw,))


def differentiate(exprs: Iterable[Any], symbols: np.ndarray) -> list[Any]:
    return [drop_jumps(sympy.diff(expr, s)) for expr in exprs for s in symbols.flat]


def drop_jumps(expr: Any) -> Any:
    """Replace derivatives of jumps in an expression by 0, their value next to the jump."""
    expr = sympy.sympify(expr)
    if expr.has(sympy.DiracDelta):
        expr = expr.replace(sympy.DiracDelta, lambda *_: sympy.Integer(0))
    steps = (sympy.floor, sympy.ceiling, sympy.sign)
    slopes = [(e, e.expr if isinstance(e, sympy.Subs) else e) for e in expr.atoms(sympy.Derivative, sympy.Subs)]
    flat = [e for e, d in slopes if isinstance(d, sympy.Derivative) and isinstance(d.expr, steps)]
    if flat:
        expr = expr.xreplace(dict.fromkeys(flat, sympy.Integer(0)))
    expr = expr.replace(lambda e: isinstance(e, sympy.polylog) and e.args[0] == 1, lambda e: -sympy.log(1 - e.args[1]))
    return expr.replace(sympy.Mul, join_powers)


def join_powers(*factors: Any) -> Any:
    """Write x**y / x in a product as x**(y - 1), which has a value at 0."""
    powers = [f for f in factors if isinstance(f, sympy.Pow) and not f.exp.is_number]
    for power in powers:
        same = (f for f in factors if isinstance(f, sympy.Pow) and f.base == power.base)
        divisor = next((f for f in same if f.exp.is_negative), None)
        if divisor is not None:
            rest = [f for f in factors if f is not power and f is not divisor]
            return sympy.Mul(*rest, sympy.Pow(power.base, power.exp + divisor.exp))
    return sympy.Mul(*factors)


def derive_in_time(seconds: float, work: Callable[[], Any], spent: float = 0.0) -> Any:
    """Call `work`. Raises GradcliError if it takes longer than `seconds`, of which `spent` have passed already."""
    try:
        with within(time_left(max(seconds - spent, SHORTEST_TIME))):
            return work()
    except TimeIsUp:
        hint = f"wait longer with --timeout, choose inputs with --wrt, or {NUMBERS_INSTEAD}"
        raise GradcliError(f"the formulas take longer than {seconds:g} s", hint=hint, kind="limit") from None
    except RecursionError:
        raise GradcliError("the formulas are nested too deeply", hint=NUMBERS_INSTEAD, kind="limit") from None
    except (TypeError, ValueError, AttributeError, NotImplementedError, ArithmeticError, IndexError) as error:
        if not was_raised_by_sympy(error):
            raise
        message = f"SymPy cannot do this: {describe_error(error)}"
        raise GradcliError(message, hint=NUMBERS_INSTEAD, kind="exact") from None


def derivatives_of_order(symbols: Symbols, order: int) -> list[tuple[str, tuple, list[Any]]]:
    """Return label, shape and expressions of the derivatives of an order, each unordered pair of inputs once.

    If the output has several elements, the labels name them: out[0]/x. For orders above 1, the output must be a scalar,
    and each item is a derivative by single elements.
    """
    if symbols.grads is not None:
        if order > 1 or symbols.vector is not None:
            message = f"--{'order' if order > 1 else 'gradient'} has no effect here: the script runs backward itself"
            raise GradcliError(message, hint="name what to differentiate: --out NAME")
        return [(name, g.shape, g.ravel().tolist()) for name, g in symbols.grads.items()]
    if order == 1:
        rows, every = [""], symbols.output.ravel().tolist()
        if has_several_outputs(symbols):
            rows = [f"{label}/" for label in labels(symbols.run.output_name or "out", symbols.output.shape)]
        else:
            every = [scalar(symbols)]
        return [
            (f"{row}{name}", array.shape, differentiate([expr], array))
            for name, array in symbols.inputs.items()
            for row, expr in zip(rows, every, strict=True)
        ]
    expr = scalar(symbols)
    every = [s for array in symbols.inputs.values() for s in array.ravel().tolist()]
    known: dict[tuple, Any] = {(): expr}
    for k in range(1, order + 1):
        chosen = itertools.combinations_with_replacement(range(len(every)), k)
        known = {places: drop_jumps(sympy.diff(known[places[:-1]], every[places[-1]])) for places in chosen}
    return [("/".join(every[i].name for i in places), (), [value]) for places, value in known.items()]


def has_several_outputs(symbols: Symbols) -> bool:
    return symbols.grads is None and symbols.vector is None and symbols.output.size != 1


def scalar(symbols: Symbols) -> Any:
    """Return the scalar output, or the product of the output with the vector. Raises GradcliError for other outputs."""
    elements = symbols.output.ravel().tolist()
    if symbols.vector is not None:
        field = Symbolic()
        check_vector(symbols.vector, symbols.output)
        weights = symbols.vector.ravel().tolist()
        return sympy.Add(*(field.number(w) * e for w, e in zip(weights, elements, strict=True)))
    if len(elements) != 1:
        message = f"the output has shape {symbols.output.shape}; second derivatives and code need a single number"
        raise GradcliError(message, hint="sum it, choose an element with --out, or give --gradient", kind="shape")
    return sympy.sympify(elements[0])


NUMBER_DIGITS = 30
GUARD = 10  # extra digits, so that the last printed digit is right


def symbols_of_inputs(symbols: Symbols) -> dict[str, np.ndarray]:
    """Return the symbols of all inputs, including those that are not differentiated."""
    expressions = dict(symbols.inputs)
    for name, tensor in symbols.run.names.items():
        data = getattr(tensor, "_data", None)
        if isinstance(data, ExactArray):
            elements = as_expressions(data).ravel().tolist()
            own = elements and all(isinstance(e, sympy.Symbol) for e in elements)
            if own and elements[0].name.partition("[")[0] == name:
                expressions.setdefault(name, as_expressions(data))
    return expressions


def exact_point(symbols: Symbols, at: Mapping[str, Any]) -> dict[Any, Any]:
    """Return the exact number for each symbol, from `at`, else from the program. Raises GradcliError."""
    field = Symbolic()
    point: dict[Any, Any] = dict(symbols.point)
    for name, array in symbols_of_inputs(symbols).items():
        if name not in at:
            if point.keys() >= set(array.ravel().tolist()):
                continue
            raise GradcliError(f"--at gives no value for '{name}'", hint=f"add --at {name}=1", kind="name")
        values = np.asarray(at[name]).view(np.ndarray)
        if values.shape != array.shape:
            message = f"--at: '{name}' has shape {array.shape}; the value has shape {values.shape}"
            raise GradcliError(message, kind="shape")
        for s, x in zip(array.ravel().tolist(), values.ravel().tolist(), strict=True):
            point[s] = resolve_unknown(field.number(x))
    return point


def number_at(expr: Any, point: Mapping[Any, Any], digits: int = NUMBER_DIGITS) -> Any:
    """Evaluate an expression at a point, to `digits` and a few more; nan if it has no value."""
    expr = sympy.sympify(expr)
    try:
        result = expr.xreplace(point)
        result = sympy.sympify(result).doit() if result.has(sympy.Piecewise) else result
        return sympy.N(result, digits + GUARD)
    except (ValueError, TypeError, ZeroDivisionError):
        return sympy.nan


KINK_DISTANCE = sympy.Rational(1, 10**20)  # relative distance from a kink at which to evaluate both sides


def numbers_around(expr: Any, point: dict[Any, Any], size: Any, rng: np.random.Generator) -> list[Any]:
    free = sorted(sympy.sympify(expr).free_symbols, key=lambda s: s.name)
    nearby = []
    for _ in range(10):
        steps = (rng.choice([-1, 1], len(free)) * rng.integers(1, 99, len(free))).tolist()  # breaks ties
        moved = {s: point[s] + size * step * max(abs(point[s]), size) for s, step in zip(free, steps, strict=True)}
        nearby.append(number_or_nan(number_at(expr, {**point, **moved})))
    return [*nearby, number_or_nan(number_at(expr, point))]


def kink_note(low: float, high: float, taken: float) -> str:
    size = max(abs(low), abs(high))
    low, high, taken = (x if abs(x) > 1e-9 * size else 0.0 for x in (low, high, taken))
    return f"at a kink: the slopes on both sides are {low:.6g} and {high:.6g}; the formula gives {taken:.6g}"


def kink_at(expr: Any, point: dict[Any, Any]) -> str | None:
    """Return a note if the derivative is evaluated at a kink, where other values are equally right."""
    if not sympy.sympify(expr).has(sympy.Piecewise, sympy.sign):
        return None
    around = list(map(complex, numbers_around(expr, point, KINK_DISTANCE, np.random.default_rng(0))))
    slopes = [x.real for x in around if np.isfinite(x)]
    if not slopes or max(slopes) - min(slopes) <= 1e-9 * max(map(abs, slopes)) + KINK_DISTANCE:
        return None
    return kink_note(min(slopes), max(slopes), around[-1].real)


def evaluate_at(expr: Any, point: Mapping[Any, Any], digits: int) -> str:
    value = number_at(expr, point, digits)
    if value in (sympy.zoo, sympy.nan):
        return sides(expr, point)
    return Rounded(digits).doprint(value).replace("oo", "inf")


class Rounded(StrPrinter):
    def __init__(self, digits: int = NUMBER_DIGITS):
        super().__init__()
        self.digits = digits

    def _print_Float(self, expr: Any) -> str:  # noqa: N802 - the name that sympy looks for
        with any_length():
            return to_str(expr._mpf_, self.digits, strip_zeros=self._print_level > 1)


def sides(expr: Any, point: Mapping[Any, Any]) -> str:
    """Describe the one-sided limits at a point where a formula has no value; "nan" if sympy finds none in time."""
    free = sorted(sympy.sympify(expr).free_symbols, key=lambda s: s.name)
    step = sympy.Symbol("step", positive=True)  # lets sympy decide conditions, which limits of Piecewise do not
    for s in free:
        others = {t: x for t, x in point.items() if t is not s}
        try:
            with within(time_left(5)):
                formula = sympy.sympify(expr).xreplace(others).rewrite(sympy.Piecewise)
                moved = (formula.xreplace({s: point[s] + sign * step}) for sign in (-1, 1))
                left, right = (sympy.limit(x, step, 0, "+") for x in moved)
        except (TimeIsUp, NotImplementedError, ValueError, TypeError):
            continue
        return f"singular: {left} from below, {right} from above, in {s.name}".replace("oo", "inf")
    return "nan"


def number_or_nan(value: Any) -> complex | float:
    try:
        number = complex(value)
    except TypeError:
        return float("nan")
    return number.real if number.imag == 0 else number


FUNCTION_NAMES = ("f", "g", "h", "F", "G", "H", "output")  # for an output without a name: the first that is free


def derive_formulas(
    program: Program,
    given: Mapping[str, Any],
    request: Request,
    *,
    at: Mapping[str, Any] | None = None,
    simplify: bool = False,
    steps: bool = False,
    unicode: bool = True,
) -> Formulas:
    """Derive the formulas of a program's derivatives. at: a point to evaluate them at. steps: the chain rule, too."""
    notes: list[str] = []
    start, timeout, order = time.monotonic(), request.timeout or TIMEOUT, request.order

    def differentiated() -> tuple[Symbols, list]:
        symbols = Symbols(program, given, request)
        expressions = derivatives_of_order(symbols, order)
        return symbols, [(label, shape, [resolve_unknown(e) for e in exprs]) for label, shape, exprs in expressions]

    symbols, formulas = derive_in_time(timeout, differentiated)
    spent = time.monotonic() - start
    if simplify:
        try:
            with within(time_left(timeout)):
                formulas = [(label, shape, [sympy.simplify(e) for e in exprs]) for label, shape, exprs in formulas]
        except TimeIsUp:
            notes.append(f"simplifying took longer than {timeout:g} s, so the formulas are not simplified")

    def derive() -> Formulas:
        point = None if at is None else exact_point(symbols, at)
        known = symbols_of_inputs(symbols)

        def derivative(label: str, expr: Any) -> Derivative:
            number = None if point is None else evaluate_at(expr, point, request.digits or 15)
            return Derivative(label, formula_text(expr, unicode), number)

        elements = zip(labels("value", symbols.output.shape), symbols.output.ravel().tolist(), strict=True)
        value = [derivative(label, e) for label, e in elements if symbols.grads is None]
        named = [(labels(name, shape), exprs) for name, shape, exprs in formulas]
        labelled = [pair for names, exprs in named for pair in zip(names, exprs, strict=True)]
        slopes = [derivative(label, e) for label, e in labelled]
        if point is not None:
            notes.extend(f"{label}: {kink}" for label, e in labelled if (kink := kink_at(e, point)))
        chain: tuple[PrintedFormula, ...] = ()
        if steps:
            from .chain_rule import chain_rule

            chain = chain_rule(program, given, request.out, slopes, at is not None)
        return Formulas(
            symbols.title,
            tuple(value),
            tuple(slopes),
            order,
            steps=chain,
            output=symbols.run.output_name,
            function=symbols.run.output_name or next(name for name in FUNCTION_NAMES if name not in known),
            single=sum(x.size for x in known.values()) == 1,
            matrix=matrix_of_derivatives(symbols, slopes, order),
            notes=tuple(notes),
        )

    return derive_in_time(timeout, derive, spent)


def matrix_of_derivatives(symbols: Symbols, formulas: list[Derivative], order: int) -> FormulaMatrix | None:
    """Arrange the derivatives as a matrix: the Jacobian of several outputs, or the Hessian for several symbols."""
    columns = [label for name, x in symbols.inputs.items() for label in labels(name, x.shape)]
    if has_several_outputs(symbols):
        shape, known = symbols.output.shape, {d.name: d for d in formulas}
        whole = labels(symbols.run.output_name or "out", shape)
        entries = tuple(tuple(known[f"{row}/{column}"] for column in columns) for row in whole)
        return FormulaMatrix("jacobian", tuple(labels("", shape)), tuple(columns), entries)
    if order != 2 or len(columns) < 2 or symbols.grads is not None:
        return None
    pairs = {tuple(d.name.split("/")): d for d in formulas}
    entries = tuple(tuple(pairs.get((a, b)) or pairs[b, a] for b in columns) for a in columns)
    return FormulaMatrix("hessian", tuple(columns), tuple(columns), entries)


def formula_text(expr: Any, unicode: bool) -> PrintedFormula:
    expr = printing.with_decimals(resolve_unknown(expr))
    short = shortest_form(expr)
    return PrintedFormula(
        printing.text(expr), printing.latex(short), sympy.pretty(short, use_unicode=unicode, wrap_line=False)
    )


def shortest_form(expr: Any) -> Any:
    """Return the shortest form of a formula with the same denominators, for people to read, not to compute with."""
    if not isinstance(expr, sympy.Expr) or expr.has(sympy.Float) or not 2 < sympy.count_ops(expr) <= LONGEST_READ:
        return expr
    joined = sympy.together(expr)
    above, below = sympy.fraction(joined)
    above = sympy.expand(above)
    forms = (expr, joined, above / below, sympy.factor_terms(above) / below)
    return min(forms, key=sympy.count_ops)
