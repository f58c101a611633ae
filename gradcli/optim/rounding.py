"""Sums of products rounded once, as processors do that multiply and add in one step."""

from __future__ import annotations

import numpy as np

SMALL = 16384
"""Elements up to which a product is kept exactly: larger arrays are added to as quickly as possible."""


def plus_product(start: np.ndarray, scale: float, x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """Return start + scale x, or start + (scale x) y; in float32 the last product is not rounded."""
    if start.dtype != np.float32 or start.size > SMALL:
        return start + (scale * x if y is None else scale * x * y)
    exact = np.float64(np.float32(scale)) * x if y is None else (np.float32(scale) * x).astype(np.float64) * y
    return (start + exact).astype(np.float32)


def add_product(target: np.ndarray, scale: float, x: np.ndarray, y: np.ndarray | None = None) -> None:
    """Add scale x, or (scale x) y, to the target in place, rounded once where it is small and float32."""
    if target.dtype != np.float32 or target.size > SMALL:
        target += scale * x if y is None else scale * x * y
    else:
        target[...] = plus_product(target, scale, x, y)


__all__ = ["add_product", "plus_product"]
