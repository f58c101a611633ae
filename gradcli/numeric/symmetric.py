"""Check functions of symmetric (Hermitian) matrices along symmetric changes only, if they read one triangle.

Cholesky factors and eigenvalues are computed from one triangle. Frameworks give a gradient whose product with a
change is the derivative along it only if the change is symmetric (Murray 2016, "Differentiation of the Cholesky
decomposition").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..claims.claim import Arrays, CallError, Claim
from .flat import Flat, real_view
from .rows import draw_signs
from .sampler import Sampler

EXACT = 1e-12  # largest difference from a symmetric matrix, relative to the largest element: a choice
CLAIMED = 1e-7  # the same for a claimed gradient, apart from its own rounding: a choice
AWAY, NEAR = 0.1, 1e-3  # relative moves of a triangle, to see whether it is read, and may differ: a choice
UNMOVED_UNITS = 8.0  # rounding units by which values may change if the moved triangle is not read: a choice


class Symmetrized(Claim):
    """A function of the symmetric parts (means with the adjoint) of its matrices. Its claim is symmetrized too."""

    def __init__(self, claim: Claim, reasons: Mapping[str, str]):
        at = {name: mean(x) if name in reasons else x for name, x in claim.at.items()}
        super().__init__(claim.title, at, claim.wrt)
        self.claim, self.names = claim, list(reasons)
        # this is not a recorded function, and has no second derivative of its own
        self.capabilities = replace(claim.capabilities, traced=False, second=False)
        self.budget, self.progress = claim.budget, claim.progress
        self.claims, self.functions, self.layout = claim.claims, claim.functions, claim.layout
        self.here = claim.value(at)
        said = [f"{name}: {reason}" for name, reason in reasons.items()]
        self.notes, self.restriction = (*claim.notes, *said), "; ".join(said)

    def symmetrize(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Replace those arrays that are symmetric matrices by their symmetric parts."""
        return {name: mean(x) if name in self.names else x for name, x in arrays.items()}

    def value(self, arrays: Arrays) -> np.ndarray:
        return self.claim.value(self.symmetrize(arrays))

    def values(self, stacks: Arrays, count: int, like: np.ndarray) -> np.ndarray:
        outputs = self.claim.values(self.symmetrize(stacks), count, like)
        self.trouble = self.claim.trouble
        return outputs

    def whole(self, arrays: Arrays) -> dict[str, np.ndarray] | None:
        whole = self.claim.whole(self.symmetrize(arrays))
        return None if whole is None else self.symmetrize(whole)

    def pulls(self, arrays: Arrays, cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        return [self.symmetrize(products) for products in self.claim.pulls(self.symmetrize(arrays), cotangents)]

    def push(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        return self.claim.push(self.symmetrize(arrays), self.symmetrize(tangents))


def restrict_to_symmetric(sampler: Sampler) -> Symmetrized | None:
    """Return the function restricted to symmetric matrices if it is a function of these; None if not.

    It is one if an input is symmetric, and the function reads only one triangle, or raises if the two differ. A claim
    that has values only for the triangle that is not read is transposed, rather than one about symmetric matrices.
    Raises OutOfCallsError.
    """
    reasons, flat = {}, sampler.flat
    try:
        for name in flat.claim.wrt:
            x = flat.claim.at[name]
            unit = flat.claim.capabilities.claim_unit or 0.0
            read = triangle_read(sampler, name) if is_symmetric(x, unit) else None
            if read is None:
                continue
            triangle, reason = read
            weights = np.random.default_rng(0).standard_normal((1, len(flat.f0)))
            rows = flat.pull(weights) if flat.claim.capabilities.pull else weights @ flat.matrix()
            g = flat.arrays_at(rows[0])[name]
            size = np.abs(g).max(initial=0.0)
            tolerance = max(CLAIMED, 1e3 * flat.unit, 1e3 * (flat.claim.capabilities.claim_unit or 0.0)) * size
            same = bool((np.abs(g - adjoint(g)) <= tolerance).all())
            if same or np.abs(g[triangle]).max(initial=0.0) > tolerance:
                reasons[name] = reason if same else f"{reason}, and right only along those"
    except CallError:
        return None
    return Symmetrized(flat.claim, reasons) if reasons else None


def is_symmetric(x: np.ndarray, unit: float) -> bool:
    square = x.ndim >= 2 and x.shape[-1] == x.shape[-2] > 1
    return square and bool((np.abs(x - adjoint(x)) <= (EXACT + 8 * unit) * np.abs(x).max(initial=0.0)).all())


def triangle_read(sampler: Sampler, name: str) -> tuple[np.ndarray, str] | None:
    """Return the mask of the triangle that a function of symmetric matrices reads, and the reason; None for others."""
    flat = sampler.flat
    x = flat.claim.at[name]
    upper = np.triu(np.ones(x.shape, bool), 1)
    lower = np.swapaxes(upper, -1, -2)
    tolerance = 2 * sampler.drift + UNMOVED_UNITS * flat.unit * np.abs(flat.f0)
    still = []
    for unread in (upper, lower):
        moved = value_at(flat, name, np.where(unread, move_elements(x, AWAY), x))
        still.append(moved is not None and bool((np.abs(moved - flat.f0) <= tolerance).all()))
    if still[0] != still[1]:
        read, word = (lower, "upper") if still[0] else (upper, "lower")
        return read, f"the {word} triangle is not read: checked along symmetric changes only"
    near = move_elements(x, NEAR)
    taken = (value_at(flat, name, np.where(triangle, near, x)) is not None for triangle in (upper, lower))
    if not any(taken) and value_at(flat, name, mean(near)) is not None:
        return upper | lower, "only symmetric matrices are accepted: checked along symmetric changes only"
    return None


def value_at(flat: Flat, name: str, x: np.ndarray) -> np.ndarray | None:
    try:
        return real_view(flat.claim.value({**flat.claim.at, name: x})).astype(float)
    except CallError:
        return None


def move_elements(x: np.ndarray, part: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    moves = draw_signs(rng, x.shape) + (1j * draw_signs(rng, x.shape) if x.dtype.kind == "c" else 0)
    return np.asarray(x + part * float(np.abs(x).max() or 1.0) * moves, x.dtype)


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2).conj()


def mean(x: np.ndarray) -> np.ndarray:
    return (x + adjoint(x)) / 2
