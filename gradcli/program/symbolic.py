"""The derivatives of a program as formulas."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy

from ..errors import GradcliError
from ..exact import printing
from ..exact.array import ExactArray
from ..exact.patience import within
from ..exact.record import exactly
from ..exact.symbolic import Symbolic
from ..results.exact import Agreement, Derivative, Formula, Formulas
from .base import Program, Run, line_span, silenced
from .differentiate import Request

MAX_SYMBOLS = 64
TIMEOUT = 20.0
DIGITS = 30


EngineAt = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]


class Symbols:
    """A program run on symbols: its output, and the symbols of every input.

    output: an object array of expressions. inputs: object arrays of symbols by name.
    """

    def __init__(
        self,
        program: Program,
        given: Mapping[str, Any],
        wrt: list[str] | None = None,
        out: str | None = None,
        max_symbols: int = MAX_SYMBOLS,
        vector: np.ndarray | None = None,
    ):
        self.title = program.title
        self.vector = vector
        given = {**given, **dict.fromkeys(program.missing(given), np.float64(0))}
        sizes = {name: int(np.size(x)) for name, x in given.items()}
        self.refuse_many(sum(sizes.values()), max_symbols)
        with exactly(Symbolic()):
            run = on_symbols(program, given, wrt, out)
        self.run = run
        self.inputs = {name: plain(leaf._data) for name, leaf in run.leaves.items()}
        self.refuse_many(sum(x.size for x in self.inputs.values()), max_symbols)
        self.grads: dict[str, np.ndarray] | None = None
        if run.output is None:
            self.grads = {
                name: plain(leaf._grad._data) if leaf._grad is not None else zeros(np.shape(leaf._data))
                for name, leaf in run.leaves.items()
            }
            self.output = np.array(sympy.nan, dtype=object)
        else:
            self.output = plain(run.output._data)

    def refuse_many(self, count: int, limit: int) -> None:
        """Raise GradcliError for more symbols than there may be."""
        if count > limit:
            raise GradcliError(
                f"the inputs have {count} elements; formulas are made for at most {limit}",
                hint="use smaller arrays, narrow with --wrt, or raise --max-symbols; "
                "'gradcli grad --digits 50' gives numbers at any size",
                kind="limit",
            )

    def symbols(self) -> dict[str, Any]:
        """Return every symbol of the inputs by its name."""
        return {s.name: s for array in self.inputs.values() for s in array.ravel().tolist()}


NEEDS_NUMBERS = ("truth value of Relational", "convert expression to float", "Cannot convert symbols")


def on_symbols(program: Program, given: Mapping[str, Any], wrt: list[str] | None, out: str | None) -> Run:
    """Run a program on symbols, what it prints suppressed.

    Raises GradcliError, naming the line, where it needs numbers: in an `if`, for example.
    """
    try:
        with silenced(program):
            return program.run(given, wrt=wrt, out=out)
    except GradcliError as error:
        if not isinstance(error.cause, TypeError) or not any(s in str(error.cause) for s in NEEDS_NUMBERS):
            raise
        raise GradcliError(
            "the program needs a number here, and has only a symbol",
            span=line_span(*error.cause_line) if error.cause_line else None,
            hint="choose with where(condition, x, y), which is a formula, instead of an if",
            kind="exact",
        ) from None


def plain(x: Any) -> np.ndarray:
    """Return exact data as an ordinary object array of expressions."""
    raw = np.asarray(x).view(np.ndarray)
    if raw.dtype == object:
        return raw
    field = Symbolic()
    out = np.empty(raw.shape, object)
    for index in np.ndindex(raw.shape):
        out[index] = field.number(raw[index])
    return out


def zeros(shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of zero expressions."""
    return plain(np.zeros(shape))


def cleaned(expr: Any) -> Any:
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


