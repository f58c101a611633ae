"""Gradients that replace the derivative on purpose: straight through roundings, and past detached values."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..claims.adapters.framework import FrameworkCall
from ..claims.claim import CallError, Claim, OutOfCallsError
from ..numeric.compare import MARGIN
from ..numeric.flat import Flat
from ..numeric.rows import ClaimedRows
from ..results.checks import CheckReport, Finding
from .block import RELATIVE
from .evidence import EvidencePlace, random_direction
from .points import nearby

AGREEMENT = 1e-3  # relative error up to which an agreement counts: a choice
SURROGATE_DIRECTIONS = 2  # for each input and point: a choice
MOVED_BOTH_WAYS = (1.0, -1.0)  # where other points are
CUT_OFF = "the function uses detach or stop_gradient; if the gradient differs on purpose, pass --reference NAME"
MEANT = "if this is intended, --reference NAME compares the gradient with that of another function"


def with_surrogate(report: CheckReport, opens: Callable[[], Claim]) -> CheckReport:
    """Name the surrogate whose gradient a framework computes, if there is one, in place of other findings."""
    found = None
    with contextlib.suppress(CallError):
        claim = opens()
        found = find_surrogate(claim) if isinstance(claim, FrameworkCall) else None
    if found is None:
        return report
    message = report.message if report.verdict == "fail" else found.text
    return replace(report, message=message, diagnosis=(found,), hint=MEANT)


def find_surrogate(claim: FrameworkCall) -> Finding | None:
    """Return which surrogate's gradient a claim is, at the checked point and at others, if it is not the function's."""
    for way, here in enumerate(claim.surrogates_at(claim.at)):
        if here is None or not has_gradient(here, claim) or has_gradient(claim, claim):
            continue
        points = [nearby(claim.at, claim.wrt, sign) for sign in MOVED_BOTH_WAYS]
        others = [next(itertools.islice(claim.surrogates_at(at), way, None)) for at in points]
        pairs = zip(others, points, strict=True)
        if all(other is not None and has_gradient(other, claim.moved(at)) for other, at in pairs):
            return describe(here.names)
    return None


def describe(names: tuple[str, ...]) -> Finding:
    """Describe a surrogate. names: of the functions that it replaces."""
    steps = " and ".join(name for name in names if name != "detach")
    if not steps:
        return Finding("surrogate", "the gradient is that of the function with the results of detach as constants")
    text = (
        f"straight-through: the gradient is that of the function with {steps} replaced by the identity plus a constant"
    )
    return Finding("straight-through", f"{text}, and the results of detach as constants" if "detach" in names else text)


def has_gradient(function: Claim, claim: Claim) -> bool:
    """Report whether a claim is the derivative of a function at the claim's point, as far as values show."""
    try:
        rows = ClaimedRows(Flat(claim), np.random.default_rng(0))
        place = EvidencePlace(Flat(function), rows, rows.claimed)
        return all(follows(place, k, seed) for k in range(len(claim.wrt)) for seed in range(SURROGATE_DIRECTIONS))
    except (CallError, OutOfCallsError):
        return False


def follows(place: EvidencePlace, k: int, seed: int) -> bool:
    """Report whether the claim agrees with the derivative along a random direction of an input, in enough digits."""
    direction = random_direction(place.flat, k, seed)
    slope, part = place.slope(k, direction), place.claimed[:, place.flat.columns(k)]
    size = np.sqrt(((part * direction) ** 2).sum(axis=1))
    tolerance = MARGIN * slope.error + RELATIVE * size
    return bool(
        (np.abs(part @ direction - slope.value) <= tolerance).all() and (tolerance <= AGREEMENT * size.max()).all()
    )
