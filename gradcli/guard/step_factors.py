"""Causes of a wrong step that scale gradients: all of them by one factor, or those of some parameters."""

from __future__ import annotations

import math

import numpy as np

from .step_evidence import (
    MOST_NAMED,
    ROUND_NORMS,
    SMALL_WEIGHT,
    Named,
    StepEvidence,
    limits_of,
    list_of_names,
    short_number,
)
from .step_fit import clipped_norms, vector_length


def not_finite(e: StepEvidence) -> Named | None:
    bad = [name for name, block in zip(e.names, e.compared.blocks, strict=True) if not finite(e.observed[block])]
    if not bad:
        return None
    return Named("gradient-not-finite", f"the gradient of {list_of_names(bad)} is nan or infinite")


def finite(x: np.ndarray) -> bool:
    return bool(np.isfinite(x).all())


def nothing_arrives(e: StepEvidence) -> Named | None:
    if e.observed.any():
        return None
    none = "has a gradient" if len(e.step.unused) == len(e.names) else "has a gradient other than zero"
    return Named("parameter-without-gradient", f"no parameter {none}")


def factor(e: StepEvidence) -> Named | None:
    """Explain a multiple of the declared gradient."""
    c, agrees = e.one(e.exact)
    if not agrees or not c:
        return None
    found = origin_of(e, c)
    if found is None and e.single:
        return None
    return (found or bare_factor(c))._replace(sum=c * e.exact)


def origin_of(e: StepEvidence, c: float) -> Named | None:
    """Say where a factor comes from, if it has one of the values that a known mistake gives it."""
    for meaning in (clipping, loss_scale, accumulation, counted_before_shift, power_of_two, summed):
        found = meaning(e, c)
        if found is not None:
            return found
    return Named("step-factor", "the gradient has the opposite sign") if e.near(c, -1) else None


def bare_factor(c: float) -> Named:
    return Named("step-factor", f"the gradient is {short_number(c)} times the declared one")


def clipping(e: StepEvidence, c: float) -> Named | None:
    size, whole, scale = vector_length(e.observed), vector_length(e.exact), e.step.loss_scale
    for limit in limits_of(e):
        if scale and scale != 1 and e.near(size * scale, limit):
            what = f"clipped to norm {limit:g} before the loss scale {scale:g} was divided out"
            text = f"{what}: the norm is {short_number(size)}"
            return Named("clipped-before-unscaling", f"{text}, that of the declared loss {short_number(whole)}")
    for limit in [*limits_of(e), *ROUND_NORMS]:
        if 0 < c < 1 and any(e.near(size, clipped) for clipped in clipped_norms(whole, limit)):
            return Named(
                "clipped", f"clipped to norm {limit:g}: the norm of the declared gradient is {short_number(whole)}"
            )
    return None


def loss_scale(e: StepEvidence, c: float) -> Named | None:
    scale = e.step.loss_scale
    if not scale or scale == 1:
        return None
    if e.near(c, scale):
        return Named("loss-scale-left", f"{short_number(c)} times too large: the loss scale was not divided out")
    if e.near(c * scale, 1):
        return Named("loss-scale-left", f"{short_number(1 / c)} times too small: the loss scale was divided out twice")
    return None


def accumulation(e: StepEvidence, c: float) -> Named | None:
    """Explain a factor by the number of batches, of processes, or of both."""
    ranks = len(set(e.step.ranks)) if e.step.ranks else 1
    each = e.count // ranks
    if ranks > 1 and e.near(c, 1 / ranks):
        text = f"{ranks} times too small: averaged over the {ranks} processes twice"
        return Named("averaged-twice", text)
    if ranks > 1 and e.near(c, ranks):
        text = f"{ranks} times too large: the sum over {ranks} processes was not divided by {ranks}"
        return Named("ranks-not-averaged", text)
    before = next((n for n in e.step.windows_before if 0 < each < n and e.near(c, each / n)), 0)
    if before:
        has = "this step has 1 batch" if each == 1 else f"this step has {each} batches"
        return Named("incomplete-window", f"{short_number(c)} times the declared one: divided by {before}, but {has}")
    for count, words in ((each, f"{each} batches"), (e.count, f"{e.count} batches")):
        if count > 1 and e.near(c, count):
            return Named("not-divided", f"{count} times too large: the sum over {words} was not divided by {count}")
        if count > 1 and e.near(c, 1 / count):
            return Named("divided-twice", f"{count} times too small: divided by the number of batches twice")
    return None


def counted_before_shift(e: StepEvidence, c: float) -> Named | None:
    """Explain a factor by counts of elements: all labels, those that count, and those left after a shift by one."""
    counts = dict(e.step.counts)
    full, shifted = counts.get("labels"), counts.get("shifted labels")
    if full and shifted and full != shifted and e.near(c, shifted / full):
        ratio = f"{short_number(c)} times the declared one, which is {shifted:g}/{full:g}"
        text = f"{ratio}: labels are counted before the shift"
        return Named("counted-before-shift", text)
    for (name, a), (other, b) in ((x, y) for x in e.step.counts for y in e.step.counts if x[1] != y[1]):
        if b and e.near(c, a / b):
            text = f"{short_number(c)} times the declared one, which is {a:g}/{b:g}: divided by the number of {other}"
            return Named("counted-otherwise", f"{text} instead of {name}")
    return None


