"""Constant factors: their values and what they may stand for, such as a length that a mean divides by."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..numeric.compare import MARGIN
from ..numeric.flat import arrays_behind, median_of
from ..user.frameworks import constants_in_code, reachable_from
from .block import RELATIVE, InputBlock
from .evidence import DiagnosisEvidence, Hypothesis

if TYPE_CHECKING:
    from fractions import Fraction

KNOWN_CONSTANTS = {
    math.pi: "pi",
    2 * math.pi: "2 pi",
    math.log(2): "log 2",
    math.log(10): "log 10",
    math.sqrt(2): "sqrt 2",
    math.sqrt(math.pi): "sqrt pi",
    2 / math.sqrt(math.pi): "2 / sqrt pi",
    math.sqrt(2 * math.pi): "sqrt(2 pi)",
    180 / math.pi: "180 / pi",
}
FROM_DEGREES = "; perhaps pi / 180, which converts degrees to radians, is missing"
ROUNDED = {math.pi: "pi", math.e: "e", math.sqrt(2): "sqrt 2", math.log(2): "log 2", math.log(10): "log 10"}
"""Numbers that people type with a few digits."""
TYPED_DIGITS = range(1, 7)  # decimals that they type
TYPED_NEAR_ONE, TYPED_LEFT = 0.05, 1e-3
"""A rounded number is a factor this close to 1. At most this part of its distance from 1 may be left: choices."""
CLOSE_TO_ONE = 1e-4  # factors this close to 1 are not named: a choice
CLAIM_SPREAD = 1e-5  # relative differences of a claim's factors that count as rounding in the claim: a choice
FEWEST_DIGITS = 2  # digits to which a factor must be known to be printed as a number: a choice
MOST_FACTORS = 40  # most numbers of the code that are tried as factors: a choice
LARGEST_NUMBER = 1e12  # numbers of the code that are tried as factors are smaller: a choice
LARGEST_NUMERATOR = 24  # largest numerator of a fraction that is printed as one: a choice

BlockNumber = Callable[[InputBlock], float]


class Length(NamedTuple):
    """A length that a block has in any shape. of: its value; name: the words for it."""

    of: BlockNumber
    name: str


class NamedConstant(NamedTuple):
    """A value that a constant factor may stand for. of: the same factor in any block."""

    of: BlockNumber
    kind: str
    text: str


class Ratio(NamedTuple):
    """A factor that elements have in common. error: by how much the numeric derivative leaves it open."""

    value: float
    error: float

    def is_near(self, number: float) -> bool:
        return abs(self.value - number) <= max(RELATIVE * abs(number), self.error)

    @property
    def digits(self) -> int:
        """The number of digits that are known."""
        return int(np.clip(-np.log10(self.error / abs(self.value) + 1e-300), 0, 9))

    @property
    def is_precise(self) -> bool:
        """Whether it is known as well as a number must agree with it to be taken for it."""
        return self.error <= RELATIVE * abs(self.value)


def constant_factor(block: InputBlock, evidence: DiagnosisEvidence) -> Iterator[Hypothesis]:
    """Yield constant multiples of the derivative, for all elements together."""
    ratio = common_ratio(block, block.resolved)
    if ratio is None:
        return
    c, fitted = ratio.value, int((block.resolved & block.refuted).sum())
    for number in constants_typed_short(c) if ratio.is_precise else ():
        yield Hypothesis(number.kind, number.text, divided_by_number(number.of), fitted=fitted)
    if abs(c - 1) < CLOSE_TO_ONE:
        text = f"all elements are off by the same relative error, {c - 1:.3g}"
        yield Hypothesis("factor", text, lambda at: at.a / c, fitted=fitted)
        return
    for named in constants_near(block, ratio, bool(evidence.in_shapes(block))):
        own = 0 if named.kind == "sign" else fitted  # a sign is not a fitted number
        yield Hypothesis(named.kind, named.text, divided_by_number(named.of), fitted=own)
    if ratio.digits >= FEWEST_DIGITS:
        text = multiple_of_derivative(f"{c:.{ratio.digits}g}")
        yield Hypothesis("factor", text, lambda at: at.a / c, fitted=fitted)


def divided_by_number(factor: BlockNumber) -> Callable[[InputBlock], np.ndarray]:
    return lambda at: at.a / factor(at)


def common_ratio(block: InputBlock, where: np.ndarray, claim: np.ndarray | None = None) -> Ratio | None:
    """Return the ratio of a claim to the derivative if it is the same at all these places and not 0, else None."""
    claim = block.a if claim is None else claim
    with np.errstate(all="ignore"):
        ratios, errors = (claim / block.r)[where], (MARGIN * block.error / np.abs(block.r))[where]
    if not ratios.size or not np.isfinite(ratios).all() or not ratios.any():
        return None
    least = float(errors.min())
    c = median_of(ratios[errors <= 10 * least])
    alike = np.abs(ratios - c) <= (CLAIM_SPREAD + errors + least) * abs(c)
    return Ratio(c, least * abs(c)) if abs(c) > 1e-300 and alike.all() else None


def lengths_of_block(block: InputBlock) -> list[Length]:
    """Return lengths and sizes that a forgotten or repeated mean or broadcast brings in as a factor."""
    found = []
    for name, x in block.at.items():
        axis_of = "the length" if x.ndim == 1 else "the length of an axis"
        found += [Length(length_of(name, axis), f"{axis_of} of {name}") for axis in range(x.ndim)]
        if x.ndim > 1:
            found.append(Length(length_of(name, None), f"the size of {name}"))
    outs = range(len(block.flat.out_shape))
    found += [Length(functools.partial(length_of_output, axis), "a length of the output") for axis in outs]
    around = {n for _, x in arrays_behind(block.flat.claim) for n in (*x.shape, x.size)}
    found += [
        Length(functools.partial(constantly, n), "a length of an array that the code uses") for n in sorted(around)
    ]
    return [length for length in found if length.of(block) > 1]


def constantly(number: float, at: InputBlock) -> float:
    return number


def length_of_output(axis: int, at: InputBlock) -> float:
    return at.flat.out_shape[axis]


def length_of(name: str, axis: int | None) -> BlockNumber:
    return lambda at: at.at[name].size if axis is None else at.at[name].shape[axis]


OF_LENGTH: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("N", lambda n: n),
    ("1/N", lambda n: 1 / n),
    ("-N", lambda n: -n),
    ("-1/N", lambda n: -1 / n),
    ("N / (N - 1)", lambda n: n / (n - 1)),
    ("(N - 1) / N", lambda n: (n - 1) / n),
    ("sqrt(N)", math.sqrt),
    ("1/sqrt(N)", lambda n: 1 / math.sqrt(n)),
    ("2N", lambda n: 2 * n),
    ("N/2", lambda n: n / 2),
    ("2/N", lambda n: 2 / n),
    ("1/(2N)", lambda n: 0.5 / n),
    ("N**2", lambda n: n**2),
    ("1/N**2", lambda n: 1 / n**2),
)
"""Functions of a length N that a factor may be."""
PLAIN_LENGTHS = ("N", "1/N", "-N", "-1/N")


def constants_near(block: InputBlock, ratio: Ratio, shapes: bool = False) -> Iterator[NamedConstant]:
    """Yield what a factor may stand for, the most likely first.

    A factor that is known to a few digits may only be one of the usual ones. shapes: whether another shape is known,
    in which only one of two readings remains. Without it, a text names both.
    """

    def by_length(found: Iterable[tuple[str, BlockNumber, Length]]) -> Iterator[NamedConstant]:
        return (NamedConstant(value, *words_of_length(word, length, value, block)) for word, value, length in found)

    lengths = list(of_lengths(block, ratio.value, ratio.error))
    plain_lengths = [found for found in lengths if found[0] in PLAIN_LENGTHS]
    if not ratio.is_precise:
        is_single = len({round(value(block), 9) for _, value, _ in plain_lengths}) == 1
        lengths = plain_lengths = plain_lengths if is_single else []
    common = abs(abs(ratio.value) - 2) < CLOSE_TO_ONE or abs(abs(ratio.value) - 0.5) < CLOSE_TO_ONE
    if not common:
        yield from by_length(plain_lengths)
    plain = [*plain_numbers(ratio), *(numbers_of_code(block, ratio.value) if ratio.is_precise else ())]
    if plain and plain_lengths and not shapes:
        word, _, length = plain_lengths[0]
        over = f"over {length.of(block)} elements ({length.name}) was written as a"
        swapped = {"N": f", or a mean {over} sum", "1/N": f", or a sum {over} mean"}
        plain[0] = plain[0]._replace(text=plain[0].text + swapped.get(word, f"; {length.of(block)} is {length.name}"))
    yield from plain
    yield from by_length(lengths)


def of_lengths(block: InputBlock, c: float, error: float = 0.0) -> Iterator[tuple[str, BlockNumber, Length]]:
    """Yield functions of lengths that equal a number: in words, as a function of a block, and the length."""
    lengths = [(length, length.of(block)) for length in lengths_of_block(block)]
    for word, function in OF_LENGTH:
        for length, n in lengths:
            if abs(function(n) - c) <= max(RELATIVE * abs(c), error):
                yield word, functools.partial(of_length, function, length.of), length


def of_length(function: Callable[[float], float], length: BlockNumber, at: InputBlock) -> float:
    return function(length(at))


def words_of_length(word: str, length: Length, value: BlockNumber, block: InputBlock) -> tuple[str, str]:
    """Return kind and text of a factor that is a function of a length."""
    n, times = int(length.of(block)), multiple_of_derivative(readable_factor(value(block)))
    match word:
        case "N":
            sum_for_mean = "1/N is probably missing (sum instead of mean)"
            return "missing 1/N", f"too large by a factor of {n}, {length.name}; {sum_for_mean}"
        case "1/N":
            mean_for_sum = "probably a mean instead of a sum"
            return "factor", f"too small by a factor of {n}, {length.name}; {mean_for_sum}"
        case "-N" | "-1/N":
            return "factor", f"{times}; {n} is {length.name}"
    return "factor", f"{times}; this is {word} for N = {n}, {length.name}"


def constants_typed_short(c: float) -> Iterator[NamedConstant]:
    """Yield the numbers that are a cause of a factor close to 1 because they were rounded."""
    for (value, name), digits in itertools.product(
        ROUNDED.items() if abs(c - 1) < TYPED_NEAR_ONE else (), TYPED_DIGITS
    ):
        typed = round(value, digits)
        for ratio, words in ((typed / value, ""), (value / typed, ", as a divisor")):
            if abs(c - ratio) <= TYPED_LEFT * abs(ratio - 1):
                text = f"the claim has {typed} in place of {name}{words}"
                yield NamedConstant(functools.partial(constantly, ratio), "factor", text)


def plain_numbers(ratio: Ratio) -> Iterator[NamedConstant]:
    """Yield the numbers that a factor may be; usual ones only if it is known to a few digits."""
    c = ratio.value
    special = {
        -1.0: ("sign", "the sign is wrong: the claimed values are minus the derivative"),
        2.0: ("factor", "the claim is twice the derivative: probably accumulated twice, or 1/2 is missing"),
        0.5: ("factor", "the claim is half the derivative: a factor of 2 is missing"),
    }
    for value, (kind, text) in special.items():
        if ratio.is_near(value):
            yield NamedConstant(functools.partial(constantly, value), kind, text)
    if not ratio.is_precise:
        return
    for value, word in KNOWN_CONSTANTS.items():
        for number, name in ((value, word), (1 / value, f"1 / ({word})")):
            if abs(c - number) <= RELATIVE * number:
                text = multiple_of_derivative(name) + FROM_DEGREES * (name == "180 / pi")
                yield NamedConstant(functools.partial(constantly, number), "factor", text)
    simple = nearest_fraction(c, LARGEST_NUMERATOR)
    if simple and abs(simple.numerator) <= LARGEST_NUMERATOR and abs(c - simple) <= RELATIVE * abs(c):
        value = float(simple)
        text = multiple_of_derivative(readable_factor(value))
        yield NamedConstant(functools.partial(constantly, value), "factor", text)


def numbers_of_code(block: InputBlock, c: float) -> Iterator[NamedConstant]:
    """Yield factors that are a number in the code, its reciprocal, its square, or twice it."""
    ways = {"{}": 1.0, "1 / {}": -1.0, "{}**2": 2.0, "1 / {}**2": -2.0, "sqrt({})": 0.5, "1 / sqrt({})": -0.5}
    for number in numbers_behind(block):
        for way, power in ways.items():
            for scale, before in ((1.0, ""), (2.0, "2 * "), (-1.0, "-")):
                value = scale * number**power
                if abs(c - value) <= RELATIVE * abs(value):
                    name = before + way.format(f"{number:.12g}")
                    text = f"{multiple_of_derivative(name)} ({number:.12g} is a number in the code)"
                    yield NamedConstant(functools.partial(constantly, value), "factor", text)


def numbers_behind(block: InputBlock) -> list[float]:
    """Return the numbers in the code of the claim's functions, and those that it refers to."""
    found: dict[float, None] = {}
    for x in itertools.chain.from_iterable(map(reachable_from, block.flat.claim.functions)):
        code = getattr(x, "__code__", None)
        values = constants_in_code(code) if isinstance(code, CodeType) else [x]
        found |= {abs(float(v)): None for v in values if is_factor(v)}
        if len(found) > MOST_FACTORS:
            break
    return list(found)[:MOST_FACTORS]


def is_factor(x: Any) -> bool:
    """Report whether an object is a number that a factor would be named after."""
    if isinstance(x, bool) or not isinstance(x, int | float) or x in (0, 1, -1, 2, 0.5):
        return False
    return 1 / LARGEST_NUMBER < abs(x) < LARGEST_NUMBER


def nearest_fraction(c: float, most: int) -> Fraction:
    """Return the fraction nearest to a number whose denominator is at most `most`."""
    from fractions import Fraction  # with the decimal module that it needs, importing it takes 2 ms

    return Fraction(c).limit_denominator(most)


def multiple_of_derivative(factor: str) -> str:
    return f"the claim is {factor} times the derivative"


def readable_factor(c: float) -> str:
    """Return a factor as a fraction if it is a short one, else as a number."""
    simple = nearest_fraction(c, 99)
    if not simple or abs(c - simple) > RELATIVE * abs(c):
        return f"{c:.6g}" if float(f"{c:.6g}") == c else f"{c:.9g}"
    short = f"{float(simple):.4g}"
    return short if simple.denominator > 2 and float(short) == float(simple) else str(simple)
