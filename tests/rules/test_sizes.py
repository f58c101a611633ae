"""Predicted sizes of results, which allow refusing a call whose result would be too large."""

import numpy as np
import pytest

from gradcli.rules import full_table

from .calls import calls
from .per_entry import per_entry

BOUNDS = {"repeat", "diag", "dot", "pad", "convolve", "correlate", "convolve2d"}
BOUNDS |= {"cubic_spline", "barycentric_interpolate", "polyfit"}  # limited because of their intermediate results
"""Entries whose result may be smaller than predicted; for all others the prediction is exact."""


@per_entry([c for c in calls() if c.entry.size is not None])
def test_predicted_sizes_match_the_results(call):
    said = call.entry.size(*(part(call.arrays) for part in call.template), **call.sample.kwargs)
    size = call.plain(*call.arrays).size
    assert said >= size if call.entry.name in BOUNDS else said == size


EXACT = {
    "zeros": [(3,), (2, 3), ((2, 3),)],
    "ones": [(3,), (2, 3), ((2, 3),)],
    "full": [((2, 3), 1.0), (4, 1.0)],
    "eye": [(3,), (3, 2)],
    "arange": [(5,), (2, 5), (2, 9, 3), (0, 1, 0.3), (5, 0, -2), (3, 0)],
    "linspace": [(0, 1), (0, 1, 7)],
    "logspace": [(0, 1), (0, 1, 7)],
    "diag": [(np.ones(3),), (np.ones(3), -1)],
    "repeat": [(np.ones((2, 3)), 2)],
    "pad": [(np.ones((2, 3)), 2)],
    "dot": [(np.ones((2, 3)), np.ones((3, 4))), (np.ones(3), np.ones(3))],
}


@pytest.mark.parametrize(("name", "args"), [(name, args) for name, given in EXACT.items() for args in given])
def test_bounds_are_exact_for_usual_calls(name, args):
    entry = full_table()[name]
    assert entry.size(*args) == np.asarray(entry.function(*args)).size
