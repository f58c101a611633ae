"""Products with a derivative are linear: b(0) = 0, b(-u) = -b(u), and b(u + v) = b(u) + b(v)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...results.checks import Finding
from ..judgement.noise import neighbours
from ..judgement.verdict import OWN_NOISE
from ..subjects.flatten import Flat

SIZE = 3.0
"""The typical size of cotangents: 1 is what most people try."""
COARSEST = 0.05
"""From this part of a product on, nothing is called rounding: 1 in 2^8 is bfloat16's, of which several add up."""
WIDEST_STAIR = 2.0**-6
"""Over this part of a number, one in bfloat16 changes at least once."""
STEPS = 256
"""Vectors along which stairs are looked for: so many that what only bends is far from `OWN_NOISE` between them."""


def nonlinearity(flat: Flat, seed: int) -> Finding | None:
    """Return in what a claimed backward pass or forward derivative is not linear; None when they are.

    PyTorch calls the first of them "backward not multiplied by grad_output".
    """
    subject = flat.subject
    if not flat.size:
        return None
    rng = np.random.default_rng(seed + 7)
    types = [flat.out.real.dtype.itemsize, *(p.itemsize for p in flat.parts)]
    room = {8: 1e-5, 4: 1e-3}.get(min(types), 0.1)
    if (subject.claim_unit or 0) > 1e-10:
        room = max(room, 1e-3)

    def draw_cotangent() -> np.ndarray:
        return SIZE * rng.standard_normal(len(flat.f0)).astype(flat.out.real.dtype)

    def draw_tangent() -> np.ndarray:
        return SIZE * rng.standard_normal(flat.size)

    if subject.has_pull:
        words = ("backward not multiplied by grad_output: a gradient of zeros", "backward", "grad_output")
        finding = bend(flat, flat.pull, draw_cotangent, room, *words)
        if finding is not None:
            return finding
    if subject.has_push and not subject.traced:
        words = ("jvp not multiplied by its tangents: tangents of zeros", "jvp", "its tangents")
        return bend(flat, flat.push, draw_tangent, room, *words)
    return None


def bend(
    flat: Flat,
    products: Callable,
    draw: Callable[[], np.ndarray],
    room: float,
    of_zeros: str,
    name: str,
    argument: str,
) -> Finding | None:
    """Return in what products are not linear up to rounding; None when they are.

    Where they are nothing but rounding, they scatter as much between points that are rounding units apart.
    """
    u, v = draw(), draw()
    vectors = [u, np.zeros_like(u), -u, v, u + v]
    first, nothing, minus, second, both = here = products(vectors)
    if not np.isfinite(first).all():  # an infinite derivative times 0 is nan
        return None
    if not (nothing == 0).all():
        worst = nothing[np.argmax(np.where(np.isnan(nothing), np.inf, np.abs(nothing)))]
        give = "gives" if of_zeros.endswith("a gradient of zeros") else "give"
        return Finding("nonlinear", f"{of_zeros} {give} {worst:.3g}, not 0")
    for expected, got, words in (
        (-first, minus, "b(-u) is not -b(u)"),
        (first + second, both, "b(u + v) is not b(u) + b(v)"),
    ):
        size = np.abs(first).max(initial=0.0) + np.abs(expected).max(initial=0.0)
        gap = float(np.abs(got - expected).max(initial=0.0))
        if gap <= room * size or gap <= OWN_NOISE * max(
            float(np.abs(products(vectors, near) - here).max()) for near in neighbours(flat.subject)
        ):
            continue
        longest = vectors[int(np.abs(here).max(axis=1).argmax())]
        if gap <= COARSEST * size and gap <= OWN_NOISE * largest_stair(products, longest, gap / size):
            continue
        return Finding(
            "nonlinear",
            f"the {name} is not linear in {argument}: {words} (off by {gap / size:.2g} relative); "
            f"a {name} multiplies by {argument} and does nothing else with it",
        )
    return None


def largest_stair(products: Callable, vector: np.ndarray, room: float) -> float:
    """Return the largest jump of products between vectors that grow by little, over more than a relative room.

    A type with few digits (bfloat16) makes stairs; of what only bends, second differences are a fraction of the room.
    """
    ladder = 1 + max(2 * room, WIDEST_STAIR) * np.arange(STEPS) / STEPS
    return float(
        np.abs(np.diff(products([(vector * factor).astype(vector.dtype) for factor in ladder]), n=2, axis=0)).max()
    )
