"""Detect functions that compute in float32 or return as few digits by their values, which change in steps."""

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
from .verdict import FAIL, Entries

SINGLE = 2.0**-24  # float32's rounding unit
CAST = re.compile(r"float32|complex64|np\.single|\.float\(\)|torch\.float\b")
SEEN_MOVES = 2.0**-15 * np.arange(-2, 3)  # relative changes of an input that float32 resolves (unit: 2**-24)
UNSEEN_MOVE = 2.0**-30  # a further change, at each of SEEN_MOVES, that float32 mostly does not resolve
LEAST_SEEN = 2.0**-21  # one of eight units of float32, which changes most values; steps of fewer digits hide it
SEEN_UNITS = 8.0  # float64 units that UNSEEN_MOVE must change f by, else a sum may hide it, not float32: a choice
AS_FLOAT32 = "the function returns few digits: its values were compared as those of float32, which has 7.2 digits"
LEAST_UNCHANGED = 0.7  # least fraction of values that UNSEEN_MOVE does not change if f is in float32: a choice


def note_on_digits(entries: Entries) -> str:
    """Return a note if a function computes in float32 or returns as few digits, else "".

    Its values at several points change with an element only if float32 resolves the change. Sums in float32 resolve
    less, but they are numbers of float32, which numbers rounded to a few digits are not. Steps that stay in a type with
    more digits are real. Tests the element with the largest effect, among the wrong ones if there are any.
    """
    wrong, flat = (entries.state == FAIL).any(axis=0), entries.flat
    effects = entries.effects.max(axis=0)
    line = entries.sampler.element(int(np.where(wrong, effects, -1.0).argmax() if wrong.any() else effects.argmax()))
    moves = (0.0, UNSEEN_MOVE, LEAST_SEEN)
    at, near, further = (line.values(SEEN_MOVES + move)[1] for move in moves)
    with np.errstate(invalid="ignore"):
        change = np.abs(np.diff(at, axis=0)).min(axis=0) * (UNSEEN_MOVE / SEEN_MOVES[-1] * 2)
        seen = change > SEEN_UNITS * rounding_of(np.abs(flat.f0), float(np.finfo(float).eps))
    if not seen.any() or (at == near)[:, seen].mean() <= LEAST_UNCHANGED:
        return ""
    if (at != further)[:, seen].mean() > LEAST_UNCHANGED or (at.astype(np.float32) == at)[:, seen].all():
        return note_on_float32(flat.claim)
    return "" if line.measure_rounding() else AS_FLOAT32


def note_on_float32(claim: Claim) -> str:
    """Return a note that a function computes in float32, with the first line of its code that shows it, if any."""
    digits = "float32 (7.2 digits)"
    for x in itertools.chain.from_iterable(map(reachable_from, claim.functions)):
        with contextlib.suppress(OSError, TypeError):
            lines, start = inspect.getsourcelines(x.__code__) if hasattr(x, "__code__") else ([], 0)
            for number, line in enumerate(lines, start):
                if CAST.search(line):
                    place = f"{users_path(x.__code__.co_filename)}:{number}: {shorten(line, 60)}"
                    return f"the function computes in {digits} ({place})"
    return f"the function seems to compute in {digits}: its values change in steps as large as rounding to float32"
