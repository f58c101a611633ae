"""Relative differences as digits."""

from __future__ import annotations

import numpy as np

CAP = 17.0
"""More digits than float64 has."""


def digits_of(relative: float) -> float:
    """Return to how many digits numbers agree that differ by so much, relative to their size: 0 to CAP."""
    return float(np.clip(-np.log10(max(relative, 10**-CAP)), 0, CAP)) + 0.0
