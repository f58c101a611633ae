"""Calls of a rule as programs make them, and how what they give differs: for PyTorch see elsewhere/torch_calls.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from .claim import Arrays

CHANGED, CHANGED_NARROW = 1e-4, 1e-2
"""Differences up to this part of the largest element are rounding: sums in another order. For float32, the second."""


class Difference(NamedTuple):
    """What a rule gives when it is called in another way. rule: the name of the finding."""

    rule: str
    text: str


def first_difference(expected: Arrays, got: Arrays, narrow: bool) -> tuple[str, str, str] | None:
    """Return the name of the element that differs most, and its two values; None where all are the same."""
    for name, x in expected.items():
        y = np.asarray(got[name])
        if y.shape != np.shape(x):
            return name, f"shape {np.shape(x)}", f"shape {y.shape}"
        room = (CHANGED_NARROW if narrow else CHANGED) * np.abs(x).max(initial=0.0, where=np.isfinite(x))
        off = ~(np.abs(y - x) <= room) & ~((y == x) | (np.isnan(y) & np.isnan(x)))
        if off.any():
            worst = np.unravel_index(int(np.argmax(np.where(off, np.nan_to_num(np.abs(y - x), nan=np.inf), -1))), y.shape)
            index = ",".join(map(str, map(int, worst)))
            return name + (f"[{index}]" if index else ""), f"{x[worst]:.6g}", f"{y[worst]:.6g}"
    return None


def array_layouts(x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield an array with the same elements in other places of memory, and the names of these layouts."""
    if x.ndim > 1:
        yield "in Fortran order", np.asfortranarray(x)
    if x.ndim:
        yield "reversed", np.ascontiguousarray(x[..., ::-1])[..., ::-1]
        wide = np.repeat(np.full_like(x, 17), 2, axis=-1)
        wide[..., ::2] = x
        yield "strided", wide[..., ::2]
        fixed = x.copy()
        fixed.flags.writeable = False
        yield "read-only", fixed


def with_layout(arrays: Mapping[str, np.ndarray], layout: str) -> dict[str, np.ndarray]:
    return {name: dict(array_layouts(x)).get(layout, x) for name, x in arrays.items()}
