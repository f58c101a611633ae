"""Wrong elements that a condition on values separates from right ones: missing masks, wrong branches."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
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
from .evidence import DiagnosisStatement, Hypothesis
from .quantities import BlockValues, after_function, sources

MOST_CONDITIONS = 24  # most conditions that are tried: a choice
MOST_LIMITS = 3  # most limits of each value: a choice
COMMON_LIMITS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0)


class RegionCondition(NamedTuple):
    """A condition on values. of: its truth for a block, (R, elements); text: in words."""

    of: BlockValues
    text: str
    opposite: str


def mask_hypotheses(block: InputBlock) -> Iterator[Hypothesis | DiagnosisStatement]:
    """Yield masks that are missing or on the wrong side, and constant factors where a condition on values holds."""
    some = wrong_elements(block)
    if some is not None and some.all():
        yield from wrong_sides(block)
    elif some is not None:
        yield from masks_where(block, some)
    yield from unselected(block)


def masks_where(block: InputBlock, some: np.ndarray) -> Iterator[Hypothesis]:
    """Yield masks and factors of the elements for which a condition on values holds."""
    for condition in conditions(block, some):
        if block.zero[0][some].all():
            text = f"a mask is missing: the derivative is 0 where {condition.text}"
            masked = functools.partial(zero_where, condition)
            yield Hypothesis("mask", text, masked, by_value=True)
        else:
            yield from scaled_where(block, some, condition)


def zero_where(condition: RegionCondition, at: InputBlock) -> np.ndarray:
    return np.where(condition.of(at), 0.0, at.a)


def branches(block: InputBlock) -> Iterator[DiagnosisStatement]:
    """Yield the conditions under which elements are wrong."""
    some = wrong_elements(block)
    if some is not None and not some.all():
        for condition in conditions(block, some):
            yield place_by_value(block, some, condition)


def wrong_elements(block: InputBlock) -> np.ndarray | None:
    """Return a mask of the wrong elements if each element is one number, and enough is known; else None."""
    if not block.complete or len(block.a) > 1 or block.x.size < 3:
        return None
    some = block.wrong[0] & np.isfinite(block.r[0])
    return some if some.any() else None


def conditions(block: InputBlock, some: np.ndarray) -> list[RegionCondition]:
    """Return the conditions that hold for wrong elements only; those that have only two values come first."""
    found = list(itertools.islice(separating(block, some), MOST_CONDITIONS))
    return sorted(found, key=lambda condition: " is " not in condition.text)


def scaled_where(block: InputBlock, some: np.ndarray, condition: RegionCondition) -> Iterator[Hypothesis]:
    """Yield a constant factor of the elements for which a condition holds."""
    c = common_ratio(block, block.known & some)
    if c is None or abs(c - 1) < CLOSE_TO_ONE:
        return
    named = next(constants_near(block, c), None)
    text = multiple_of_derivative(readable_factor(c)) if named is None else named.text
    kind = "factor" if named is None else named.kind
    fixed = lambda at: np.where(condition.of(at), at.a / c, at.a)  # noqa: E731
    yield Hypothesis(kind, f"{text}, where {condition.text}", fixed, fitted=int(some.sum()), by_value=True)


def separating(block: InputBlock, some: np.ndarray) -> Iterator[RegionCondition]:
    """Yield conditions that hold for the wrong elements and for no other."""
    for name, of in sources(block):
        values = np.broadcast_to(of(block), block.a.shape)[0]
        if values.shape != some.shape or not np.isfinite(values).all() or np.ptp(values) == 0:
            continue
        yield from limits(block, name, of, values, some)
        size = np.abs(values)
        if np.ptp(size) > 0 and (values < 0).any() and (values > 0).any():
            yield from limits(block, f"abs({name.strip('()')})", after_function(np.abs, of), size, some)


def limits(
    block: InputBlock, name: str, of: BlockValues, values: np.ndarray, some: np.ndarray
) -> Iterator[RegionCondition]:
    """Yield the conditions value < limit, or value > limit, that separate wrong elements from right ones."""
    wrong, right = values[some], values[~some]
    name = name[1:-1] if name.startswith("(") and name.endswith(")") else name
    if np.ptp(wrong) == 0 and np.ptp(right) == 0:
        here, there = float(wrong[0]), float(right[0])
        yield RegionCondition(lambda at: of(at) == here, f"{name} is {here:g}", f"{name} is {there:g}")
        return
    if wrong.max() < right.min():
        for limit, word in limits_between(block, float(wrong.max()), float(right.min())):
            yield RegionCondition(compared(np.less, of, limit), f"{name} < {word}", f"{name} > {word}")
    elif wrong.min() > right.max():
        for limit, word in limits_between(block, float(right.max()), float(wrong.min())):
            yield RegionCondition(compared(np.greater, of, limit), f"{name} > {word}", f"{name} < {word}")


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
    details = ""
    if not claimed.any():
        details = ": the claim is 0 there, and the derivative is not"
    elif np.ptp(np.abs(known)) <= 1e-6 * np.abs(known).max() and len(known) > 1:
        sign = "" if np.ptp(known) == 0 or (known > 0).all() or (known < 0).all() else " or minus that"
        details = f": the derivative is {known[0] if not sign else abs(known[0]):.6g}{sign} there"
    text = f"wrong where {condition.text}, right where {condition.opposite}{details}"

    def holds(at: InputBlock) -> bool:
        inside = np.broadcast_to(condition.of(at), at.a.shape)
        moves = at is block or not np.array_equal(inside, block.wrong)
        return bool(moves and np.array_equal(inside, at.refuted) and inside.any() and not inside.all())

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

    text = "right except where the derivative is 0: a mask is missing (x > 0 for relu, the bounds of a clamp)"
    yield DiagnosisStatement("mask", text, holds)
