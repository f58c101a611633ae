"""Right digits of value and gradient, compared with mpmath and NumPy, and what loses them."""

import json

import mpmath
import numpy as np
import pytest

from gradcli.analysis.precision import points_between
from gradcli.cli.main import main


def measured(capsys, *words: str) -> dict:
    assert main(["precision", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def digits(found: float, right: mpmath.mpf) -> float:
    """Return the number of right digits of a float, as the manual defines it."""
    error = abs((mpmath.mpf(float(found)) - right) / right)
    return min(max(-float(mpmath.log10(error)), 0.0), 15.954589770191003) if error else 15.954589770191003


SLOPES = {
    "(exp(x)-1)/x": "exp(x)/x - (exp(x)-1)/x**2",
    "expm1(x)/x": "exp(x)/x - expm1(x)/x**2",
    "x - sin(x)": "1 - cos(x)",
}


@pytest.mark.parametrize("text", SLOPES)
def test_digits_match_numpy_compared_with_mpmath(text, capsys):
    found = measured(capsys, text, "x=1e-6:1", "--points", "13")
    values, slopes = [], []

    def right(x):
        return eval(text, {**vars(mpmath), "x": x})

    with mpmath.workdps(80):
        for x in np.geomspace(1e-6, 1, 13):
            rounded, exact = {**vars(np), "x": x}, mpmath.mpf(float(x))
            values.append(digits(eval(text, rounded), right(exact)))
            slopes.append(digits(eval(SLOPES[text], rounded), mpmath.diff(right, exact)))
    np.testing.assert_allclose(found["value"], values, atol=1e-6)
    assert np.median(np.abs(np.subtract(found["gradient"]["x"], slopes))) < 0.5  # backward sums in a different order


LOSSES = {
    "(1-cos(x))/x**2 x=1e-12:1": [("value", "forward", "1-cos(x)"), ("x", "forward", "1-cos(x)")],
    "expm1(x)/x x=1e-12:1": [("x", "sum", "x")],
    "x-sin(x) x=1e-6:1": [("value", "forward", "x-sin(x)"), ("x", "sum", "x")],
    "sin(1/x) x=1e-12:1": [("value", "forward", "sin(1/x)"), ("x", "forward", "sin(1/x)")],
    "log(exp(x)) x=1:800": [("value", "forward", "exp(x)"), ("x", "forward", "exp(x)")],
    "sqrt(x**2+y) x=1:1e200 y=0": [("value", "forward", "x**2"), ("x", "forward", "x**2"), ("y", "forward", "x**2")],
    "sum(x*const([1e16,1,-1e16])) x=1:2": [
        ("value", "forward", "sum(x*const([1e16,1,-1e16]))"),
        ("x", "backward", "x*const([1e16,1,-1e16])"),
    ],
    "sin(x) x=0:1": [],
    "abs(x) x=-1:1": [],
}


@pytest.mark.parametrize("line", LOSSES)
def test_operations_that_lose_digits_are_found(line, capsys):
    found = measured(capsys, *line.split(" "))
    assert [(loss["of"], loss["kind"], loss["formula"]) for loss in found["losses"]] == LOSSES[line]
    for loss in found["losses"]:
        assert loss["before"] > loss["after"] + 1


@pytest.mark.parametrize("count", [*range(2, 9), 40])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 0.0), (-2.0, 3.0), (1.0, 2.0), (1e-9, 1.0)])
def test_points_include_both_ends_and_come_close_to_an_inner_zero(ends, count):
    x = points_between(*ends, count, np.float64)
    assert (x[0], x[-1]) == ends and len(x) <= count and (np.diff(x) > 0).all()
    if count == 40 and ends[0] <= 0:
        assert 0 in x and len(x) >= 35 and np.abs(x[x != 0]).min() < 1e-11


def test_digits_are_right_near_overflow_and_underflow(capsys):
    found = measured(capsys, "exp(x)", "x=-800:800")
    assert 15.954589770191003 in found["value"]
    assert min(found["value"]) > 14.5 and min(found["gradient"]["x"]) > 14.5
