"""Compare calls of a claim that must give the same: at one point, earlier and later, with f called in between."""

from __future__ import annotations

import contextlib

import numpy as np

from ..claims.claim import CHANGED, CallError, Claim, OutOfCallsError
from .decide import Observation
from .flat import Flat, real_view
from .products import other_point, random_cotangent
from .verdict import SAME_CALL


def find_unsteady(
    first: np.ndarray, second: np.ndarray, at_other: np.ndarray | None, allowed: float = 0.0
) -> Observation | None:
    """Return how a second call of the derivative differs from the first.

    at_other: its earlier result elsewhere. allowed: by how much they may differ.
    """
    if first is second or np.allclose(first, second, rtol=SAME_CALL, atol=allowed, equal_nan=True):
        return None
    grown = first if at_other is None or at_other.shape != first.shape else first - at_other
    calls = np.round(np.median(grown / (second - first)))
    if calls > 0 and np.allclose(calls * (second - first), grown, rtol=1e-9, atol=0):
        return Observation("accumulated", "accumulated twice: a second call at the same point gives twice as much")
    if np.allclose(second, first, rtol=1e-3, atol=allowed):
        return None
    text = "not reproducible: two calls at the same point give different gradients (stale, accumulated, random)"
    return Observation("unsteady", text)


def claim_at_other_point(flat: Flat) -> np.ndarray | None:
    """Return the gradient at another point, so that a gradient kept from an earlier call shows up later.

    None if that takes several calls or costly ones, or if the gradient cannot be computed there. A backward pass is
    called there once, too, for the same reason.
    """
    claim, can = flat.claim, flat.claim.capabilities
    if can.traced or can.costly or claim.budget.allowed is not None or not flat.size:
        return None
    away = other_point(claim)
    try:
        if can.pull:
            claim.pull(away, random_cotangent(flat, 0))
        return None if can.pull or can.push else flat.matrix(away)
    except CallError:
        return None


def late_difference(flat: Flat, claimed: np.ndarray, at_other: np.ndarray) -> Observation | None:
    """Report a gradient that depends on earlier calls: f is called elsewhere, and then the gradient as at first.

    claimed, at_other: the gradients at x and at the other point, from earlier calls.
    """
    claim, away = flat.claim, other_point(flat.claim)
    try:
        there = flat.matrix(away)
        claim.value(away)
        here = flat.matrix()
    except CallError:
        return None
    for first, late in ((claimed, here), (at_other, there)):
        size = np.abs(first).max(initial=0.0)
        gap = np.abs(late - first)
        if size < np.inf and gap.max(initial=0.0) > CHANGED * size:
            i = np.unravel_index(int(np.argmax(gap)), gap.shape)
            values = f"{first[i]:.6g} in the first call at a point, {late[i]:.6g} later"
            return Observation(
                "unsteady", f"the gradient depends on earlier calls: {values} (a state is kept in between)"
            )
    return None


def differing_calls(claim: Claim, allowed: float, relative: float = SAME_CALL) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the results of two calls at the same point that differ, if any of three does.

    allowed, relative: by how much they may differ. None if no calls are left, or one raises.
    """
    with contextlib.suppress(CallError, OutOfCallsError):
        first = product_here(claim)
        for _ in range(2):
            again = product_here(claim)
            if not is_same(first, again, allowed, relative):
                return first, again
    return None


def product_here(claim: Claim) -> np.ndarray:
    """Return the claimed derivative at the point, or a product with it, as real numbers."""
    out = claim.value_here()
    weights = np.random.RandomState(0).uniform(0.5, 1.5, out.shape).astype(out.dtype)  # not of the global stream
    if claim.capabilities.pull:
        parts = claim.pull(claim.at, weights)
    elif claim.capabilities.push:
        parts = {claim.wrt[0]: claim.push(claim.at, {n: np.ones_like(claim.at[n]) for n in claim.wrt})}
    else:
        parts = claim.whole(claim.at) or {}
    return np.concatenate([np.zeros(0), *(real_view(np.asarray(x)).astype(float) for x in parts.values())])


def is_same(a: np.ndarray, b: np.ndarray, allowed: float = 0.0, relative: float = SAME_CALL) -> bool:
    """Report whether results of two calls are equal but for rounding, or for what is allowed."""
    least = max(allowed, relative * float(np.abs(a).max(initial=0.0)))
    return a.shape == b.shape and np.allclose(a, b, rtol=relative, atol=least, equal_nan=True)
