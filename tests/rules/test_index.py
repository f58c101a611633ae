"""Indexing: selected elements compared with NumPy's, and indices that are rejected."""

import numpy as np
import pytest

from gradcli.rules.index import ArrayIndex

PLACES = np.arange(12).reshape(3, 4)
KEYS = [
    1,
    (slice(None, None, -2), 3),
    (..., 0),
    (None, 2),
    [2, 0],
    ([0, 2], [1, 3]),
    PLACES > 6,
    (slice(1, None), [True, False, False, True]),
    [],
    (slice(None), []),
    np.array(True),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_selected_elements_match_numpy(key):
    np.testing.assert_array_equal(ArrayIndex(key, PLACES.shape).map, PLACES[key])


@pytest.mark.parametrize("key", [[1.0], (0, np.array([2.0])), 1.0, "a", [None, 1.5]], ids=repr)
def test_only_integers_and_booleans_are_indices(key):
    with pytest.raises(IndexError, match="an index must be made of integers"):
        ArrayIndex(key, PLACES.shape)
