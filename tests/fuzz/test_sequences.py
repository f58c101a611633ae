"""A part of the random sequences without a reference: each ends well or with an error that says what was wrong."""

import pytest

import gradcli

from .sequences import DELIBERATE, first_difference, make_sequence, run_sequence, same

MEANT = {"RuntimeError", "IndexError", "ValueError", "NameError"}
MISSING = "'NoneType' object has no attribute"


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_errors_say_something(start):
    for seed in range(start, start + 50):
        lines = make_sequence(seed)
        for line, step in zip(lines, run_sequence(gradcli, lines), strict=True):
            meant = not step["error"] or MEANT & set(step["error"]) or MISSING in step["message"]
            assert meant, (seed, line, step["error"][0], step["message"])


def test_a_sequence_runs_the_same_twice():
    assert all(first_difference(gradcli, gradcli, make_sequence(seed)) is None for seed in range(20))


def test_observations_are_compared():
    assert same({"a": [1.0, None]}, {"a": [1.0 + 1e-12, None]})
    assert not same([1.0], [1.001])
    assert not same(True, 1)
    assert len(DELIBERATE) == len(set(DELIBERATE))
