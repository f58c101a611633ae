"""Comparing printed text."""

from __future__ import annotations

import re

NUMBER = re.compile(r"-?\d+\.\d{9,}(?:e[-+]\d+)?")
"""A number in full precision: its last digits may differ between processors."""


def matches(expected: str, got: str) -> bool:
    """Compare text; `[...]` stands for anything on a line, long numbers need to agree to 13 digits only."""
    expected, got = expected.rstrip("\n"), got.rstrip("\n")
    pattern = re.escape(NUMBER.sub("#", expected)).replace(re.escape("[...]"), "[^\n]*")
    if re.fullmatch(pattern, NUMBER.sub("#", got)) is None:
        return False
    if "[...]" in expected:
        return True
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(got), strict=True)
    return all(abs(float(a) - float(b)) <= 1e-13 * abs(float(a)) for a, b in pairs)
