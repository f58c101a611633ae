"""Indices that occur several times, whose gradients add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..numeric.flat import arrays_behind
from .block import InputBlock
from .evidence import DiagnosisStatement


def repeated_indices(block: InputBlock) -> Iterator[DiagnosisStatement]:
    """Yield that the wrong elements are those whose index occurs more than once in an array of integers."""
    if not block.complete or block.array.dtype.kind != "f":
        return
    claim = block.flat.claim
    for name, i in (*claim.at.items(), *arrays_behind(claim, of_frameworks=True)):
        if not name or i.dtype.kind not in "iu" or i.size < 2:
            continue
        for axis, length in enumerate(block.array.shape):
            if i.min() < -length or i.max() >= length:
                continue
            repeated = np.bincount(i.reshape(-1) % length, minlength=length) > 1
            if repeated.any() and not repeated.all():
                yield DiagnosisStatement("repeated index", text_of_index(name), wrong_along(axis, repeated))


def text_of_index(name: str) -> str:
    cause = "an assignment keeps only the last of its gradients; use np.add.at(), which adds them"
    return f"wrong exactly where an index occurs more than once in {name}: {cause}"


def wrong_along(axis: int, expected: np.ndarray) -> Callable[[InputBlock], bool]:
    """Return the test whether an axis of the input has wrong elements at these places only."""

    def holds(at: InputBlock) -> bool:
        wrong = np.moveaxis(np.asarray(at.refuted.any(axis=0)).reshape(at.array.shape), axis, 0)
        return np.array_equal(wrong.reshape(len(expected), -1).any(axis=1), expected)

    return holds
