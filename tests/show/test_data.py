"""Numbers and results as data: what is written reads back equal, in every format."""

import json

import numpy as np
import pytest

from gradcli.show.data import as_plain_data, json_line, number, one_line, write_cells

NUMBERS = [0.1, -0.0, 1e300, 5e-324, 1 / 3, np.float32(0.1), np.int64(3), 1.5 - 2j, complex(-0.0, 1e-9)]


@pytest.mark.parametrize("x", NUMBERS, ids=repr)
def test_a_number_reads_back_equal(x):
    assert type(x)(number(x)) == x
    assert not number(x).startswith("-0.0")


def test_digits_names_and_truth():
    assert number(1 / 3, 4) == "0.3333" and number(1 / 3 - 2j / 3, 2) == "0.33-0.67j"
    assert (number(None), number(np.True_), number(np.nan), number(-np.inf)) == ("none", "True", "nan", "-inf")


def test_json_has_its_own_types_alone():
    given = {"x": np.array([[1.0, np.nan], [-np.inf, 0.25]]), "f": np.float32(0.1), "z": np.array(1 + 2j), "n": None}
    found = as_plain_data(
        {**given, "names": np.array(["a", "b"]), "whole": np.array([1, 2]), "t": (np.bool_(True), "s")}
    )
    assert (
        json.loads(json_line(found))
        == found
        == {
            **{"x": [[1.0, "nan"], ["-inf", 0.25]], "f": 0.1, "z": {"re": 1.0, "im": 2.0}, "n": None},
            **{"names": ["a", "b"], "whole": [1, 2], "t": [True, "s"]},
        }
    )
    assert as_plain_data(np.array([1 / 3, 2 / 3]), 2) == [0.33, 0.67]


def test_a_cell_is_on_one_line():
    assert one_line("a\tb\n c\x1b[31m") == "a b c␛[31m"
    rows = [("a\tb", 0.5, np.array([1.0, 2.0]), ("p", "q"), lambda precision: f"at {precision}")]
    assert list(write_cells(rows, 3, one_line)) == [["a b", "0.5", "[1.0, 2.0]", "p/q", "at 3"]]
