"""Name the convention that a wrong claim on a manifold follows: others are known linear maps of the derivative.

Only a single point of a batch is looked at, the one with the most wrong elements. A hypothesis must explain the claim
there at the checked point, and at another point whenever the function has values and the claim exists there.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..claims.claim import CallError, OutOfCallsError
from ..claims.on_manifolds import OUT, OnManifolds
from ..errors import GradcliError
from ..manifolds.groups import Group
from ..manifolds.manifold import Manifold
from ..manifolds.riemannian import Riemannian, Sphere, Stiefel
from ..numeric.flat import Flat
from ..numeric.sampler import Sampler
from ..numeric.verdict import MARGIN
from ..results.checks import Finding
from .block import InputBlock
from .evidence import estimated_columns
from .exponentials import of_jacobians
from .guess import CONVENTION_RELATIVE, Guess, KnownPoint, Map

ELSEWHERE = 0.35  # the length of the moves to another point: a choice
MOST_COLUMNS = 64  # elements of a point on a Riemannian manifold that are estimated: a choice


def find_convention(blocks: list[InputBlock]) -> tuple[Finding, ...]:
    """Return a finding for each wrong input whose claim follows another convention, if claims are on manifolds."""
    claim = blocks[0].flat.claim if blocks else None
    if not isinstance(claim, OnManifolds):
        return ()
    found = []
    for block in blocks:
        if block.wrong.any() and not block.diagonal and np.isfinite(block.a[block.wrong]).all():
            with contextlib.suppress(CallError, OutOfCallsError):
                found += explained_by_convention(block, claim)
    return tuple(found)


def explained_by_convention(block: InputBlock, claim: OnManifolds) -> list[Finding]:
    manifold = claim.manifolds.get(block.name)
    if isinstance(manifold, Riemannian):
        return riemannian(block, claim, manifold)
    here = known_at_point(block, claim, block.flat, block.a)
    if here is None:
        return []
    elsewhere = lazily_elsewhere(block, claim)
    for guess in guesses(claim, block.name, here):
        if guess.explains(here) and (not (there := elsewhere()) or guess.explains(there)):
            text = f"{guess.text}; {guess.fix}"
            text = with_name(text, manifold, block.name) if isinstance(manifold, Group) else text
            return [Finding(guess.kind, f"{block.name}: {text}", block.name)]
    return []


def wrong_columns(block: InputBlock, manifold: Manifold | None, x: np.ndarray | None) -> slice:
    """Return the columns of the point of a batch with the most wrong elements; all columns of a plain input."""
    size = block.a.shape[1]
    width = size if manifold is None or x is None else manifold.moves_of(x)
    counts = block.wrong.any(axis=0).reshape((-1, width)).sum(axis=1)
    k = int(np.argmax(counts))
    return slice(k * width, (k + 1) * width)


def known_at_point(block: InputBlock, claim: OnManifolds, flat: Flat, claimed: np.ndarray) -> KnownPoint | None:
    """Return what is known of the chosen point in `flat`; None if the function has no derivative there."""
    manifold, owner = claim.manifolds.get(block.name), flat.claim
    assert isinstance(owner, OnManifolds)
    x = owner.point(block.name) if manifold is not None else None
    part = wrong_columns(block, manifold, x)
    if part.stop - part.start > MOST_COLUMNS:
        return None
    columns = np.arange(part.start, part.stop)
    if flat is block.flat and np.isfinite(block.r[:, columns]).all():
        r, error = block.r[:, columns], block.error[:, columns]
    else:
        weights = block.place.rows.weights if block.place is not None else None
        begin = flat.columns(block.k).start
        r, error = estimated_columns(Sampler(flat), begin + columns, weights)
        r, error = r[block.rows], error[block.rows]
    if not np.isfinite(r).all():
        return None
    whole = block.whole
    output = owner.base if owner.base is not None else owner.value_here()
    maps: list[np.ndarray] = []
    others: dict[str, np.ndarray] = {}
    between: dict[str, np.ndarray] = {}
    if isinstance(manifold, Group) and x is not None:
        k = part.start // (part.stop - part.start)
        here = batch_of_points(manifold, x)[k]
        maps = [c.columns for c in manifold.conventions(here)]
        others, between = adjoints_of_others(owner, block.name, manifold, here)
    of_output, out_maps = owner.output_manifold, []
    if whole and isinstance(of_output, Group) and not of_output.batch(output):
        out_maps = [np.linalg.inv(c.columns) for c in of_output.conventions(output)]
    value = owner.inner.at[block.name].reshape(-1).astype(float) if manifold is None else None
    return KnownPoint(claimed[:, columns], r, error, maps, out_maps, others, between, output if whole else None, value)


def batch_of_points(manifold: Group, x: np.ndarray) -> np.ndarray:
    """Return a batch of points with one leading axis."""
    return x.reshape((-1, *x.shape[len(manifold.batch(x)) :]))


def adjoints_of_others(
    claim: OnManifolds, name: str, manifold: Group, x: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return Ad(y) and Ad(x^-1 y) for each other input y of the same kind; Ad(x y^-1) unless moves act on the right."""
    others: dict[str, np.ndarray] = {}
    between: dict[str, np.ndarray] = {}
    for other, kind in claim.manifolds.items():
        y = claim.point(other)
        if other != name and type(kind) is type(manifold) and y.shape == x.shape:
            own, others[other] = manifold.adjoint(x), manifold.adjoint(y)
            right = manifold.side == "right"
            between[other] = np.linalg.inv(own) @ others[other] if right else own @ np.linalg.inv(others[other])
    return others, between


