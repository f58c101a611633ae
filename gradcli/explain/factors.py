"""Find factors and terms that a wrong derivative lacks or should not have: functions of inputs and of the output.

A constant is fitted to the wrong elements at the checked point. Other points, where it stays, confirm it.
"""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..numeric.compare import MARGIN
from ..numeric.flat import median_of, medians_of
from .block import RELATIVE, SURE_ERROR, InputBlock
from .constants import CLOSE_TO_ONE, KNOWN_CONSTANTS, BlockNumber, multiple_of_derivative, of_lengths, readable_factor
from .evidence import DiagnosisEvidence, Hypothesis
from .places import where_text, with_place
from .quantities import BlockValues, Quantity, after_function, atoms, matrix_products, quantities, sources, to_power

SEVERAL_NUMBERS = 3  # least number of wrong numbers that fit an unusual constant: one fits it, the others confirm it
MOST_FITTED = 256  # most elements of a row that constants are fitted to: a choice
MOST_MULTIPLIED = 16  # the same for products of two quantities, which are some ten thousand: a choice
MOST_CONFIRMED = 40  # most factors, or terms, that are compared with other points: a choice
FAMILIAR = 12  # characters by which the words of a common substitution count as shorter: a choice
AWKWARD = 20  # characters by which a name with f, the function's value, counts as longer: a choice
FIRST_NUMBERS = 8  # wrong numbers that are tried before the others, which saves time: a choice
CONSTANT_SPREAD = 1e-5  # relative spread up to which ratios count as equal, before other points confirm it: a choice
FRACTIONS = np.array([1, 2, 3, 4, 6, 8, 1 / 2, 1 / 3, 1 / 4, 1 / 6, 3 / 2, 2 / 3, *KNOWN_CONSTANTS])
"""Constants that people write in front of a product."""


