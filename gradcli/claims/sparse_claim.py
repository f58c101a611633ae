"""A Jacobian that its function returns as a sparse matrix: products instead of a dense matrix of all elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .claim import Arrays, Capabilities, WrongShapeError, callable_name
from .hand_written import HandWritten


def is_sparse(x: Any) -> bool:
    return hasattr(x, "toarray") and hasattr(x, "tocsr")


def sparse_claim(claim: HandWritten) -> HandWritten:
    """Return a claim of products if the gradient at the point is sparse, else the claim itself."""
    if claim.grad is None or claim.elementwise or claim.vjp_fn is not None:
        return claim
    parts = claim.call(claim.grad, claim.at, callable_name(claim.grad))
    found = parts.values() if isinstance(parts, Mapping) else parts if isinstance(parts, tuple | list) else [parts]
    return SparseJacobian(claim, parts) if any(map(is_sparse, found)) else claim


class SparseJacobian(HandWritten):
    """Products with a sparse Jacobian of two axes, or with one for each input.

    parts: the matrices at the point, by input. A single matrix for several inputs has their columns in order.
    """

    def __init__(self, claim: HandWritten, parts: Any):
        super().__init__(claim.f, claim.at, grad=claim.grad, wrt=claim.wrt)
        self.capabilities = Capabilities(vjp=True, jvp=True)
        self.kept: tuple[Arrays, Any] = (self.at, parts)

    def matrices(self, arrays: Arrays) -> dict[str, Any]:
        """Return the sparse matrix of each input, (outputs, elements), computed once for each point."""
        assert self.grad is not None
        at, parts = self.kept
        if at is not arrays and not all(np.array_equal(at[name], x) for name, x in arrays.items()):
            parts = self.call(self.grad, arrays, callable_name(self.grad))
            self.kept = dict(arrays), parts
        return self.by_input(parts)

    def by_input(self, parts: Any) -> dict[str, Any]:
        rows = self.rows
        if is_sparse(parts) and len(self.wrt) > 1:
            ends = np.cumsum([0, *(self.width(name) for name in self.wrt)])
            self.refuse_shape(parts, (rows, int(ends[-1])), "all inputs")
            columns = parts.tocsc()
            return {n: columns[:, a:b] for n, a, b in zip(self.wrt, ends[:-1], ends[1:], strict=True)}
        found = self.parts_of(parts, callable_name(self.grad))
        for name in self.wrt:
            x = found[name]
            found[name] = x = x if is_sparse(x) else np.asarray(x).reshape((rows, -1))
            self.refuse_shape(x, (rows, self.width(name)), f"'{name}'")
        return {name: found[name] for name in self.wrt}

    def refuse_shape(self, matrix: Any, wanted: tuple[int, int], what: str) -> None:
        if matrix.shape != wanted:
            raise WrongShapeError(f"the Jacobian for {what} has shape {matrix.shape}; it must have shape {wanted}")

    @property
    def rows(self) -> int:
        return int(np.prod(self.out_tangent)) if self.out_tangent is not None else self.value_here().size

    def width(self, name: str) -> int:
        return int(np.prod(self.shape_by(name)))

    def whole(self, arrays: Arrays) -> None:
        return None

    def vjps(self, arrays: Arrays, cotangents: Sequence[np.ndarray]) -> list[dict[str, Any]]:
        matrices, stacked = self.matrices(arrays), np.array([u.reshape(-1) for u in cotangents])
        products = {name: (matrix.T @ stacked.T).T for name, matrix in matrices.items()}
        return [{n: x[k].reshape(self.shape_by(n)) for n, x in products.items()} for k in range(len(cotangents))]

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        matrices = self.matrices(arrays)
        total = sum((matrices[name] @ tangents[name].reshape(-1) for name in self.wrt if name in tangents), 0.0)
        return np.asarray(total).reshape(self.value_here().shape if self.out_tangent is None else self.out_tangent)
