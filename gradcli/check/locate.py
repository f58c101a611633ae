"""Locate: find the element that makes a direction disagree, or that keeps its slope from being known, by bisection.

What one half is off by, the other is not, so that a level costs four calls; the half with the larger part goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .estimate import FEW, FIRST, fit

if TYPE_CHECKING:
    from .probe import Probe, Probed
    from .verdict import Judgement

NARROWER = 4.0  # how many times narrower than the fit that knows most the differences of a bisection are
TWO_STEPS = np.array([1.0, 0.5])
ROMBERG = np.array([-1.0, 4.0]) / 3  # of central differences over two steps: the error of fourth order is left
CLOSE = 1e-6  # how close to the point a kink is looked for, in units of the scale


def halves(elements: np.ndarray, edges: np.ndarray | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Divide elements between two inputs where they belong to several, else in the middle."""
    inside = [int(edge) for edge in edges if elements[0] < edge <= elements[-1]]
    middle = (elements[0] + elements[-1]) / 2
    if inside:
        place = int(np.searchsorted(elements, min(inside, key=lambda edge: abs(edge - middle))))
    else:
        place = len(elements) // 2
    return elements[:place], elements[place:]


def locate(probe: Probe, probed: Probed, row: int, off: float, known: Sequence[int]) -> int | None:
    """Return the element at which bisecting a direction that is off ends. known: wrong elements found before."""
    direction = probed.line.direction
    h = float(probed.slopes.width[row]) / NARROWER
    steps = h * TWO_STEPS
    weights = None if probe.rows.weights is None else probe.rows.weights[row : row + 1]
    column = row if weights is None else 0
    elements = np.setdiff1d(np.flatnonzero(direction), np.array(known, int))

    def off_by(places: np.ndarray) -> float:
        part = np.zeros_like(direction)
        part[places] = direction[places]
        _, values = probe.sampler.line(part, weights).values(np.concatenate([steps, -steps]))
        up, down = np.split(values[:, column], 2)
        return float(probe.rows.along(part)[row] - ROMBERG @ ((up - down) / (2 * steps)))

    return bisect(elements, off, off_by, probe.flat.edges)


def locate_rough(probe: Probe, direction: np.ndarray) -> int | None:
    """Return the element that makes most of a kink, a jump, or the end of the domain along a direction."""
    flat, steps = probe.flat, CLOSE * TWO_STEPS[:1]

    def roughness(places: np.ndarray) -> float:
        part = np.zeros_like(direction)
        part[places] = direction[places]
        _, values = probe.sampler.line(part).values(np.concatenate([steps, -steps]))
        if not np.isfinite(values).all():
            return np.inf
        size = np.abs(flat.f0) + 1e-300
        return float((np.abs(values.sum(axis=0) - 2 * flat.f0) / size).max())

    elements = np.flatnonzero(direction)
    if not len(elements):
        return None
    whole = roughness(elements)
    while len(elements) > 1:
        first, second = halves(elements, flat.edges)
        one = roughness(first)
        other = roughness(second) if not np.isfinite(whole) or one < whole / 2 else 0.0
        elements, whole = (first, one) if one >= other else (second, other)
    return int(elements[0]) if whole > 0 else None


def bisect(elements: np.ndarray, off: float, off_by: Callable, edges: np.ndarray | Sequence[int]) -> int | None:
    while len(elements) > 1:
        first, second = halves(elements, edges)
        mine = off_by(first)
        if not np.isfinite(mine):
            mine = off - off_by(second)
            if not np.isfinite(mine):
                return None
        elements, off = (first, mine) if abs(mine) >= abs(off - mine) else (second, off - mine)
    return int(elements[0]) if len(elements) else None


def locate_output(judgement: Judgement, row: int, i: int) -> tuple[int, float, float, float] | None:
    """Return which output of a combination is off most along element i: it, claimed, numeric, and the error.

    Values of all outputs are kept, so that this takes products of the claim alone. None where nothing is known.
    """
    flat, rows, scale = judgement.flat, judgement.rows, float(judgement.flat.scales[i])
    line, _ = judgement.estimates.get(i) or (judgement.sampler.element(i, rows.weights), None)
    found = fit(line.with_weights(None), FIRST, FEW)
    if found is None or rows.weights is None:
        return None
    numeric, column, places = found.value / scale, rows.column(i), np.arange(len(flat.f0))
    if column is not None:
        j = int(np.argmax(np.abs(column - numeric)))
        return j, float(column[j]), float(numeric[j]), float(found.error[j] / scale)
    while len(places) > 1:
        parts = np.array_split(places, 2)
        weights = np.zeros((2, len(flat.f0)))
        for weight, part in zip(weights, parts, strict=True):
            weight[part] = rows.weights[row, part]
        gaps = np.abs(flat.pull(weights)[:, i] - weights @ numeric)
        places = parts[int(np.argmax(np.nan_to_num(gaps, nan=np.inf)))]
    j = int(places[0])
    claimed = float(flat.pull(np.eye(1, len(flat.f0), j))[0, i])
    return j, claimed, float(numeric[j]), float(found.error[j] / scale)