def lazily_elsewhere(block: InputBlock, claim: OnManifolds) -> Any:
    """Return a function that makes another point the first time, and returns what is known there, if anything."""
    kept: list[KnownPoint | None] = []

    def elsewhere() -> KnownPoint | None:
        if not kept:
            kept.append(None)
            with contextlib.suppress(CallError, OutOfCallsError, GradcliError):
                kept[0] = at_another_point(block, claim)
        return kept[0]

    return elsewhere


def at_another_point(block: InputBlock, claim: OnManifolds) -> KnownPoint | None:
    rng, at = np.random.default_rng(3), {}
    for name, x in claim.at.items():
        moved = name in claim.manifolds or x.dtype.kind == "f"
        size = np.where(x == 0, 1.0, np.abs(x)) if moved else x
        at[name] = (x + ELSEWHERE * size * rng.standard_normal(x.shape)).astype(x.dtype) if moved else x
    flat = Flat(claim.based_at(at))
    if not np.isfinite(flat.f0).all() or flat.out_shape != block.flat.out_shape or block.place is None:
        return None
    weights = block.place.rows.weights
    rows = flat.matrix() if weights is None else flat.pull(weights)
    return known_at_point(block, claim, flat, rows[block.rows, flat.columns(block.k)])


FACTOR_REPAIRS = (("minus ", -1.0, "change its sign"), ("half of ", 0.5, "double it"), ("twice ", 2.0, "halve it"))


def guesses(claim: OnManifolds, name: str, known: KnownPoint) -> list[Guess]:
    """Return the claims that other conventions, and usual mistakes, would give, the simplest first."""
    manifold = claim.manifolds.get(name)
    columns = [*of_columns(manifold)] if isinstance(manifold, Group) else []
    columns += [*of_other_inputs(name, manifold, known)] if isinstance(manifold, Group) else []
    rows = [*of_rows(claim, known)] if known.output is not None else []
    found = [*columns, *rows, *of_jacobians(claim, known)]
    found += [both(a, b) for a, b in itertools.product(rows, columns) if a.simple == 1]
    for guess, (word, factor, fix) in itertools.product([*found], FACTOR_REPAIRS):
        if guess.kind != "half-angle":
            text, advice = guess.within(word), f"{guess.fix}, and {fix}"
            found.append(replace(guess, text=text, fix=advice, simple=guess.simple + 2, factor=factor))
    if known.r.shape[0] == known.r.shape[1]:
        found += [TRANSPOSED, MINUS_TRANSPOSED]
        for guess in found[:-2]:
            text, advice = guess.within("the transpose of "), f"transpose it; then {guess.fix}"
            found.append(replace(guess, text=text, fix=advice, simple=guess.simple + 3, transposed=True))
    return sorted(found, key=lambda guess: guess.simple)


TRANSPOSED = Guess("transposed", "the claim is the transpose of the Jacobian", "transpose it", 2, transposed=True)
MINUS_TRANSPOSED = replace(
    TRANSPOSED,
    text="the claim is minus the transpose of the Jacobian",
    fix="transpose it, and change its sign",
    factor=-1.0,
    simple=3,
)


def both(a: Guess, b: Guess) -> Guess:
    """Return the guess about the output together with one about an input."""
    kind = b.kind if b.kind == "perturbation" else a.kind
    return Guess(kind, f"{b.text}, and {a.says}", f"{b.fix}; {a.fix}", a.simple + b.simple, a.rows, b.columns)


