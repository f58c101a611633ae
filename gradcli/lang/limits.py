"""How large a value may become: asked before it is computed, so that nothing is allocated in vain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..rules import lookup
from ..rules.shapes import shape_of
from ..rules.size_limits import count_product, count_shape

MOST_ROUNDS = 10_000


RANDOM = {"rand": count_shape, "randn": count_shape}
WORKING = ("convolve", "correlate")
"""Calls whose estimate is the space that they work in, not their result."""


def check_call(name: str, args: tuple, named: dict, limit: int) -> None:
    """Raise GradcliError when a call would make a value of more than `limit` elements."""
    primitive = lookup(name)
    check_rounds(primitive, args, named)
    estimate = RANDOM.get(name) if primitive is None else primitive.size
    if estimate is None and math.prod([getattr(getattr(x, "_data", x), "size", 1) for x in args]) <= limit:
        return  # broadcasting makes no more
    try:
        count = estimate(*args, **named) if estimate else count_product(np.broadcast_shapes(*map(shape_of, args)))
    except Exception:
        return  # the call itself will say what is wrong
    if count > limit:
        what = "computing this would take" if name in WORKING else "this value would have"
        raise GradcliError(
            f"{what} {count} elements; the limit is {limit}",
            hint="raise it with --max-elements if there is memory for it",
            kind="limit",
        )


def check_rounds(primitive: Any, args: tuple, named: dict) -> None:
    """Raise GradcliError for a call that would repeat something too often."""
    if primitive is None or primitive.rounds is None:
        return
    try:
        rounds = float(primitive.rounds(*args, **named))
    except Exception:
        return  # the call itself will say what is wrong
    if rounds > MOST_ROUNDS:
        raise GradcliError(
            f"{primitive.name} would take {rounds:g} steps; the limit is {MOST_ROUNDS}",
            hint="write a smaller number",
            kind="limit",
        )
