"""The Taylor remainder along one direction, and the rate at which it falls (--taylor)."""

from __future__ import annotations

import numpy as np

from ..show.check_results import Taylor, TaylorRow
from .probe import Probe
from .verdict import ROUNDING

STEPS = 2.0 ** -np.arange(3, 19, 2)  # eight steps, each a quarter of the one before, in units of the scale of x
RATE_STEPS = 4  # the smallest steps that are not spoilt, from which the rate is taken
BEYOND_NOISE = 10.0  # how many times the noise of the values a remainder is beyond doubt


def taylor_of(probe: Probe) -> Taylor:
    """Return the remainders along a random direction, and the rate of those that noise does not spoil."""
    rows, flat = probe.rows, probe.flat
    line = probe.sampler.line(probe.draw("relative"), rows.weights)
    claimed = rows.along(line.direction)
    _, values = line.values(np.concatenate([STEPS, -STEPS]))
    up, down = np.split(values, 2)
    remainders = np.linalg.norm(up - line.base - STEPS[:, None] * claimed, axis=1)
    even = up + down - 2 * line.base  # falls by 16 from step to step, but for noise
    measured = np.abs(even[1:] - even[:-1] / 16)[-3:].max(axis=0)
    noise = np.linalg.norm(np.maximum(line.rounding(values), measured / 2))
    own = ROUNDING * flat.claim_unit * np.linalg.norm(rows.size(line.direction, claimed))
    clear = np.isfinite(remainders) & (remainders > BEYOND_NOISE * noise + own * STEPS)
    table: list[TaylorRow] = []
    before: tuple[float, float] | None = None
    for step, remainder, good in zip(STEPS.tolist(), remainders.tolist(), clear.tolist(), strict=True):
        steeper = before is not None and good and (before[1] / remainder, before[0] / step)
        rate = float(np.log(steeper[0]) / np.log(steeper[1])) if steeper else None
        table.append(TaylorRow(step, remainder, rate, not good))
        before = (step, remainder) if good else None
    if clear.sum() < 2:
        return Taylor(tuple(table), None)
    last = np.flatnonzero(clear)[-RATE_STEPS:]
    return Taylor(tuple(table), float(np.polyfit(np.log(STEPS[last]), np.log(remainders[last]), 1)[0]))