class Numbers:
    """The elements to which constants are fitted: those known here, and at other points if they are known there."""

    def __init__(self, block: InputBlock, others: Sequence[InputBlock], most: int = MOST_FITTED):
        self.parts: list[tuple[InputBlock, np.ndarray]] = []
        self.block, self.others = block, others
        wrong = block.wrong.any(axis=0)
        for at in (block, *(other for other in others if np.isfinite(other.r).any())):
            with np.errstate(invalid="ignore"):
                sure = np.isfinite(at.r) & (MARGIN * at.error <= SURE_ERROR * np.fmax(np.abs(at.a), np.abs(at.r)))
            sure &= np.isfinite(at.a)
            known = sure.any(axis=0)
            chosen = np.zeros(len(known), bool)
            chosen[np.flatnonzero(known)[:most]] = chosen[np.flatnonzero(known & wrong)[:most]] = True
            columns = np.flatnonzero(chosen)
            if len(columns):
                self.parts.append((at.thin(columns), sure[:, columns]))
        self.a, self.r, self.error = (self.join(operator.attrgetter(name)) for name in ("a", "r", "error"))
        self.wrong = self.join(lambda at: at.refuted) > 0
        self.gap = self.a - self.r
        here = len(self.wrong) if block.a.size == 1 or not self.parts else int(self.parts[0][1].sum())
        self.count = int(self.wrong[:here].sum())

    def join(self, of: Callable[[InputBlock], np.ndarray]) -> np.ndarray:
        found = [np.broadcast_to(of(at), at.a.shape)[sure] for at, sure in self.parts]
        return np.concatenate(found).astype(float) if found else np.zeros(0)

    def varies(self, q: Quantity, here: np.ndarray, explained: np.ndarray) -> bool:
        """Return whether a quantity varies between some of its values here, or between points, as far as is seen.

        explained: the numbers that it is a factor of, whose errors hide small changes of it.
        """
        with np.errstate(all="ignore"):
            elsewhere = (np.broadcast_to(q.of(at), at.a.shape)[self.block.wrong] for at in self.others)
            values = np.concatenate([here, *elsewhere])
            values = values[np.isfinite(values)]
            hidden = MARGIN * median_of(self.error[self.wrong] / np.abs(explained[self.wrong]))
            return bool(values.size > 1 and np.ptp(values) > max(SURE_ERROR, hidden) * np.abs(values).max())

    @functools.cached_property
    def spread(self) -> float:
        """The relative spread up to which ratios count as equal."""
        with np.errstate(all="ignore"):
            errors = self.error[self.wrong] / np.abs(self.r[self.wrong])
        return min(CONSTANT_SPREAD + 3 * MARGIN * median_of(errors), 1e-3)

    def constants(self, target: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Return for each candidate, (K, N), the constant ratio of the target to it at wrong numbers; nan if none."""
        with np.errstate(all="ignore"):
            ratios = target[self.wrong] / candidates[:, self.wrong]
            middle = medians_of(ratios)
            spread = np.abs(ratios - middle[:, None]).max(axis=1)
            return np.where((spread <= self.spread * np.abs(middle)) & (middle != 0), middle, np.nan)

    def may_be_constant(self, ratios: np.ndarray) -> np.ndarray:
        """Return for each candidate whether some of its ratios, (K, few), differ so little that it may be constant."""
        with np.errstate(all="ignore"):
            return np.ptp(ratios, axis=1) <= 2 * self.spread / (1 - self.spread) * np.abs(ratios).max(axis=1)


class FoundFactor(NamedTuple):
    """A quantity that fits with a constant. power: of the quantity in the claim."""

    quantity: Quantity
    power: float
    constant: float

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Order: without a constant first, then with a usual one, then by length."""
        size, name = abs(self.constant), self.quantity.name
        length = len(name) + AWKWARD * ("f" in words_in(name)) - FAMILIAR * self.quantity.place
        return (abs(size - 1) > SURE_ERROR, bool(np.abs(FRACTIONS / size - 1).min() > SURE_ERROR), length)

    @property
    def is_usual(self) -> bool:
        return not self.rank[1]


def functions_of_inputs(block: InputBlock, evidence: DiagnosisEvidence) -> Iterator[Hypothesis]:
    """Yield factors and terms that are missing or superfluous."""
    others = evidence.others(block)
    numbers = Numbers(block, others)
    if not numbers.count:
        return
    if block.diagonal or block.a.size == 1:
        yield Hypothesis("chain factor", "the claim is 1 divided by the derivative", lambda at: 1 / at.a)
    singles = list(quantities(block))
    yield from factors(block, numbers, singles)
    yield from term_hypotheses(block, numbers, [q for q in singles if not q.place])
    few = Numbers(block, others, MOST_MULTIPLIED)
    with np.errstate(all="ignore"):
        slight = (np.abs(few.gap) <= CLOSE_TO_ONE * np.abs(few.r))[few.wrong].all()
    if few.count > 1 and not slight:
        yield from product_hypotheses(block, few)


def table_of(numbers: Numbers, found: Iterable[Quantity]) -> np.ndarray:
    with np.errstate(all="ignore"):
        rows = [numbers.join(q.of) for q in found]
    return np.array(rows) if rows else np.zeros((0, len(numbers.a)))


def best(found: Iterable[FoundFactor], count: int) -> list[FoundFactor]:
    """Return the simplest of what fits: a single number allows no constant, and a few numbers usual ones only."""
    usable = (f for f in found if count >= SEVERAL_NUMBERS or (f.is_usual and (count > 1 or not f.rank[0])))
    return sorted(usable, key=lambda f: f.rank)[:MOST_CONFIRMED]


def factors(block: InputBlock, numbers: Numbers, singles: list[Quantity]) -> Iterator[Hypothesis]:
    """Yield factors that are missing or superfluous, or a substitution that changes the claim by a factor.

    A claim that is the same everywhere lacks a whole derivative, which is not a factor with a constant.
    """
    with np.errstate(all="ignore"):
        ratio = numbers.a / numbers.r
    singles = [*singles, *powers(block, numbers, ratio)]
    constant_claim = bool(numbers.others) and all(np.array_equal(at.a, block.a) for at in numbers.others)
    table, found = table_of(numbers, singles), []
    for power in (1.0, -1.0):
        with np.errstate(all="ignore"):
            constants = numbers.constants(ratio, table**power)
        for k in np.flatnonzero(np.isfinite(constants)):
            q, c = singles[k], float(constants[k])
            plausible = (power > 0 or not q.place) and not (constant_claim and abs(c - 1) > SURE_ERROR)
            if plausible and numbers.varies(q, table[k][numbers.wrong], numbers.r):
                found.append(FoundFactor(q, power, c))
    for item in best(found, numbers.count):
        q = item.quantity
        word = "superfluous" if item.power > 0 else "missing"
        signs = numbers.join(q.of)
        if np.array_equal(np.abs(signs), np.ones(len(numbers.a))):  # its own inverse
            if np.ptp(signs) == 0:  # a number would fit as well
                continue
            word = "missing or superfluous"
        for constant, value in readings(block, item.constant):
            whole = divided_by(q.of, item.power, constant)
            text = factor_text(item, word, constant(block), value, block)
            hypothesis = Hypothesis(q.kind, text, whole, fitted=numbers.count)
            yield hypothesis
            if not block.wrong.all() and block.complete:
                yield in_part(block, hypothesis)


def readings(block: InputBlock, c: float) -> Iterator[tuple[BlockNumber, str]]:
    """Yield what a fitted constant may be in any shape, with its name: a number, or a function of a length."""
    number = next((n for n in (float(round(c)), float(f"{c:.3g}")) if n and abs(c - n) < SURE_ERROR * abs(c)), c)
    yield lambda at: number, readable_factor(number)
    for sign in (1.0, -1.0) if abs(abs(c) - 1) > SURE_ERROR else ():
        for word, value, length in of_lengths(block, sign * c):
            word = word if sign > 0 else f"-{word}"
            name = f"{word} for N = {length.of(block)}, {length.name}"
            yield functools.partial(signed, sign, value), name


def factor_text(item: FoundFactor, word: str, c: float, value: str, block: InputBlock) -> str:
    """Say that a factor is missing or superfluous (word). c: what multiplies it in the claim. value: c in words."""
    q, name = item.quantity, with_f(item.quantity.name, block)
    if q.place or q.name.startswith("the ") or "or" in word or " for N = " in value:
        noun = "" if q.name.startswith("the ") else "a factor "
        text = f"the claim has {q.name}" if q.place else f"{noun}{name} is {word}"
        return text if value == "1" else f"{text}, and {constant_fault(item.constant, value)}"
    if word == "superfluous":
        return multiple_of_derivative(times(value, name))
    if abs(c) <= 1:
        return f"a factor {times(readable_factor(1 / c), name)} is missing"
    is_simple = " " not in q.name or (q.name[0] == "(" and q.name.find(")") == len(q.name) - 1)
    return multiple_of_derivative(f"{value} / {name if is_simple else f'({name})'}")


def times(value: str, name: str) -> str:
    """Write a number times a quantity."""
    return {"1": name, "-1": f"-{name}"}.get(value, f"{value} * {name}")


def constant_fault(c: float, name: str) -> str:
    """Say that a constant factor of the claim, called `name`, is superfluous, or that its inverse is missing."""
    if " for N = " in name or abs(c) >= 1:
        return f"a factor {name} is superfluous"
    return f"a factor {readable_factor(1 / c)} is missing"


def signed(sign: float, value: BlockNumber, at: InputBlock) -> float:
    return sign * value(at)


def divided_by(of: BlockValues, power: float, c: BlockNumber) -> BlockValues:
    def corrected(at: InputBlock) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.where(at.a == 0, 0.0, at.a / (c(at) * of(at) ** power))

    return corrected


def in_part(block: InputBlock, whole: Hypothesis) -> Hypothesis:
    """Return a mistake of the elements only that are wrong at the checked point."""

    def corrected(at: InputBlock) -> np.ndarray:
        return np.where(block.wrong, whole.corrected(at), at.a)

    return whole._replace(text=with_place(whole.text, where_text(block)), corrected=corrected, general=False)


def formula_in(name: str) -> str:
    """Return the formula in the name of a derivative, as in "the derivative of tanh, 1 - tanh(x)**2,"."""
    formula = name.removesuffix(",").partition(", ")[2] if name.startswith("the derivative of ") else ""
    return f"({formula})" if re.search(" [-+] ", formula) else formula or name


def words_in(name: str) -> list[str]:
    return re.findall(r"\w+", name)


def with_f(name: str, block: InputBlock) -> str:
    """Say what f is, if a name contains it and it is not an input."""
    is_value = "f" in words_in(name) and "f" not in block.at
    return f"{name.removesuffix(',')}, where f is the value of the function," if is_value else name


def term_hypotheses(block: InputBlock, numbers: Numbers, singles: list[Quantity]) -> Iterator[Hypothesis]:
    """Yield terms that were dropped or are superfluous: the difference is proportional to them."""
    plain = Quantity("1", lambda at: np.ones_like(at.a))
    candidates = [plain, *singles, *matrix_products(block), *powers(block, numbers, numbers.gap)]
    table = table_of(numbers, candidates)
    fits = np.flatnonzero(np.isfinite(numbers.constants(numbers.gap, table)))
    kept = [k for k in fits if candidates[k] is plain or numbers.varies(candidates[k], table[k], numbers.gap)]
    yield from terms_in(block, numbers, [candidates[k] for k in kept], table[kept])


def terms_in(
    block: InputBlock, numbers: Numbers, candidates: list[Quantity], table: np.ndarray
) -> Iterator[Hypothesis]:
    constants = numbers.constants(numbers.gap, table)
    right = ~numbers.wrong
    with np.errstate(all="ignore"):
        tolerance = MARGIN * numbers.error[right] + RELATIVE * np.abs(numbers.a[right])
        vanishes = (np.abs(constants[:, None] * table[:, right]) <= tolerance).all(axis=1)
    found = [FoundFactor(q, 1.0, float(c)) for q, c in zip(candidates, constants, strict=True) if np.isfinite(c)]
    names = {q.name for q, zero in zip(candidates, vanishes, strict=True) if zero}  # right where the claim is right
    with np.errstate(all="ignore"):
        inside = table[:, numbers.wrong]
        spread = np.ptp(inside, axis=1) > RELATIVE * np.abs(inside).max(axis=1, initial=0.0)
    varying = {q.name for q, ok in zip(candidates, spread, strict=True) if ok}
    chosen = best(found, numbers.count)
    for everywhere in (True, False):
        for item in (item for item in chosen if (item.quantity.name in names) is everywhere):
            for constant, name in readings(block, item.constant):
                hypothesis = term(item, constant, name, numbers)
                if everywhere:
                    yield hypothesis
                elif block.complete and item.quantity.name in varying:
                    yield in_part(block, hypothesis)


def term(item: FoundFactor, constant: BlockNumber, value: str, numbers: Numbers) -> Hypothesis:
    """Return the hypothesis of one term. constant, value: what multiplies the quantity, and its name."""
    q, c = item.quantity, item.constant
    of = lambda at: at.a - constant(at) * q.of(at)  # noqa: E731
    amount, _, where = value.removeprefix("-").partition(" for ")
    where = f" ({where})" if where else ""
    name = with_f(formula_in(q.name), numbers.block).removesuffix(",")
    product = amount if q.name == "1" else times(amount, name)
    text = f"the derivative is the claim {'minus' if c > 0 else 'plus'} {product}{where}"
    if q.name.startswith("inv("):
        text += ", the gradient of a log-determinant"
    if q.lacks:  # c (1 - q) rest is c rest in place of c q rest, or -c q rest in place of -c rest
        factor, rest = q.lacks
        rest = times(amount, rest).replace("* 1 /", "/")
        plus, minus = ("missing", "superfluous") if c > 0 else ("superfluous", "missing")
        text += f": perhaps a factor {with_f(factor, numbers.block)} is {plus} in {rest}, or {minus} in -{rest}"
    return Hypothesis("dropped term", text, of, fitted=numbers.count)


def powers(block: InputBlock, numbers: Numbers, followed: np.ndarray) -> Iterator[Quantity]:
    """Yield the power of an input that a ratio or a difference is proportional to, if any."""
    for name, source in itertools.islice(sources(block), 4):
        with np.errstate(all="ignore"):
            x, y = np.log(np.abs(numbers.join(source))), np.log(np.abs(followed))
        used = numbers.wrong & np.isfinite(x) & np.isfinite(y)
        if int(used.sum()) < SEVERAL_NUMBERS or np.ptp(x[used]) < 1e-3:
            continue
        slope = float(np.polyfit(x[used], y[used], 1)[0])
        p = round(2 * slope) / 2
        if abs(slope - p) < 1e-3 and p:
            yield Quantity(f"{name}**{p:g}", after_function(functools.partial(to_power, p), source))


def product_hypotheses(block: InputBlock, numbers: Numbers) -> Iterator[Hypothesis]:
    """Yield factors and terms that are products of two quantities, as in the product and quotient rules."""
    single = list(atoms(block))
    table = table_of(numbers, single)
    with np.errstate(all="ignore"):
        usable = np.isfinite(table).all(axis=1) & (np.abs(table).max(axis=1, initial=0.0) > 0)
    kept = [k for k in np.flatnonzero(usable) if numbers.varies(single[k], table[k][numbers.wrong], numbers.gap)]
    single, table = [single[k] for k in kept], table[kept]
    pairs = list(itertools.combinations_with_replacement(range(len(single)), 2))
    if not pairs:
        return
    first, second = np.array(pairs).T
    few = np.flatnonzero(numbers.wrong)[:FIRST_NUMBERS]
    start = table[:, few]
    made, values = [], []
    for words, combined in (
        ("{} * {}", lambda a, b: a * b),
        ("{} / {}", lambda a, b: a / b),
        ("{1} / {0}", lambda a, b: b / a),
        ("1 / ({} * {})", lambda a, b: 1 / (a * b)),
    ):
        with np.errstate(all="ignore"):
            ratios = numbers.gap[few] / combined(start[first], start[second])
            places = np.flatnonzero(numbers.may_be_constant(ratios))
            table_of_pairs = combined(table[first[places]], table[second[places]])
            inside = table_of_pairs[:, numbers.wrong]
            sizes = np.abs(inside)  # of equal sizes, a pattern of signs is left, which a few elements fit by chance
            varies = np.ptp(sizes, axis=1) > RELATIVE * sizes.max(axis=1, initial=0.0)
        for k in np.flatnonzero(varies & np.isfinite(numbers.constants(numbers.gap, table_of_pairs))):
            made.append(pair_of(single[first[places[k]]], single[second[places[k]]], words, combined))
            values.append(table_of_pairs[k])
    if made:
        yield from terms_in(block, numbers, made, np.array(values))


def pair_of(a: Quantity, b: Quantity, words: str, combined: Callable) -> Quantity:
    """Return a product. If a factor of it is 1 - q, a term with the factor q and one without it may be mixed up."""
    lacks = None
    orders = {"{} * {}": [(a, b), (b, a)], "{} / {}": [(a, b)], "{1} / {0}": [(b, a)]}.get(words, [])
    found = next((pair for pair in orders if pair[0].name.startswith("(1 - ") and "**" not in pair[0].name), None)
    if found is not None:
        one, rest = found
        lacks = one.name[len("(1 - ") : -1], rest.name if words == "{} * {}" else f"1 / {rest.name}"
    return Quantity(words.format(a.name, b.name), lambda at: combined(a.of(at), b.of(at)), "product", lacks=lacks)
