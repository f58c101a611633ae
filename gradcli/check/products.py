"""What products with a derivative must satisfy: linear, fresh at every call, forward and reverse mode adjoint.

With --taylor also: the remainder of the first-order series falls with the square of the step.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..program.as_called import CHANGED
from ..program.claim import CallError, Claim, NoForwardError, nearby_point
from ..show.check_results import CheckReport, Finding, Taylor, TaylorRow
from .flat import Flat
from .rows import neighbours
from .sampler import TINY
from .verdict import OWN_NOISE, ROUNDING, Judgement, digits_of

ADJOINT_DIGITS = {8: 5.0, 4: 2.0, 2: 0.5}  # that forward and reverse mode must share, by bytes of a number: a choice


def with_adjoint_test(checked: CheckReport, claim: Claim, seed: int) -> CheckReport:
    """Return a report with what forward mode says; when it contradicts reverse mode, one of them is wrong."""
    if not (claim.capabilities.pull and claim.capabilities.push):
        return checked
    try:
        agreement, least = adjoint_test(claim, seed)
    except NoForwardError:  # reverse mode alone is what is checked
        return checked
    if np.isnan(agreement):
        return checked
    checked = replace(checked, cross_checks=(*checked.cross_checks, ("forward mode", agreement)))
    if agreement >= least:
        return checked
    text = f"forward and reverse mode agree to {agreement:.1f} digits only"
    if checked.verdict == "pass":
        forward, reverse = ("forward mode", "reverse mode (vjp)"), ("reverse mode", "forward mode (jvp)")
        right, wrong = forward if claim.claims == "jvp" else reverse
        text += f"; the values confirm {right}, so {wrong} is wrong"
    message = checked.message if checked.verdict == "fail" else text
    findings = (*checked.diagnosis, Finding("modes disagree", text))
    return replace(checked, verdict="fail", message=message, diagnosis=findings)


def adjoint_test(claim: Claim, seed: int) -> tuple[float, float]:
    """Return to how many digits <w, J v> and <J^T w, v> agree for random v and w, and how many are needed.

    Of three pairs (of the engine's own modes, one) the worst counts; nan where they are not finite.
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
        if digits < least:  # nothing but rounding scatters as much between points that are rounding units apart
            near = [products_of_both_modes(claim, at, tangents, w)[:2] for at in neighbours(claim)]
            if abs(forward - reverse) <= OWN_NOISE * float(np.abs(np.array(near) - (forward, reverse)).max()):
                return np.nan, least
        worst = min(worst, digits)
    return worst, least


def products_of_both_modes(
    claim: Claim, at: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray], w: np.ndarray
) -> tuple[float, float, float]:
    """Return <w, J v>, <J^T w, v>, and the sum of the sizes of their parts, whichever is larger."""
    pushed, pulled = claim.push(at, tangents), claim.pull(at, w)
    forward, reverse = np.conj(w) * pushed, [np.conj(pulled[name]) * tangents[name] for name in claim.wrt]
    size = max(float(np.abs(forward).sum()), float(sum(np.abs(p).sum() for p in reverse)), 1e-300)
    return float(forward.real.sum()), float(sum(p.real.sum() for p in reverse)), size


def find_broken_law(flat: Flat, seed: int) -> Finding | None:
    """Return in what the claim's products are not linear, or stale, which needs no value to be compared with.

    No budget of calls is spent on more than the first.
    """
    if not flat.size:
        return None
    finding = nonlinearity(flat, seed)
    if finding is not None or flat.claim.budget.allowed is not None:
        return finding
    return staleness(flat, seed) or gradients_apart(flat, seed) or other_value(flat)


COTANGENT_SIZE = 3.0  # the typical size of cotangents: 1 is what most people try; a choice
FACTOR = 1024.0  # times larger and smaller ones show clipping and rounding; a power of 2 is exact in any type
COARSEST = 0.05  # from this part of a product on, nothing is rounding: 1 in 2**8 is bfloat16's, of which 13 add up
WIDEST_STAIR = 2.0**-6  # over this part of a number, one in bfloat16, with its 2**-8, changes at least once
STAIR_VECTORS = 256  # vectors along which stairs are looked for: a curve is far from OWN_NOISE between them


def nonlinearity(flat: Flat, seed: int) -> Finding | None:
    """Return in what claimed products are not linear: in PyTorch's words "backward not multiplied by grad_output"."""
    claim = flat.claim
    rng = np.random.default_rng(seed + 7)
    if claim.capabilities.pull:
        draw = functools.partial(draw_cotangent, flat, rng)
        words = ("backward not multiplied by grad_output: a gradient of zeros gives", "backward", "grad_output")
        finding = find_nonlinear(flat, flat.pull, draw(), draw(), words)
        if finding is not None:
            return finding
    if claim.capabilities.push and not claim.capabilities.traced:
        u, v = (COTANGENT_SIZE * rng.standard_normal(flat.size) for _ in range(2))
        words = ("jvp not multiplied by its tangents: tangents of zeros give", "jvp", "its tangents")
        return find_nonlinear(flat, flat.push, u, v, words)
    return None


