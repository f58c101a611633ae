"""What the elements of arrays are called, wherever they are named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

Part = tuple[str, np.ndarray, Callable[[Sequence[int]], str]]
"""What an array of a result is, the array, and how an element of it is called by its index."""


def label(name: str, index: Sequence[int | str]) -> str:
    """Return the name of an element: x, x[2], x[0,1]."""
    return f"{name}[{','.join(map(str, index))}]" if index else name


def labels(name: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names of an array's elements, the last axis fastest."""
    return [label(name, index) for index in np.ndindex(shape)]


def value_part(result: Any) -> Iterator[Part]:
    """Yield the value of a result, where it has one."""
    if result.value is not None:
        yield "the value", result.value, partial(label, result.output or "value")


def label_pair(row: str, axes: int, column: str) -> Callable[[Sequence[int]], str]:
    """Return how an element of a block of derivatives is called; axes: how many of them belong to the row."""
    return lambda index: f"{label(row, index[:axes])}/{label(column, index[axes:])}"


def label_entry(entries: Any, index: list[int]) -> str:
    return f"row {entries.row[index[0]]}, column {entries.col[index[0]]}"
