"""Check that products with a derivative are linear and fresh at every call, and that both modes are adjoint."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..claims.claim import CHANGED, CallError, Claim, nearby_point
from .decide import Observation
from .flat import Flat
from .rows import neighbours
from .sampler import TINY
from .verdict import OWN_NOISE, digits_of

ADJOINT_DIGITS = {8: 5.0, 4: 2.0, 2: 0.5}  # digits to which both modes must agree, by bytes of a number: a choice


def adjoint_test(claim: Claim, seed: int) -> tuple[float, float]:
    """Return the number of digits to which <w, J v> and <J^T w, v> agree for random v and w, and how many are needed.

    The worst of three pairs counts (one pair for the engine's own modes); nan if not finite or lost in rounding.
    """
    rng = np.random.default_rng(seed + 2)
    out = claim.value_here()
    types = [out.dtype, *(claim.at[n].dtype for n in claim.wrt)]
    unit = max(claim.capabilities.claim_unit or 0.0, *(float(np.finfo(x).eps) / 2 for x in types if x.kind in "fc"))
    least, worst = ADJOINT_DIGITS[8 if unit < 1e-10 else 4 if unit < 1e-5 else 2], 17.0

    def draw(like: np.ndarray) -> np.ndarray:
        real = rng.standard_normal(like.shape)
        return np.asarray(real + 1j * rng.standard_normal(like.shape) if like.dtype.kind == "c" else real, like.dtype)

    for _ in range(1 if claim.capabilities.traced else 3):
        tangents, w = {name: draw(claim.at[name]) for name in claim.wrt}, draw(out)
        forward, reverse, size = products_of_both_modes(claim, claim.at, tangents, w)
        digits = digits_of(abs(forward - reverse) / size)
        if np.isnan(digits):
            return digits, least
        if digits < least:  # only rounding scatters as much between points a few ulps apart
            near = [products_of_both_modes(claim, at, tangents, w)[:2] for at in neighbours(claim)]
            if abs(forward - reverse) <= OWN_NOISE * float(np.abs(np.array(near) - (forward, reverse)).max()):
                return np.nan, least
        worst = min(worst, digits)
    return worst, least


def products_of_both_modes(
    claim: Claim, at: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray], w: np.ndarray
) -> tuple[float, float, float]:
    """Return <w, J v>, <J^T w, v>, and the larger of the two sums of their absolute terms."""
    pushed, pulled = claim.push(at, tangents), claim.pull(at, w)
    forward, reverse = np.conj(w) * pushed, [np.conj(pulled[name]) * tangents[name] for name in claim.wrt]
    size = max(float(np.abs(forward).sum()), float(sum(np.abs(p).sum() for p in reverse)), 1e-300)
    return float(forward.real.sum()), float(sum(p.real.sum() for p in reverse)), size


def find_broken_law(flat: Flat, seed: int) -> Observation | None:
    """Return the first law that the claim's products violate, such as linearity. Needs no numeric derivative.

    With a call budget, only linearity is checked.
    """
    if not flat.size:
        return None
    finding = nonlinearity(flat, seed)
    if finding is not None or flat.claim.budget.allowed is not None:
        return finding
    return staleness(flat, seed) or gradients_apart(flat, seed) or other_value(flat)


COTANGENT_SIZE = 3.0  # typical size of random cotangents, because most people try only 1: a choice
FACTOR = 1024.0  # cotangents this much larger and smaller show clipping and rounding; a power of 2 is exact
COARSEST = 0.05  # a larger relative difference is never rounding: 13 times bfloat16's rounding unit, 2**-8
WIDEST_STAIR = 2.0**-6  # relative range in which a bfloat16 number, with steps of 2**-8, changes at least once
SPECIAL = 1e-3  # relative difference from which on a cotangent is treated in another way, as rounding is not: a choice
STAIR_VECTORS = 256  # vectors tested for stairs, so close that a smooth curve hardly bends between them


def nonlinearity(flat: Flat, seed: int) -> Observation | None:
    """Return how the claimed products are not linear, as PyTorch's "backward not multiplied by grad_output"."""
    claim = flat.claim
    rng = np.random.default_rng(seed + 7)
    if claim.capabilities.pull:
        draw = functools.partial(draw_cotangent, flat, rng)
        says = "the result of backward is not multiplied by grad_output, the incoming gradient"
        words = (says, "backward", "grad_output")
        finding = find_nonlinear(flat, flat.pull, draw(), draw(), words) or special_cotangent(flat, draw())
        if finding is not None:
            return finding
    if claim.capabilities.push and not claim.capabilities.traced:
        u, v = (COTANGENT_SIZE * rng.standard_normal(flat.size) for _ in range(2))
        words = ("the result of the jvp is not multiplied by its tangents", "jvp", "its tangents")
        return find_nonlinear(flat, flat.push, u, v, words)
    return None


def draw_cotangent(flat: Flat, rng: np.random.Generator) -> np.ndarray:
    """Return a random cotangent of length m, of a size that most people do not try (COTANGENT_SIZE)."""
    return COTANGENT_SIZE * rng.standard_normal(len(flat.f0)).astype(flat.out.real.dtype)


def special_cotangent(flat: Flat, other: np.ndarray) -> Observation | None:
    """Return which cotangent that programs use often is treated in another way than others: ones, or a single one.

    other: a random cotangent. What it gives is subtracted again.
    """
    m = len(flat.f0)
    units = {f"1 for output {k}, and 0 for the others": np.eye(1, m, k)[0] for k in dict.fromkeys((0, m // 2, m - 1))}
    special = {"ones, as a sum passes it": np.ones(m), **(units if m > 1 else {})}
    vectors = [x.astype(other.dtype) for x in special.values()]
    before, *products = flat.pull([other, *vectors, *(x + other for x in vectors)])
    if not np.isfinite(products).all():
        return None
    for name, alone, both in zip(special, products, products[len(vectors) :], strict=False):
        size = np.abs(before).max(initial=0.0) + np.abs(alone).max(initial=0.0)
        gap = np.abs(both - before - alone)
        if gap.max(initial=0.0) > tolerance_of_products(flat) * size:
            pair, here = [other, other + vectors[0]], np.array([before, products[len(vectors)]])
            if gap.max() <= max(OWN_NOISE * scatter_nearby(flat, flat.pull, pair, here).max(), SPECIAL * size):
                continue
            i = int(np.argmax(gap))
            text = f"for a cotangent of {name}, the backward gives {alone[i]:.6g}; for others, {(both - before)[i]:.6g}"
            return Observation(
                "nonlinear", f"{text}: a backward multiplies by grad_output and does nothing else with it"
            )
    return None


def find_nonlinear(
    flat: Flat, products: Callable, u: np.ndarray, v: np.ndarray, words: tuple[str, str, str]
) -> Observation | None:
    """Return how products violate linearity by more than rounding; None if they do not."""
    says, name, argument = words
    vectors = [u, np.zeros_like(u), -u, v, u + v]
    if min(itemsizes(flat)) > 2:  # float16's largest number is 65504
        vectors += [FACTOR * u, u / FACTOR]
    vectors = [x.astype(u.dtype) for x in vectors]
    first, nothing, _, second, _, *others = here = products(vectors)
    if not np.isfinite(first).all():  # an infinite derivative times 0 is nan
        return None
    if not (nothing == 0).all():
        worst = nothing[np.argmax(np.where(np.isnan(nothing), np.inf, np.abs(nothing)))]
        values = f"values up to {abs(worst):.3g}" if np.isfinite(worst) else f"{worst:.3g}"
        return Observation("nonlinear", f"{says}: given zeros, {name} still returns {values}")
    for place, expected, law in (
        (2, -first, "b(-u) is not -b(u)"),
        (4, first + second, "b(u + v) is not b(u) + b(v)"),
        (5, FACTOR * first, f"b({FACTOR:.0f} u) is not {FACTOR:.0f} b(u)"),
        (6, first / FACTOR, f"b(u / {FACTOR:.0f}) is not b(u) / {FACTOR:.0f}"),
    )[: 2 + len(others)]:
        got, part = here[place], 1 / FACTOR if place == 6 else 1.0
        size = part * np.abs(first).max(initial=0.0) + np.abs(expected).max(initial=0.0)
        gap = float(np.abs(got - expected).max(initial=0.0))
        if not np.isfinite(got).all() or gap <= tolerance_of_products(flat) * size:
            continue
        if np.abs(products([u])[0] - first).max() > COARSEST * np.abs(first).max():
            return Observation("unsteady", f"the {name} gives another result on a second call with the same {argument}")
        scatter = scatter_nearby(flat, products, vectors, here)
        if gap <= OWN_NOISE * max(part * scatter[0], scatter[place]):
            continue
        if not is_stair(products, vectors[4 if place < 5 else place], gap, size):
            text = f"the {name} is not linear in {argument}: {law} (relative error {gap / size:.2g}); "
            return Observation("nonlinear", f"{text}a {name} must multiply by {argument} and do nothing else with it")
    return None


def scatter_nearby(flat: Flat, products: Callable, vectors: Sequence[np.ndarray], here: np.ndarray) -> np.ndarray:
    """Return how much each product changes between points a few ulps apart, where only rounding differs."""
    changes = [np.abs(products(vectors, near) - here).max(axis=1, initial=0.0) for near in neighbours(flat.claim)]
    return np.max(changes, axis=0)


def is_stair(products: Callable, vector: np.ndarray, gap: float, size: float) -> bool:
    """Return whether products jump by about `gap` between vectors that grow in small steps.

    A type with few digits (bfloat16) makes stairs; the second differences of a smooth curve are far smaller.
    """
    if gap > COARSEST * size:
        return False
    ladder = 1 + max(2 * gap / size, WIDEST_STAIR) * np.arange(STAIR_VECTORS) / STAIR_VECTORS
    vectors = [(vector * factor).astype(vector.dtype) for factor in ladder]
    return gap <= OWN_NOISE * float(np.abs(np.diff(products(vectors), n=2, axis=0)).max())


def other_point(claim: Claim) -> dict[str, np.ndarray]:
    return {**claim.at, **nearby_point({name: claim.at[name] for name in claim.wrt})}


def random_cotangent(flat: Flat, seed: int) -> np.ndarray:
    return flat.as_output(np.random.default_rng(seed).standard_normal(len(flat.f0)))


SAME_VALUE = 1e-6  # largest difference of equal values, relative to them and their change near the point (calibrated)


def other_value(flat: Flat) -> Observation | None:
    """Report a backward pass that belongs to another function: its own forward pass gives a different value."""
    claim = flat.claim
    if claim.recorded is None:  # the backward passes of `nonlinearity` did not recompute the output
        return None
    away = other_point(claim)
    try:
        claim.pull(claim.at, np.zeros(flat.out_shape, flat.out_dtype))
        if np.shape(value := claim.recorded) != np.shape(flat.out):
            return None
        change = np.abs(claim.value(away) - flat.out).max(initial=0.0)
    except CallError:
        return None
    size, gap = np.abs(flat.out).max(initial=0.0) + change, np.abs(value - flat.out).max(initial=0.0)
    if not gap > max(SAME_VALUE, 1e4 * (claim.capabilities.claim_unit or 0.0)) * size:
        return None
    return Observation(
        "other value",
        f"the rule computes a different value from the function (relative error {gap / size:.2g}): its forward pass "
        "(fwd of custom_vjp, forward of a Function) differs from what is called without a gradient",
    )


LOST_NEXT_TO_LARGEST = 1e-6  # products below this fraction of the largest one may be rounding (calibrated)
MOST_SUBSETS = 4  # most inputs whose subsets all get a turn to need a gradient; of more, each input alone: a choice


def gradients_apart(flat: Flat, seed: int) -> Observation | None:
    """Report a gradient that changes if other inputs need none: a branch on `needs_input_grad` is wrong."""
    claim, names = flat.claim, list(flat.claim.wrt)
    if len(names) < 2 or not claim.capabilities.pull or claim.seen is not None:  # the user's run says which need one
        return None
    cotangent = random_cotangent(flat, seed + 19)
    sizes = range(1, len(names)) if len(names) <= MOST_SUBSETS else (1,)
    whole = None
    for chosen in itertools.chain.from_iterable(itertools.combinations(names, size) for size in sizes):
        others = ", ".join(n for n in names if n not in chosen)
        try:
            apart = claim.pull_of(claim.at, cotangent, chosen)
        except CallError as error:
            claim.pull(claim.at, cotangent)  # raises, too, if the rule always does
            return Observation(
                "partial gradients", f"{error}, if requires_grad is False for {others} (needs_input_grad)"
            )
        if apart is None:
            return None
        whole = whole or claim.pull(claim.at, cotangent)
        for name in chosen:
            size = np.abs(whole[name]).max(initial=0.0) + np.abs(apart[name]).max(initial=0.0)
            size += LOST_NEXT_TO_LARGEST * max(np.abs(whole[n]).max(initial=0.0) for n in names)
            if not np.abs(apart[name] - whole[name]).max(initial=0.0) <= CHANGED * size:
                text = f"the gradient of {name} changes if requires_grad is False for {others} (needs_input_grad)"
                return Observation("partial gradients", text)
    return None


def rounding_of_products(flat: Flat, claimed: np.ndarray, seed: int) -> tuple[float, Observation | None]:
    """Return the relative difference of products from those with the Jacobian that unit cotangents give."""
    claim, can = flat.claim, flat.claim.capabilities
    pulled = can.pull and can.pulls_apart and (can.traced or not can.push)
    if not pulled or not claimed.size or claim.budget.allowed is not None:
        return 0.0, None
    rng = np.random.default_rng(seed + 13)
    vectors = [draw_cotangent(flat, rng) for _ in range(1 if can.traced else 3)]
    got, weights = flat.pull(vectors), np.array(vectors, float)
    size = np.abs(weights) @ np.abs(claimed)
    size += LOST_NEXT_TO_LARGEST * size.max(axis=1, keepdims=True) + TINY
    off = np.abs(got - weights @ claimed)
    gaps = off / size
    if not np.isfinite(gaps).all():
        return 0.0, None
    gap, row = float(gaps.max()), int(gaps.max(axis=1).argmax())
    largest = float(size[row].max())
    if gap <= tolerance_of_products(flat) or is_stair(flat.pull, vectors[row], gap * largest, largest):
        return 2 * gap, None  # the worst of three is not the worst of all
    if off.max() <= OWN_NOISE * scatter_nearby(flat, flat.pull, vectors, got).max():
        return 0.0, None
    text = (
        "the backward is not linear in grad_output: b(u) is not the product of u with the gradients that unit "
        f"cotangents give (relative error {gap:.2g})"
    )
    return gap, Observation("nonlinear", text)


def itemsizes(flat: Flat) -> list[int]:
    return [flat.out.real.dtype.itemsize, *(part.itemsize for part in flat.parts)]


def tolerance_of_products(flat: Flat) -> float:
    unit = max(flat.claim_unit, float(np.finfo(flat.out.dtype).eps) / 2)
    return 1e-5 if unit < 1e-10 else 1e-3 if unit < 1e-5 else 0.1


STALE = Observation(
    "unsteady",
    "backward uses values of another call: the gradient changes once the function has been called elsewhere (stale "
    "context); save what backward needs with each call, as save_for_backward does",
)


def staleness(flat: Flat, seed: int) -> Observation | None:
    """Report a gradient that changes if the function is called between forward and backward."""
    claim = flat.claim
    if not claim.capabilities.pull:
        return None
    cotangent = random_cotangent(flat, seed + 11)
    away = other_point(claim)
    try:
        late = claim.late_pull(claim.at, cotangent, away)
    except CallError:  # the function is not defined there, or changes in place what backward needs
        return None
    if late is None:
        return None
    first = claim.pull(claim.at, cotangent)

    def gap(x: Mapping[str, np.ndarray]) -> float:
        return max(np.abs(x[name] - first[name]).max(initial=0.0) for name in claim.wrt)

    size = max(np.abs(first[name]).max(initial=0.0) for name in claim.wrt)
    if gap(late) <= CHANGED * size:
        return None
    own = gap(claim.pull(claim.at, cotangent))  # of a gradient that is different every time
    return STALE if gap(late) > 10 * own else None
