"""The remainders of the first-order Taylor series, which fall with the square of the step (--taylor)."""

from __future__ import annotations

import numpy as np

from ..numeric.verdict import ROUNDING, Entries
from ..results.checks import Taylor, TaylorRow

REMAINDER_STEPS = 2.0 ** -np.arange(3, 19, 2)  # eight, each a quarter of the one before, in units of the scale of x
RATE_STEPS = 4  # the rate is fitted to this many of the smallest steps with clear remainders: a choice
MODE_NAMES = {"vjp": "reverse mode (vjp)", "jvp": "forward mode (jvp)"}
BEYOND_NOISE = 10.0  # a remainder this many times larger than the noise of the values is clear: a choice


def taylor_of(entries: Entries, direction: np.ndarray) -> Taylor:
    """Return the Taylor remainders along a direction (--taylor), and the rate at which the clear ones fall."""
    rows, flat = entries.rows, entries.flat
    line = entries.sampler.line(direction, rows.weights)
    claimed = rows.along(line.direction)
    _, values = line.values(np.concatenate([REMAINDER_STEPS, -REMAINDER_STEPS]))
    up, down = np.split(values, 2)
    remainders = np.linalg.norm(up - line.base - REMAINDER_STEPS[:, None] * claimed, axis=1)
    even = up + down - 2 * line.base  # falls by a factor of 16 per step, except for noise
    measured = np.abs(even[1:] - even[:-1] / 16)[-3:].max(axis=0)
    noise = np.linalg.norm(np.maximum(line.rounding(values), measured / 2))
    own = ROUNDING * flat.claim_unit * np.linalg.norm(rows.size(line.direction, claimed))
    clear = np.isfinite(remainders) & (remainders > BEYOND_NOISE * noise + own * REMAINDER_STEPS)
    table: list[TaylorRow] = []
    before: tuple[float, float] | None = None
    for step, remainder, good in zip(REMAINDER_STEPS.tolist(), remainders.tolist(), clear.tolist(), strict=True):
        steeper = before is not None and good and (before[1] / remainder, before[0] / step)
        rate = float(np.log(steeper[0]) / np.log(steeper[1])) if steeper else None
        table.append(TaylorRow(step, remainder, rate, not good))
        before = (step, remainder) if good else None
    written = [name for name in MODE_NAMES if getattr(flat.claim, f"{name}_fn", None) is not None]
    mode = MODE_NAMES[flat.claim.claims] if len(written) > 1 else None
    if clear.sum() < 2:
        return Taylor(tuple(table), None, mode)
    last = np.flatnonzero(clear)[-RATE_STEPS:]
    rate = float(np.polyfit(np.log(REMAINDER_STEPS[last]), np.log(remainders[last]), 1)[0])
    return Taylor(tuple(table), rate, mode)