def patient(seconds: float, work: Callable[[], Any]) -> Any:
    """Return what work returns. Raises GradcliError when it takes longer than that."""
    try:
        with within(seconds):
            return work()
    except TimeoutError:
        raise GradcliError(
            f"the formulas take longer than {seconds:g} s",
            hint="wait longer with --timeout, narrow with --wrt, or use 'gradcli grad --digits 50' for numbers",
            kind="limit",
        ) from None
    except RecursionError:
        raise GradcliError(
            "the formulas are nested too deeply", hint="use 'gradcli grad --digits 50' for numbers", kind="limit"
        ) from None


def derivatives(symbols: Symbols, order: int) -> list[tuple[str, tuple, list[Any]]]:
    """Return label, shape and expressions of the derivatives of an order, each unordered pair of inputs once.

    The output must be scalar; elements of arrays are the last axes' elements, and for orders above 1, the label of
    every single derivative names its elements.
    """
    if symbols.grads is not None:
        return [(name, g.shape, g.ravel().tolist()) for name, g in symbols.grads.items()]
    expr = scalar(symbols)
    if order == 1:
        return [
            (name, array.shape, [cleaned(sympy.diff(expr, s)) for s in array.ravel().tolist()])
            for name, array in symbols.inputs.items()
        ]
    every = [s for array in symbols.inputs.values() for s in array.ravel().tolist()]
    found: list[tuple[str, tuple, list[Any]]] = []
    known: dict[tuple, Any] = {(): expr}
    for k in range(1, order + 1):
        known_next: dict[tuple, Any] = {}
        for places in itertools.combinations_with_replacement(range(len(every)), k):
            known_next[places] = cleaned(sympy.diff(known[places[:-1]], every[places[-1]]))
        known = known_next
    for places, value in known.items():
        found.append(("/".join(every[i].name for i in places), (), [value]))
    return found


def scalar(symbols: Symbols) -> Any:
    """Return the output's expression, or its product with the vector. Raises GradcliError unless it is single."""
    found = symbols.output.ravel().tolist()
    if symbols.vector is not None:
        field = Symbolic()
        weights = np.broadcast_to(symbols.vector, symbols.output.shape).ravel().tolist()
        return sympy.Add(*(field.number(w) * e for w, e in zip(weights, found, strict=True)))
    if len(found) != 1:
        raise GradcliError(
            f"the output has shape {symbols.output.shape}; formulas of derivatives need a single number",
            hint="sum it, choose an element with --out, or use 'gradcli jacobian --symbolic'",
            kind="shape",
        )
    return sympy.sympify(found[0])


def simplified(found: list, seconds: float) -> tuple[list, bool]:
    """Return expressions simplified, as far as that takes no longer; and whether it was finished."""
    try:
        with within(seconds):
            return [(label, shape, [sympy.simplify(e) for e in exprs]) for label, shape, exprs in found], True
    except TimeoutError:
        return found, False


def labelled(label: str, shape: tuple) -> list[str]:
    """Return the names of an array's elements."""
    return [f"{label}[{','.join(map(str, index))}]" if index else label for index in np.ndindex(shape)]


def formulas(
    program: Program,
    given: Mapping[str, Any],
    *,
    wrt: list[str] | None = None,
    out: str | None = None,
    order: int = 1,
    simplify: bool = False,
    timeout: float = TIMEOUT,
    at: Mapping[str, Any] | None = None,
    max_symbols: int = MAX_SYMBOLS,
    code: str = "",
    unicode: bool = True,
    digits: int = 15,
    vector: np.ndarray | None = None,
    steps: bool = False,
) -> tuple[Formulas, list[str]]:
    """Return the formulas of a program's derivatives, and notes.

    at: a point to evaluate them at. code: python or c, for a function with these formulas.
    """
    notes: list[str] = []
    symbols = patient(timeout, lambda: Symbols(program, given, wrt, out, max_symbols, vector))
    found = patient(timeout, lambda: derivatives(symbols, order))
    if simplify:
        found, done = simplified(found, timeout)
        if not done:
            notes.append(f"simplifying took longer than {timeout:g} s, so the formulas are not simplified")
    point = None if at is None else point_of(symbols, at)
    formula = printed(unicode)
    value = [
        Derivative(label, formula(e), None if point is None else evaluated(e, point, digits))
        for label, e in zip(labelled("value", symbols.output.shape), symbols.output.ravel().tolist(), strict=True)
        if symbols.grads is None
    ]
    shown = [
        Derivative(label, formula(e), None if point is None else evaluated(e, point, digits))
        for name, shape, exprs in found
        for label, e in zip(labelled(name, shape), exprs, strict=True)
    ]
    text = ""
    if code:
        writer = {"python": printing.python_code, "c": printing.c_code}[code]
        inputs = [(name, array.shape) for name, array in every_input(symbols).items()]
        text = patient(timeout, lambda: writer(symbols.title, inputs, scalar(symbols), found))
    lines: tuple[Formula, ...] = ()
    if steps:
        from .steps import chain_rule

        lines = chain_rule(program, given, Request(wrt=wrt, out=out, vector=vector))
    return Formulas(symbols.title, tuple(value), tuple(shown), order, text, lines), notes


