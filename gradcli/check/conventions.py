"""A point where several conventions for tangents have the same Jacobian does not show which one a claim follows."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import numpy as np

from ..claims.claim import CallError, Claim, OutOfCallsError
from ..claims.on_manifolds import OnManifolds
from ..errors import GradcliError
from ..manifolds.groups import Group, times_matrix
from ..manifolds.manifold import SEPARATE, Convention
from ..numeric.flat import Flat
from ..numeric.rows import draw_signs
from ..results.checks import Finding

FEW_ROWS = 64  # with more outputs, random combinations of them are compared: as in ClaimedRows
CLAIM_COMBINATIONS = 4
MOVED_AWAY = 0.7  # the length of the move to a point where conventions differ, in radians: a choice


def find_ambiguity(claim: Claim, seed: int) -> Finding | None:
    """Return a finding if the claim could as well follow another convention, which differs at other points."""
    assert isinstance(claim, OnManifolds)
    with contextlib.suppress(CallError, OutOfCallsError, GradcliError):
        text = next(agreeing_conventions(claim, seed), None)
        return None if text is None else Finding("same-convention", text)
    return None


def agreeing_conventions(claim: OnManifolds, seed: int) -> Iterator[str]:
    """Yield what agrees at the point and not elsewhere, in words."""
    rng = np.random.default_rng(seed)
    inputs = {n: m for n, m in claim.manifolds.items() if isinstance(m, Group)}
    output = claim.output_manifold if isinstance(claim.output_manifold, Group) else None
    if not inputs and output is None:
        return
    weights = random_rows(claim, rng)
    here = Flat(claim).pull(weights) if weights is not None else Flat(claim).matrix()
    away: tuple[OnManifolds, np.ndarray] | None = None
    for name, manifold, convention, k in other_places(claim):
        if not same_columns(changed_rows(claim, here, name, convention), here, claim, name):
            continue
        if away is None:
            away = moved_away(claim, weights, rng)
        other, there = away
        elsewhere = manifold.conventions(other.point(name))[k]
        if not same_columns(changed_rows(other, there, name, elsewhere), there, other, name):
            what, also = name or "the output", convention.text.removeprefix("the Jacobian for ")
            text = f"the declared one, {manifold.describes}, and the one for {also}"
            text = re.sub(rf"\b{manifold.symbol}\b", name or "out", text)
            yield f"two conventions for tangents of {what} have the same Jacobian at this point: {text}"


def random_rows(claim: OnManifolds, rng: np.random.Generator) -> np.ndarray | None:
    """Return combinations of outputs to compare; None to compare every output."""
    m = claim.value_here().size
    can = claim.capabilities
    return (
        draw_signs(rng, (CLAIM_COMBINATIONS, m))
        if m > FEW_ROWS and can.pull and claim.output_manifold is None
        else None
    )


def other_places(claim: OnManifolds) -> Iterator[tuple[str, Group, Convention, int]]:
    """Yield the other places where moves may act: of each input by name, and of the output ("")."""
    points = [(name, m, claim.point(name)) for name, m in claim.manifolds.items()]
    if claim.output_manifold is not None and claim.base is not None:
        points.append(("", claim.output_manifold, claim.base))
    for name, manifold, x in points:
        if isinstance(manifold, Group):
            for k, convention in enumerate(manifold.conventions(x)):
                if convention.kind == "perturbation":
                    yield name, manifold, convention, k


def changed_rows(claim: OnManifolds, rows: np.ndarray, name: str, convention: Convention) -> np.ndarray:
    """Return the claimed rows as they would be by another convention of an input, or of the output ("")."""
    if not name:
        turn = np.swapaxes(np.linalg.inv(convention.columns), -1, -2)
        return times_matrix(rows.T.reshape((rows.shape[1], *turn.shape[:-1])), turn).reshape((rows.shape[1], -1)).T
    shape, columns = claim.at[name].shape, Flat(claim).columns(claim.wrt.index(name))
    found = rows.copy()
    found[:, columns] = times_matrix(rows[:, columns].reshape((len(rows), *shape)), convention.columns).reshape(
        (len(rows), -1)
    )
    return found


def same_columns(a: np.ndarray, b: np.ndarray, claim: OnManifolds, name: str) -> bool:
    """Return whether two claims are equal in the columns of an input, or everywhere."""
    part = Flat(claim).columns(claim.wrt.index(name)) if name else slice(None)
    size = float(np.abs(b[:, part]).max(initial=0.0))
    return bool(np.abs(a[:, part] - b[:, part]).max(initial=0.0) <= SEPARATE * size)


def moved_away(
    claim: OnManifolds, weights: np.ndarray | None, rng: np.random.Generator
) -> tuple[OnManifolds, np.ndarray]:
    """Return the claim at a point some way off, and its rows there."""
    at = dict(claim.at)
    for name in claim.manifolds:
        x = at[name]
        at[name] = (x + MOVED_AWAY * np.abs(x) * draw_signs(rng, x.shape)).astype(x.dtype)
    other = claim.based_at(at)
    return other, Flat(other).pull(weights) if weights is not None else Flat(other).matrix()