def draw_cotangent(flat: Flat, rng: np.random.Generator) -> np.ndarray:
    """Return a random cotangent of length m, of a size that most people do not try."""
    return COTANGENT_SIZE * rng.standard_normal(len(flat.f0)).astype(flat.out.real.dtype)


def find_nonlinear(
    flat: Flat, products: Callable, u: np.ndarray, v: np.ndarray, words: tuple[str, str, str]
) -> Finding | None:
    """Return in what products are not linear, by more than rounding; None when they are."""
    zeros_give, name, argument = words
    vectors = [u, np.zeros_like(u), -u, v, u + v]
    if min(itemsizes(flat)) > 2:  # float16 ends at 65504
        vectors += [FACTOR * u, u / FACTOR]
    vectors = [x.astype(u.dtype) for x in vectors]
    first, nothing, _, second, _, *others = here = products(vectors)
    if not np.isfinite(first).all():  # an infinite derivative times 0 is nan
        return None
    if not (nothing == 0).all():
        worst = nothing[np.argmax(np.where(np.isnan(nothing), np.inf, np.abs(nothing)))]
        return Finding("nonlinear", f"{zeros_give} {worst:.3g}, not 0")
    for place, expected, law in (
        (2, -first, "b(-u) is not -b(u)"),
        (4, first + second, "b(u + v) is not b(u) + b(v)"),
        (5, FACTOR * first, f"b({FACTOR:.0f} u) is not {FACTOR:.0f} b(u)"),
        (6, first / FACTOR, f"b(u / {FACTOR:.0f}) is not b(u) / {FACTOR:.0f}"),
    )[: 2 + len(others)]:
        got, part = here[place], 1 / FACTOR if place == 6 else 1.0
        size = part * np.abs(first).max(initial=0.0) + np.abs(expected).max(initial=0.0)
        gap = float(np.abs(got - expected).max(initial=0.0))
        if not np.isfinite(got).all() or gap <= room_of_products(flat) * size:
            continue
        if np.abs(products([u])[0] - first).max() > COARSEST * np.abs(first).max():
            return Finding("unsteady", f"the {name} gives another result on the second call, with the same {argument}")
        scatter = scatter_nearby(flat, products, vectors, here)
        if gap <= OWN_NOISE * max(part * scatter[0], scatter[place]):
            continue
        if not is_stair(products, vectors[4 if place < 5 else place], gap, size):
            text = f"the {name} is not linear in {argument}: {law} (off by {gap / size:.2g} relative); "
            return Finding("nonlinear", f"{text}a {name} multiplies by {argument} and does nothing else with it")
    return None


def scatter_nearby(flat: Flat, products: Callable, vectors: Sequence[np.ndarray], here: np.ndarray) -> np.ndarray:
    """Return by how much each product changes between points that are rounding units apart, as nothing but rounding."""
    changes = [np.abs(products(vectors, near) - here).max(axis=1, initial=0.0) for near in neighbours(flat.claim)]
    return np.max(changes, axis=0)


