"""Where a result holds nan, or another number that is not finite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..errors import EXIT_FAIL, GradcliError
from ..results import Gradients, Value
from ..results.exact import LongNumbers
from ..results.labels import label
from ..results.transforms import Hessian, Jacobian, Products

NAMES = {"grad": "gradient", "jacobian": "Jacobian", "hessian": "Hessian"}
WITH_VALUE = (Value, Gradients, Products, LongNumbers, Jacobian, Hessian)
Part = tuple[str, np.ndarray, Callable[[list[int]], str]]
"""What an array is, the array, and how an element of it is called by its index."""


def parts_of(result: Any) -> Iterator[Part]:
    """Yield every array of a result, the value first; none of a result that is no value with derivatives."""
    if not isinstance(result, WITH_VALUE):
        return
    if result.value is not None:
        yield "the value", numbers(result.value), partial(label, getattr(result, "output", None) or "value")
    if isinstance(result, Gradients):
        for item in result.inputs:
            yield f"the gradient of {item.name}", item.slope, partial(label, item.name)
    elif isinstance(result, Products):
        for name, x in result.parts.items():
            yield f"the {result.kind} for {name}", x, partial(label, name)
    elif isinstance(result, LongNumbers):
        for name, x in ((name, x) for name, x in result.parts.items() if x is not None):
            yield f"the {NAMES[result.kind]} for {name}", numbers(x), partial(label, name)
    elif isinstance(result, Jacobian):
        output = result.output or "out"
        for block in result.blocks:
            what = f"the block of {block.name}"
            if block.block is not None:
                yield what, block.block, pair(output, result.value.ndim, block.name)
                continue
            entries = block.sparse.tocoo()
            yield what, entries.data, partial(sparse_entry, entries)
    elif isinstance(result, Hessian):
        for name, row in result.blocks.items():
            for other, x in row.items():
                yield f"the block of {other}", x, pair(name, result.inputs[name].ndim, other)


def pair(row: str, axes: int, column: str) -> Callable[[list[int]], str]:
    """Return how an element of a block of derivatives is called; axes: how many of them belong to the row."""
    return lambda index: f"{label(row, index[:axes])}/{label(column, index[axes:])}"


def sparse_entry(entries: Any, index: list[int]) -> str:
    """Return the place of an entry of a sparse block."""
    return f"row {entries.row[index[0]]}, column {entries.col[index[0]]}"


def numbers(x: np.ndarray) -> np.ndarray:
    """Return an array of numbers for digits as text; what is too large or small for a float is finite."""
    if x.dtype.kind not in "OU":
        return x
    return np.vectorize(lambda text: np.nan if "nan" in text else np.inf if "inf" in text else 0.0, otypes=[float])(x)


def nan_in(result: Any) -> str | None:
    """Return where a result first holds nan, in words; None where it does not."""
    for what, array, name in parts_of(result):
        for place in np.argwhere(np.isnan(array))[:1].tolist():
            where = name(place)
            at = (
                f" first {'in' if where.startswith('row ') else 'at'} {where}" if what.startswith("the block") else ""
            )
            return f"{what} holds nan{at}"
    return None


def check_finite(result: Any) -> None:
    """Raise GradcliError, with exit code 1, for a result with nan or infinity in it, and say where."""
    for what, array, name in parts_of(result):
        for place in np.argwhere(~np.isfinite(array))[:1].tolist():
            shown, where = numbers(array)[tuple(place)], name(place)
            more = f"not finite: {where} is {shown}" if place or "/" in where else shown
            raise GradcliError(f"{what} is {more}", kind="value", exit_code=EXIT_FAIL)
