"""A backward pass uses what was saved of its own call, whatever was called since."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...program.elsewhere.base import point_beside
from ...results.checks import Finding
from ..subjects.flatten import Flat
from ..subjects.subject import CheckError

ROOM = 1e-4
"""The change of a gradient, relative, from which on it is none of rounding."""
STALE = Finding(
    "unsteady",
    "backward uses values of another call: once the function was called elsewhere, the gradient changes (stale "
    "context); what backward needs is to be kept with each call, as save_for_backward does",
)


def staleness(flat: Flat, seed: int) -> Finding | None:
    """Return that a call between forward and backward changes a gradient; None where it does not.

    A budget of calls is not spent on it.
    """
    subject = flat.subject
    if not flat.size or not subject.has_pull or subject.most_calls is not None:
        return None
    drawn = np.random.default_rng(seed + 11).standard_normal(len(flat.f0))
    cotangent = drawn.astype(flat.out.real.dtype).view(flat.out_dtype).reshape(flat.out_shape)
    away = {**subject.at, **point_beside({name: subject.at[name] for name in subject.wrt})}
    try:
        late = subject.late_pull(subject.at, cotangent, away)
    except CheckError:  # the function is not defined there, or changes in place what backward needs
        return None
    if late is None:
        return None
    first = subject.pull(subject.at, cotangent)

    def gap(x: Mapping[str, np.ndarray]) -> float:
        return max(np.abs(x[name] - first[name]).max(initial=0.0) for name in subject.wrt)

    size = max(np.abs(first[name]).max(initial=0.0) for name in subject.wrt)
    if gap(late) <= ROOM * size:
        return None
    own = gap(subject.pull(subject.at, cotangent))  # of one that is different every time
    return STALE if gap(late) > 10 * own else None
