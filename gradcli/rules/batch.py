"""Primitives behind one more leading axis: the forward pass for many points at once.

An entry's `batch(size, operands, flags, params)` returns the operands and parameters for the call on operands
of which those flagged have a leading axis of length `size`; it may return the finished result instead. Without
one, elementwise entries align ranks from the right, and others get a leading axis on every operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .shapes import rank, shape_of
from .table import Primitive


def batched_call(primitive: Primitive, operands: Sequence, flags: Sequence[bool], size: int, params: dict) -> Any:
    """Call a primitive on operands of which those flagged have a leading axis of length `size`.

    Returns what the primitive returns, with that leading axis in front.
    """
    if primitive.batch is not None:
        result = primitive.batch(size, tuple(operands), tuple(flags), params)
        if not isinstance(result, tuple) or not isinstance(result[1], dict):
            return result
        operands, params = result
    elif primitive.kind == "elementwise" or (primitive.kind == "constant" and primitive.bind is None):
        operands = align_ranks(operands, flags)
    else:
        operands = [x if flag else with_axis(x, size) for x, flag in zip(operands, flags, strict=True)]
    return primitive(*operands, **params)


def align_ranks(operands: Sequence, flags: Sequence[bool]) -> list:
    """Return operands with axes of length 1 behind the leading one, so that they broadcast from the right."""
    ranks = [rank(x) - flag for x, flag in zip(operands, flags, strict=True)]
    top = max(ranks)
    return [
        x.reshape(x.shape[:1] + (1,) * (top - n) + tuple(x.shape[1:])) if flag and n < top else x
        for x, flag, n in zip(operands, flags, ranks, strict=True)
    ]


def with_axis(x: Any, size: int) -> Any:
    """Return an operand repeated, without a copy, along a new leading axis; None stays None."""
    return None if x is None else np.broadcast_to(x, (size, *shape_of(x)))


def batch_aligned(_size: int, operands: Sequence, flags: Sequence[bool], params: dict) -> tuple:
    """The rule of entries that broadcast from the right without being elementwise."""
    return tuple(align_ranks(operands, flags)), params
