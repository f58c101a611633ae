"""Compare printed text."""

import re
import sys

NUMBER = re.compile(r"-?\d+\.\d{9,}(?:e[-+]\d+)?")
"""A number in full precision: its last digits may differ between processors."""
DIGITS_OF_FLOATS = 17
CARETS = re.compile(r'(^ +File ".*\n.*\n) +[~^]+\n', re.M)
"""The markers below a line of a traceback. The cases have those of Python 3.11."""


def matches(expected: str, got: str) -> bool:
    """Compare text. `[...]` stands for any text on a line; full-precision floats need to agree only to 13 digits.

    Numbers with more digits than a float has were computed in higher precision and must agree in all digits.
    """
    if sys.version_info >= (3, 12):
        expected, got = (CARETS.sub(r"\1", text) for text in (expected, got))
    expected, got = expected.rstrip("\n"), got.rstrip("\n")
    pattern = re.escape(NUMBER.sub("#", expected)).replace(re.escape("[...]"), "[^\n]*")
    if re.fullmatch(pattern, NUMBER.sub("#", got)) is None:
        return False
    if "[...]" in expected:
        return True
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(got), strict=True)
    return all(same_number(a, b) for a, b in pairs)


def same_number(a: str, b: str) -> bool:
    """Return whether two printed numbers agree as far as their digits can be trusted."""
    if max(significant(a), significant(b)) > DIGITS_OF_FLOATS:
        return a == b
    return abs(float(a) - float(b)) <= 1e-13 * abs(float(a))


def significant(number: str) -> int:
    """Return the number of significant digits that are written."""
    return len(number.partition("e")[0].replace(".", "").lstrip("-0"))
