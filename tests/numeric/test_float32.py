"""Functions that compute in float32 are recognized by their values."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.numeric.float32 import AS_FLOAT32, note_on_digits, note_on_float32
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


def note_of(f):
    """Return the note on a function that changes by about as much as its first element."""
    return note_on_digits(estimated(f, (1.0, 0.0)))


def test_rounding_of_large_float64_values_is_not_float32():
    """At 1e8, float64 resolves 1.5e-8: more than a move of 1e-9, less than one of 5e-7."""
    assert note_of(lambda x: x[0] + 1e8) == ""


def test_sums_in_float32_are_recognized_by_their_numbers():
    """At 100, float32 resolves 7.6e-6, less than in its arguments."""

    def offset(x):
        return np.float64(np.float32(x[0]) + np.float32(100))

    assert note_of(offset).startswith("the function computes in float32")


def test_values_of_few_digits_are_compared_as_float32_if_their_rounding_is_unknown():
    assert note_of(lambda x: round(float(x[0]), 5)) == AS_FLOAT32
    assert note_of(lambda x: np.round(x[0], 5)) == ""  # in long double, too: these steps are real


def cast(x):
    y = 2 * x
    return y.astype(np.float32)


def through_another(x):
    return cast(x)


@pytest.mark.parametrize("function", [cast, through_another])
def test_the_first_line_that_shows_float32_is_named(function):
    line = cast.__code__.co_firstlineno + 2
    note = note_on_float32(SimpleNamespace(functions=(np.sin, function)))
    assert note.startswith("the function computes in float32 (7.2 digits) (")
    assert note.endswith(f"test_float32.py:{line}: return y.astype(np.float32))")


def test_float32_without_a_line_that_shows_it_is_recognized_by_the_steps_of_its_values():
    note = note_on_float32(SimpleNamespace(functions=(np.sin, abs, SimpleNamespace())))
    assert note.startswith("the function seems to compute in float32 (7.2 digits): its values change in steps")
