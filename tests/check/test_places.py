"""Where wrong elements are, as ranges along the axes of an input."""

import numpy as np
import pytest

from gradcli.check.places import wrong_places
from gradcli.results.base import ranges_of
from gradcli.results.inputs import ElementCounts, InputCheck
from gradcli.show.checks import places_text


def text(wrong, shape, outputs=2, complete=True):
    flat = [np.ravel_multi_index(index, shape) for index in wrong] if len(shape) > 1 else wrong
    places, size = wrong_places(np.array(flat, int), shape, complete), int(np.prod(shape)) * outputs
    counts = ElementCounts(len(set(flat)), 0, size, size)
    return places_text(InputCheck("x", shape, "fail", 1.0, 1.0, 0.0, None, None, places=places, counts=counts))


@pytest.mark.parametrize(
    ("indices", "ranges"), [([0, 1, 2], ((0, 2),)), ([0, 2, 3, 7], ((0, 0), (2, 3), (7, 7))), ([5], ((5, 5),))]
)
def test_indices_become_ranges(indices, ranges):
    assert ranges_of(np.array(indices)) == ranges


def test_a_stacked_vector_has_columns():
    assert text([0, 1, 2], (6,)) == ", all in x[0:3]"
    assert text([0, 1, 5], (6,)) == ", all in x[0:2] and x[5]"
    assert text([3, 4], (6,), outputs=1) == ": x[3:5]"
    assert text([0, 2, 4, 6], (12,), outputs=1) == ", all in x[0:7]"  # four ranges: not every element in it is wrong
    assert text([4097, 4096], (5000,), outputs=1, complete=False) == "; those found are in x[4096:4098]"


def test_a_field_has_rows_and_columns():
    assert text([(0, 1), (1, 1), (2, 1)], (3, 4)) == ", all in x[:,1]"
    assert text([(2, 0), (2, 3)], (3, 4)) == ", all in x[2,0] and x[2,3]"
    assert text([(1, 0, 2), (1, 1, 2)], (2, 2, 5)) == ", all in x[1,:,2]"


def test_no_pattern_has_no_words():
    assert text([2], (6,)) == text(list(range(6)), (6,)) == text([], (6,)) == ""
    assert text([0, 2, 4, 6, 8, 10, 11], (12,)) == ""  # four ranges, over the whole axis
    scattered = [(3, 50), (20, 7), (41, 33)]
    assert text(scattered, (64, 64), complete=False) == ""
    assert text([(3, 0), (20, 0), (41, 0)], (64, 64), complete=False) == "; those found are in x[:,0]"
