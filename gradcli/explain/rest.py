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
from ..numeric.sampler import TINY
from ..numeric.verdict import FAIL, OPEN, SMALL_EFFECT, UNDECIDED, Entries, state_by
from .block import BEYOND
from .evidence import OWN_CALLS, PER_SLOPE, claims_diagonal, is_elementwise

RESERVED_CALLS = 12 * PER_SLOPE  # calls kept for the explanation: three points for four inputs


def decide_rest(entries: Entries, probe: Probe) -> frozenset[int]:
    """Decide elements that are still open after a fail; return the inputs for which the function is elementwise."""
    flat, rows = entries.flat, entries.rows
    diagonal: set[int] = set()
    if flat.claim.budget.allowed is not None or not (entries.state == FAIL).any():
        return frozenset()
    with contextlib.suppress(OutOfCallsError):
        for k in range(len(flat.claim.wrt)):
            if claims_diagonal(flat, rows, entries.claimed, k) and decide_diagonal(entries, k):
                diagonal.add(k)
        for k in range(len(flat.claim.wrt)):
            state = entries.state[:, flat.columns(k)]
            if k not in diagonal and (state == OPEN).any() and not (state == FAIL).any():
                decide_input(entries, probe, k)
        decide_one_by_one(entries)
    return frozenset(diagonal)


def is_open(entries: Entries) -> np.ndarray:
    """Return where an entry is open: without a state, or undecided without a comparison of its own."""
    alone = np.isin(np.arange(entries.flat.size), list(entries.estimates))
    return (entries.state == OPEN) | ((entries.state == UNDECIDED) & ~alone)


def decide_diagonal(entries: Entries, k: int) -> bool:
    """Decide the elements of an input for which the function is elementwise; return whether it is."""
    columns = entries.flat.columns(k)
    value, error = entries.value[:, columns], entries.error[:, columns]
    off = ~np.eye(value.shape[1], dtype=bool)
    known = entries.rows.single and np.isfinite(error).all()
    if known:
        return bool((np.abs(value[off]) <= MARGIN * error[off]).all())
    found = is_elementwise(entries, k)
    if found is None:
        return False
    slopes, errors = found
    open_ = is_open(entries)
    if entries.rows.weights is None:
        entries.state[:, columns][off & open_[:, columns]] = state_by(bound="is tight")
        places = [(i, columns.start + i, 1.0) for i in range(len(slopes))]
    else:
        weights = entries.rows.weights
        places = [(j, columns.start + i, w) for (j, i), w in np.ndenumerate(weights)]
    for j, column, weight in places:
        i = column - columns.start
        if np.isfinite(errors[i]):
            take_estimate(entries, j, column, weight * slopes[i], abs(weight) * errors[i], open_[j, column])
    return True


def take_estimate(entries: Entries, j: int, column: int, value: float, error: float, undecided: bool) -> None:
    """Note an estimate of an entry if it has none, and decide an open entry if the estimate is accurate enough."""
    if np.isnan(entries.value[j, column]):
        entries.value[j, column], entries.error[j, column] = value, error
    if not undecided:
        return
    word = what_it_says(entries, j, column, value, error)
    if word:
        entries.state[j, column] = state_by(values=word)
    if word == "differs slightly":
        relative = abs(float(entries.claimed[j, column]) / value - 1)
        entries.slight[column] = max(entries.slight.get(column, 0.0), relative)


def what_it_says(entries: Entries, j: int, column: int, value: float, error: float) -> str:
    """Return what an estimate says of a claimed entry: a word of the table in decide.py, "" if nothing certain.

    It contradicts only if a second test found an entry wrong: a fit of few points can mistake steps for a slope.
    """
    claimed, tolerance = float(entries.claimed[j, column]), float(entries.tolerance((j, column)))
    gap = abs(claimed - value)
    if gap <= tolerance:
        small = tolerance * float(entries.flat.scales[column]) <= SMALL_EFFECT * float(entries.changes[j]) + TINY
        return "agrees" if tolerance <= COARSE * abs(claimed) or (claimed == 0 and small) else ""
    if gap < SLIGHT * abs(value) and not entries.strict:
        return "differs slightly"
    return "contradicts" if entries.proven and not gap <= BEYOND * MARGIN * error + tolerance else ""


def decide_input(entries: Entries, probe: Probe, k: int) -> None:
    """Compare all elements of an input along a direction of its own."""
    group = np.zeros(entries.flat.size, bool)
    group[entries.flat.columns(k)] = True
    probed = probe.directions.compare(probe.directions.draw("relative", group), "relative")
    if probed.wrong.any():
        probe.find_wrong(probed)
    else:
        probe.directions.bound_by(probed)
        probe.directions.settle()


def estimate_rest(entries: Entries) -> None:
    """Estimate elements without an estimate by a fit of few points each, for a report that shows all of them."""
    flat = entries.flat
    columns = np.flatnonzero(np.isnan(entries.value).any(axis=0) & ~flat.fixed)
    for count, i in enumerate(columns.tolist()):
        flat.claim.progress.report_progress("element", count, len(columns))
        estimate_element(entries, i)


def estimate_element(entries: Entries, i: int) -> None:
    """Note a quick estimate of element i where there is none, and decide its open entries by it."""
    flat, rows = entries.flat, entries.rows
    found = fit(entries.sampler.element(i, rows.weights), FIRST, QUICK)
    if found is None:
        return
    value, error = found.value / flat.scales[i], found.error / flat.scales[i]
    open_ = is_open(entries)[:, i]
    for j in np.flatnonzero(np.isfinite(error)).tolist():
        take_estimate(entries, j, i, float(value[j]), float(error[j]), open_[j])


def decide_one_by_one(entries: Entries) -> None:
    """Estimate open elements one by one, if the calls of a failed check suffice for all of them."""
    flat, rows = entries.flat, entries.rows
    columns = np.flatnonzero(is_open(entries).any(axis=0) & ~flat.fixed)
    left = FAIL_CALLS - flat.claim.budget.made - RESERVED_CALLS
    if len(flat.f0) > 1:
        left = max(left, OWN_CALLS)
    if not rows.known or flat.claim.capabilities.costly or len(columns) * QUICK > left:
        return
    for i in columns.tolist():
        estimate_element(entries, i)