def is_stair(products: Callable, vector: np.ndarray, gap: float, size: float) -> bool:
    """Return whether products jump as much between vectors that grow by little, over more than a relative room.

    A type with few digits (bfloat16) makes stairs; of what only bends, second differences are a fraction of the room.
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


SAME_VALUE = 1e-6  # difference of equal values, relative to them and to their changes near the point (calibrated)


def other_value(flat: Flat) -> Finding | None:
    """Return that a backward pass belongs to another function: its own forward pass gives another value."""
    claim = flat.claim
    if claim.recorded is None:  # `nonlinearity` asked for products
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
    return Finding(
        "other value",
        f"the rule computes another value than the function (off by {gap / size:.2g} relative): its forward pass "
        "(fwd of custom_vjp, forward of a Function) differs from what is called without a gradient",
    )


LOST_NEXT_TO_LARGEST = 1e-6  # the part of the largest product below which small ones may be rounding (calibrated)
MOST_SUBSETS = 4  # inputs up to which all subsets of those that need a gradient are tried, of more each alone: a choice


def gradients_apart(flat: Flat, seed: int) -> Finding | None:
    """Return that a gradient is another one where some of the inputs need none: a path of `needs_input_grad`."""
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
            claim.pull(claim.at, cotangent)  # which raises, too, if the rule always does
            return Finding("partial gradients", f"{error}, where {others} needs no gradient (needs_input_grad)")
        if apart is None:
            return None
        whole = whole or claim.pull(claim.at, cotangent)
        for name in chosen:
            size = np.abs(whole[name]).max(initial=0.0) + np.abs(apart[name]).max(initial=0.0)
            size += LOST_NEXT_TO_LARGEST * max(np.abs(whole[n]).max(initial=0.0) for n in names)
            if not np.abs(apart[name] - whole[name]).max(initial=0.0) <= CHANGED * size:
                text = f"the gradient of {name} is another one where {others} needs none (needs_input_grad)"
                return Finding("partial gradients", text)
    return None


def coarseness(flat: Flat, claimed: np.ndarray, seed: int) -> tuple[float, Finding | None]:
    """Return by how much, relative, products differ from those with the Jacobian of unit cotangents."""
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
    if gap <= room_of_products(flat) or is_stair(flat.pull, vectors[row], gap * largest, largest):
        return 2 * gap, None  # the worst of three is not the worst of all
    if off.max() <= OWN_NOISE * scatter_nearby(flat, flat.pull, vectors, got).max():
        return 0.0, None
    text = (
        "the backward is not linear in grad_output: b(u) is not the product of u with the gradients that unit "
        f"cotangents give (off by {gap:.2g} relative)"
    )
    return gap, Finding("nonlinear", text)


def itemsizes(flat: Flat) -> list[int]:
    return [flat.out.real.dtype.itemsize, *(part.itemsize for part in flat.parts)]


def room_of_products(flat: Flat) -> float:
    room = {8: 1e-5, 4: 1e-3}.get(min(itemsizes(flat)), 0.1)
    return max(room, 1e-3) if (flat.claim.capabilities.claim_unit or 0) > 1e-10 else room


STALE = Finding(
    "unsteady",
    "backward uses values of another call: once the function was called elsewhere, the gradient changes (stale "
    "context); what backward needs is to be kept with each call, as save_for_backward does",
)
KEPT = Finding(
    "unsteady", "the gradient is the same at another point: the first (or the last) one is kept, or it is a constant"
)


def claim_at_other_point(flat: Flat) -> np.ndarray | None:
    """Return what a gradient gives at another point: one that keeps it, or lags a call behind, is wrong from then on.

    None if it takes several calls, or costly ones, or there is no gradient at that point. A backward pass is
    called there once as well.
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


def staleness(flat: Flat, seed: int) -> Finding | None:
    """Return that a call between forward and backward changes a gradient."""
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
    own = gap(claim.pull(claim.at, cotangent))  # of one that is different every time
    return STALE if gap(late) > 10 * own else None


REMAINDER_STEPS = 2.0 ** -np.arange(3, 19, 2)  # eight, each a quarter of the one before, in units of the scale of x
RATE_STEPS = 4  # the smallest steps that are not spoilt, from which the rate is taken: a choice
BEYOND_NOISE = 10.0  # times the noise of the values that a remainder is beyond doubt: a choice


def taylor_of(judgement: Judgement, direction: np.ndarray) -> Taylor:
    """Return the Taylor remainders along a direction (--taylor), and the rate at which those fall that are clear."""
    rows, flat = judgement.rows, judgement.flat
    line = judgement.sampler.line(direction, rows.weights)
    claimed = rows.along(line.direction)
    _, values = line.values(np.concatenate([REMAINDER_STEPS, -REMAINDER_STEPS]))
    up, down = np.split(values, 2)
    remainders = np.linalg.norm(up - line.base - REMAINDER_STEPS[:, None] * claimed, axis=1)
    even = up + down - 2 * line.base  # falls by 16 from step to step, but for noise
    measured = np.abs(even[1:] - even[:-1] / 16)[-3:].max(axis=0)
    noise = np.linalg.norm(np.maximum(line.rounding(values), measured / 2))
    own = ROUNDING * flat.claim_unit * np.linalg.norm(rows.size(line.direction, claimed))
    clear = np.isfinite(remainders) & (remainders > BEYOND_NOISE * noise + own * REMAINDER_STEPS)
    table: list[TaylorRow] = []
    before: tuple[float, float] | None = None
    for step, remainder, good in zip(REMAINDER_STEPS.tolist(), remainders.tolist(), clear.tolist(), strict=True):
        steeper = before is not None and good and (before[1] / remainder, before[0] / step)
        rate = float(np.log(steeper[0]) / np.log(steeper[1])) if steeper else None
        table.append(TaylorRow(step, remainder, rate, not good))
        before = (step, remainder) if good else None
    if clear.sum() < 2:
        return Taylor(tuple(table), None)
    last = np.flatnonzero(clear)[-RATE_STEPS:]
    return Taylor(tuple(table), float(np.polyfit(np.log(REMAINDER_STEPS[last]), np.log(remainders[last]), 1)[0]))
