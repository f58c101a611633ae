"""Causes of a wrong step that weight the parts of a loss: its batches, its terms, or both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .step_evidence import (
    ROUND_NORMS,
    SMALL_WEIGHT,
    Named,
    StepEvidence,
    batch_names,
    limits_of,
    list_of_names,
    short_number,
    vector_text,
    weights_of,
)
from .step_factors import bare_factor, origin_of
from .step_fit import ColumnFit, vector_length

SAME_FACTOR = 1e-5
"""Relative difference between factors of batches that counts as rounding, as in `StepEvidence.near`."""
WHOLE = 1e-3
"""Largest relative distance of a weight from a whole number that counts as rounding."""
COARSEST_FACTOR = 0.01
"""The largest such difference that errors of the fit may explain: the resolution of bfloat16."""

SAME_WEIGHT = "the gradient of each batch has the same weight"


def equal_weights(e: StepEvidence) -> Named | None:
    """Explain batches that count the same although they have different sizes."""
    want = e.wanted
    if want is None and e.count > 1 and e.compared.numbers <= e.count:
        return equal_weights_of_few_numbers(e)
    if want is None or np.ptp(want.weights) <= 10 * want.errors.max() + 1e-6 * np.abs(want.weights).max():
        return None
    each, agrees = e.one(sum(e.batches, start=np.zeros_like(e.exact)))
    if not agrees:
        return None
    text = f"{SAME_WEIGHT} {each:.4g}, whatever its size; {declared_weights(want.weights)}"
    if limits_of(e) and any(e.near(vector_length(e.observed), limit) for limit in limits_of(e)):
        text += f"; and clipped to norm {vector_length(e.observed):.4g}"
    table = weights_of([each] * e.count, want.weights, batch_names(e.count))
    if e.step.ranks and len(set(e.step.ranks)) == e.count:
        text = text.replace("each batch", "the batch of each process", 1)
        return Named("uneven-ranks", text, table, each * sum(e.batches, start=np.zeros_like(e.exact)))
    return Named("equal-weights", text, table, each * sum(e.batches, start=np.zeros_like(e.exact)))


def declared_weights(weights: np.ndarray) -> str:
    return f"in the declared loss, the weights are {vector_text(weights)}"


def equal_weights_of_few_numbers(e: StepEvidence) -> Named | None:
    """Explain such batches if the gradient has too few numbers to determine the declared weights."""
    whole = sum(e.batches, start=np.zeros_like(e.exact))
    each, agrees = e.one(whole)
    if not agrees or not e.compared.determines(1):
        return None
    return Named("equal-weights", f"{SAME_WEIGHT} {each:.4g}, whatever its size", (), each * whole)


def missing_batches(e: StepEvidence) -> Named | None:
    """Explain a gradient in which batches are missing, with the weights of the others as declared up to a factor."""
    want = e.wanted
    if want is None:
        return None
    last, agrees = e.one(e.batches[-1])
    if agrees and last:
        weights = [0.0] * (e.count - 1) + [last]
        text = f"only the last of {e.count} batches contributes, with weight {last:.4g}"
        text += f"; {declared_weights(want.weights)}"
        table = weights_of(weights, want.weights, batch_names(e.count))
        return Named("last-batch-only", text, table, last * e.batches[-1])
    for k in range(e.count):
        rest = e.exact - want.weights[k] * e.batches[k]
        c, agrees = e.one(rest)
        if agrees and c and vector_length(rest) > vector_length(e.compared.tolerances):
            weights = [c * w for w in want.weights]
            weights[k] = 0.0
            text = f"batch {k + 1} of {e.count} does not contribute"
            if not e.near(c, 1):
                text += f"; the others have {short_number(c)} times their declared weights"
            table = weights_of(weights, want.weights, batch_names(e.count))
            return Named("batch-missing", text, table, c * rest)
    return None


def batch_weights(e: StepEvidence) -> Named | None:
    """Explain any other weights of the batches."""
    want = e.wanted
    if want is None or not e.compared.determines(e.count):
        return None
    fit = e.compared.fit(e.batches)
    if not fit.holds or fit.dependent:
        return None
    return batch_weights_text(e, fit, want.weights)._replace(sum=fit.sum)


def batch_weights_text(e: StepEvidence, fit: ColumnFit, declared: np.ndarray) -> Named:
    weights = fit.weights
    table = weights_of(weights, declared, batch_names(e.count))
    shown = f"weights {vector_text(weights)}; {declared_weights(declared)}"
    if (c := factor_of_batches(fit, declared)) is not None:
        return (origin_of(e, c) or bare_factor(c))._replace(weights=table)
    if named := clipped_each(e, weights):
        return Named("clipped-each-batch", f"{named}: {shown}", table)
    zero = [k for k in range(e.count) if abs(weights[k]) < max(SMALL_WEIGHT * np.abs(weights).max(), 4 * fit.errors[k])]
    if zero:
        names = list_of_names([str(k + 1) for k in zero])
        if zero == list(range(e.count - len(zero))):
            left = e.count - len(zero)
            last = f"last {left} of {e.count} batches contribute" if left > 1 else "last batch contributes"
            text = f"only the {last}: {shown}"
            return Named("last-batch-only", text, table)
        return Named("batch-missing", f"batch {names} of {e.count} does not contribute: {shown}", table)
    if np.ptp(weights) < 1e-3 * np.abs(weights).max() and np.ptp(declared) > 1e-3 * np.abs(declared).max():
        return Named("equal-weights", f"{SAME_WEIGHT}, whatever its size: {shown}", table)
    if named := groups(e, weights, declared):
        return Named("uneven-ranks", f"{named}: {shown}", table)
    return Named("batch-weights", f"the batches have other weights than declared: {shown}", table)


def factor_of_batches(fit: ColumnFit, declared: np.ndarray) -> float | None:
    """Return the factor of the declared weights that all batches share, if there is one other than 1.

    Gradients of batches that cancel round worse than their sum makes likely, so that no factor fits the sum itself.
    """
    if not declared.all():
        return None
    factors, errors = fit.weights / declared, 4 * fit.errors / np.maximum(np.abs(fit.weights), np.finfo(float).tiny)
    c = float(factors.mean())
    same = np.abs(factors - c) <= np.maximum(np.minimum(errors, COARSEST_FACTOR), SAME_FACTOR) * abs(c)
    return c if same.all() and abs(c - 1) > COARSEST_FACTOR else None


def clipped_each(e: StepEvidence, weights: np.ndarray) -> str:
    """Return words if clipping after each backward gives these weights."""
    counted = sum(1 for kind, _, _ in e.step.clips if kind == "norm")
    limits = limits_of(e) or [vector_length(e.observed), *ROUND_NORMS]
    assert e.wanted is not None
    for limit in limits:
        for share in (e.wanted.weights, np.ones(e.count), np.full(e.count, 1 / e.count)):
            for reset in (False, True):
                found = clipped_weights(e, share, limit, reset)
                if np.array_equal(found, share):
                    continue  # the limit is above all norms
                if np.allclose(found, weights, rtol=1e-3, atol=1e-3 * np.abs(weights).max()):
                    return f"each batch is clipped to norm {limit:g}"
    return f"clipped {counted} times in this step" if counted > 1 else ""


def clipped_weights(e: StepEvidence, share: np.ndarray, limit: float, alone: bool) -> np.ndarray:
    """Return the weights if the gradient is clipped after each batch. alone: the gradient of each batch by itself."""
    weights = np.zeros(e.count)
    for k in range(e.count):
        weights[k] = share[k]
        if alone:
            weights[k] *= min(1.0, limit / max(vector_length(share[k] * e.batches[k]), 1e-300))
            continue
        whole = sum((w * b for w, b in zip(weights, e.batches, strict=True)), start=np.zeros_like(e.exact))
        weights *= min(1.0, limit / max(vector_length(whole), 1e-300))
    return weights


def groups(e: StepEvidence, weights: np.ndarray, declared: np.ndarray) -> str:
    """Return words if the batches form groups of equal total weight, inside which they count as declared."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = weights / declared
    if e.step.ranks and len(set(e.step.ranks)) > 1:
        kinds = np.unique(e.step.ranks, return_inverse=True)[1]
    else:
        kinds = np.full(len(weights), -1)
        for k, x in enumerate(ratios):
            same = [j for j in range(k) if abs(ratios[j] - x) < 1e-3 * abs(x)]
            kinds[k] = kinds[same[0]] if same else kinds.max(initial=-1) + 1
    count = int(kinds.max()) + 1
    totals = [float(weights[kinds == kind].sum()) for kind in range(count)]
    inside = all(np.ptp(ratios[kinds == kind]) < 2e-3 * np.abs(ratios).max() for kind in range(count))
    if not 1 < count < len(weights) or not inside or np.ptp(totals) > 2e-3 * max(map(abs, totals)):
        return ""
    members = " and ".join("{" + ", ".join(str(k + 1) for k in np.flatnonzero(kinds == i)) + "}" for i in range(count))
    return f"{count} groups of batches have the same weight, whatever their size: batches {members}"


