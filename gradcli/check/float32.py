"""Functions of float64 that compute in float32 inside: their values stand still between two numbers of float32."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
from textwrap import shorten

import numpy as np

from ..program.claim import Claim
from ..program.detect_framework import reachable_from
from ..program.user_code import users_path
from .verdict import FAIL, Judgement

SINGLE = 2.0**-24  # float32's rounding unit
CAST = re.compile(r"float32|complex64|np\.single|\.float\(\)|torch\.float\b")
NEAR = 2.0**-30 * np.array([-1, 1])  # relative changes of an input that float32 does not see, mostly ...
FAR = 2.0**-19 * np.array([1])  # ... and one that it sees


def computes_in_float32(judgement: Judgement) -> bool:
    """Return whether values do not change along an element before a change that float32 can hold.

    Asked is the first wrong element, or the one with the largest effect.
    """
    wrong, line = np.flatnonzero((judgement.state == FAIL).any(axis=0)), judgement.sampler.element
    i = int(wrong[0]) if len(wrong) else int(judgement.effects.max(axis=0).argmax())
    still, moved = (line(i).values(offsets)[1] == judgement.flat.f0 for offsets in (NEAR, FAR))
    seen = ~moved.any(axis=0)
    return bool(seen.any()) and bool(still.all(axis=0)[seen].mean() > 0.7)


def note_on_float32(claim: Claim) -> str:
    """Return that a function computes in float32, with the first line of its code that says so."""
    note = "the function computes in float32, of 7.2 digits"
    for x in itertools.chain.from_iterable(map(reachable_from, claim.functions)):
        with contextlib.suppress(OSError, TypeError):
            lines, start = inspect.getsourcelines(x.__code__) if hasattr(x, "__code__") else ([], 0)
            for number, line in enumerate(lines, start):
                if CAST.search(line):
                    return f"{note} ({users_path(x.__code__.co_filename)}:{number}: {shorten(line, 60)})"
    return note
