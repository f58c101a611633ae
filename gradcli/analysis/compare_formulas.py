"""Compare formulas: sympy's with the engine's numbers at a point, and claimed ones with sympy's as formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy
from sympy.core.relational import Relational

from ..claims.formula import Formula, FormulaProgram
from ..errors import GradcliError
from ..exact import printing
from ..exact.field import as_plain, exact
from ..exact.multiprecision import Multiprecision
from ..exact.record import exactly
from ..exact.symbolic import ExtremeBase, Symbolic, const, resolve_unknown, symbols_for
from ..program.base import Program, Values
from ..request import Request
from ..results.studies import Agreement
from ..tape.modes import no_grad
from ..tape.tensor import Tensor
from .gradient import Read, gradient_at
from .symbolic import (
    KINK_DISTANCE,
    MAX_SYMBOLS,
    TIMEOUT,
    Rounded,
    Symbols,
    as_expressions,
    derivatives_of_order,
    derive_in_time,
    differentiate,
    exact_point,
    kink_at,
    kink_note,
    number_at,
    number_or_nan,
    numbers_around,
)

OWN_DIGITS = 50
"""The digits in which the engine's own rules are run if a formula disagrees with them in floating point."""

UNSEEN = 1e-13
"""If a formula gives 0, a difference below this share of the largest number involved may come from cancellation."""
NOT_SHOWN = "SymPy does not show that the formulas are equal"
DIFFERENT = "SymPy's formula differs from the claimed one"
SYMPY_SECONDS = 6.0  # how long sympy may take
TOO_CLOSE = 1e-12  # formulas with a smaller relative difference count as equal