# terms


def explain_terms(e: StepEvidence) -> Named | None:
    """Explain terms of the loss that are missing, or count more than once.

    In a gradient of few numbers, other losses may happen to be sums of the terms. Their weights are whole numbers only
    if terms are missing or repeated.
    """
    if len(e.terms) < 2 or e.compared.numbers <= len(e.terms):
        return None
    names = list(e.terms)
    for name in names:
        if not e.compared.differing(e.exact - e.terms[name]):
            weights = [float(other != name) for other in names]
            table = weights_of(weights, [1.0] * len(names), names)
            return Named("term-missing", f"term '{name}' does not contribute", table, e.exact - e.terms[name])
    fit = e.compared.fit(list(e.terms.values()))
    if not fit.holds or fit.dependent or not (e.compared.determines(len(names)) or has_whole_weights(fit)):
        return None
    return terms_text(e, names, fit)


def has_whole_weights(fit: ColumnFit) -> bool:
    """Report whether all weights of a fit are whole numbers from 0 on, and known well enough to say so."""
    whole = np.round(fit.weights)
    tolerance = WHOLE * np.maximum(whole, 1)
    return bool((whole >= 0).all() and (np.maximum(np.abs(fit.weights - whole), 4 * fit.errors) <= tolerance).all())


def terms_text(e: StepEvidence, names: Sequence[str], fit: ColumnFit) -> Named:
    """Name the terms whose weights are not 1. A term is repeated if it counts once for each batch, else scaled."""
    table = weights_of(fit.weights, [1.0] * len(names), names)
    tolerance = np.maximum(4 * fit.errors, 1e-5)
    odd = [k for k in range(len(names)) if abs(fit.weights[k] - 1) > tolerance[k]] or [
        int(np.abs(fit.weights - 1).argmax())
    ]
    shown = "the terms have the weights " + ", ".join(f"{n} {w:.4g}" for n, w in zip(names, fit.weights, strict=True))
    missing = [names[k] for k in odd if abs(fit.weights[k]) <= tolerance[k]]
    if missing:
        text = f"term {list_of_names(missing)} does not contribute: {shown}; 1 is declared"
        return Named("term-missing", text, table, fit.sum)
    times = e.count
    for k in odd:
        if times > 1 and abs(fit.weights[k] - times) <= max(tolerance[k], WHOLE * times):
            text = f"term '{names[k]}' counts {times} times, once for each batch: {shown}; 1 is declared"
            return Named("term-repeated", text, table, fit.sum)
    return Named("term-scaled", f"{shown}; 1 is declared", table, fit.sum)


