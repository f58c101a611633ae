"""Compare the results of a rule between two ways of calling it; for PyTorch see adapters/torch_calls.py."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np

from ..errors import describe_error
from .claim import CHANGED, Arrays, CallError, Claim, Difference

CHANGED_NARROW = 1e-2  # the same as CHANGED for short types: a choice
CANCELLED, CANCELLED_NARROW = 1e-9, 1e-5  # allowed on top, relative to the reference, where terms cancel: a choice
FIXES = {
    "layout": "make it contiguous before its memory is read, or use reshape instead of view",
    "unused-output": "the gradient of an unused output is None (test with `is None`), SymbolicZero or zeros",
    "cotangent-type": "allocate results in the type of the inputs, not in that of the incoming gradient",
    "second-backward": "do not modify what is saved for backward, because retain_graph=True lets it run again",
}
REPEATS = 5  # repeated expected calls that must agree before a difference of the other call counts: a choice
LEAST_ROOM = 1e-2
"""The largest product, relative to the largest number of a type, up to which sums do not overflow: a choice."""
MULTIPLES, ROUNDING_ROOM = (3.0, 5.0, 7.0), 10.0
"""Multiples of a cotangent, and how much more than their products in float64 those in a short type may differ, relative
to its rounding: a choice."""
FILLING = 17  # value between the elements of a strided array, which a correct rule does not read


ArraysCall = Callable[[], Arrays]


def compare(
    rule: str,
    reference: Arrays,
    expected: Arrays,
    calls: tuple[ArraysCall, ArraysCall],
    narrow: bool,
    here: str,
    there: str,
    *,
    rounding: Callable[[], float] = float,
) -> Iterator[Difference]:
    """Yield the largest difference between expected arrays and those of another call, or what that call raised.

    reference: arrays that show how large the elements are without cancellation. calls: the other call, and the expected
    one repeated, which also differs if the rule uses random numbers. here, there: the two calls in words. rounding: how
    far the other call may differ in addition.
    """
    got, again = calls
    part, cancelled = (CHANGED_NARROW, CANCELLED_NARROW) if narrow else (CHANGED, CANCELLED)
    size = largest_magnitude(reference)

    def difference(call: ArraysCall) -> str:
        try:
            arrays = call()
        except Exception as error:
            return f"the derivative raises {describe_error(error)} {here}, but not {there}"
        for name, x in expected.items():
            y = np.broadcast_to(arrays[name], np.shape(x))
            tolerance = part * largest_magnitude({name: x}) + cancelled * size
            gap = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.nan_to_num(np.abs(y - x), nan=np.inf))
            if gap.max(initial=0.0) > tolerance and gap.max() > tolerance + rounding():
                worst = np.unravel_index(int(gap.argmax()), gap.shape)
                element = f"{name}[{','.join(str(int(i)) for i in worst)}]" if worst else name
                return f"{element} is {y[worst]:.6g} {here}, but {x[worst]:.6g} {there}"
        return ""

    text = difference(got)
    if text and not any(difference(again) for _ in range(REPEATS)):
        yield Difference(rule, f"{text}: {FIXES[rule]}")


def in_short_types(claim: Claim) -> Iterator[Difference]:
    """Yield how products change if the same cotangent comes in float32 or float16; a rule may refuse these types."""
    numbers = np.random.default_rng(0).standard_normal(claim.value_here().shape)
    for kind in (np.float32, np.float16):
        short = np.asarray(numbers, kind)
        whole = functools.partial(claim.pull, claim.at, short.astype(float))
        try:
            expected, given = whole(), claim.pull(claim.at, short)
        except CallError:
            return
        if largest_magnitude(expected) < LEAST_ROOM * np.finfo(kind).max:
            rounding = functools.cache(functools.partial(rounding_in, kind, claim, short.astype(float), expected))
            here, there = f"for a cotangent in {kind.__name__}", "for the same one in float64"
            calls: tuple[ArraysCall, ArraysCall] = functools.partial(dict, given), whole
            yield from compare("cotangent-type", expected, expected, calls, True, here, there, rounding=rounding)


def rounding_in(kind: type[np.floating], claim: Claim, cotangent: np.ndarray, product: Arrays) -> float:
    """Return how much rounding to a short type may change a product, whose terms may be larger than it.

    The rounding in float64 shows how large the terms are: they round differently for multiples of the cotangent.
    """
    multiples = [{n: x / k for n, x in claim.pull(claim.at, k * cotangent).items()} for k in MULTIPLES]
    scatter = max(largest_magnitude({n: x[n] - product[n] for n in product}) for x in multiples)
    return ROUNDING_ROOM * scatter * float(np.finfo(kind).eps / np.finfo(float).eps)


def largest_magnitude(arrays: Arrays) -> float:
    return max((float(np.abs(x).max(initial=0.0, where=np.isfinite(x))) for x in arrays.values()), default=0.0)
