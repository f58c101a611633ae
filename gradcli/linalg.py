"""Linear algebra with the names, arguments and results of torch.linalg."""

from __future__ import annotations

from .api.linalg.decompose import (
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from .api.linalg.measure import cond, matrix_norm, matrix_rank, norm, vector_norm
from .api.linalg.products import cross, diagonal, multi_dot, vander, vecdot
from .api.linalg.solve import inv, lstsq, pinv, solve, solve_triangular
from .api.linear_algebra import cholesky, det, matrix_exp, matrix_power, slogdet
from .api.matrix_operands import LinAlgError
from .api.products import matmul
from .api.wrap import missing

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "vander",
    "vecdot",
    "vector_norm",
]
__getattr__ = missing(__name__, lambda: __all__)
