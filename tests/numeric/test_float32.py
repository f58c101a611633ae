"""Functions that compute in float32 are recognized by their values."""

import numpy as np
import pytest

from gradcli.numeric.float32 import AS_FLOAT32, note_on_digits
from gradcli.numeric.verdict import FAIL

from .lines import entries_of

AT = np.array([0.7, 1.3])


def in_float32(x):
    return float(np.sin(np.float32(x[0]) * np.float32(3)))


def mostly_first(x):
    return 10.0 * in_float32(x) + 1e-3 * np.sin(x[1])


def mostly_second(x):
    return 1e-3 * np.float64(in_float32(x)) + 10.0 * np.sin(x[1])


def estimated(f, slopes=(1.0, 1.0)):
    entries = entries_of(f, AT, lambda x: np.array(slopes))
    entries.compare_elements(range(2))
    return entries


@pytest.mark.parametrize(
    ("f", "slopes", "seen"),
    [
        (mostly_first, [30 * np.cos(2.1), 1e-3 * np.cos(1.3)], True),
        (mostly_second, [3e-3 * np.cos(2.1), 10 * np.cos(1.3)], False),
        (lambda x: np.sin(x).sum(), np.cos(AT), False),
    ],
)
def test_the_element_with_the_largest_effect_is_tested(f, slopes, seen):
    note = note_on_digits(estimated(f, slopes))
    assert note.startswith("the function computes in float32") is seen
    assert ("test_float32.py:" in note) is seen


def test_a_wrong_element_is_tested_first():
    entries = estimated(mostly_second)
    entries.state[:, 0] = FAIL
    entries.state[:, 1] = 0
    entries.changes[:] = 0
    assert "float32" in note_on_digits(entries)


def test_values_rounded_to_few_digits_are_not_called_float32():
    """0.5 is a number of float32, but 0.50002 is not."""
    for f in (lambda x: round(float(np.sin(3 * x[0])), 4), lambda x: round(float(x[0]), 5)):
        entries = entries_of(f, np.array([0.5]))
        entries.compare_elements([0])
        assert note_on_digits(entries) in ("", AS_FLOAT32)
    assert note_on_digits(estimated(lambda x: 3.0)) == ""
