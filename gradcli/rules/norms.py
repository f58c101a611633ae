"""Matrix norms and condition numbers."""

from __future__ import annotations

import math

import numpy as np

from .moments import vector_norm
from .movement import moveaxis
from .shapes import negative_axis, rank, shape_of
from .solve import inv
from .spectral import svdvals
from .table import A, Sample, composition, numpy_function

ORDERS = {"fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf}


def extreme(x, largest):
    """The largest or smallest element along the last axis; 0 where there is none."""
    return (np.max if largest else np.min)(x, axis=-1) if shape_of(x)[-1] else x.sum(axis=-1)


def matrix_norm(x, order, axes, keepdims=False):
    """Norm of the matrices over two axes: fro, nuc (sum of singular values), ±2 (largest or smallest one),
    ±1 (of the column sums of |x|) or ±inf (of its row sums).
    """
    if order not in ORDERS:
        raise ValueError(
            f"norm: a matrix has no norm of order {order!r}; use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        )
    rows, columns = (negative_axis(i, rank(x)) for i in axes)
    if rows == columns:
        raise ValueError(f"norm: the axes of a matrix must differ, got {tuple(axes)}")
    if order == "fro":
        return vector_norm.function(x, 2, (rows, columns), keepdims)
    if order in ("nuc", 2, -2):
        values = svdvals(moveaxis(x, (rows, columns), (-2, -1)))
        out = values.sum(axis=-1) if order == "nuc" else extreme(values, order == 2)
    else:
        summed, left = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = abs(x).sum(axis=summed, keepdims=True)
        out = extreme(moveaxis(sums, (summed, left), (-2, -1)), order > 0)[..., 0]
    return np.expand_dims(out, tuple(sorted(i + rank(x) for i in (rows, columns)))) if keepdims else out


@numpy_function(
    Sample(A(3, 4)),
    Sample(A(5), 3),
    Sample(A(2, 3, 4), axis=1),
    Sample(A(3, 4), "nuc"),
    Sample(A(3, 4), 1),
    Sample(A(3, 4), -math.inf, keepdims=True),
    Sample(A(2, 3, 4), 2, axis=(0, 2)),
    Sample(A(2, 3, 4), -2, axis=(-1, 0), keepdims=True),
    home=np.linalg,
    name="linalg.norm",
    public=False,
    doc="NumPy's norm of a vector or matrix.",
)
def norm(x, ord=None, axis=None, keepdims=False):
    """NumPy's norm: of a vector over one axis, of a matrix over two; without both words of all elements."""
    if axis is None and (ord is None or (ord == 2 and rank(x) == 1)):
        return vector_norm.function(x, 2, None, keepdims)
    axes = tuple(range(rank(x))) if axis is None else tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    if len(axes) == 1:
        return vector_norm.function(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"norm: a norm is over one or two axes, not {len(axes)}")
    return matrix_norm(x, "fro" if ord is None else ord, axes, keepdims)


@numpy_function(
    Sample(A(3, 3)), Sample(A(4, 4), 1), Sample(A(3, 2), -2), home=np.linalg, doc="Condition number of matrices."
)
def cond(x, p=None):
    """The condition number |x| |1/x| in the norm p: of the singular values unless given."""
    if p in (None, 2, -2):
        values = svdvals(x)
        if not shape_of(values)[-1]:
            return values.sum(axis=-1)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    if shape_of(x)[-1] != shape_of(x)[-2]:
        raise ValueError(f"cond: the norm {p!r} needs a square matrix, got shape {shape_of(x)}")
    return matrix_norm(x, p, (-2, -1)) * matrix_norm(inv(x), p, (-2, -1))


composition(
    lambda x, /, *, ord="fro", keepdims=False: matrix_norm(x, ord, (-2, -1), keepdims),
    name="matrix_norm",
    numpy=(np.linalg.matrix_norm,),
    samples=(Sample(A(3, 4)), Sample(A(2, 3, 4), ord=math.inf), Sample(A(3, 3), ord=2)),
    doc="Norm of matrices over the last two axes: ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.",
)
composition(
    lambda x, /, *, axis=None, keepdims=False, ord=2: vector_norm.function(x, ord, axis, keepdims),
    name="linalg.vector_norm",
    numpy=(np.linalg.vector_norm,),
    samples=(Sample(A(3, 4)), Sample(A(3, 4), axis=0, ord=3)),
    public=False,
    doc="NumPy's norm of vectors.",
)
