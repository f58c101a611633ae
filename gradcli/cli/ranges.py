"""Ranges of inputs, NAME=FROM:TO: among the words of a command line, or after --over."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..lang.values import read_value, split_value
from .options import Call

POINTS = {1: 200, 2: 60}
"""Points along each of so many inputs."""
RANGE = re.compile(r"[^=\[(@\"]*=[^=\[(@\"]*:")
"""NAME=FROM:TO. A colon may also be part of an index, of the name of a file after @, or of a string."""
FARTHEST = 1e300
"""The largest end of a range: beyond, the length of the range overflows."""


def take_ranges(call: Call, over: tuple[str, ...] = ()) -> dict[str, tuple[float, float]]:
    """Take the ranges among the words of a call out of it, and return them and those after --over, by name."""
    words = tuple(word for word in call.words if RANGE.match(word))
    ranges = [parse_range(call, text, "") for text in words] + [parse_range(call, text) for text in over]
    found = dict(ranges)
    if len(found) < len(ranges):
        raise GradcliError("an input has two ranges", hint="leave out one")
    if len(found) > 2:
        raise GradcliError(f"{len(found)} inputs have a range; two may", hint="give the others a value")
    target = call.request.words[: len(call.request.words) - len(call.words)]
    call.request = call.request._replace(words=(*target, *(word for word in call.words if word not in words)))
    return found


def parse_range(call: Call, text: str, option: str = "--over ") -> tuple[str, tuple[float, float]]:
    """Return name and ends of NAME=FROM:TO. Raises GradcliError. option: what stands before it."""
    name, ends = split_value(text)
    low, colon, high = ends.partition(":")
    if not colon or not low.strip() or not high.strip():
        raise GradcliError(f"{option}{text}: write NAME=FROM:TO", hint=f"for example: {option}x=-3:3")
    if ":" in high:
        raise GradcliError(
            f"{option}{text}: a range is FROM:TO, its two ends, without a step",
            hint=f"for example: {option}{name}={low}:{high.partition(':')[0]} --points 50",
        )
    first, last = (read_value(end, call.request, f"{option}{name}") for end in (low, high))
    return name, bounds(first, last, f"{option}{text}")


def bounds(low: Any, high: Any, text: str, point: bool = False) -> tuple[float, float]:
    """Return the two ends of a range. text: how it was given. Raises GradcliError when they are none.

    point: whether both ends may be the same.
    """
    ends = [np.asarray(x) for x in (low, high)]
    if any(x.size != 1 or x.dtype.kind not in "iuf" or not np.isfinite(x).all() for x in ends):
        raise GradcliError(f"{text}: both ends must be finite numbers", kind="value")
    a, b = (float(x.ravel()[0]) for x in ends)
    if max(-a, b) > FARTHEST:
        raise GradcliError(f"{text}: both ends must be between -1e300 and 1e300", kind="value")
    if a > b or (a == b and not point):
        raise GradcliError(f"{text}: the first end must be less than the second", kind="value")
    return a, b
