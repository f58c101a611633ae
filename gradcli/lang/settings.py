"""What a run may use, and how names are written: what is known before anything is parsed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}
DEFAULT_MAX_ELEMENTS = 100_000_000
"""Elements of a value, unless --max-elements says otherwise."""
FILE_ENDINGS = (".py", ".expr")
"""What a positional target ends in that is a file, whether or not there is one."""
MAX_TEXT = 1 << 20
"""Bytes of a program."""


class Settings(NamedTuple):
    """What a run may use: the limit on a value's elements, and the seed of its random numbers.

    command: the command that runs it, for hints. real: the type of numbers that are written out.
    """

    max_elements: int = DEFAULT_MAX_ELEMENTS
    seed: int = 0
    command: str = "grad"
    real: type = np.float64


def as_written(name: str) -> str:
    """Return a name of the command line as Python's parser reads it in a program: in Unicode's form NFKC."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFKC", name)
