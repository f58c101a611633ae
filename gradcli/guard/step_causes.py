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
    if not earlier.any() or not e.compared.determines(2):
        return None
    choices = [[e.exact], e.batches] if e.wanted is not None else [[e.exact]]
    for columns in choices:
        if len(columns) > 1 and not e.compared.determines(len(columns) + 1):
            continue
        fit = e.compared.fit([*columns, earlier])
        share = fit.weights[-1]
        if fit.holds and abs(share) > 4 * fit.errors[-1] and abs(share) > 1e-7:
            times = "" if e.near(share, 1) else f"{share:.4g} times "
            text = f"the gradient still contains {times}that of the step before"
            if len(columns) == 1 and not e.near(fit.weights[0], 1):
                text += f", and {short_number(fit.weights[0])} times the declared one"
            return Named("gradient-kept", text, (), fit.sum)
    return None


def weight_decay(e: StepEvidence) -> Named | None:
    """Explain a multiple of the parameters, or of their signs, in the gradient."""
    theta = join_vectors(e.step.parameters, e.names)
    where = np.zeros(len(theta), bool)
    for k in e.compared.wrong:
        where[e.compared.blocks[k]] = True
    for column, words in ((theta, "the parameters"), (np.sign(theta), "the signs of the parameters")):
        if not column.any() or not e.compared.determines(2):
            continue
        for added in (column, np.where(where, column, 0.0)):
            fit = e.compared.fit([e.exact, added])
            if fit.holds and abs(fit.weights[1]) > 4 * fit.errors[1]:
                own = (
                    "the declared gradient" if e.near(fit.weights[0], 1) else f"{short_number(fit.weights[0])} times it"
                )
                text = f"{own} plus {short_number(fit.weights[1])} times {words}: weight decay is in the gradient"
                return Named("weight-decay", text, (), fit.sum)
    return None


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
    explain_parameters,
    equal_weights,
    missing_batches,
    explain_terms,
    gradient_kept,
    weight_decay,
    stale_weights,
    stale_casts,
    detached_term,
    batch_weights,
    terms_of_batches,
)