def every_input(symbols: Symbols) -> dict[str, np.ndarray]:
    """Return the symbols of all inputs: also of those that are not differentiated."""
    found = dict(symbols.inputs)
    for name, tensor in symbols.run.names.items():
        data = getattr(tensor, "_data", None)
        if isinstance(data, ExactArray) and all(isinstance(e, sympy.Symbol) for e in plain(data).ravel().tolist()):
            first = plain(data).ravel().tolist()
            if first and first[0].name.partition("[")[0] == name:
                found.setdefault(name, plain(data))
    return found


def printed(unicode: bool) -> Callable[[Any], Formula]:
    """Return the function that writes an expression in all ways."""

    def formula(expr: Any) -> Formula:
        expr = sympy.sympify(expr)
        return Formula(printing.text(expr), printing.latex(expr), printing.pretty(expr, unicode))

    return formula


# -- values ---------------------------------------------------------------------------------------------


def point_of(symbols: Symbols, at: Mapping[str, Any]) -> dict[Any, Any]:
    """Return the exact number for every symbol. Raises GradcliError for symbols without one."""
    field = Symbolic()
    point: dict[Any, Any] = {}
    for name, array in every_input(symbols).items():
        if name not in at:
            raise GradcliError(f"--at gives no value for '{name}'", hint=f"add --at {name}=1", kind="name")
        values = np.asarray(at[name]).view(np.ndarray)
        if values.shape != array.shape:
            raise GradcliError(
                f"--at: '{name}' has shape {array.shape}; the value has shape {values.shape}", kind="shape"
            )
        for s, x in zip(array.ravel().tolist(), values.ravel().tolist(), strict=True):
            point[s] = field.number(x)
    return point


def number_at(expr: Any, point: Mapping[Any, Any], digits: int = DIGITS) -> Any:
    """Return an expression's value at a point, to so many digits; nan where it has none."""
    expr = sympy.sympify(expr)
    if not expr.free_symbols:
        result = expr
    else:
        result = expr.xreplace({s: x for s, x in point.items() if s in expr.free_symbols})
    try:
        result = sympy.sympify(result).doit() if result.has(sympy.Piecewise) else result
        return sympy.N(result, digits)
    except (ValueError, TypeError, ZeroDivisionError):
        return sympy.nan


def evaluated(expr: Any, point: Mapping[Any, Any], digits: int) -> str:
    """Return an expression's value at a point as text."""
    found = number_at(expr, point, digits)
    if found in (sympy.zoo, sympy.nan):
        return sides(expr, point)
    return str(found).replace("oo", "inf")


def sides(expr: Any, point: Mapping[Any, Any]) -> str:
    """Return the one-sided limits at a point where a formula has no value, if sympy finds them in time."""
    free = sorted(sympy.sympify(expr).free_symbols, key=lambda s: s.name)
    for s in free:
        others = {t: x for t, x in point.items() if t is not s}
        try:
            with within(5):
                left, right = (sympy.limit(expr.xreplace(others), s, point[s], side) for side in "-+")
        except (TimeoutError, NotImplementedError, ValueError, TypeError):
            continue
        return f"singular: {left} from below, {right} from above, in {s.name}".replace("oo", "inf")
    return "nan"


