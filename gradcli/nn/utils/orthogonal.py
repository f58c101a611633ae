"""Matrices that stay orthogonal (or unitary) while what they are computed from is trained freely."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...face.create import eye
from ...face.draw import randn
from ...face.join import cat
from ...linalg.decompose import qr
from ...linalg.solve import solve
from ...tape.modes import no_grad
from ...tape.tensor import Tensor
from ..modules.module import Module
from .parametrize import register_parametrization

MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """B f(X), whose columns (rows, where it is wide) are orthonormal, for any X of its shape (..., n, k).

    f: the exponential or the Cayley map of the skew-Hermitian matrix with the lower triangle of X, cut to k columns,
    or a product of Householder reflections with the columns of X below its diagonal (Golub and Van Loan, "Matrix
    Computations", 5.1). B: the buffer `base`, to which right_inverse moves what it is given, so that training
    goes on around it (Lezcano-Casado 2019, "Trivializations for gradient-based optimization on manifolds"); without
    use_trivialization there is none. Raises ValueError for reflections of complex matrices.
    """

    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        """Return the matrix."""
        wide = x.shape[-2] < x.shape[-1]
        tall = x.mT if wide else x
        q = reflections(tall) if self.orthogonal_map == "householder" else rotation(tall, self.orthogonal_map)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    @no_grad()
    def right_inverse(self, value: Tensor) -> Tensor:
        """Return X for a matrix, made orthogonal by a QR decomposition where it is not.

        Raises ValueError for another shape, NotImplementedError without a base where there is no formula for X.
        """
        if value.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {value.shape}."
            )
        wide = value.shape[-2] < value.shape[-1]
        q = value.mT if wide else value
        if hasattr(self, "base"):
            self.base = completed(q)
            start = value.new_zeros(value.shape)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1)
            return start
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        packed, scales = q.geqrf()
        diagonal = packed.diagonal(dim1=-2, dim2=-1)
        diagonal.copy_(diagonal.sign() * (1 - 2 * (scales == 0).to(q.dtype)))
        return packed.mT if wide else packed


def rotation(x: Tensor, kind: str) -> Tensor:
    """Return the first columns of exp(A), or of (1 - A/2)^-1 (1 + A/2), for A with the lower triangle of x."""
    n, k = x.shape[-2:]
    lower = x.tril()
    if n > k:
        lower = cat([lower, x.new_zeros(*x.shape[:-1], n - k)], -1)
    skew: Any = lower - lower.mH
    if kind == "matrix_exp":
        return skew.matrix_exp()[..., :k]
    one = eye(n, dtype=x.dtype)
    return solve(one - skew / 2, one + skew / 2)[..., :k]


def reflections(x: Tensor) -> Tensor:
    """Return H_1 ... H_k with columns turned round where x has -1 on its diagonal, which gets no gradient."""
    vectors = x.tril(-1)
    q = vectors.orgqr(2 / (1 + (vectors * vectors).sum(-2)))
    return q * x.detach().diagonal(dim1=-2, dim2=-1).trunc()[..., None, :]


def completed(q: Tensor) -> Tensor:
    """Return a square orthogonal matrix with the columns of a tall one, of which it may be a copy."""
    n, k = q.shape[-2:]
    if n > k:
        q = cat([q, randn(*q.shape[:-1], n - k, dtype=q.dtype)], -1)
    elif (q.mH @ q).allclose(eye(n, dtype=q.dtype), atol=10 * n * np.finfo(q.dtype.numpy).eps):
        return q.clone()
    columns, r = qr(q)
    return columns * r.diagonal(dim1=-2, dim2=-1).sgn()[..., None, :]


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Keep a module's matrix, or matrices (..., n, k), orthogonal; complex ones unitary.

    orthogonal_map: "matrix_exp", which it is for square and complex matrices, "cayley", or "householder", which
    it is otherwise. use_trivialization: start from the matrix that there is, and be able to assign to it.
    Raises ValueError for a name that leads to no matrix.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    part = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, part, unsafe=True)


__all__ = ["orthogonal"]
