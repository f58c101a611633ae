"""Check a Monte-Carlo estimator: is the mean of its samples the derivative of an expectation?

Read estimation (samples, until the verdict is clear) and sequential (the test) next, then expectation (the true
derivative) and estimator_report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..claims.claim import CallError, Claim
from ..claims.estimators import VALUE_SAMPLES, open_estimator
from ..request import Request
from ..results.checks import CheckReport, Finding
from .estimation import Estimation, NotFiniteError
from .estimator_report import report_on_estimator
from .sequential import half_width

StochasticNumbers = dict[str | None, np.ndarray]
LOCK_VALUE_UNITS, VALUE_SIGMAS = 1000.0, 6.0  # error of a value in a lock: rounding units, or standard errors: a choice


def mean_of(
    claim: Claim, request: Request, f: Callable, at: Mapping[str, Any]
) -> tuple[StochasticNumbers, StochasticNumbers]:
    """Return value (under None) and mean gradients (by input), and their errors at the level of the check.

    Raises CallError.
    """
    estimation = Estimation(claim, open_estimator(f, claim, at, is_loss=False), request)
    try:
        estimation.run()
    except NotFiniteError as error:
        raise CallError(str(error)) from error
    mean, flat = estimation.samples.mean, estimation.flat
    width = half_width(mean, estimation.share)
    numbers: StochasticNumbers = {None: flat.out}
    errors: StochasticNumbers = {None: np.full(flat.out.shape, value_error(claim))}
    for name, x, group in zip(claim.wrt, flat.arrays, estimation.groups, strict=True):
        numbers[name], errors[name] = mean.value[group].reshape(x.shape), width[group].reshape(x.shape)
    return numbers, errors


def value_error(claim: Claim) -> float:
    """Return the uncertainty of an objective's value: of its samples, or rounding."""
    value, objective = claim.value_here(), getattr(claim, "objective", None)
    if objective is None:
        return LOCK_VALUE_UNITS * float(np.finfo(value.dtype).eps) * float(np.abs(value).max())
    samples = objective.samples({name: claim.at[name] for name in claim.wrt}, 0, VALUE_SAMPLES)
    return VALUE_SIGMAS * float(samples.std()) / math.sqrt(len(samples))


def check_estimator(
    claim: Claim,
    request: Request,
    report: Callable[..., CheckReport],
    f: Callable,
    at: Mapping[str, Any],
    is_loss: bool = False,
) -> CheckReport:
    """Check whether the mean of an estimator's samples is the derivative of an objective. Raises CallError.

    f: the estimator; at: its arguments and those of the objective. is_loss: a framework computes gradients of f.
    """
    estimator = open_estimator(f, claim, at, is_loss)
    estimation = Estimation(claim, estimator, request)
    try:
        estimation.run()
    except NotFiniteError as error:
        return report({"elements": "wrong"}, str(error), diagnosis=(Finding(error.kind, str(error)),))
    return report_on_estimator(estimation, request, report)
