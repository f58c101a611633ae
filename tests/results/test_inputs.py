"""Inputs and their elements in words."""

import math

import numpy as np
import pytest

from gradcli.results.inputs import Accuracy, Elements
from tests.show.reports import checked, element, report


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (element(), "x"),
        (element(place=(0, 2)), "x[0,2]"),
        (element(output=(1,), place=(2,)), "d out[1]/d x[2]"),
        (element(output=("loss", 0)), "d out[loss,0]/d x"),
        (element(part="im", place=(1,)), "Im x[1]"),
        (element(output_part="re", part="im"), "d Re out/d Im x"),
    ],
)
def test_an_element_is_named_by_output_and_input(made, name):
    assert made.name("x") == name


@pytest.mark.parametrize(
    ("claimed", "numeric", "error", "ratio"),
    [(4, 2, 1e-9, 2.0), (-1, 2, 1e-9, -0.5), (4, 0.0, 1e-9, None), (4, 1e-10, 1e-9, None), (4, math.nan, 1e-9, None)],
)
def test_the_ratio_is_known_unless_the_numeric_derivative_may_be_zero(claimed, numeric, error, ratio):
    assert element(claimed, numeric, error).ratio == ratio


def test_every_element_has_a_row():
    claimed, numeric = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [3.0, 5.0]])
    verdicts = np.array([["pass", "pass"], ["negligible", "fail"]])
    every = Elements(
        (((0,), ""), ((1,), "")), (((), "re"), ((), "im")), claimed, numeric, np.full((2, 2), 1e-9), verdicts
    )
    rows = list(checked("z", "fail", elements=every).rows())
    assert [row.name("z") for row in rows] == [
        "d out[0]/d Re z",
        "d out[0]/d Im z",
        "d out[1]/d Re z",
        "d out[1]/d Im z",
    ]
    assert rows[3].cells == (4.0, 5.0, 1e-9, 0.8, "fail")
    assert list(checked().rows()) == [] and checked().every_element is None


@pytest.mark.parametrize(
    ("worst", "text"),
    [
        (element(4.0, 2.0, place=(1,)), "x[1]: claimed 4, numeric 2 ± 1e-09"),
        (element(output=(0,)), "d out[0]/d x: claimed 4, numeric 2 ± 1e-09"),
        (element(part="im"), "imaginary part of x: claimed 4, numeric 2 ± 1e-09"),
        (element(output_part="re"), "d real part of out/d x: claimed 4, numeric 2 ± 1e-09"),
        (element(5.0, sides=(1.0, -1.0)), "x: claimed 5; at this kink it must lie in [-1, 1]"),
        (
            element(0.5, sides=(1.0, 1e-14)),
            "x: claimed 0.5, which is possible at this kink, but not together with the other claimed values",
        ),
        (element(1 / 3, 2 / 3), "x: claimed 0.333333333333, numeric 0.666666666667 ± 1e-09"),
        (element(-0.0), "x: claimed 0, numeric 2 ± 1e-09"),
    ],
)
def test_the_worst_element_in_words(worst, text):
    assert checked("x", "fail", worst).worst_text() == text
    assert checked("x", "fail", element(1 / 3)).worst_text(2).startswith("x: claimed 0.33, numeric 2 ")


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("fail", ", but the integral of the claim does not follow the values of the function"), ("inconclusive", "")],
)
def test_an_element_without_a_numeric_derivative_in_words(verdict, words):
    text = checked("x", verdict, element(1.0, math.nan, math.inf)).worst_text()
    assert text == f"x: claimed 1; no numeric derivative could be computed{words}"


@pytest.mark.parametrize(
    ("error", "resolution"), [(math.inf, 1e-8), (math.nan, 1e-8), (1e-9, math.inf), (1e-9, math.nan)]
)
def test_an_input_cannot_pass_with_an_unbounded_error(error, resolution):
    with pytest.raises(ValueError, match="cannot pass"):
        checked(worst=element(2.0, error=error), resolution=resolution)
    checked(verdict="inconclusive", worst=element(2.0, error=error), resolution=resolution)


def test_accuracy_against_a_reference_in_words():
    accuracy = Accuracy("float16", 3.0, 0.5, 12.0, 0.001, 0.0002)
    words = "the rms error is 3 ulps of float16, that of the reference 0.5, and the largest error 12 ulps"
    assert accuracy.text == words
    assert "reference" not in accuracy._replace(own=0.0).text
    item = checked("x", "fail", accuracy=accuracy)
    assert report(inputs=(item,), message="too far").headline() == "x: claimed 2, reference 2 ± 1e-09; too far"
    assert report("inconclusive", inputs=(item,), message="too far").headline() == "too far"
