"""Decide the elements that a check leaves open, so that a fail does not hide the rest and a report can show them all.

An elementwise function needs two directions for all of its elements, an input without a wrong element one direction.
Other elements are estimated one by one: all of them for a report on each element, else while the calls of a failed
check last.
"""

from __future__ import annotations

import contextlib

import numpy as np

from ..claims.claim import OutOfCallsError
from ..numeric.chain import FIRST
from ..numeric.compare import COARSE, MARGIN, SLIGHT
from ..numeric.fit import QUICK, fit
from ..numeric.locate import FAIL_CALLS
from ..numeric.probe import Probe
from ..numeric.verdict import FAIL, OPEN, SMALL_EFFECT, UNDECIDED, Judgement, state_by
from .block import BEYOND
from .evidence import OWN_CALLS, PER_SLOPE, claims_diagonal, is_elementwise

RESERVED_CALLS = 12 * PER_SLOPE  # calls kept for the explanation: three points for four inputs


def decide_rest(judgement: Judgement, probe: Probe) -> frozenset[int]:
    """Decide elements that are still open after a fail; return the inputs for which the function is elementwise."""
    flat, rows = judgement.flat, judgement.rows
    diagonal: set[int] = set()
    if flat.claim.budget.allowed is not None or not (judgement.state == FAIL).any():
        return frozenset()
    with contextlib.suppress(OutOfCallsError):
        for k in range(len(flat.claim.wrt)):
            if claims_diagonal(flat, rows, judgement.claimed, k) and decide_diagonal(judgement, k):
                diagonal.add(k)
        for k in range(len(flat.claim.wrt)):
            state = judgement.state[:, flat.columns(k)]
            if k not in diagonal and (state == OPEN).any() and not (state == FAIL).any():
                decide_input(judgement, probe, k)
        decide_one_by_one(judgement)
    return frozenset(diagonal)


def is_open(judgement: Judgement) -> np.ndarray:
    """Return where an entry is open: without a state, or undecided without a comparison of its own."""
    alone = np.isin(np.arange(judgement.flat.size), list(judgement.estimates))
    return (judgement.state == OPEN) | ((judgement.state == UNDECIDED) & ~alone)


def decide_diagonal(judgement: Judgement, k: int) -> bool:
    """Decide the elements of an input for which the function is elementwise; return whether it is."""
    columns = judgement.flat.columns(k)
    value, error = judgement.value[:, columns], judgement.error[:, columns]
    off = ~np.eye(value.shape[1], dtype=bool)
    known = judgement.rows.single and np.isfinite(error).all()
    if known:
        return bool((np.abs(value[off]) <= MARGIN * error[off]).all())
    found = is_elementwise(judgement, k)
    if found is None:
        return False
    slopes, errors = found
    open_ = is_open(judgement)
    if judgement.rows.weights is None:
        judgement.state[:, columns][off & open_[:, columns]] = state_by(bound="is tight")
        places = [(i, columns.start + i, 1.0) for i in range(len(slopes))]
    else:
        weights = judgement.rows.weights
        places = [(j, columns.start + i, w) for (j, i), w in np.ndenumerate(weights)]
    for j, column, weight in places:
        if np.isfinite(errors[column - columns.start]) and open_[j, column]:
            i = column - columns.start
            take_estimate(judgement, j, column, weight * slopes[i], abs(weight) * errors[i])
    return True


def take_estimate(judgement: Judgement, j: int, column: int, value: float, error: float) -> None:
    """Note an estimate of an open entry if it has none, and decide the entry if the estimate is accurate enough."""
    if np.isnan(judgement.value[j, column]):
        judgement.value[j, column], judgement.error[j, column] = value, error
    word = what_it_says(judgement, j, column, value, error)
    if word:
        judgement.state[j, column] = state_by(values=word)
    if word == "differs slightly":
        relative = abs(float(judgement.claimed[j, column]) / value - 1)
        judgement.slight[column] = max(judgement.slight.get(column, 0.0), relative)


def what_it_says(judgement: Judgement, j: int, column: int, value: float, error: float) -> str:
    """Return what an estimate says of a claimed entry: a word of the table in decide.py, "" if nothing certain.

    It contradicts only if a second test found an entry wrong: a fit of few points can mistake steps for a slope.
    """
    claimed, tolerance = float(judgement.claimed[j, column]), float(judgement.tolerance((j, column)))
    gap = abs(claimed - value)
    if gap <= tolerance:
        small = tolerance * float(judgement.flat.scales[column]) <= SMALL_EFFECT * float(judgement.changes[j])
        return "agrees" if tolerance <= COARSE * abs(claimed) or (claimed == 0 and small) else ""
    if gap < SLIGHT * abs(value) and not judgement.strict:
        return "differs slightly"
    return "contradicts" if judgement.proven and not gap <= BEYOND * MARGIN * error + tolerance else ""


def decide_input(judgement: Judgement, probe: Probe, k: int) -> None:
    """Compare all elements of an input along a direction of its own."""
    group = np.zeros(judgement.flat.size, bool)
    group[judgement.flat.columns(k)] = True
    probed = probe.directions.compare(probe.directions.draw("relative", group), "relative")
    if probed.wrong.any():
        probe.find_wrong(probed)
    else:
        probe.directions.bound_by(probed)
        probe.directions.settle()


def estimate_rest(judgement: Judgement) -> None:
    """Estimate elements without an estimate by a fit of few points each, for a report that shows all of them."""
    flat = judgement.flat
    columns = np.flatnonzero(np.isnan(judgement.value).any(axis=0) & ~flat.fixed)
    for count, i in enumerate(columns.tolist()):
        flat.claim.progress.report_progress("element", count, len(columns))
        estimate_element(judgement, i)


def estimate_element(judgement: Judgement, i: int) -> None:
    """Note a quick estimate of element i where there is none, and decide its open entries by it."""
    flat, rows = judgement.flat, judgement.rows
    found = fit(judgement.sampler.element(i, rows.weights), FIRST, QUICK)
    if found is None:
        return
    value, error = found.value / flat.scales[i], found.error / flat.scales[i]
    open_ = is_open(judgement)[:, i]
    for j in np.flatnonzero(np.isfinite(error)).tolist():
        if open_[j]:
            take_estimate(judgement, j, i, float(value[j]), float(error[j]))
        elif np.isnan(judgement.value[j, i]):
            judgement.value[j, i], judgement.error[j, i] = value[j], error[j]


def decide_one_by_one(judgement: Judgement) -> None:
    """Estimate open elements one by one, if the calls of a failed check suffice for all of them."""
    flat, rows = judgement.flat, judgement.rows
    columns = np.flatnonzero(is_open(judgement).any(axis=0) & ~flat.fixed)
    left = FAIL_CALLS - flat.claim.budget.made - RESERVED_CALLS
    if len(flat.f0) > 1:
        left = max(left, OWN_CALLS)
    if not rows.known or flat.claim.capabilities.costly or len(columns) * QUICK > left:
        return
    for i in columns.tolist():
        estimate_element(judgement, i)
