"""Recognize a claimed derivative that is random: it is not wrong, but no single call shows whether it is right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..claims.claim import CallError, Claim, OutOfCallsError, callable_name
from ..claims.streams import Streams
from ..numeric.flat import real_view
from ..numeric.repeated import is_same, product_here
from ..numeric.sampler import TINY
from ..numeric.verdict import differ_by
from ..request import Request
from ..results.checks import CheckReport, Finding

RANDOM_CALLS = 8  # calls at one point that must all differ, without a trend: a choice
IS_RANDOM = {"claim": "is random"}
DIFFERS = "the claimed derivative is random: two calls at the same point differ by {:.2g} (relative)"
TAKEN = "{} takes random numbers ('{}'), so a single call does not show whether it is right"
HINT = "if it is a Monte-Carlo estimator, check its mean with --stochastic {} (in a declaration, with stochastic=)"


def find_random(claim: Claim, calls: tuple[np.ndarray, np.ndarray], allowed: float) -> tuple[Finding, str] | None:
    """Return why no single call of a claim shows whether it is right, and a hint; None if it is not random.

    The reason is the function if its values differ, too. Then the hint is "". calls: results at the same point, which
    differ; allowed: by how much calls may differ.
    """
    try:
        if not is_random_claim(claim):
            return None
        first, second = (real_view(claim.value(claim.at)).astype(float) for _ in range(2))
    except (CallError, OutOfCallsError):
        return None
    if not is_same(first, second, allowed):
        return Finding("non-deterministic", differ_by(relative(first, second))), ""
    by_hand = claim.functions[1:2]
    text, title = DIFFERS.format(relative(*calls)), callable_name(by_hand[0]) if by_hand else "NAME"
    return Finding("random", text), HINT.format(title)


def leave_random(
    claim: Claim, request: Request, report: Callable[..., CheckReport], function: Callable, name: str
) -> CheckReport:
    """Return the report on a claimed derivative that takes random numbers, in a parameter `name`."""
    title = callable_name(function)
    found = Finding("random", TAKEN.format(title, name))
    return report(IS_RANDOM, found.text, diagnosis=(found,), hint=HINT.format(title))


def is_random_claim(claim: Claim) -> bool:
    """Report whether calls at the same point, which differ, do so as random numbers do.

    If the same seed gives the same result, the difference comes from a stream. Otherwise, the results must all differ
    and go up and down: a value that is stored, added up or alternates does not do so.
    """
    with Streams(*claim.functions).kept() as streams:
        streams.seed(1)
        one = product_here(claim)
        streams.seed(1)
        if is_same(one, product_here(claim)):
            streams.seed(2)
            return not is_same(one, product_here(claim))
        return scatters(np.array([product_here(claim) for _ in range(RANDOM_CALLS)]))


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / max(np.abs([a, b]).max(), TINY)) if a.shape == b.shape else np.inf


def scatters(rows: np.ndarray) -> bool:
    """Report whether results of successive calls all differ, and neither rise nor fall."""
    change = rows[:, np.argmax(np.ptp(rows, axis=0))]
    steps = np.diff(change)
    return len(np.unique(change)) == len(change) and bool((steps > 0).any() and (steps < 0).any())
