"""Outputs of several arrays: what each is called, and where it stands in the vector that they are joined to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Path = tuple[int | str, ...]


class OutputPart(NamedTuple):
    """One array of an output: the keys that lead to it, its shape, and whether pairs stand for complex numbers."""

    path: Path
    shape: tuple[int, ...]
    pairs: bool

    @property
    def size(self) -> int:
        """How many real numbers it is."""
        return math.prod(self.shape) * (2 if self.pairs else 1)


def arrays_in(result: Any, is_float: Callable[[Any], bool], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the floating-point arrays in nested dicts, lists and tuples, in order, and what leads to each."""
    if is_float(result):
        yield path, result
    elif isinstance(result, Mapping | list | tuple):
        for key, part in result.items() if isinstance(result, Mapping) else enumerate(result):
            yield from arrays_in(part, is_float, (*path, key if isinstance(key, int) else str(key)))


def layout_of(arrays: Sequence[tuple[Path, Any]], is_complex: Callable[[Any], bool]) -> tuple[OutputPart, ...]:
    """Return what the arrays of an output are; one alone needs no path."""
    alone = len(arrays) == 1
    return tuple(
        OutputPart(() if alone else path, tuple(getattr(x, "shape", ())), is_complex(x)) for path, x in arrays
    )


def element_at(parts: Sequence[OutputPart], row: int) -> tuple[Path, str]:
    """Return what leads to the element that a row of the joined vector belongs to, and its part: "", "re" or "im"."""
    import numpy as np

    for part in parts:
        if row < part.size:
            place, which = (row // 2, "im" if row % 2 else "re") if part.pairs else (row, "")
            index = np.unravel_index(place, part.shape) if part.shape else ()
            return (*part.path, *map(int, index)), which
        row -= part.size
    raise IndexError(row)
