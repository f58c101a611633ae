"""Calls of a rule as programs make them, and how what they give differs: for PyTorch see elsewhere/torch_calls.py."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from .claim import Arrays

CHANGED, CHANGED_NARROW = 1e-4, 1e-2
"""Differences up to this part of the largest element are rounding: sums in another order. For float32, the second."""
CANCELLED = 1e-5  # the same relative to what elements are usually as large as, where they cancel: a part of those above
FILLING = 17  # stands in memory between the elements of a strided array, where a right rule does not look


class Difference(NamedTuple):
    """What a rule gives when it is called in another way. rule: the name of the finding."""

    rule: str
    text: str


def first_difference(expected: Arrays, got: Arrays, usual: float, narrow: bool) -> tuple[str, str, str] | None:
    """Return the name of the element that differs most, and its two values; None where all are the same.

    usual: how large elements are where they do not cancel.
    """
    part = CHANGED_NARROW if narrow else CHANGED
    for name, x in expected.items():
        y = np.asarray(got[name])
        if y.shape != np.shape(x):
            return name, f"of shape {np.shape(x)}", f"of shape {y.shape}"
        room = part * (np.abs(x).max(initial=0.0, where=np.isfinite(x)) + CANCELLED * usual)
        gap = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.nan_to_num(np.abs(y - x), nan=np.inf))
        if gap.max(initial=0.0) > room:
            worst = np.unravel_index(int(gap.argmax()), gap.shape)
            index = ",".join(str(int(i)) for i in worst)
            return f"{name}[{index}]" if index else name, f"{x[worst]:.6g}", f"{y[worst]:.6g}"
    return None


def largest(arrays: Arrays) -> float:
    """Return the size of the largest finite element."""
    return max((float(np.abs(x).max(initial=0.0, where=np.isfinite(x))) for x in arrays.values()), default=0.0)


def reversed_in_memory(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x[..., ::-1])[..., ::-1]


def strided(x: np.ndarray) -> np.ndarray:
    wide = np.repeat(np.full_like(x, FILLING), 2, axis=-1)
    wide[..., ::2] = x
    return wide[..., ::2]


def read_only(x: np.ndarray) -> np.ndarray:
    fixed = x.copy()
    fixed.flags.writeable = False
    return fixed


LAYOUTS = {
    "in Fortran order": functools.partial(np.array, order="F"),
    "reversed": reversed_in_memory,
    "strided": strided,
    "read-only": read_only,
}
"""Ways to put an array of NumPy in memory."""