def as_number(found: Any) -> complex | float:
    """Return a value of sympy's as a float (complex where it is)."""
    try:
        number = complex(found)
    except TypeError:
        return float("nan")
    return number.real if number.imag == 0 else number


class Comparison:
    """What is to be compared: a program, its point, and how much time and size formulas may take.

    read: reads the given values, exact ones where exact arithmetic is in force. engine_at: the engine's answer for
    other values of the inputs, to tell its rounding from its rules.
    """

    def __init__(
        self,
        program: Program,
        read: Callable[[], Mapping[str, Any]],
        wrt: list[str] | None = None,
        out: str | None = None,
        vector: np.ndarray | None = None,
        max_symbols: int = MAX_SYMBOLS,
        timeout: float = TIMEOUT,
        engine_at: EngineAt | None = None,
    ):
        self.timeout = timeout
        self.engine_at = engine_at
        with exactly(Symbolic()):
            self.given = read()
        rounded = {name: np.shape(x) for name, x in self.given.items()}
        self.symbols = patient(
            timeout,
            lambda: Symbols(program, {n: np.zeros(s) for n, s in rounded.items()}, wrt, out, max_symbols, vector),
        )

    def against(
        self, found: Callable[[], list], values: Mapping[str, np.ndarray], engine: Mapping[str, np.ndarray]
    ) -> tuple[Agreement, ...]:
        """Return how expressions compare with the engine's arrays, by label. values: those of all inputs."""
        at = {**dict(values), **self.given}

        def work() -> list[Agreement]:
            point = point_of(self.symbols, at)
            expressions = found()
            items = compared(expressions, point, engine)
            if self.engine_at is None or all(item.agrees for item in items):
                return items
            return [
                self.excused(item, parts, values) if not item.agrees else item
                for item, parts in zip(items, expressions, strict=True)
            ]

        return tuple(patient(self.timeout, work))

    def excused(self, item: Agreement, parts: tuple, values: Mapping[str, np.ndarray]) -> Agreement:
        """Return a disagreement, or what rounding explains of it: there the error changes from point to point."""
        assert self.engine_at is not None
        label, _, exprs = parts
        rng = np.random.default_rng(0)
        errors = []
        for _ in range(6):
            near = {name: np.asarray(x * (1 + 1e-3 * rng.uniform(-1, 1, np.shape(x)))) for name, x in values.items()}
            mine = np.asarray(self.engine_at(near)[label]).ravel()
            point = point_of(self.symbols, near)
            exact = np.array([complex(as_number(number_at(e, point))).real for e in exprs])
            errors.append((mine - exact) / np.max(np.abs(exact), initial=1e-300))
        mean, spread = np.abs(np.mean(errors, axis=0)), np.std(errors, axis=0)
        if not (mean <= 2 * spread + 1e-9).all():
            return item
        lost = float(np.max(np.abs(errors)))
        note = f"rounding leaves the engine's value about {max(-np.log10(max(lost, 1e-17)), 0):.0f} right digits here"
        return item._replace(agrees=True, notes=(*item.notes, note))

    def gradient(self, values: Mapping[str, Any], engine: Mapping[str, Any]) -> tuple[Agreement, ...]:
        """Return how the formulas of the gradient compare."""
        return self.against(lambda: derivatives(self.symbols, 1), values, engine)

    def jacobian(self, values: Mapping[str, Any], engine: Mapping[str, Any]) -> tuple[Agreement, ...]:
        """Return how the formulas of the Jacobian compare, block by block."""
        out = self.symbols.output

        def found() -> list:
            return [
                (
                    name,
                    out.shape + array.shape,
                    [cleaned(sympy.diff(e, s)) for e in out.ravel().tolist() for s in array.ravel().tolist()],
                )
                for name, array in self.symbols.inputs.items()
            ]

        return self.against(found, values, engine)

    def hessian(self, values: Mapping[str, Any], engine: Mapping[str, Any]) -> tuple[Agreement, ...]:
        """Return how the formulas of the Hessian compare, block by block."""

        def found() -> list:
            first = derivatives(self.symbols, 1)
            return [
                (
                    f"{name}/{other}",
                    shape + array.shape,
                    [cleaned(sympy.diff(e, s)) for e in exprs for s in array.ravel().tolist()],
                )
                for name, shape, exprs in first
                for other, array in self.symbols.inputs.items()
            ]

        return self.against(found, values, engine)


