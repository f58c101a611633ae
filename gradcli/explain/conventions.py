"""Name the convention that a wrong claim on a manifold follows: others are known linear maps of the derivative.

Only a single point of a batch is looked at, the one with the most wrong elements. A hypothesis must explain the claim
there at the checked point, and at another point whenever the function has values and the claim exists there.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..claims.claim import CallError, OutOfCallsError
from ..claims.on_manifolds import OUT, OnManifolds
from ..errors import GradcliError
from ..manifolds.groups import SO3, Group
from ..manifolds.manifold import Manifold
from ..manifolds.poses import SE3
from ..manifolds.riemannian import Riemannian, Sphere
from ..manifolds.rotations import left_jacobian
from ..numeric.flat import Flat
from ..numeric.sampler import Sampler
from ..numeric.verdict import MARGIN
from ..results.checks import Finding
from .block import InputBlock
from .evidence import estimated_columns

CONVENTION_RELATIVE = 1e-6  # by how much a claim may differ from a convention's Jacobian, as in RELATIVE of block.py
JACOBIAN_ORDERS = 4  # terms of a left Jacobian that an approximation may keep: a choice
ELSEWHERE = 0.35  # the length of the moves to another point: a choice
MOST_COLUMNS = 64  # elements of a point on a Riemannian manifold that are estimated: a choice


class KnownPoint(NamedTuple):
    """The derivative r by the coordinates of one point of a batch, with its error, and the claim a there: (R, n).

    maps: K of each convention of the input, by number. out_maps: the same for the output, inverted. between: the
    adjoints of the moves that lead from the point to the other inputs of the same kind, by name.
    """

    a: np.ndarray
    r: np.ndarray
    error: np.ndarray
    maps: list[np.ndarray]
    out_maps: list[np.ndarray]
    between: dict[str, np.ndarray]
    output: np.ndarray | None  # the output, if every row is known
    value: np.ndarray | None  # the input, if it is on no manifold

    def agrees(self, values: np.ndarray, expected: np.ndarray, error: np.ndarray) -> bool:
        size = float(np.abs(expected).max(initial=0.0))
        return bool(np.all(np.abs(values - expected) <= CONVENTION_RELATIVE * size + MARGIN * error + 1e-300))


Map = Callable[[KnownPoint], np.ndarray]


@dataclass(frozen=True)
class Guess:
    """A claim that would be rows @ r @ columns, times a factor, and transposed. simple: how unlikely it is."""

    kind: str
    text: str
    fix: str
    simple: int
    rows: Map | None = None
    columns: Map | None = None
    factor: float = 1.0
    transposed: bool = False

    def explains(self, known: KnownPoint) -> bool:
        """Return whether the claim is what the guess says, and that is not what is declared."""
        expected, error = known.r, known.error
        if self.rows is not None:
            rows = self.rows(known)
            expected, error = rows @ expected, np.abs(rows) @ error
        if self.columns is not None:
            columns = self.columns(known)
            expected, error = expected @ columns, error @ np.abs(columns)
        expected, error = self.factor * expected, abs(self.factor) * error
        if self.transposed:
            changed = self.rows is not None or self.columns is not None or self.factor != 1
            if changed and known.agrees(known.r, expected, error + known.error):  # a transpose alone, in other words
                return False
            expected, error = expected.T, error.T
        return known.agrees(known.a, expected, error) and not known.agrees(known.r, expected, error)

    @property
    def says(self) -> str:
        """What the claim is, without "the claim is"."""
        return self.text.removeprefix("the claim is ")


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
    maps, between = [], {}
    if isinstance(manifold, Group) and x is not None:
        k = part.start // (part.stop - part.start)
        here = batch_of_points(manifold, x)[k]
        maps = [c.columns for c in manifold.conventions(here)]
        between = adjoints_between(owner, block.name, manifold, here)
    of_output, out_maps = owner.output_manifold, []
    if whole and isinstance(of_output, Group) and not of_output.batch(output):
        out_maps = [np.linalg.inv(c.columns) for c in of_output.conventions(output)]
    value = owner.inner.at[block.name].reshape(-1).astype(float) if manifold is None else None
    return KnownPoint(claimed[:, columns], r, error, maps, out_maps, between, output if whole else None, value)


def batch_of_points(manifold: Group, x: np.ndarray) -> np.ndarray:
    """Return a batch of points with one leading axis."""
    return x.reshape((-1, *x.shape[len(manifold.batch(x)) :]))


def adjoints_between(claim: OnManifolds, name: str, manifold: Group, x: np.ndarray) -> dict[str, np.ndarray]:
    """Return Ad(x^-1 y) for each other input y of the same kind; Ad(x y^-1) unless moves act on the right."""
    found = {}
    for other, kind in claim.manifolds.items():
        y = claim.point(other)
        if other != name and type(kind) is type(manifold) and y.shape == x.shape:
            own, theirs = manifold.adjoint(x), manifold.adjoint(y)
            right = manifold.side == "right"
            found[other] = np.linalg.inv(own) @ theirs if right else own @ np.linalg.inv(theirs)
    return found


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
    columns += [*of_input_pairs(name, manifold, known)] if isinstance(manifold, Group) else []
    rows = [*of_rows(claim, known)] if known.output is not None else []
    found = [*columns, *rows, *of_approximations(claim, known)]
    found += [both(a, b) for a, b in itertools.product(rows, columns) if a.simple == 1]
    for guess, (word, factor, fix) in itertools.product([*found], FACTOR_REPAIRS):
        if guess.kind != "half-angle":
            text, advice = f"the claim is {word}{guess.says}", f"{guess.fix}, and {fix}"
            found.append(replace(guess, text=text, fix=advice, simple=guess.simple + 2, factor=factor))
    if known.r.shape[0] == known.r.shape[1]:
        found += [TRANSPOSED, MINUS_TRANSPOSED]
        for guess in found[:-2]:
            text, advice = f"the claim is the transpose of {guess.says}", f"transpose it; then {guess.fix}"
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


def of_input_pairs(name: str, manifold: Group, known: KnownPoint) -> Iterator[Guess]:
    """Yield the guesses that an adjoint between two inputs, as in a between factor, is missing or inverted."""
    for other in known.between:
        between = f"{name}^-1 {other}" if manifold.side == "right" else f"{name} {other}^-1"
        adjoint = f"({between})" if manifold.dimension == 3 else f"Ad({between})"
        for power in (-2, 2):
            columns: Map = functools.partial(
                lambda other, n, known: np.linalg.matrix_power(known.between[other], n), other, power
            )
            text = f"the claim is multiplied by {adjoint} instead of its inverse, or the other way round"
            yield Guess("adjoint-not-inverted", text, f"invert {adjoint}", 2, columns=columns)
        for power in (-1, 1):
            columns = functools.partial(
                lambda other, n, known: np.linalg.matrix_power(known.between[other], n), other, power
            )
            text = f"the claim is the Jacobian for moves of {name} in the frame of {other}"
            fix = f"multiply it on the right by {adjoint}{'^-1' if power == 1 else ''}"
            yield Guess("perturbation", text, fix, 2, columns=columns)


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


SIZES: dict[int, list[Group]] = {
    3: [SO3("SO3")],
    6: [SE3("SE3"), SE3("SE3:rotation-first", frozenset({"rotation-first"}))],
}
"""The groups whose logarithm has so many numbers."""


def of_approximations(claim: OnManifolds, known: KnownPoint) -> Iterator[Guess]:
    """Yield claims that keep few terms of the Jacobian of a logarithm (the output) or an exponential (the input)."""
    if claim.output_manifold is None and known.output is not None and known.output.ndim == 1:
        for group in SIZES.get(known.output.size, ()):
            for order, (side, name) in itertools.product(range(JACOBIAN_ORDERS), ((-1.0, "right"), (1.0, "left"))):
                rows: Map = functools.partial(of_logarithm, group, order, side)
                yield Guess("small-angle", approximation(order, f"inverse {name} Jacobian of the logarithm"),
                            f"use the whole inverse {name} Jacobian of the residual", 2 + order, rows)  # fmt: skip
    if isinstance(claim.output_manifold, Group) and known.value is not None:
        for group in SIZES.get(known.value.size, ()):
            for order, (side, name) in itertools.product(range(JACOBIAN_ORDERS), ((-1.0, "right"), (1.0, "left"))):
                columns: Map = functools.partial(of_exponential, group, order, side)
                yield Guess("small-angle", approximation(order, f"{name} Jacobian of the exponential"),
                            f"use the whole {name} Jacobian", 2 + order, columns=columns)  # fmt: skip


def approximation(order: int, what: str) -> str:
    kept = f"the identity is used instead of the {what}" if order == 0 else f"the {what} ends after order {order}"
    return f"the claim is an approximation for small angles, of order {order}: {kept}"


def of_logarithm(group: Group, order: int, side: float, known: KnownPoint) -> np.ndarray:
    assert known.output is not None
    ad = side * group.ad(known.output.astype(float))
    return cut(INVERSE_TERMS, ad, order) @ left_jacobian(ad)


def of_exponential(group: Group, order: int, side: float, known: KnownPoint) -> np.ndarray:
    assert known.value is not None
    ad = side * group.ad(known.value)
    return np.linalg.inv(left_jacobian(ad)) @ cut(LEFT_JACOBIAN_TERMS, ad, order)


LEFT_JACOBIAN_TERMS = (1.0, 1 / 2, 1 / 6, 1 / 24)  # of the left Jacobian, in powers of ad
INVERSE_TERMS = (1.0, -1 / 2, 1 / 12, 0.0)  # of its inverse: Bernoulli numbers over factorials


def cut(terms: tuple[float, ...], ad: np.ndarray, order: int) -> np.ndarray:
    return sum((terms[k] * np.linalg.matrix_power(ad, k) for k in range(1, order + 1)), np.eye(len(ad)))


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
    return findings


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
