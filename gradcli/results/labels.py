"""What the elements of arrays are called, wherever they are named."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def label(name: str, index: Sequence[int | str]) -> str:
    """Return the name of an element: x, x[2], x[0,1]."""
    return f"{name}[{','.join(map(str, index))}]" if index else name


def labels(name: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names of an array's elements, the last axis fastest."""
    return [label(name, index) for index in np.ndindex(shape)]