def constant_matrix(matrix: np.ndarray) -> Map:
    return lambda known: matrix


def product_with(first: Map, second: np.ndarray) -> Map:
    return lambda known: first(known) @ second


def of_columns(manifold: Group) -> Iterator[Guess]:
    """Yield the guesses about the tangent of an input."""
    conventions = []
    for k, c in enumerate(manifold.conventions(manifold.origin())):
        columns: Map = functools.partial(lambda k, known: known.maps[k], k)
        simple = 1 if c.kind == "perturbation" else 2
        fix = f"multiply it on the right by {c.fix}"
        conventions.append(Guess(c.kind, f"the claim is {c.text}", fix, simple, columns=columns))
    yield from conventions
    for text, permutation, fix in manifold.swaps():
        yield Guess("tangent-order", f"the claim has {text}", fix, 1, columns=constant_matrix(permutation))
        for guess in conventions:
            assert guess.columns is not None
            swapped = product_with(guess.columns, permutation)
            words, advice = f"{guess.text}, with {text}", f"{fix}; then {guess.fix}"
            yield replace(guess, text=words, fix=advice, simple=guess.simple + 1, columns=swapped)
    rotation = manifold.rotation_part()
    for factor, word, fix in ((0.5, "half", "double"), (2.0, "twice", "halve")):
        scale = np.diag(np.where(rotation, factor, 1.0))
        text = f"the claim is {word} the derivative with respect to the rotation: angles and half angles are confused"
        yield Guess("half-angle", text, f"{fix} these columns", 1, columns=constant_matrix(scale))
        for guess in conventions:
            if guess.kind == "perturbation" and guess.columns is not None:
                words, advice = (
                    f"{guess.text}, and its columns of the rotation are {word} as large as they should be",
                    f"{fix} these columns; {guess.fix}",
                )
                yield Guess("half-angle", words, advice, 3, columns=product_with(guess.columns, scale))
    if not rotation.all():
        turned = constant_matrix(np.diag(np.where(rotation, -1.0, 1.0)))
        text = "the sign of the derivative with respect to the rotation is wrong, as if the rotation were inverted"
        yield Guess("sign", text, "change the sign of these columns", 2, columns=turned)


def of_other_inputs(name: str, manifold: Group, known: KnownPoint) -> Iterator[Guess]:
    """Yield the guesses that an adjoint of another input, or between two, as in a between factor, is off."""
    for other in known.between:
        between = f"{name}^-1 {other}" if manifold.side == "right" else f"{name} {other}^-1"
        adjoint = f"({between})" if manifold.dimension == 3 else f"Ad({between})"
        yield from not_inverted(adjoint, "between", other)
        for power, columns in powers_of_adjoint("between", other, 1):
            text = f"the claim is the Jacobian for moves of {name} in the frame of {other}"
            fix = f"multiply it on the right by {adjoint}{'^-1' if power == 1 else ''}"
            yield Guess("perturbation", text, fix, 2, columns=columns)
    for other in known.others:
        adjoint = other if manifold.dimension == 3 else f"Ad({other})"
        yield from not_inverted(adjoint, "others", other)
        for power, columns in powers_of_adjoint("others", other, 1):
            missing, extra = (f"{adjoint}^-1", adjoint) if power == 1 else (adjoint, f"{adjoint}^-1")
            text = f"the claim lacks a factor {missing}, or has a factor {extra} that does not belong there"
            yield Guess("perturbation", text, f"multiply it on the right by {missing}", 2, columns=columns)


def not_inverted(adjoint: str, kind: str, other: str) -> Iterator[Guess]:
    for _, columns in powers_of_adjoint(kind, other, 2):
        text = f"the claim is multiplied by {adjoint} instead of its inverse, or the other way round"
        yield Guess("adjoint-not-inverted", text, f"invert {adjoint}", 2, columns=columns)


def powers_of_adjoint(kind: str, other: str, n: int) -> Iterator[tuple[int, Map]]:
    """Yield the powers -n and n of an adjoint. kind: others or between, as in `KnownPoint`."""
    for power in (-n, n):
        yield power, functools.partial(power_of_adjoint, kind, other, power)


def power_of_adjoint(kind: str, other: str, power: int, known: KnownPoint) -> np.ndarray:
    return np.linalg.matrix_power(getattr(known, kind)[other], power)


