"""Numbers and results as data: what is written reads back equal, in every format."""

import csv
import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import coo_array, load_npz

import gradcli
from gradcli.errors import GradcliError, Span
from gradcli.results.base import Gradients, InputGradient, Jacobian, Products
from gradcli.results.formats import Style
from gradcli.results.studies import Lock
from gradcli.show.data import (
    as_plain_data,
    error_document,
    json_line,
    number,
    one_line,
    write_cells,
    write_csv,
    write_json,
    write_npy,
    write_npz,
    write_raw,
    write_source,
    write_text,
    write_tsv,
)

NUMBERS = [0.1, -0.0, 1e300, 5e-324, 1 / 3, np.float32(0.1), np.int64(3), 1.5 - 2j, complex(-0.0, 1e-9)]


@pytest.mark.parametrize("x", NUMBERS, ids=repr)
def test_a_number_reads_back_equal(x):
    assert type(x)(number(x)) == x
    assert not number(x).startswith("-0.0")


def test_digits_special_values_and_booleans():
    assert number(1 / 3, 4) == "0.3333" and number(1 / 3 - 2j / 3, 2) == "0.33-0.67j"
    assert (number(None), number(np.True_), number(np.nan), number(-np.inf)) == ("none", "True", "nan", "-inf")


def test_json_has_only_its_own_types():
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


X = np.array([[1.0, 0.1], [-0.0, np.nan]])
RESULT = Gradients(
    "t", np.float64(2.0), (InputGradient("x", np.zeros((2, 2)), X), InputGradient("y", np.zeros(()), None)), {}
)
JACOBIAN = Jacobian("t", np.zeros(1), {"a,b": np.zeros(2)}, {"a,b": np.array([[1 + 2j, 3.0]])})


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (write_tsv, "x[0,0]\t1.0\nx[0,1]\t0.1\nx[1,0]\t0.0\nx[1,1]\tnan\ny\tnone\n"),
        (write_csv, 'name,value\n"x[0,0]",1.0\n"x[0,1]",0.1\n"x[1,0]",0.0\n"x[1,1]",nan\ny,none\n'),
        (write_raw, "1.0\n0.1\n0.0\nnan\nnone\n"),
    ],
)
def test_a_row_for_each_element(write, expected):
    assert write(RESULT, Style()) == expected


def test_a_heading_has_a_column_for_each_part_of_a_name():
    text = write_csv(JACOBIAN, Style())
    assert [*csv.reader(text.splitlines())] == [
        ["output", "input", "value"],
        *[["out[0]", "a,b[0]", "1.0+2.0j"], ["out[0]", "a,b[1]", "3.0+0.0j"]],
    ]
    assert write_tsv(JACOBIAN, Style()).splitlines()[0] == "out[0]/a,b[0]\t1.0+2.0j"


def test_precision_is_the_number_of_digits_in_every_format():
    result = Products("t", "vjp", np.array(1 / 3), {"x": np.array([2 / 3, 2e10 / 3])})
    assert write_raw(result, Style(3)) == "0.667\n6.67e+09\n"
    document = json.loads(write_json(result, Style(3)))
    assert (document["value"], document["vjp"]["x"]) == (0.333, [0.667, 6.67e9])


def test_a_document_has_a_header_and_nan_as_a_string():
    document = json.loads(write_json(RESULT, Style(command="grad")))
    head = {"schema": "gradcli/1", "command": "grad", "target": "t", "version": gradcli.__version__}
    assert document == {**head, "value": 2.0, "grad": {"x": [[1.0, 0.1], [0.0, "nan"]], "y": None}}


def test_numpy_files_read_back_equal():
    found = np.load(io.BytesIO(write_npz(RESULT, Style())))
    assert sorted(found) == ["value", "x"]  # a gradient that is None has no array
    np.testing.assert_array_equal(found["x"], X)
    taken = Products("t", "vjp", np.float64(5.0), {"value": np.array([7.0])})
    assert np.load(io.BytesIO(write_npz(taken, Style())))["value"].tolist() == [7.0]  # the input with that name
    np.testing.assert_array_equal(np.load(io.BytesIO(write_npy(RESULT, Style()))), X)
    two = RESULT._replace(inputs=(InputGradient("x", X, X), InputGradient("y", X, X)))
    with pytest.raises(GradcliError, match=r"a \.npy file holds one array, but the result has x, y"):
        write_npy(two, Style())


def test_a_sparse_jacobian_is_written_as_one_matrix():
    parts = {"x": coo_array(([1.0], ([0], [1])), shape=(2, 2)), "y": coo_array(([2.0], ([1], [0])), shape=(2, 1))}
    sizes = {"x": np.zeros(2), "y": np.zeros(1)}
    found = load_npz(io.BytesIO(write_npz(Jacobian("t", np.zeros(2), sizes, parts), Style())))
    assert found.toarray().tolist() == [[0, 1, 0], [0, 0, 2]]
    with pytest.raises(GradcliError, match="no dense array"):
        write_npy(Jacobian("t", np.zeros(2), sizes, parts), Style())


def test_an_error_is_a_document_with_its_location():
    error = GradcliError("no 'sinn'", span=Span("a\nsinn(x)", 2, 6, "f.expr"), hint="sin", kind="name")
    assert json.loads(error_document(error)) == {
        "error": {
            **{"kind": "name", "message": "no 'sinn'", "hint": "sin", "exit": 2},
            "span": {"start": 2, "end": 6, "line": 2, "column": 1, "text": "sinn(x)", "file": "f.expr"},
        }
    }
    assert json.loads(error_document(GradcliError("x")))["error"]["span"] is None


def test_control_characters_in_json_are_escaped_and_read_back_equal():
    text = json_line({"a\x9b": "\x1b[0m \u202e"})
    assert json.loads(text) == {"a\x9b": "\x1b[0m \u202e"} and text.rstrip("\n").isprintable()


def test_formulas_are_rows_of_text_and_code_is_unchanged():
    result = SimpleNamespace(rows=lambda: [("∂f/∂x", "2*x"), ("∂f/∂y", "1")], code="def f(): ...\n")
    assert write_text(result, Style()) == "∂f/∂x\t2*x\n∂f/∂y\t1\n"
    assert write_text(result, Style(unicode=False)) == "del f/del x\t2*x\ndel f/del y\t1\n"
    assert write_source(result, Style()) == result.code


def test_a_lock_has_a_line_for_each_check():
    entries = ({"check": "f", "value": 1.5}, {"check": "g", "value": np.nan})
    lines = write_json(Lock("t", {"words": ["t"]}, {}, entries), Style(command="lock")).splitlines()
    assert [json.loads(line.rstrip(",")) for line in lines[1:3]] == [
        {"check": "f", "value": 1.5},
        {"check": "g", "value": "nan"},
    ]
    assert json.loads("".join(lines))["checks"][1]["check"] == "g" and len(lines) == 4