def compared(found: list, point: dict[Any, Any], engine: Mapping[str, np.ndarray]) -> list[Agreement]:
    """Return the agreement of expressions with the engine's numbers.

    Tolerances follow from the formula itself: how much it changes when the point moves by a rounding error.
    """
    results = []
    for name, shape, exprs in found:
        numbers = [number_at(e, point) for e in exprs]
        ours = np.asarray(engine[name]).reshape(-1).tolist()
        scale = max((abs(x) for x in ours if np.isfinite(x)), default=0.0)
        notes: list[str] = []
        agrees, error = True, 0.0
        for expr, number, mine in zip(exprs, numbers, ours, strict=True):
            exact_value = as_number(number)
            difference = abs(exact_value - mine)
            if same(exact_value, mine):
                continue
            if np.isfinite(difference) and difference <= 1e-9 * max(scale, abs(exact_value)):
                error = max(error, difference)
                continue
            if beside(expr, point, mine, scale, notes):
                continue
            agrees = False
            error = max(error, difference) if np.isfinite(difference) else float("inf")
        texts = array_of([printing.text(e) for e in exprs], shape)
        latex = array_of([printing.latex(e) for e in exprs], shape)
        values = array_of([str(n).replace("oo", "inf").replace("zinf", "inf") for n in numbers], shape)
        results.append(Agreement(name, texts, latex, values, agrees, error, tuple(dict.fromkeys(notes))))
    return results


def same(a: Any, b: Any) -> bool:
    """Return whether two numbers are the same infinity, or both nan."""
    return a == b or (a != a and b != b)


def beside(expr: Any, point: dict[Any, Any], mine: float, scale: float, notes: list[str]) -> bool:
    """Return whether the engine's number lies among those that the formula gives close to the point.

    At a kink the formula has one slope on either side, and any between them is right; near a singularity, a rounding
    error of the point explains a difference.
    """
    rng = np.random.default_rng(0)
    free = sorted(sympy.sympify(expr).free_symbols, key=lambda s: s.name)
    for size, why in ((sympy.Rational(1, 10**20), "kink"), (sympy.Rational(1, 2**50), "rounding")):
        nearby = []
        for _ in range(6):
            signs = rng.choice([-1, 1], len(free)).tolist()
            moved = {
                s: point[s] + size * sign * max(abs(point[s]), size) for s, sign in zip(free, signs, strict=True)
            }
            nearby.append(as_number(number_at(expr, {**point, **moved})))
        nearby += [as_number(number_at(expr, point))]
        finite = [x.real for x in map(complex, nearby) if np.isfinite(x)]
        if not finite:
            return not np.isfinite(mine)
        low, high = min(finite), max(finite)
        room = 1e-9 * max(scale, abs(low), abs(high)) + (high - low if why == "rounding" else 0.0) * 100
        if not np.isfinite(mine):
            return not all(np.isfinite(x) for x in nearby)
        if low - room <= mine.real <= high + room:
            if why == "kink" and high - low > room:
                notes.append(f"at a kink: the slopes beside it are {low:.6g} and {high:.6g}")
            return True
    return False


def array_of(items: list[str], shape: tuple[int, ...]) -> np.ndarray:
    """Return texts as an object array of a shape."""
    out = np.empty(len(items), object)
    out[:] = items
    return out.reshape(shape)
