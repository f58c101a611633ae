"""Gradient checkers, one module each: `judge(f, x, claimed)` returns a verdict.

f: a function of a float64 vector that returns a float. x: the point, shape (n,). claimed: the gradient at x, shape
(n,). The verdict is "pass", "fail", or "inconclusive" if the checker can say so. Each checker runs with its own
defaults; one that returns a number instead of a verdict has its threshold in its module.
"""

import numpy as np


def agrees(claimed: np.ndarray, slope: np.ndarray, error: np.ndarray) -> bool:
    """Check that a claim is finite and within ten estimated errors, or 1e-9 of its size, of a numeric gradient."""
    gap = np.abs(claimed - np.ravel(slope))
    return bool((gap <= np.maximum(10 * np.ravel(error), 1e-9 * np.abs(claimed))).all() and np.isfinite(claimed).all())