def of_rows(claim: OnManifolds, known: KnownPoint) -> Iterator[Guess]:
    """Yield the guesses about an output on a manifold."""
    output = claim.output_manifold
    if not isinstance(output, Group) or not known.out_maps:
        return
    for k, c in enumerate(output.conventions(output.origin())):
        rows: Map = functools.partial(lambda k, known: known.out_maps[k], k)
        text = f"the claim uses {c.text.removeprefix('the Jacobian for ')}, for the output"
        fix = f"multiply it on the left by {inverse_of(c.fix)}"
        simple = 1 if c.kind == "perturbation" else 2
        if c.kind != "perturbation":
            text = f"the claim is {c.text}"
        yield Guess(c.kind, with_name(text, output, OUT), with_name(fix, output, OUT), simple, rows)
    for text, permutation, fix in output.swaps():
        words = f"the claim has {text.replace('the tangent', 'the tangent of the output')}"
        yield Guess("tangent-order", words, fix.replace("columns", "rows"), 1, constant_matrix(permutation))


def with_name(text: str, group: Group, name: str) -> str:
    """Return a text with a name for the group's usual letter."""
    return re.sub(rf"\b{group.symbol}\b", name, text)


def inverse_of(fix: str) -> str:
    if " " in fix:
        return f"({fix})^-1"
    return fix.removesuffix("^-1") if fix.endswith("^-1") else f"{fix}^-1"


def riemannian(block: InputBlock, claim: OnManifolds, manifold: Riemannian) -> list[Finding]:
    """Return what is wrong with a Riemannian gradient: a normal part, or another metric."""
    x, r = claim.point(block.name).astype(float), block.r
    a = block.a.reshape((-1, *x.shape))
    tangent = manifold.project(x, a).reshape(block.a.shape)
    findings: list[Finding] = []
    normal = np.linalg.norm(block.a - tangent) / max(float(np.linalg.norm(block.a)), 1e-300)
    if normal > CONVENTION_RELATIVE:
        right = agrees(block, tangent, r)
        text = f"the claim has a part normal to {manifold.name.partition(':')[0]}, {normal:.2g} of its norm"
        kind, fix = "not-tangent", PROJECTIONS.get(type(manifold).__name__, "project it")
        if isinstance(manifold, Sphere) and right and normalises(claim, block.name):
            kind, fix = "normalisation-missing", f"the function divides by the norm, but the claim does not: {fix}"
        words = "its tangent part is right" if right else "its tangent part is wrong, too"
        findings.append(Finding(kind, f"{block.name}: {text}; {words}; {fix}", block.name))
    for other in manifold.metrics():
        converted = manifold.from_metric(other, x, a).reshape(r.shape)
        if not findings and agrees(block, converted, r):
            text = f"the claim is the gradient in {other.describes}, not in {manifold.describes}"
            fix = f"convert it, or declare --on {block.name}={other.name}"
            findings.append(Finding("metric", f"{block.name}: {text}; {fix}", block.name))
    if not findings and isinstance(manifold, Stiefel) and agrees(block, block.a, project_on_grassmann(x, r)):
        text = "the claim is (I - X X^T) G, which is tangent but lacks the part X skew(X^T G)"
        fix = "this is the gradient only for functions of the subspace, with f(X Q) = f(X)"
        findings.append(Finding("metric", f"{block.name}: {text}; {fix}", block.name))
    return findings


def project_on_grassmann(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return gradients without their part in the space of the columns of x, in the shape of `rows`."""
    g = rows.reshape((-1, *x.shape))
    return (g - x @ (np.swapaxes(x, -1, -2) @ g)).reshape(rows.shape)


def agrees(block: InputBlock, claimed: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether claimed values equal expected ones where these are known."""
    known = np.isfinite(expected)
    own = MARGIN * np.where(np.isfinite(block.error), block.error, 0.0)
    tolerance = own + CONVENTION_RELATIVE * np.abs(expected[known]).max(initial=0.0)
    return bool(known.any() and (np.abs(claimed - expected) <= tolerance)[known].all())


PROJECTIONS = {
    "Sphere": "subtract x (x . g) / (x . x)",
    "Unit": "subtract x (x . g)",
    "Stiefel": "subtract X sym(X^T G)",
    "SPD": "take (G + G^T) / 2",
}
"""How a gradient becomes tangent."""


def normalises(claim: OnManifolds, name: str) -> bool:
    """Return whether the function has the same value at a multiple of an input."""
    longer = {**claim.inner.at, name: 1.5 * claim.inner.at[name]}
    try:
        there, here = claim.inner.value(longer), claim.inner.value_here()
    except CallError:
        return False
    return there.shape == here.shape and bool(np.allclose(there, here, rtol=1e-9, atol=0))
