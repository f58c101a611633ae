"""How many elements a result will have, from the arguments alone: what a limit on sizes asks before a call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .shapes import as_int, as_shape, rank, raw, shape_of


def count_product(shape: Any) -> int:
    """Return the number of elements of a shape, as an exact integer."""
    return math.prod(map(int, shape))


def size_of(x: Any) -> int:
    """Return the number of elements of a value."""
    return count_product(shape_of(x))


def count_steps(start: Any, stop: Any = None, step: Any = 1) -> int:
    """Return how many elements arange has."""
    start, stop = (0, start) if stop is None else (start, stop)
    span = (float(stop) - float(start)) / float(step) if float(step) else 0.0
    return max(math.ceil(span), 0) if math.isfinite(span) else 1 << 62


def count_shape(*shape: Any) -> int:
    """Return how many elements zeros(2, 3) or zeros((2, 3)) has."""
    return count_product(as_shape(shape[0] if len(shape) == 1 else shape))


def count_repeated(x: Any, repeats: Any, axis: Any = None) -> int:
    """Return an upper bound for repeat."""
    count = as_int(repeats) if rank(repeats) == 0 else int(np.max(raw(repeats), initial=0))
    return size_of(x) * count


def count_matrix(x: Any, y: Any) -> int:
    """Return how many elements a matrix product has."""
    a, b = shape_of(x), shape_of(y)
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    return count_product(np.broadcast_shapes(a[:-2], b[:-2])) * count_product(rows) * count_product(columns)


def count_pairs(x: Any, y: Any, *_: Any, **__: Any) -> int:
    """Return how many pairs of elements there are."""
    return size_of(x) * size_of(y)


def count_contracted(x: Any, y: Any, axes: Any = 2) -> int:
    """Return how many elements tensordot has."""
    a = shape_of(x)
    left = a[len(a) - as_int(axes) :] if rank(axes) == 0 else [a[i] for i in as_shape(axes[0])]
    common = max(count_product(left), 1)
    return (size_of(x) // common) * (size_of(y) // common)
