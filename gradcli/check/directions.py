"""The quick way: the derivative along a few random directions, and what could have hidden from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..results.checks import InputCheck
from .digits import digits_of
from .flat import Flat
from .reference import estimate
from .verdict import COARSE, Judgement

COUNT = 3


class Directions(NamedTuple):
    """Products with random directions that agree.

    products: claimed and numeric value and numeric error of each, of the output where they are furthest apart.
    inputs: what this says of each input.
    """

    products: tuple[tuple[float, float, float], ...]
    inputs: tuple[InputCheck, ...]


def along_directions(flat: Flat, judgement: Judgement, seed: int) -> Directions | None:
    """Compare the derivative along Gaussian directions, scaled by x; None when it must be looked at by element.

    A wrong element must hide from every direction: it is off by no more than what each leaves room for, divided by
    the direction's component. Where that is more than 2 % of the largest effect, nothing is decided.
    """
    rng = np.random.default_rng(seed)
    x = np.concatenate([part.astype(float) for part in flat.parts])
    analytic = judgement.analytic
    if not np.isfinite(analytic).all():
        return None
    products, least = [], np.inf
    hideable = np.full(analytic.shape, np.inf)
    for _ in range(COUNT):
        direction = rng.standard_normal(flat.size) * flat.scales

        def line(offsets: np.ndarray, direction: np.ndarray = direction) -> np.ndarray:
            return flat.points(x + offsets[:, None] * direction)

        claimed = analytic @ direction
        found = estimate(line, np.float64(1.0), 0.3, flat.f0, flat.unit)
        floor = np.minimum(judgement.floor @ np.abs(direction), 1000 * found.error)
        room = judgement.margin * found.error + judgement.slack @ np.abs(direction) + floor
        gap = np.abs(claimed - found.value)
        if not (np.isin(found.kind, ("smooth", "noise")) & (gap <= room)).all():
            return None
        worst = int(np.argmax(gap / np.maximum(room, 1e-300)))
        products.append((float(claimed[worst]), float(found.value[worst]), float(found.error[worst])))
        size = np.maximum(np.abs(claimed), np.abs(analytic * direction).max(axis=1, initial=0.0))
        least = min(least, digits_of(float((gap / np.maximum(size, 1e-300)).max())))
        with np.errstate(divide="ignore"):
            hideable = np.minimum(hideable, (room + gap)[:, None] / np.abs(direction))
    effects = np.abs(analytic * flat.scales).max(axis=1, initial=0.0)
    if not (hideable * flat.scales <= COARSE * effects[:, None]).all():
        return None
    inputs = tuple(input_of(flat, analytic, hideable, least, k) for k in range(len(flat.arrays)))
    return Directions(tuple(products), inputs)


def input_of(flat: Flat, analytic: np.ndarray, hideable: np.ndarray, digits: float, k: int) -> InputCheck:
    """Return what the directions say of input k: how large a single wrong element could be, relative to its
    largest.
    """
    columns = slice(int(flat.edges[k]), int(flat.edges[k + 1]))
    largest = float(np.abs(analytic[:, columns]).max(initial=0.0))
    hidden = float(hideable[:, columns].max(initial=0.0))
    resolution = hidden / largest if largest else None
    return InputCheck(
        flat.subject.wrt[k], flat.arrays[k].shape, "pass", hidden, resolution or 0.0, digits, resolution, None
    )
