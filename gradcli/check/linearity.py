"""A backward pass is linear in its cotangent: b(0) = 0, b(-u) = -b(u), and b(u + v) = b(u) + b(v)."""

from __future__ import annotations

import numpy as np

from ..results.checks import Finding
from .flat import Flat, real_view

SIZE = 3.0
"""The typical size of cotangents: 1 is what most people try."""


def nonlinearity(flat: Flat, seed: int) -> Finding | None:
    """Return in what a claimed backward pass is not linear; None when it is, or when there is none.

    PyTorch calls the first of them "backward not multiplied by grad_output".
    """
    subject = flat.subject
    if not subject.has_pull or not flat.size:
        return None
    rng = np.random.default_rng(seed + 7)

    def draw() -> np.ndarray:
        parts = SIZE * rng.standard_normal(len(flat.f0)).astype(flat.out.real.dtype)
        return parts.view(flat.out_dtype).reshape(flat.out_shape)

    def back(cotangent: np.ndarray) -> np.ndarray:
        parts = subject.pull(subject.at, np.asarray(cotangent, flat.out_dtype))
        return np.concatenate([real_view(parts[name]).astype(float) for name in subject.wrt])

    u, v = draw(), draw()
    first = back(u)
    if not np.isfinite(first).all():  # an infinite derivative times 0 is nan
        return None
    nothing = back(np.zeros_like(u))
    if not (nothing == 0).all():
        worst = nothing[np.argmax(np.where(np.isnan(nothing), np.inf, np.abs(nothing)))]
        return Finding(
            "nonlinear",
            f"backward not multiplied by grad_output: a gradient of zeros gives {worst:.3g}, not 0",
        )
    room = {8: 1e-5, 4: 1e-3}.get(min(flat.out.real.dtype.itemsize, *(p.itemsize for p in flat.parts)), 0.1)
    for expected, got, words in (
        (-first, back(-u), "b(-u) is not -b(u)"),
        (first + back(v), back(u + v), "b(u + v) is not b(u) + b(v)"),
    ):
        size = np.abs(first).max() + np.abs(expected).max()
        gap = float(np.abs(got - expected).max())
        if not gap <= room * size:
            return Finding(
                "nonlinear",
                f"the backward is not linear in grad_output: {words} (off by {gap / size:.2g} relative); "
                "a backward multiplies by grad_output and does nothing else with it",
            )
    return None
