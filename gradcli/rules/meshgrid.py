"""Arrays laid out from vectors: grids of coordinates, powers, matrices with a diagonal."""

from __future__ import annotations

import numpy as np

from .join import concatenate
from .movement import clone
from .scan import cumprod_last
from .select import diag
from .shapes import Shape, as_array, as_int, rank, shape_of
from .size_limits import count_product, size_of
from .table import A, Sample, numpy_function


def spread_over(x, place, shape: Shape):
    """Return the elements of x along the axis `place` of a grid of `shape`."""
    x = as_array(x)
    return clone(np.broadcast_to(x.reshape((1,) * place + (-1,) + (1,) * (len(shape) - place - 1)), shape))


@numpy_function(
    doc="Coordinates of a grid (several results).",
    size=lambda *xs, indexing="xy", sparse=False, copy=True: (
        sum(map(size_of, xs)) if sparse else count_product(map(size_of, xs)) * len(xs)
    ),
)
def meshgrid(*xs, indexing="xy", sparse=False, copy=True):
    """Coordinates of a grid, one array for each vector; with 'xy' the first two axes are exchanged."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    order = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        order[:2] = 1, 0
    sizes = [int(np.prod(shape_of(xs[i]), dtype=int)) for i in order]
    shapes = [
        tuple(n if not sparse or k == i else 1 for k, n in zip(order, sizes, strict=True)) for i in range(len(xs))
    ]
    return tuple(spread_over(x, order.index(i), shapes[i]) for i, x in enumerate(xs))


@numpy_function(
    Sample(A(4)),
    Sample(A(3), 2, increasing=True),
    size=lambda x, N=None, increasing=False: size_of(x) * as_int(size_of(x) if N is None else N),  # noqa: N803
)
def vander(x, N=None, increasing=False):  # noqa: N803 - NumPy's name
    """Matrix whose columns are the powers of x, the highest first."""
    x = as_array(x)
    if rank(x) != 1:
        raise ValueError(f"vander needs a vector, got shape {shape_of(x)}")
    n = shape_of(x)[0] if N is None else as_int(N)
    ones = np.ones_like(x)[:, None]
    powers = ones[:, :n]
    if n > 1:
        repeated = np.broadcast_to(x[:, None], (shape_of(x)[0], n - 1))
        powers = concatenate.function((ones, cumprod_last(repeated)), 1)
    return powers if increasing else powers[:, ::-1]


@numpy_function(
    Sample(A(3)), Sample(A(2, 2), 1), node="DiagEmbed", size=lambda x, k=0: (size_of(x) + abs(as_int(k))) ** 2
)
def diagflat(x, k=0):
    """Matrix with the elements of x on a diagonal."""
    return diag(as_array(x).reshape((-1,)), k)


@numpy_function()
def broadcast_arrays(*xs):
    """All arrays repeated to their common shape (several results)."""
    shape = np.broadcast_shapes(*(shape_of(x) for x in xs))
    return tuple(np.broadcast_to(as_array(x), shape) for x in xs)
