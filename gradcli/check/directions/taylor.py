"""The rate at which the Taylor remainder |f(x + h d) - f(x) - h g.d| falls: 2 for a right gradient, 1 for another."""

from __future__ import annotations

import numpy as np

from ...results.checks import Taylor, TaylorRow
from ..judgement.verdict import ROUNDING
from .look import Directions

STEPS = 2.0 ** -np.arange(3, 19, 2)
"""Eight steps, each a quarter of the one before, in units of the scale of x."""
LAST = 4
"""The smallest steps that are not spoilt, from which the rate is taken."""
CLEAR = 10.0
"""How many times the noise of the values a remainder is beyond doubt."""


def taylor_of(look: Directions) -> Taylor:
    """Return the remainders along the first direction, and their rate by least squares in logarithms.

    Those that rounding, or noise, spoils take no part in it.
    """
    line, flat = look.lines[0], look.flat
    claimed = look.claim.along(line.direction)
    up, down = (values @ line.weights.T for values in line.pairs(STEPS))
    base = line.weights @ flat.f0
    remainders = np.linalg.norm(up - base - STEPS[:, None] * claimed, axis=1)
    even = up + down - 2 * base  # falls by 16 from step to step, but for noise
    measured = np.abs(even[1:] - even[:-1] / 16)[-3:].max(axis=0)
    noise = np.linalg.norm(np.maximum(line.floor(*line.pairs(STEPS)), measured / 2))
    own = ROUNDING * look.claim.unit * np.linalg.norm(look.claim.size(line.direction, claimed))
    clear = np.isfinite(remainders) & (remainders > CLEAR * noise + own * STEPS)
    rows: list[TaylorRow] = []
    before: tuple[float, float] | None = None
    for step, remainder, good in zip(STEPS.tolist(), remainders.tolist(), clear.tolist(), strict=True):
        steeper = before is not None and good and (before[1] / remainder, before[0] / step)
        rate = float(np.log(steeper[0]) / np.log(steeper[1])) if steeper else None
        rows.append(TaylorRow(step, remainder, rate, not good))
        before = (step, remainder) if good else None
    if clear.sum() < 2:
        return Taylor(tuple(rows), None)
    last = np.flatnonzero(clear)[-LAST:]
    return Taylor(tuple(rows), float(np.polyfit(np.log(STEPS[last]), np.log(remainders[last]), 1)[0]))
