"""Linear maps along an axis given by a sparse matrix of constants: averaging windows, interpolation."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .shapes import negative_axis, rank
from .table import A, Sample, linear


class Taps:
    """out[i] = sum over k of weights[i, k] x[positions[i, k]] for x of length `size`."""

    def __init__(self, positions: Any, weights: Any, size: int):
        self.positions = np.asarray(positions, np.intp)
        self.weights = np.asarray(weights, float)
        self.size = size

    @cached_property
    def matrix(self) -> Any:
        """The map as a sparse matrix (out, size)."""
        import scipy.sparse

        out, taps = self.positions.shape
        starts = np.arange(0, out * taps + 1, taps) if taps else np.zeros(out + 1, int)
        entries = (self.weights.ravel(), self.positions.ravel(), starts)
        return scipy.sparse.csr_array(entries, shape=(out, self.size))

    @cached_property
    def transposed(self) -> Any:
        """The transpose of the matrix, rows first as well."""
        return self.matrix.T.tocsr()


def resample_forward(x, *, taps, axis, back):
    """The matrix times every lane; its transpose if `back`."""
    matrix = (taps.transposed if back else taps.matrix).astype(np.result_type(x.dtype, np.float32))
    moved = x.swapaxes(axis, -1)
    lanes = moved.reshape(-1, moved.shape[-1]) if moved.size else moved.reshape(0, moved.shape[-1])
    out = (matrix @ lanes.T).T.reshape(*moved.shape[:-1], matrix.shape[0])
    return np.ascontiguousarray(out.swapaxes(axis, -1), dtype=x.dtype)


def resample_vjp(g, _, _x, *, taps, axis, back):
    """The transposed matrix times every lane of g."""
    return resample(g, taps=taps, axis=axis, back=not back)


resample = linear(
    "resample",
    resample_forward,
    resample_vjp,
    bind=lambda x, taps, axis=-1: ((x,), {"taps": taps, "axis": negative_axis(axis, rank(x)), "back": False}),
    samples=(
        Sample(A(2, 4), Taps([[0, 1], [1, 3], [2, 2]], [[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]], 4)),
        Sample(A(3, 4), Taps([[0, 2]], [[1.0, -0.5]], 3), axis=0),
    ),
    public=False,
    doc="A sparse matrix of constants times each lane along axis.",
)
