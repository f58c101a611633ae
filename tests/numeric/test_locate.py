"""Bisection over elements ends at the wrong one."""

import math

import numpy as np
import pytest

from gradcli.numeric.locate import bisect, halves


def test_halves_keep_inputs_together():
    first, second = halves(np.arange(10), [0, 3, 10])
    assert (first.tolist(), second.tolist()) == (list(range(3)), list(range(3, 10)))
    first, second = halves(np.array([4, 6, 8, 9]), [0, 3, 10])
    assert (first.tolist(), second.tolist()) == ([4, 6], [8, 9])


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("place", [0, -1])
def test_bisection_ends_at_the_wrong_element(size, place):
    off = np.zeros(size)
    off[place] = -0.3
    asked = []

    def off_by(elements):
        asked.append(len(elements))
        return off[elements].sum()

    assert bisect(np.arange(size), -0.3, off_by, [0, size]) == np.arange(size)[place]
    assert len(asked) <= math.ceil(math.log2(size))


def test_the_larger_of_two_errors_is_found_first():
    off = np.zeros(100)
    off[[20, 70]] = 1.0, -3.0
    assert bisect(np.arange(100), -2.0, lambda part: off[part].sum(), [0, 100]) == 70


def test_an_unknown_half_follows_from_the_other():
    off = np.zeros(8)
    off[6] = 1.0
    known = lambda part: np.nan if 0 in part else off[part].sum()  # noqa: E731
    assert bisect(np.arange(8), 1.0, known, [0, 8]) == 6
    assert bisect(np.arange(8), 1.0, lambda part: np.nan, [0, 8]) is None
