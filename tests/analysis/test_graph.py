"""The graph of a program: shapes and types of unobserved results; tests/cases/analysis/graph.txt has the commands."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.analysis.graph import noted_outline

SINGLE = ((2, 3), np.dtype("float64"))


@pytest.mark.parametrize(
    ("outline", "known"),
    [
        (SINGLE, ((2, 3), "float64")),
        ([SINGLE, ((), np.dtype("int64"))], ((2, 3), "float64")),  # the first of several results
        ([], (None, None)),
        (None, (None, None)),
    ],
)
def test_shape_and_type_of_an_unobserved_result(outline, known):
    assert noted_outline(SimpleNamespace(outline=outline)) == known
