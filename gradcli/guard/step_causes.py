"""From an observed gradient of a training step to a mistake in words: hypotheses, each a sum that least squares tries.

`explain_whole` tries them in order, simple ones first; each must match the whole gradient within rounding. The causes
here add something to the gradient, or take it at other parameters; step_factors and step_weights have the others.
"""

from __future__ import annotations

import math

import numpy as np

from .step_evidence import Named, StepEvidence, short_number
from .step_factors import clipped_values, explain_parameters, factor, not_finite, nothing_arrives
from .step_fit import join_vectors
from .step_weights import batch_weights, detached_term, equal_weights, explain_terms, missing_batches, terms_of_batches

CLOSE_MISFIT = 3.0
"""A mean square misfit in units of the rounding that leaves no room for another cause."""
NUMBERS_OF_A_SHARE = 3
"""A share of fewer parameters than that is not determined, as in `GradientComparison.determines`."""


def explain_whole(evidence: StepEvidence) -> Named | None:
    """Return the cause that explains the whole observed gradient, or None.

    The first one within the rounding itself is taken, else the one that fits best within MARGIN times the rounding.
    """
    best, least = None, math.inf
    for hypothesis in HYPOTHESES:
        found = hypothesis(evidence)
        if found is None:
            continue
        misfit = 0.0 if found.sum is None else evidence.compared.misfit(found.sum)
        if misfit <= CLOSE_MISFIT:
            return found
        if misfit < least / 2:
            best, least = found, misfit
    return best


def gradient_kept(e: StepEvidence) -> Named | None:
    """Explain a part of the gradient of the step before."""
    if e.step.before is None:
        return None
    earlier = join_vectors(e.step.before[0], e.names)
    if not earlier.any():
        return None
    kept = ".grad still contains {}the gradient of earlier steps"
    if not e.compared.differing(e.exact + earlier):  # without a free weight, a single number is enough
        return Named("gradient-kept", f"{kept.format('')}: zero_grad() is probably missing", (), e.exact + earlier)
    if not e.compared.determines(2):
        return None
    choices = [[e.exact], e.batches] if e.wanted is not None else [[e.exact]]
    for columns in choices:
        if len(columns) > 1 and not e.compared.determines(len(columns) + 1):
            continue
        fit = e.compared.fit([*columns, earlier])
        share = fit.weights[-1]
        if fit.holds and abs(share) > 4 * fit.errors[-1] and abs(share) > 1e-7:
            text = kept.format("" if e.near(share, 1) else f"{share:.4g} times ")
            if len(columns) == 1 and not e.near(fit.weights[0], 1):
                text += f", and {short_number(fit.weights[0])} times that of the declared loss"
            return Named("gradient-kept", text, (), fit.sum)
    return None


def weight_decay(e: StepEvidence) -> Named | None:
    """Explain a multiple of the parameters, or of their signs, in the gradient: too much of it, or too little."""
    theta = join_vectors(e.step.parameters, e.names)
    where = np.zeros(len(theta), bool)
    for k in e.compared.wrong:
        where[e.compared.blocks[k]] = True
    for column, words in ((theta, "the parameters"), (np.sign(theta), "the signs of the parameters")):
        for added in (column, np.where(where, column, 0.0)):
            found = share_of_parameters(e, added)
            if found is not None:
                rule, text = words_for_decay(e, *found, words)
                return Named(rule, text, (), found[0] * e.exact + found[1] * added)
    return None


def share_of_parameters(e: StepEvidence, column: np.ndarray) -> tuple[float, float] | None:
    """Return the factors of the declared gradient and of a column whose sum is the observed one, if they exist.

    The first factor is 1 if that fits: then fewer numbers determine the other one.
    """
    size = column @ column
    if np.count_nonzero(column) < NUMBERS_OF_A_SHARE:
        return None
    share = float(column @ (e.observed - e.exact) / size)
    if share and e.compared.determines(1) and not e.compared.differing(e.exact + share * column):
        return 1.0, share
    if not e.compared.determines(2):
        return None
    fit = e.compared.fit([e.exact, column])
    own, share = map(float, fit.weights)
    return (own, share) if fit.holds and abs(share) > 4 * fit.errors[1] else None


def words_for_decay(e: StepEvidence, own: float, share: float, words: str) -> tuple[str, str]:
    """Return the finding and its text for `own` times the declared gradient plus `share` times the parameters."""
    alone = e.near(own, 1)
    lead = "the declared gradient" if alone else f"{short_number(own)} times it"
    text = f"{lead} {'plus' if share > 0 else 'minus'} {short_number(abs(share))} times {words}"
    if share * own < 0:
        less = "is missing or smaller than declared" if alone else "counts less than declared, next to the rest"
        return "penalty-missing", f"{text}: a penalty on the parameters {less}"
    more = "weight decay is in the gradient" if alone else "weight decay, or a penalty that counts more than the rest"
    return "weight-decay", f"{text}: {more}"


def stale_weights(e: StepEvidence) -> Named | None:
    """Explain a gradient at other parameters: those at the call of the model, or at the step before."""
    choices = []
    if e.step.has_moved:
        choices.append(("call", "the parameters have changed since the model was called"))
    if e.step.before is not None:
        choices.append(("before", "the gradient is that at the parameters of the step before"))
    for at, text in choices:
        stale = join_vectors(e.step.declared(at=at).total, e.names)
        size = stale @ stale
        c = float(stale @ e.observed / size) if size else 0.0
        if e.single and not e.near(c, 1):
            continue
        if c and not e.compared.differing(c * stale) and e.compared.differing(c * e.exact):
            return Named("stale-weights", text if e.near(c, 1) else f"{text}, times {short_number(c)}", (), c * stale)
    return None


def stale_casts(e: StepEvidence) -> Named | None:
    """Explain a gradient with the weights that autocast has kept from the first step."""
    found = e.step.declared_with_stale_casts()
    if found is None:
        return None
    stale = join_vectors(found.total, e.names)
    if not e.compared.differing(stale):
        text = "the step is taken inside autocast, which still uses its copies of the weights at the first step"
        return Named("stale-weights", text, (), stale)
    return None


HYPOTHESES = (
    not_finite,
    nothing_arrives,
    factor,
    clipped_values,
    detached_term,  # before explain_parameters: some factor fits each parameter of one number
    explain_parameters,
    equal_weights,
    missing_batches,
    explain_terms,
    gradient_kept,
    weight_decay,
    stale_weights,
    stale_casts,
    batch_weights,
    terms_of_batches,
)