class FormulaComparison:
    """A program, and the point at which to compare its formulas. read: reads values, exact ones in exact arithmetic."""

    def __init__(self, program: Program, read: Read, request: Request):
        self.program, self.read, self.request = program, read, request
        self.timeout = request.timeout or TIMEOUT
        with exactly(Symbolic()):
            self.given = read()
        self.symbols = derive_in_time(self.timeout, lambda: Symbols(program, self.given, request))

    def against(
        self, derive: Callable[[], list], values: Values, engine: Values, own_rules: Callable[[], Values]
    ) -> tuple[Agreement, ...]:
        """Compare expressions with arrays. own_rules: computes the arrays in many digits, to rule out rounding."""
        at = {**dict(values), **self.given}

        def work() -> list[Agreement]:
            point = exact_point(self.symbols, at)
            expressions = derive()
            items = compare_with_engine(expressions, point, engine)
            if all(item.agrees for item in items):
                return items
            try:
                long = own_rules()
            except GradcliError:  # an operation has no formula
                return items
            again = compare_with_engine(expressions, point, long)
            return [
                item if item.agrees or not rule.agrees else due_to_rounding(item, engine[item.name], long[item.name])
                for item, rule in zip(items, again, strict=True)
            ]

        return tuple(derive_in_time(self.timeout, work))

    def by_own_rules(self, vectors: Iterable[Any]) -> list[dict[str, np.ndarray]]:
        """Return the engine's gradients in OWN_DIGITS for each vector (None for a scalar output)."""
        field = Multiprecision(OWN_DIGITS)
        with exactly(field):
            requests = [self.request._replace(gradient=vector) for vector in vectors]
            return [rounded_numbers(gradient_at(self.program, self.read(), asked, field)[1]) for asked in requests]

    def hessian_by_own_rules(self) -> dict[str, np.ndarray]:
        """Return second derivatives as differences of gradients in twice the digits, of which the step takes half."""
        field, blocks = Multiprecision(2 * OWN_DIGITS), {}
        step = field.context.mpf(10) ** (-OWN_DIGITS // 2)
        with exactly(field):
            run = gradient_at(self.program, self.read(), self.request, field)[2]
            point = {name: leaf._data for name, leaf in run.leaves.items()}
            for a, x in point.items():
                columns = []
                for index in np.ndindex(x.shape):
                    h = step * (abs(as_plain(x)[index]) or 1)
                    up, down = (self.gradient_nearby(point, a, index, side, field) for side in (h, -h))
                    columns.append(rounded_numbers({b: (up[b] - down[b]) / (2 * h) for b in up}))
                shapes = {b: x.shape + other.shape for b, other in point.items()}
                blocks.update({f"{a}/{b}": np.reshape([c[b] for c in columns], shape) for b, shape in shapes.items()})
        return blocks

    def gradient_nearby(self, point: dict, name: str, index: tuple, step: Any, field: Multiprecision) -> dict:
        moved = as_plain(point[name]).copy()
        moved[index] += step
        return gradient_at(self.program, {**self.read(), **point, name: exact(moved)}, self.request, field)[1]

    def gradient(self, values: Mapping[str, Any], engine: Mapping[str, Any]) -> tuple[Agreement, ...]:
        def own() -> dict[str, np.ndarray]:
            return self.by_own_rules([self.request.gradient])[0]

        return self.against(lambda: derivatives_of_order(self.symbols, 1), values, engine, own)

    def jacobian(self, values: Mapping[str, Any], engine: Mapping[str, Any]) -> tuple[Agreement, ...]:
        out = self.symbols.output

        def own() -> dict[str, np.ndarray]:
            rows = self.by_own_rules(unit.reshape(out.shape) for unit in np.eye(out.size))
            return {name: np.reshape([row[name] for row in rows], out.shape + x.shape) for name, x in rows[0].items()}

        return self.against(lambda: self.blocks([("", out.shape, out.ravel().tolist())]), values, engine, own)

    def hessian(self, values: Mapping[str, Any], engine: Mapping[str, Any]) -> tuple[Agreement, ...]:
        def second() -> list:
            first = derivatives_of_order(self.symbols, 1)
            return self.blocks([(f"{name}/", shape, exprs) for name, shape, exprs in first])

        return self.against(second, values, engine, self.hessian_by_own_rules)

    def blocks(self, rows: list[tuple[str, tuple, list]]) -> list[tuple[str, tuple, list]]:
        return [
            (row + name, shape + array.shape, differentiate(exprs, array))
            for row, shape, exprs in rows
            for name, array in self.symbols.inputs.items()
        ]


def rounded_numbers(numbers: Values) -> dict[str, np.ndarray]:
    return {name: np.vectorize(complex, otypes=[complex])(x) for name, x in numbers.items()}


def compare_with_engine(expressions: list, point: dict[Any, Any], engine: Values) -> list[Agreement]:
    """Compare expressions with numbers, up to what rounding of the point changes in the formula."""
    results: list[Agreement] = []
    sizes = [np.abs(np.asarray(x, complex)).ravel() for x in engine.values()]
    sizes.append(np.abs([complex(number_or_nan(x)) for x in point.values()]))
    largest = max((float(np.max(x[np.isfinite(x)], initial=1.0)) for x in sizes), default=1.0)
    for name, shape, exprs in expressions:
        exprs = [resolve_unknown(e) for e in exprs]
        numbers = [number_at(e, point) for e in exprs]
        ours = np.asarray(engine[name]).reshape(-1).tolist()
        scale = max((abs(x) for x in ours if np.isfinite(x)), default=0.0)
        pairs = zip(exprs, map(number_or_nan, numbers), ours, strict=True)
        found = [compare_element(expr, number, mine, point, scale, largest) for expr, number, mine in pairs]
        verdicts, errors, notes = zip(*found, strict=True) if found else ((), (), ())
        shown = [printing.with_decimals(e) for e in exprs]
        values = (Rounded().doprint(n).replace("oo", "inf").replace("zinf", "inf") for n in numbers)
        words = (map(printing.text, shown), map(printing.latex, shown), values)
        texts, latex, written = (np.array(list(items), object).reshape(shape) for items in words)
        agreement = Agreement(name, texts, latex, written, False not in verdicts, max(errors, default=0.0))
        results.append(
            agreement._replace(notes=tuple(dict.fromkeys(filter(None, notes))), decided=None not in verdicts)
        )
    return results


def compare_element(
    expr: Any, number: complex, mine: complex, point: dict[Any, Any], scale: float, largest: float
) -> tuple[bool | None, float, str | None]:
    """Return whether the formula's and the engine's number agree (None: undecided), their difference, and a note.

    scale, largest: the largest number of this derivative, and of all derivatives and the point.
    """
    difference = abs(number - mine)
    if np.array_equal(number, mine, equal_nan=True):
        return True, 0.0, kink_at(expr, point)
    if np.isfinite(difference) and difference <= 1e-9 * max(scale, abs(number)):
        return True, difference, None
    if (number != number or mine != mine) and not all(x.is_finite for x in point.values()):  # 0 * nan is 0 in a formula
        return True, 0.0, "an input contains nan or infinity, so elements that are nan are not compared"
    agrees, note = compare_nearby(expr, point, mine, scale)
    if agrees:
        return True, 0.0, note
    if all(x != x for x in numbers_around(expr, point, KINK_DISTANCE, np.random.default_rng(0))):
        return None, 0.0, "cannot decide: the formula is 0/0 at the point and next to it"
    if difference <= UNSEEN * largest and abs(number) <= 1e-3 * difference:
        return (
            None,
            0.0,
            f"cannot decide: the formula gives {number:.3g}, and rounding may cause an error of {difference:.1g}",
        )
    return False, difference if np.isfinite(difference) else float("inf"), None


def due_to_rounding(item: Agreement, engine: np.ndarray, exact: np.ndarray) -> Agreement:
    """Mark a disagreement as due to rounding, since the engine's rules agree in many digits."""
    lost = float(np.max(np.abs(engine - exact) / np.maximum(np.abs(exact), 1e-300), initial=1e-17))
    digits = round(max(-np.log10(lost), 0))
    note = f"rounding leaves about {digits} right digits; with {OWN_DIGITS} digits, the engine agrees with the formula"
    return item._replace(agrees=True, notes=(*item.notes, note), decided=False)


def compare_nearby(expr: Any, point: dict[Any, Any], mine: complex, scale: float) -> tuple[bool, str | None]:
    """Return whether the engine's number lies among those that the formula gives close to the point, and a note.

    At a kink the formula has one slope on either side, and any between them is right; near a singularity, a rounding
    error of the point explains a difference.
    """
    rng = np.random.default_rng(0)
    for size, why in ((KINK_DISTANCE, "kink"), (sympy.Rational(1, 2**50), "rounding")):
        nearby = numbers_around(expr, point, size, rng)
        finite = [x.real for x in map(complex, nearby) if np.isfinite(x)]
        if not finite:
            return not np.isfinite(mine), None
        low, high = min(finite), max(finite)
        tolerance = 1e-9 * max(scale, abs(low), abs(high)) + (high - low if why == "rounding" else 0.0) * 100
        if not np.isfinite(mine):
            return not all(np.isfinite(x) for x in nearby), None
        if low - tolerance <= mine.real <= high + tolerance:
            return True, kink_note(low, high, mine.real) if why == "kink" and high - low > tolerance else None
    return False, None


class Wording(NamedTuple):
    """How claimed formulas differ. inputs: those by which they differentiate.

    holds: whether the text says where the formulas are right.
    """

    text: str
    inputs: tuple[str, ...]
    holds: bool = False


class Proof(NamedTuple):
    """Result of comparing formulas. equal: whether sympy shows equality. points: those at which the formulas differ.

    note: why equality is not shown. words: how the claim differs, if that is short.
    """

    equal: bool
    points: Sequence[Values] = ()
    note: str = NOT_SHOWN
    words: tuple[Wording, ...] = ()


class ComparedFormula(NamedTuple):
    """A claimed formula and sympy's, element by element. inputs: those by which it differentiates last."""

    inputs: tuple[str, ...]
    pairs: list[tuple[Any, Any]]

    def differs(self, at: Mapping[Any, Any]) -> bool:
        return any(differ(right, claimed, at) for right, claimed in self.pairs)

    @property
    def equal(self) -> bool:
        return all(is_zero(right - claimed) for right, claimed in self.pairs)

    def with_symbols(self, symbols: Mapping[Any, Any]) -> ComparedFormula:
        return ComparedFormula(self.inputs, [(a.xreplace(symbols), b.xreplace(symbols)) for a, b in self.pairs])


def compare_formulas(
    program: FormulaProgram, claimed: Sequence[Formula], points: Sequence[Values], known: Sequence[str]
) -> Proof:
    """Compare claimed formulas with sympy's. known: inputs to replace by their numbers, in both.

    Of the points where they differ, those where more formulas are wrong come first.
    """
    shapes = {name: x.shape for name, x in points[0].items()}
    if sum(int(np.prod(shape)) for shape in shapes.values()) > MAX_SYMBOLS:
        return Proof(False, (), f"formulas can be compared for at most {MAX_SYMBOLS} elements")
    if any(x.dtype.kind == "c" for at in points for x in at.values()):
        return Proof(False, (), "formulas with complex numbers cannot be compared")

    def work() -> Proof:
        symbols = {name: symbols_for(name, shape) for name, shape in shapes.items()}
        fixed = numbers_for(symbols, {name: points[0][name] for name in known})
        compared = [compared_with(program, formula, symbols).with_symbols(fixed) for formula in claimed]
        ties = {rel for item in compared for pair in item.pairs for e in pair for rel in e.atoms(Relational)}
        apart = [(at, differing(compared, ties, numbers_for(symbols, at))) for at in points]
        apart = sorted((found for found in apart if found[1]), key=lambda found: -len(found[1]))
        if apart:
            words = words_of(compared, apart, symbols)
            text = "; ".join(item.text for item in words)
            return Proof(False, [at for at, _ in apart], ": ".join(filter(None, (DIFFERENT, text))), words)
        return Proof(all(item.equal for item in compared))

    try:
        return derive_in_time(SYMPY_SECONDS, work)
    except GradcliError as error:
        return Proof(False, (), f"{NOT_SHOWN}: {error.message}")


def differing(compared: Sequence[ComparedFormula], conditions: Iterable[Any], at: Mapping[Any, Any]) -> frozenset[int]:
    """Return which formulas differ at a point; none at a tie, where the function may have a kink."""
    if any(is_thin(rel) and number_at(rel.lhs - rel.rhs, at) == 0 for rel in conditions):
        return frozenset()
    return frozenset(k for k, item in enumerate(compared) if item.differs(at))


STEPPED = (sympy.floor, sympy.ceiling, sympy.sign, sympy.Piecewise, ExtremeBase, const)
"""Functions that may be equal on an open set without being the same."""


def is_thin(relation: Any) -> bool:
    """Report whether the two sides of a relation are equal on a set without volume only, as x and y are."""
    x, y = (side.args[0] if isinstance(side, sympy.Abs) else side for side in relation.args)
    return not relation.has(*STEPPED) and not x.has(sympy.Abs) and not y.has(sympy.Abs) and x not in (y, -y)


def without_ties(expr: Any) -> Any:
    """Replace the equations in conditions that hold almost nowhere by false, and their negations by true."""
    expr = expr.replace(lambda e: isinstance(e, sympy.Eq) and is_thin(e), lambda _: sympy.false)
    return expr.replace(lambda e: isinstance(e, sympy.Ne) and is_thin(e), lambda _: sympy.true)


def compared_with(program: FormulaProgram, formula: Formula, symbols: Mapping[str, Any]) -> ComparedFormula:
    pairs = [(without_ties(a), without_ties(b)) for a, b in pairs_of(program, formula, symbols)]
    return ComparedFormula(formula.names[1:] if formula.option == "hess" else formula.names, pairs)


RATIO_WIDTH = 30  # most characters of a ratio, a difference or a condition in a message


def words_of(
    compared: Sequence[ComparedFormula], apart: Sequence[tuple[Values, frozenset[int]]], symbols: Mapping[str, Any]
) -> tuple[Wording, ...]:
    """Return where the claimed formulas are right, if that is short, else how all of them differ.

    apart: points, and which formulas differ there.
    """
    wrong = sorted(frozenset().union(*(places for _, places in apart)))
    texts = [condition_of(compared[k], [at for at, places in apart if k in places], symbols) for k in wrong]
    inputs = [compared[k].inputs for k in wrong]
    every = tuple(dict.fromkeys(name for names in inputs for name in names))
    if len({*texts}) == 1 and texts[0]:
        return (Wording(texts[0], every, True),)
    if any(texts):
        pairs = zip(texts, inputs, strict=True)
        return tuple(Wording(f"{', '.join(names)}: {text}", names, True) for text, names in pairs if text)
    text = ratio_or_term([pair for item in compared for pair in item.pairs])
    return (Wording(text, every),) if text else ()


def condition_of(item: ComparedFormula, apart: Sequence[Values], symbols: Mapping[str, Any]) -> str:
    """Return on what condition a formula is right: a symmetric matrix, positive inputs, or a region; "" if unknown."""
    for name, array in symbols.items():
        square = as_expressions(array)
        if square.ndim == 2 and len(square) == len(square.T) > 1:
            mirrored = dict(zip(square.T.flat, square.flat, strict=True))
            if item.with_symbols({a: b for a, b in mirrored.items() if a.name < b.name}).equal:
                return f"the claim is right if {name} is symmetric"
    free = frozenset().union(*(e.free_symbols for pair in item.pairs for e in pair))
    used = [name for name, array in symbols.items() if free & {*as_expressions(array).flat}]
    for names in dict.fromkeys([*((name,) for name in used), tuple(used)]):
        if names and not any(all((at[name] > 0).all() for name in names) for at in apart):
            elements = [s for name in names for s in as_expressions(symbols[name]).flat]
            if item.with_symbols({s: sympy.Symbol(s.name, positive=True) for s in elements}).equal:
                return f"the claim is right if {' and '.join(names)} {'is' if len(names) == 1 else 'are'} positive"
    regions = {region_of_zero(right - claimed) for right, claimed in item.pairs} - {sympy.true}
    text = printing.text(printing.with_decimals(regions.pop())) if len(regions) == 1 else ""
    return f"the claim is right only where {text}" if 0 < len(text) <= RATIO_WIDTH and text != "False" else ""


def region_of_zero(difference: Any) -> Any:
    """Return the condition on which a difference is 0, as far as its pieces show that."""
    form = sympy.piecewise_fold(difference)
    if not isinstance(form, sympy.Piecewise):
        return sympy.true if is_zero(form) else sympy.false
    zero, before = sympy.false, sympy.false
    for piece, condition in form.args:
        if is_zero(piece):
            zero = sympy.Or(zero, sympy.And(condition, sympy.Not(before)))
        before = sympy.Or(before, condition)
    return sympy.simplify(zero)


def enclosed_text(value: Any) -> str:
    """Return the text of a formula, a sum in parentheses."""
    shown = printing.text(printing.with_decimals(value))
    return f"({shown})" if value.is_Add else shown


def ratio_or_term(pairs: Sequence[tuple[Any, Any]]) -> str:
    """Return the ratio or the difference of claimed and right formulas if all elements share one that is short."""
    ratios = {sympy.simplify(claimed / right) for right, claimed in pairs if right != 0 or claimed != 0}
    missing = {sympy.simplify(right - claimed) for right, claimed in pairs}
    added = {-term for term in missing if all(-term in sympy.Add.make_args(claimed) for _, claimed in pairs)}
    term_text = (added, "the term {} is superfluous") if added else (missing, "the term {} is missing")
    texts = [
        (not value.is_number, len(shown), text.format(shown))
        for found, text in ((ratios, "the claim is {} times the derivative"), term_text)
        for value in (found if len(found) == 1 else ())
        if not value.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo)
        and len(shown := enclosed_text(value)) <= RATIO_WIDTH
    ]
    return min(texts)[2] if texts else ""


