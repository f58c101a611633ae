"""Wrong elements that a condition on values separates from right ones: missing masks, wrong branches."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..numeric.compare import MARGIN
from .block import InputBlock
from .constants import (
    CLOSE_TO_ONE,
    common_ratio,
    constants_near,
    multiple_of_derivative,
    numbers_behind,
    readable_factor,
)
from .evidence import DiagnosisEvidence, DiagnosisStatement, Hypothesis
from .places import with_place
from .quantities import BlockValues, after_function, sources

MOST_CONDITIONS = 24  # most conditions that are tried: a choice
MOST_LIMITS = 3  # most limits of each value: a choice
MOST_BETWEEN = 8  # most values between two limits that are tried at a time: a choice
DIVISIONS = 3  # how often the distance between two limits is divided: a choice
COMMON_LIMITS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0)


class RegionCondition(NamedTuple):
    """A condition on values. of: its truth for a block, (R, elements); text: in words."""

    of: BlockValues
    text: str
    opposite: str


Narrow = Callable[[float, float, bool], tuple[float, float] | None]


def mask_hypotheses(block: InputBlock, evidence: DiagnosisEvidence) -> Iterator[Hypothesis | DiagnosisStatement]:
    """Yield masks that are missing or on the wrong side, and constant factors where a condition on values holds."""
    some = wrong_elements(block)
    if some is not None and some.all():
        yield from wrong_sides(block)
    elif some is not None:
        yield from masks_where(block, some, evidence)
    yield from unselected(block)


def masks_where(block: InputBlock, some: np.ndarray, evidence: DiagnosisEvidence) -> Iterator[Hypothesis]:
    """Yield masks and factors of the elements for which a condition on values holds."""
    for condition in conditions(block, some, evidence):
        if block.zero[0][some].all():
            text = f"a mask is missing: the derivative is 0 where {condition.text}"
            masked = functools.partial(zero_where, condition)
            yield Hypothesis("mask", text, masked, by_value=True)
        else:
            yield from scaled_where(block, some, condition)


def zero_where(condition: RegionCondition, at: InputBlock) -> np.ndarray:
    return np.where(condition.of(at), 0.0, at.a)


def branches(block: InputBlock, evidence: DiagnosisEvidence) -> Iterator[DiagnosisStatement]:
    """Yield the conditions under which elements are wrong."""
    some = wrong_elements(block)
    if some is not None and not some.all():
        for condition in conditions(block, some, evidence):
            yield place_by_value(block, some, condition)


def wrong_elements(block: InputBlock) -> np.ndarray | None:
    """Return a mask of the wrong elements if each element is one number, and enough is known; else None."""
    if not block.complete or len(block.a) > 1 or block.x.size < 3:
        return None
    some = block.wrong[0] & np.isfinite(block.r[0])
    return some if some.any() else None


def conditions(block: InputBlock, some: np.ndarray, evidence: DiagnosisEvidence) -> list[RegionCondition]:
    """Return the conditions that hold for wrong elements only; those that have only two values come first."""
    found = list(itertools.islice(separating(block, some, evidence), MOST_CONDITIONS))
    return sorted(found, key=lambda condition: " is " not in condition.text)


def scaled_where(block: InputBlock, some: np.ndarray, condition: RegionCondition) -> Iterator[Hypothesis]:
    """Yield a constant factor of the elements for which a condition holds."""
    ratio = common_ratio(block, block.known & some)
    if ratio is None or abs((c := ratio.value) - 1) < CLOSE_TO_ONE:
        return
    named = next(constants_near(block, ratio), None)
    text = multiple_of_derivative(readable_factor(c)) if named is None else named.text
    kind = "factor" if named is None else named.kind
    fixed = lambda at: np.where(condition.of(at), at.a / c, at.a)  # noqa: E731
    yield Hypothesis(kind, with_place(text, f"where {condition.text}"), fixed, fitted=int(some.sum()), by_value=True)


def separating(block: InputBlock, some: np.ndarray, evidence: DiagnosisEvidence) -> Iterator[RegionCondition]:
    """Yield conditions that hold for the wrong elements and for no other. Kinks belong to neither."""
    smooth = np.isfinite(block.r[0])
    for name, of in sources(block):
        values = np.broadcast_to(of(block), block.a.shape)[0]
        if values.shape != some.shape or not np.isfinite(values).all() or np.ptp(values) == 0:
            continue
        own = name == block.name
        narrow = functools.partial(narrowed, block, evidence, np.ones_like(values)) if own else None
        yield from limits(block, name, of, values[smooth], some[smooth], narrow)
        size = np.abs(values)
        if np.ptp(size) > 0 and (values < 0).any() and (values > 0).any():
            narrow = functools.partial(narrowed, block, evidence, np.sign(values)) if own else None
            words = f"abs({name.strip('()')})"
            yield from limits(block, words, after_function(np.abs, of), size[smooth], some[smooth], narrow)


def limits(
    block: InputBlock, name: str, of: BlockValues, values: np.ndarray, some: np.ndarray, narrow: Narrow | None = None
) -> Iterator[RegionCondition]:
    """Yield the conditions value < limit, or value > limit, that separate wrong elements from right ones."""
    wrong, right = values[some], values[~some]
    if not right.size:
        return
    name = name[1:-1] if name.startswith("(") and name.endswith(")") else name
    if np.ptp(wrong) == 0 and np.ptp(right) == 0 and some.size > 2:
        here, there = float(wrong[0]), float(right[0])
        yield RegionCondition(lambda at: of(at) == here, f"{name} is {here:g}", f"{name} is {there:g}")
        return
    below = bool(wrong.max() < right.min())
    gap = (float(wrong.max()), float(right.min())) if below else (float(right.max()), float(wrong.min()))
    ends = gap if gap[0] >= gap[1] or narrow is None else narrow(*gap, below)
    if ends is None or ends[0] >= ends[1]:
        return
    comparison, sign, other = (np.less, "<", ">") if below else (np.greater, ">", "<")
    for limit, word in limits_between(block, *ends):
        yield RegionCondition(compared(comparison, of, limit), f"{name} {sign} {word}", f"{name} {other} {word}")


def narrowed(
    block: InputBlock, evidence: DiagnosisEvidence, signs: np.ndarray, low: float, high: float, wrong_below: bool
) -> tuple[float, float] | None:
    """Return closer limits between which the claim becomes wrong; None if that does not depend on the values alone.

    Elements are put between the limits, with the given signs. The limits stay if no calls are left.
    """
    key = block.k, bool((signs < 0).any()), low, high
    if key not in evidence.narrowed:
        evidence.narrowed[key] = low, high
        for _ in range(DIVISIONS):
            evidence.narrowed[key] = found = divided(block, evidence, signs, low, high, wrong_below)
            if found is None or found == (low, high):
                break
            low, high = found
    return evidence.narrowed[key]


def divided(
    block: InputBlock, evidence: DiagnosisEvidence, signs: np.ndarray, low: float, high: float, wrong_below: bool
) -> tuple[float, float] | None:
    """Return limits between which the claim becomes wrong, from values evenly spaced between given ones."""
    if evidence.place is None or block.array.dtype.kind != "f" or not evidence.affords(block, every=True):
        return low, high
    count = min(block.x.size, MOST_BETWEEN)
    values = low + (high - low) * (np.arange(block.x.size)[::-1] % count + 1) / (count + 1)
    moved = (np.where(signs == 0, 1.0, signs) * values).reshape(block.array.shape).astype(block.array.dtype)
    other = evidence.block_at(block, {block.name: moved}, every=True)
    if other is None:
        return low, high
    right = (~other.refuted & (other.known | other.zero))[0]
    wrong = values[other.refuted[0]]
    below, above = (wrong, values[right]) if wrong_below else (values[right], wrong)
    low, high = max([low, *below.tolist()]), min([high, *above.tolist()])
    return (low, high) if low < high else None


def compared(comparison: np.ufunc, of: BlockValues, limit: BlockValues) -> BlockValues:
    return lambda at: comparison(of(at), limit(at))


def limits_between(block: InputBlock, low: float, high: float) -> list[tuple[BlockValues, str]]:
    """Return limits between two values, with their names: inputs, numbers of the code, round numbers, or the middle."""
    found: list[tuple[BlockValues, str]] = [
        (functools.partial(array_at, name), name)
        for name, x in block.at.items()
        if x.ndim == 0 and x.dtype.kind == "f" and low < float(x) < high and name != block.name
    ]
    of_code = [n for number in numbers_behind(block) for n in (number, -number)]
    usual = [n for n in dict.fromkeys((0.0, *of_code, *COMMON_LIMITS)) if low < n < high]
    found += [(functools.partial(number_anywhere, n), f"{n:g}") for n in usual]
    middle = (low + high) / 2
    return found[:MOST_LIMITS] or [(functools.partial(number_anywhere, middle), f"about {middle:.3g}")]


def array_at(name: str, at: InputBlock) -> np.ndarray:
    return np.asarray(at.at[name], float)


def number_anywhere(number: float, at: InputBlock) -> np.ndarray:
    return np.asarray(number)


def place_by_value(block: InputBlock, some: np.ndarray, condition: RegionCondition) -> DiagnosisStatement:
    """Return the statement that exactly the elements for which a condition holds are wrong."""
    claimed, known = block.a[0][some], block.r[0][some]
    kinks, details = "" if np.isfinite(block.r[block.wrong]).all() else " and at a kink", ""
    if not claimed.any():
        details = "; there, the claim is 0, but the derivative is not"
    elif np.ptp(np.abs(known)) <= 1e-6 * np.abs(known).max() and len(known) > 1:
        numbers = [known[0]] if (known > 0).all() or (known < 0).all() else [abs(known[0]), -abs(known[0])]
        details = f"; there, the derivative is {' or '.join(f'{number:.6g}' for number in numbers)}"
    text = f"the claim is right where {condition.opposite}, but wrong where {condition.text}{kinks}{details}"

    def holds(at: InputBlock) -> bool:
        inside, smooth = np.broadcast_to(condition.of(at), at.a.shape), np.isfinite(at.r)
        moves = at is block or not np.array_equal(inside, block.wrong)
        fits = np.array_equal(inside[smooth], at.refuted[smooth])
        return bool(moves and fits and inside[smooth].any() and not inside[smooth].all())

    return DiagnosisStatement("some elements", text, holds)


def wrong_sides(block: InputBlock) -> Iterator[DiagnosisStatement]:
    """Yield a mask of the wrong side: the claim is 0 where the derivative is not, and the other way round."""
    if not block.diagonal:
        return
    none, zero = block.a[0] == 0, block.zero[0] & (block.a[0] != 0)
    if not (none.any() and zero.any() and (none | zero).all()):
        return
    for name, of in sources(block):
        values = np.broadcast_to(of(block), block.a.shape)[0]
        for condition in limits(block, name, of, values, zero):
            text = (
                f"the mask is on the wrong side: the derivative is 0 where {condition.text}, but the claim is 0 where"
            )

            def holds(at: InputBlock, condition: RegionCondition = condition) -> bool:
                inside = np.broadcast_to(condition.of(at), at.a.shape)
                nothing = np.abs(at.r) <= MARGIN * at.error
                moves = at is block or not np.array_equal(inside[0], zero)
                return bool(moves and np.array_equal(inside, nothing) and np.array_equal(~inside, at.a == 0))

            yield DiagnosisStatement("mask", f"{text} {condition.opposite}", holds)


def unselected(block: InputBlock) -> Iterator[DiagnosisStatement]:
    """Yield a missing selection: exactly those claims are wrong whose derivative is 0, and which these are varies."""
    chosen = block.wrong & np.isfinite(block.r)
    if not block.complete or not chosen.any() or not np.array_equal(chosen, block.zero & (block.a != 0)):
        return
    if not ((block.a != 0) & ~chosen).any():
        return

    def holds(at: InputBlock) -> bool:
        nothing = at.zero & (at.a != 0)
        moves = at is block or not np.array_equal(at.refuted, chosen)
        return bool(moves and np.array_equal(at.refuted, nothing) and nothing.any())

    text = (
        "the derivative is 0 in each wrong element: a mask is missing, for example x > 0 in relu, x == x.max() in max"
    )
    yield DiagnosisStatement("mask", text, holds)
