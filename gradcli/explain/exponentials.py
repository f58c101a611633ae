"""Recognize a claim with the wrong Jacobian of an exponential or logarithm: cut off, of the other side, or inverted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..claims.on_manifolds import OnManifolds
from ..manifolds.groups import SO3, Group
from ..manifolds.poses import SE3
from ..manifolds.rotations import left_jacobian
from .guess import Guess, KnownPoint

JACOBIAN_ORDERS = 4  # terms of a left Jacobian that an approximation may keep: a choice
LEFT_JACOBIAN_TERMS = (1.0, 1 / 2, 1 / 6, 1 / 24)  # of the left Jacobian, in powers of ad
INVERSE_TERMS = (1.0, -1 / 2, 1 / 12, 0.0)  # of its inverse: Bernoulli numbers over factorials
GROUPS_BY_SIZE: dict[int, list[Group]] = {
    3: [SO3("SO3")],
    6: [SE3("SE3"), SE3("SE3:rotation-first", frozenset({"rotation-first"}))],
}
"""The groups whose logarithm has so many numbers."""


class WrongJacobian(NamedTuple):
    """What a claim has instead of a Jacobian, or of its inverse.

    matrix: computes it from ad. The Jacobian is the left one of ad; the right one is the left one of -ad.
    """

    kind: str
    text: str
    fix: str
    simple: int
    matrix: Callable[[np.ndarray], np.ndarray]


def of_jacobians(claim: OnManifolds, known: KnownPoint) -> Iterator[Guess]:
    """Yield claims with another matrix than the Jacobian of a logarithm (the output) or an exponential (the input)."""
    for side in (-1.0, 1.0):
        if claim.output_manifold is None and known.output is not None and known.output.ndim == 1:
            for group in GROUPS_BY_SIZE.get(known.output.size, ()):
                for found in wrong_jacobians(group, side, inverse=True):
                    rows = functools.partial(in_logarithm, group, side, found)
                    yield Guess(found.kind, found.text, found.fix, found.simple, rows)
        if isinstance(claim.output_manifold, Group) and known.value is not None:
            for group in GROUPS_BY_SIZE.get(known.value.size, ()):
                for found in wrong_jacobians(group, side, inverse=False):
                    columns = functools.partial(in_exponential, group, side, found)
                    yield Guess(found.kind, found.text, found.fix, found.simple, columns=columns)


def in_logarithm(group: Group, side: float, found: WrongJacobian, known: KnownPoint) -> np.ndarray:
    assert known.output is not None
    ad = side * group.ad(known.output.astype(float))
    return found.matrix(ad) @ left_jacobian(ad)


def in_exponential(group: Group, side: float, found: WrongJacobian, known: KnownPoint) -> np.ndarray:
    assert known.value is not None
    ad = side * group.ad(known.value)
    return np.linalg.inv(left_jacobian(ad)) @ found.matrix(ad)


def wrong_jacobians(group: Group, side: float, inverse: bool) -> Iterator[WrongJacobian]:
    """Yield what a claim may have instead of a Jacobian. side: 1 for the left one, -1 for the right one.

    inverse: whether the inverse Jacobian belongs there, as in the derivative of a logarithm.
    """
    left, right = ("left", "right") if side > 0 else ("right", "left")
    name, other, of = (
        (f"inverse {left} Jacobian", f"inverse {right} Jacobian", "logarithm")
        if inverse
        else (f"{left} Jacobian", f"{right} Jacobian", "exponential")
    )
    terms = INVERSE_TERMS if inverse else LEFT_JACOBIAN_TERMS
    own: Callable[[np.ndarray], np.ndarray] = inverse_jacobian if inverse else left_jacobian
    opposite: Callable[[np.ndarray], np.ndarray] = left_jacobian if inverse else inverse_jacobian
    for order in range(JACOBIAN_ORDERS):
        text, fix = approximation(order, f"{name} of the {of}"), f"use the whole {name}{' of the residual' * inverse}"
        yield WrongJacobian("small-angle", text, fix, 2 + order, functools.partial(cut, terms, order))
    text = f"the claim has the {other} of the {of} instead of the {name}"
    yield WrongJacobian("perturbation", text, f"use the {name}", 2, lambda ad: own(-ad))
    text = f"the claim has the {left} Jacobian of the {of} {'instead of its inverse' if inverse else 'inverted'}"
    yield WrongJacobian("jacobian-not-inverted", text, f"use the {name}", 2, opposite)
    rotation = group.rotation_part()
    if not rotation.all():
        text = f"in the claim, the {name} of the {of} lacks its block between rotation and translation"
        fix = f"add the block: use the {name} of SE3, not that of SO3 twice"
        kept = rotation[:, None] == rotation
        yield WrongJacobian("coupling-missing", text, fix, 2, lambda ad: np.where(kept, own(ad), 0.0))


def approximation(order: int, what: str) -> str:
    kept = f"the identity is used instead of the {what}" if order == 0 else f"the {what} ends after order {order}"
    return f"the claim is an approximation for small angles, of order {order}: {kept}"


def inverse_jacobian(ad: np.ndarray) -> np.ndarray:
    return np.linalg.inv(left_jacobian(ad))


def cut(terms: tuple[float, ...], order: int, ad: np.ndarray) -> np.ndarray:
    """Return the terms of a series in ad up to an order."""
    return sum((terms[k] * np.linalg.matrix_power(ad, k) for k in range(1, order + 1)), np.eye(len(ad)))