def is_zero(difference: Any) -> bool:
    """Report whether sympy shows that an expression is 0 wherever it has a value."""
    without_sign = difference.replace(sympy.sign, lambda x: x / sympy.Abs(x))
    ways = (sympy.expand, sympy.cancel, sympy.simplify, simplify_pieces)
    return any(way(form) == 0 for form in (difference, without_sign) for way in ways)


def simplify_pieces(expr: Any) -> Any:
    """Return an expression with choices as a single one, without pieces that hold at ties only."""
    expr = expr.replace(lambda e: isinstance(e, ExtremeBase), lambda e: e.rewrite(sympy.Piecewise))
    return without_ties(sympy.simplify(sympy.piecewise_fold(expr))) if expr.has(sympy.Piecewise) else expr


def numbers_for(symbols: Mapping[str, Any], at: Values) -> dict[Any, Any]:
    return {
        symbol: sympy.Rational(x)
        for name, array in at.items()
        for symbol, x in zip(as_expressions(symbols[name]).flat, np.ravel(array).tolist(), strict=True)
    }


def differ(derivative: Any, claimed: Any, at: Mapping[Any, Any]) -> bool:
    """Report whether two formulas differ at a point where they have values; vectors are replaced by numbers, too."""
    vectors = sorted((derivative.free_symbols | claimed.free_symbols) - at.keys(), key=lambda s: s.name)
    point = {**at, **{symbol: sympy.Integer(k) for k, symbol in enumerate(vectors, 2)}}
    right, wrong = (number_or_nan(number_at(e, point)) for e in (derivative, claimed))
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
        claimed = elements_as_formulas(program.value_of(formula, names, tensors)._data)
        rows = elements_as_formulas(output)
    if formula.option == "jvp":
        slopes = ({n: differentiate([e], as_expressions(symbols[n])) for n in formula.names} for e in rows)
        rows = [sympy.Add(*(dot_with(tangents[f"v_{n}"], x) for n, x in every.items())) for every in slopes]
    else:
        rows = [dot_with(v, rows)] if formula.option == "vjp" else rows
        for name in formula.names:
            rows = differentiate(rows, as_expressions(symbols[name]))
    yield from zip(rows, claimed, strict=True)


def elements_as_formulas(x: Any) -> list[Any]:
    """Return the elements of an array as formulas; conditions become 1 or 0."""
    elements = as_expressions(x).ravel().tolist()
    return [e if isinstance(e, sympy.Expr) else sympy.Piecewise((1, e), (0, True)) for e in elements]


def dot_with(vector: Any, expressions: Sequence[Any]) -> Any:
    return sympy.Add(*(v * e for v, e in zip(as_expressions(vector).flat, expressions, strict=True)))