def detached_term(e: StepEvidence) -> Named | None:
    """Explain a term that contributes to the gradient of only some parameters.

    If nothing contributes to the gradient of the others, `explain_parameters` says so.
    """
    if len(e.terms) < 2:
        return None
    for name, term in e.terms.items():
        lost = parameters_without(e, term)
        if lost and e.compared.differing(e.exact - term):
            predicted = e.exact.copy()
            for k in lost:
                predicted[e.compared.blocks[k]] -= term[e.compared.blocks[k]]
            names = list_of_names([e.names[k] for k in lost])
            text = f"term '{name}' does not contribute to the gradient of {names}"
            return Named("term-detached", text, sum=predicted)
    return None


def parameters_without(e: StepEvidence, term: np.ndarray) -> list[int]:
    """Return the wrong blocks if each is right without a term, and the other terms contribute to one of them."""
    off = e.compared.norms(e.observed - e.exact) > e.compared.tolerances
    fits = e.compared.norms(e.observed - e.exact + term) <= 2 * e.compared.tolerances
    arrives = e.compared.norms(e.observed) > 0
    return np.flatnonzero(off).tolist() if fits[off].all() and arrives[off].any() else []


def terms_of_batches(e: StepEvidence) -> Named | None:
    """Explain weights of each term of each batch."""
    if len(e.terms) < 2 or e.count < 2 or not e.compared.determines(e.count * len(e.terms)):
        return None
    names = list(e.terms)
    columns = [part[name] for name in names for part in e.parts]
    fit, want = e.compared.fit(columns), e.compared.fit(columns, e.exact)
    if not fit.holds:
        return None
    shape = (len(names), e.count)
    found, declared = fit.weights.reshape(shape), want.weights.reshape(shape)
    labels = [f"{name}, batch {k + 1}" for name in names for k in range(e.count)]
    table = weights_of(fit.weights, want.weights, labels)
    texts, rules = [], []
    for name, mine, theirs in zip(names, found, declared, strict=True):
        if np.allclose(mine, theirs, rtol=1e-3, atol=1e-4 * np.abs(theirs).max()):
            continue
        shown = f"'{name}' with weights {vector_text(mine)}, declared {vector_text(theirs)}"
        texts.append(shown)
        equal = np.ptp(mine) < 1e-3 * np.abs(mine).max()
        rules.append("equal-weights" if equal and np.ptp(theirs) > 1e-3 * np.abs(theirs).max() else "batch-weights")
    if not texts:
        return None
    rule = "equal-weights" if "equal-weights" in rules else "batch-weights"
    lead = f"{SAME_WEIGHT}, whatever its size: " if rule == "equal-weights" else ""
    return Named(rule, f"{lead}terms have other weights than declared: {'; '.join(texts)}", table, fit.sum)
