"""Covariances and correlations."""

from __future__ import annotations

import numpy as np

from .join import concatenate
from .matrix_products import mm
from .shapes import as_array, in_type_of, is_complex, rank, shape_of
from .table import A, Sample, numpy_function
from .where import clip


def observations(x, y, rowvar):
    """Return variables as rows and observations as columns."""
    x = as_array(x)
    rows = x.reshape((1, -1)) if rank(x) < 2 else x if rowvar else x.swapaxes(0, 1)
    if y is None:
        return rows
    return concatenate.function((rows, observations(y, None, rowvar)), 0)


@numpy_function(
    Sample(A(3, 4)),
    Sample(A(4)),
    Sample(A(2, 5), A(1, 5), ddof=0),
    Sample(A(5, 2), rowvar=False, fweights=np.array([1, 2, 1, 1, 3]), aweights=np.array([0.5, 1, 2, 1, 1])),
)
def cov(x, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None):
    """Covariances of the variables in the rows (columns, unless rowvar) of x and y, n - ddof in the denominator."""
    rows = observations(x, y, rowvar)
    ddof = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        products = centred = rows - rows.mean(axis=1, keepdims=True)
        norm = shape_of(rows)[1] - ddof
    else:
        counts, weights = (in_type_of(rows, 1.0 if w is None else w) for w in (fweights, aweights))
        both = counts * weights
        total = both.sum()
        centred = rows - (rows * both).sum(axis=1, keepdims=True) / total
        products = centred * both
        norm = total - ddof * ((both * weights).sum() / total if aweights is not None else 1.0)
    scale = 1 / norm if norm > 0 else np.inf
    covariance = mm(products, centred.conj().swapaxes(0, 1)) * scale
    return covariance.reshape(()) if shape_of(covariance) == (1, 1) else covariance


@numpy_function(Sample(A(3, 4)), Sample(A(5, 2), rowvar=False))
def corrcoef(x, y=None, rowvar=True):
    """Correlation coefficients of the variables in the rows (columns, unless rowvar) of x and y."""
    covariance = cov(x, y, rowvar)
    if rank(covariance) == 0:
        return covariance / covariance
    spread = np.sqrt(covariance.diagonal().real)
    covariance = covariance / spread[:, None] / spread[None, :]
    return covariance if is_complex(covariance) else clip(covariance, -1.0, 1.0)
