"""Detect functions that compute in float32 by their values: these are constant between two float32 numbers."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
from textwrap import shorten

import numpy as np

from ..claims.claim import Claim
from ..user.frameworks import reachable_from
from ..user.tracebacks import users_path
from .sampler import rounding_of
from .verdict import FAIL, Judgement

SINGLE = 2.0**-24  # float32's rounding unit
CAST = re.compile(r"float32|complex64|np\.single|\.float\(\)|torch\.float\b")
SEEN_MOVES = 2.0**-15 * np.arange(-2, 3)  # relative changes of an input that float32 resolves (unit: 2**-24)
UNSEEN_MOVE = 2.0**-30  # a further change, at each of SEEN_MOVES, that float32 mostly does not resolve
SEEN_UNITS = 8.0  # float64 units that UNSEEN_MOVE must change f by, else a sum may hide it, not float32: a choice
LEAST_UNCHANGED = 0.7  # least fraction of values that UNSEEN_MOVE does not change if f is in float32: a choice


def computes_in_float32(judgement: Judgement) -> bool:
    """Return whether values at several points change with an element only if float32 resolves the change.

    Tests the element with the largest effect, among the wrong ones if there are any.
    """
    wrong, flat = (judgement.state == FAIL).any(axis=0), judgement.flat
    effects = judgement.effects.max(axis=0)
    line = judgement.sampler.element(int(np.where(wrong, effects, -1.0).argmax() if wrong.any() else effects.argmax()))
    at, near = (line.values(offsets)[1] for offsets in (SEEN_MOVES, SEEN_MOVES + UNSEEN_MOVE))
    with np.errstate(invalid="ignore"):
        change = np.abs(np.diff(at, axis=0)).min(axis=0) * (UNSEEN_MOVE / SEEN_MOVES[-1] * 2)
        seen = change > SEEN_UNITS * rounding_of(np.abs(flat.f0), float(np.finfo(float).eps))
    return bool(seen.any()) and bool((at == near)[:, seen].mean() > LEAST_UNCHANGED)


def note_on_float32(claim: Claim) -> str:
    """Return a note that a function computes in float32, with the first line of its code that shows it."""
    note = "the function computes in float32, which has 7.2 digits"
    for x in itertools.chain.from_iterable(map(reachable_from, claim.functions)):
        with contextlib.suppress(OSError, TypeError):
            lines, start = inspect.getsourcelines(x.__code__) if hasattr(x, "__code__") else ([], 0)
            for number, line in enumerate(lines, start):
                if CAST.search(line):
                    return f"{note} ({users_path(x.__code__.co_filename)}:{number}: {shorten(line, 60)})"
    return note
