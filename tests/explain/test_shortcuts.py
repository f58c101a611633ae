"""Which claims a changed backward pass explains, and how often a claim contains a part of the derivative."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.explain.shortcuts import claimed_share, gives_claim


def run(claimed, right, explained=None):
    """Return a recorded run with these numbers, of elements that all have to be explained unless given."""
    claimed, right = np.array(claimed, float), np.array(right, float)
    explained = np.ones(len(claimed), bool) if explained is None else np.array(explained)
    return SimpleNamespace(claimed=claimed, right=right, explained=explained)


@pytest.mark.parametrize(
    ("claimed", "right", "expected", "given"),
    [
        ([3.0, 5], [2.0, 5], [3.0, 5], True),
        ([3.0, 5], [2.0, 5], [3.0 + 1e-6, 5 - 1e-6], True),
        ([3.0, 5], [2.0, 5], [3.0 + 1e-5, 5], False),
        ([3.0, 5], [2.0, 5], [3.0, 5 + 1e-4], False),
        ([3.0, 0], [2.0, 0], [3.0, 1e-13], True),  # the rest of a cancellation
        ([3.0, 0], [2.0, 0], [3.0, 1e-11], False),
        ([3.0, 5e-10], [2.0, 0], [3.0, 5e-10 + 1e-13], True),
        ([3.0, 1e-11], [2.0, 0], [3.0, 1.2e-11], False),  # leaves a fifth of the difference
        ([3.0, 5], [3.0, 5], [3.0, 5], False),  # nothing is wrong
        ([np.nan, 5], [2.0, 5], [np.nan, 5], False),
    ],
)
def test_a_changed_backward_must_give_every_claimed_element(claimed, right, expected, given):
    assert gives_claim(np.array(expected), run(claimed, right)) is given


def test_elements_of_other_inputs_need_no_explanation():
    here = run([3.0, 5], [2.0, 7], [True, False])
    assert gives_claim(np.array([3.0, 7]), here)
    assert not gives_claim(np.array([2.0, 5]), here)
    right_there = run([2.0, 5], [2.0, 7], [True, False])
    assert not gives_claim(np.array([2.0, 5]), right_there)


@pytest.mark.parametrize(
    ("times", "share"), [(0, 0), (-1, -1), (2, 2), (0.5, 0.5), (2 / 3, 2 / 3), (1, None), (0.7313, None), (1e7, None)]
)
def test_a_part_is_claimed_a_simple_number_of_times_or_not_at_all(times, share):
    part, right = np.array([0.3, -1.2, 0.8]), np.array([1.0, 2.0, -0.5])
    found = claimed_share(part, run(right + (times - 1) * part, right))
    assert found is None if share is None else float(found) == pytest.approx(share)


def test_how_often_a_part_is_claimed_shows_in_the_elements_to_be_explained():
    part, right = np.array([0.3, -1.2, 0.8]), np.array([1.0, 2.0, -0.5])
    claimed = right + part * [1, 1, -4]
    assert claimed_share(part, run(claimed, right, [True, True, False])) == 2
    assert claimed_share(part, run(claimed, right)) is None
    assert claimed_share(0 * part, run(claimed, right)) is None
