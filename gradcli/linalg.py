"""Linear algebra with the names, arguments and results of torch.linalg."""

from __future__ import annotations

from .api.linalg.decompose import (
    cholesky_ex,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    qr,
    svd,
    svdvals,
)
from .api.linalg.measure import cond, matrix_norm, matrix_rank, norm, vector_norm
from .api.linalg.products import cross, diagonal, multi_dot, vander, vecdot
from .api.linalg.solve import inv, inv_ex, lstsq, pinv, solve, solve_ex, solve_triangular, tensorinv, tensorsolve
from .api.linear_algebra import cholesky, det, matrix_exp, matrix_power, orgqr, slogdet
from .api.matrix_operands import LinAlgError
from .api.products import matmul
from .api.wrap import missing

householder_product = orgqr
__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
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
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
__getattr__ = missing(__name__, lambda: __all__)
