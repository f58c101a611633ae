"""Operands of mixed types are cast to their common one, by PyTorch's rules, before a primitive sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules.table import Primitive
from .dtypes import result_type
from .tensor import Tensor


def promoted(primitive: Primitive, operands: tuple, cast: Callable[[Any, Any], Any]) -> tuple:
    """Return the operands with those that mix cast to their common type; lists become arrays.

    cast(x, dtype) converts one operand, recording it where a gradient is wanted.
    """
    places = range(len(operands)) if primitive.promote is None else primitive.promote
    chosen = [as_operand(operands[i]) for i in places]
    dtypes = {x._data.dtype if isinstance(x, Tensor) else getattr(x, "dtype", None) for x in chosen} - {None}
    numbers = [x for x in chosen if isinstance(x, int | float | complex)]
    if len(dtypes) == 1 and not numbers:
        common = next(iter(dtypes))
    else:
        common = result_type([x._data if isinstance(x, Tensor) else x for x in chosen])
    out = list(operands)
    for i, x in zip(places, chosen, strict=True):
        out[i] = cast(x, common)
    return tuple(out)


def as_operand(x: Any) -> Any:
    """Return a list or tuple as an array; everything else as it is."""
    return np.asarray(x) if isinstance(x, list | tuple) else x
