"""Where the wrong elements of an input are: ranges of indices along each axis."""

from __future__ import annotations

import math

import numpy as np

from ..results.base import ranges_of
from ..results.inputs import WrongPlaces

MOST_RANGES = 3  # more ranges along an axis show no pattern: a choice
NARROW_SHARE = 0.25  # elements that were found within this share of an axis are probably all there: a choice
LEAST_WRONG, LEAST_SIZE = 2, 5  # a report names the worst element anyway, and a few are quickly listed: a choice


def wrong_places(wrong: np.ndarray, shape: tuple[int, ...], complete: bool) -> WrongPlaces | None:
    """Return the places of wrong elements if there is a pattern; None if all are wrong, or hardly any.

    wrong: indices into the flattened input. complete: whether all elements were estimated.
    """
    wrong = np.flatnonzero(np.bincount(wrong))
    size = math.prod(shape)
    if size < LEAST_SIZE or not LEAST_WRONG <= len(wrong) < size:
        return None
    axes = []
    for indices, length in zip(np.unravel_index(wrong, shape), shape, strict=True):
        ranges = ranges_of(np.flatnonzero(np.bincount(indices)))
        known = complete or 2 * len(ranges) <= len(wrong)
        if len(ranges) > MOST_RANGES or not known:
            ranges = ((ranges[0][0], ranges[-1][1]),)
            known = complete or ranges[0][1] - ranges[0][0] < NARROW_SHARE * length
        axes.append(ranges if known and ranges != ((0, length - 1),) else ())
    return WrongPlaces(tuple(axes), shape, complete) if any(axes) else None
