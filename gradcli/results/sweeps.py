"""What a sweep leaves behind besides its table."""

from __future__ import annotations

from typing import NamedTuple


class Swept(NamedTuple):
    """How many rows were done, how many of them are not finite, in which time, and where they are."""

    target: str
    rows: int
    not_finite: int
    seconds: float
    output: str
