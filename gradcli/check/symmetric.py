"""Functions of symmetric (Hermitian) matrices: judged on the space of these, where they read one triangle.

Cholesky factors and eigenvalues are computed from one triangle; frameworks give a gradient whose product with any
symmetric change is the derivative along it, and nothing else (Murray 2016, "Differentiation of the Cholesky
decomposition").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..program.claim import Arrays, CallError, Claim
from .flat import Flat, real_view
from .rows import draw_signs
from .sampler import Sampler

EXACT = 1e-12  # how far a matrix, relative to its largest element, may be from a symmetric one: a choice
CLAIMED = 1e-7  # how far a claimed gradient may be from symmetric, apart from its own rounding: a choice
AWAY, NEAR = 0.1, 1e-3  # relative moves of a triangle that show whether it is read, and may be moved: a choice
UNMOVED_UNITS = 8.0  # rounding units of its values by which a function of the rest may change: a choice


class Symmetrized(Claim):
    """A function on the space of symmetric matrices, of means with adjoints; its claim is its own symmetric part."""

    def __init__(self, claim: Claim, reasons: Mapping[str, str]):
        at = {name: mean(x) if name in reasons else x for name, x in claim.at.items()}
        super().__init__(claim.title, at, claim.wrt)
        self.claim, self.names = claim, list(reasons)
        # no longer a recorded function, and without a second derivative of its own
        self.capabilities = replace(claim.capabilities, traced=False, second=False)
        self.budget, self.progress = claim.budget, claim.progress
        self.claims, self.functions, self.layout = claim.claims, claim.functions, claim.layout
        self.here = claim.value(at)
        said = [f"{name}: {reason}" for name, reason in reasons.items()]
        self.notes, self.restriction = (*claim.notes, *said), "; ".join(said)

    def symmetrize(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Return arrays with the means of those that are symmetric matrices."""
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
    """Return a function on the space of symmetric matrices, where it is one of these; None where it is not.

    It is where an input is symmetric, and the function reads one triangle alone, or raises where the two differ. A
    claim for what is not read that has nothing for what is read is a transposed one, and no claim about symmetric
    matrices. Raises OutOfCallsError.
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
            room = max(CLAIMED, 1e3 * flat.unit, 1e3 * (flat.claim.capabilities.claim_unit or 0.0)) * size
            same = bool((np.abs(g - adjoint(g)) <= room).all())
            if same or np.abs(g[triangle]).max(initial=0.0) > room:
                reasons[name] = reason if same else f"{reason}, along which alone the claim is right"
    except CallError:
        return None
    return Symmetrized(flat.claim, reasons) if reasons else None


def is_symmetric(x: np.ndarray, unit: float) -> bool:
    square = x.ndim >= 2 and x.shape[-1] == x.shape[-2] > 1
    return square and bool((np.abs(x - adjoint(x)) <= (EXACT + 8 * unit) * np.abs(x).max(initial=0.0)).all())


def triangle_read(sampler: Sampler, name: str) -> tuple[np.ndarray, str] | None:
    """Return which triangle of a matrix alone a function reads, and how that shows; None where it reads both."""
    flat = sampler.flat
    x = flat.claim.at[name]
    upper = np.triu(np.ones(x.shape, bool), 1)
    lower = np.swapaxes(upper, -1, -2)
    room = 2 * sampler.drift + UNMOVED_UNITS * flat.unit * np.abs(flat.f0)
    still = []
    for unread in (upper, lower):
        moved = value_at(flat, name, np.where(unread, move_elements(x, AWAY), x))
        still.append(moved is not None and bool((np.abs(moved - flat.f0) <= room).all()))
    if still[0] != still[1]:
        read, word = (lower, "upper") if still[0] else (upper, "lower")
        return read, f"the {word} triangle is not read: judged on the space of symmetric matrices"
    near = move_elements(x, NEAR)
    taken = (value_at(flat, name, np.where(triangle, near, x)) is not None for triangle in (upper, lower))
    if not any(taken) and value_at(flat, name, mean(near)) is not None:
        return upper | lower, "only symmetric matrices are taken: judged on the space of these"
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