def power_of_two(e: StepEvidence, c: float) -> Named | None:
    power = round(math.log2(abs(c)))
    if power < 7 or not e.near(c, 2.0**power):
        return None
    return Named("loss-scale-left", f"2^{power} times too large: a loss scale was not divided out")


def summed(e: StepEvidence, c: float) -> Named | None:
    for name, n in e.step.counts:
        if n > 1 and e.near(c, n):
            return Named(
                "summed", f"{short_number(c)} times too large: the sum over {n:g} {name} was not divided by {n:g}"
            )
        if n > 1 and e.near(c, 1 / n):
            text = f"{n:g} times too small: divided by the number of {name} twice"
            if e.count == 1:  # a window of one batch may be divided by the size of a whole one
                return Named("step-factor", f"{text}, or by a number of batches although this step has 1 batch")
            return Named("summed", text)
    return None


def clipped_values(e: StepEvidence) -> Named | None:
    """Explain a gradient whose elements are limited to an interval."""
    largest = float(np.abs(e.observed).max(initial=0.0))
    if largest >= float(np.abs(e.exact).max(initial=0.0)) * (1 - 1e-6):
        return None
    if e.single and not any(e.near(largest, limit) for limit in ROUND_NORMS):
        return None
    if e.compared.differing(np.clip(e.exact, -largest, largest)):
        return None
    return Named("clipped", f"each element is limited to ±{short_number(largest)}")


# parameters


def explain_parameters(e: StepEvidence) -> Named | None:
    """Explain parameters that get no gradient, or another factor than the rest."""
    factors, fits = e.compared.factors()
    known = np.flatnonzero(np.isfinite(factors)).tolist()
    sizes = np.array(e.compared.sizes)
    if not fits.all() or len(known) < 2:
        return None
    common = most_common(factors[known], sizes[known], e)
    if common is None:
        return None
    odd = [k for k in known if not alike(factors[k], common, e, k)]
    single = all(sizes[k] == 1 and factors[k] for k in odd)  # some factor fits each single number
    if not odd or (single and (len(odd) > 1 or not is_short(factors[odd[0]]))):
        return None
    predicted = np.concatenate(
        [(factors[k] if k in odd else common) * e.exact[b] for k, b in enumerate(e.compared.blocks)]
    )
    found = parameters_text(e, tuple(e.names[k] for k in odd), factors[odd], common)
    return None if found is None else found._replace(sum=predicted)


def is_short(x: float) -> bool:
    """Report whether a factor has two digits, as people write it."""
    return bool(abs(x - float(f"{x:.2g}")) <= SMALL_WEIGHT * abs(x))


def parameters_text(e: StepEvidence, names: tuple[str, ...], values: np.ndarray, common: float) -> Named | None:
    rest = "the other parameters are right"
    if not e.near(common, 1):
        rest = f"the gradients of the other parameters are {short_number(common)} times the declared ones"
    if not np.abs(values).max() > SMALL_WEIGHT:
        missing = set(e.step.unused)
        word = "no gradient" if all(name in missing for name in names) else "a gradient of zero"
        return Named("parameter-without-gradient", f"{list_of_names(names)}: {word}; {rest}")
    text = f"{list_of_names(names)}: {short_number(values[0])} times the declared gradient; {rest}"
    if np.ptp(values) > 1e-3 * np.abs(values).max():
        factors = ", ".join(map(short_number, values[:MOST_NAMED]))
        text = f"{list_of_names(names)}: {factors} times the declared gradients; {rest}"
        if len(set(np.round(values, 3))) > 2:
            return None
    return Named("parameter-scaled", text)


def alike(x: float, common: float, e: StepEvidence, k: int) -> bool:
    own = e.compared.tolerances[k] / max(vector_length(e.exact[e.compared.blocks[k]]), np.finfo(float).tiny)
    return abs(x - common) <= max(own * max(abs(x), abs(common)), 1e-5 * abs(common))


def most_common(factors: np.ndarray, sizes: np.ndarray, e: StepEvidence) -> float | None:
    """Return the factor that most of the parameters share: 1 if several have it, else the commonest one."""
    if any(e.near(x, 1) for x in factors):
        return 1.0
    nonzero = factors[np.abs(factors) > SMALL_WEIGHT]
    if not len(nonzero):
        return None
    counts = [sum(abs(x - y) <= 1e-3 * abs(x) for y in nonzero) for x in nonzero]
    return float(nonzero[int(np.argmax(counts))]) if max(counts) > len(nonzero) / 2 else None
