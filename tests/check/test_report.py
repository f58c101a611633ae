"""Every element of a check, and the parts of complex ones."""

import re

import numpy as np
import pytest

import gradcli
from gradcli.check.check import Check
from gradcli.check.declare import check_gradient
from gradcli.show.checks import agreement, headline
from tests.tape.build import function

X = np.array([1.0, 2.0, 4.0])
Z = np.array([1 + 2j, 3 - 1j])


def every(f, at, **claims):
    check = Check(f, at, **claims)
    check.request = check.request._replace(show="all")
    return check.run().inputs


def test_every_element_is_reported_where_that_is_asked_for():
    (found,) = every(lambda x: x**2, {"x": X}, grad=lambda x: np.diag([2 * x[0], 2 * x[1], 1.0]))
    elements = found.elements
    assert elements.rows == tuple(((i,), "") for i in range(3)) == elements.columns
    np.testing.assert_array_equal(elements.claimed, np.diag([2.0, 4.0, 1.0]))
    np.testing.assert_allclose(elements.numeric, np.diag(2 * X), atol=1e-9)
    assert (np.abs(elements.numeric - np.diag(2 * X)) <= elements.error).all()
    assert elements.verdicts.tolist() == [["pass"] * 3, ["pass"] * 3, ["pass", "pass", "fail"]]


def test_elements_are_not_kept_unasked():
    assert check_gradient(lambda x: x**2, lambda x: np.diag(2 * x), {"x": X}).inputs[0].elements is None


def test_large_sparse_jacobians_have_their_elements_too():
    (found,) = every(gradcli.sin, {"x": np.linspace(0, 1, 150)})
    assert found.elements.claimed.shape == (150, 150)


def backward(g, z):
    """That of sum |z|^2 with the imaginary part of the second element doubled."""
    right = 2 * z * g
    return right + 1j * np.array([0, 1]) * right.imag


def test_a_wrong_element_of_complex_numbers_is_named_by_its_part():
    (found,) = every(lambda z: (abs(z) ** 2).sum(), {"z": Z}, vjp=backward)
    assert found.elements.columns == (((0,), "re"), ((0,), "im"), ((1,), "re"), ((1,), "im"))
    report = check_gradient(lambda z: (abs(z) ** 2).sum(), at={"z": Z}, vjp=backward)
    assert report.inputs[0].worst[:2] == ((), (1,))
    assert (report.inputs[0].worst.analytic, report.inputs[0].worst.part) == (-4.0, "im")
    assert headline(report).startswith("imaginary part of z[1]: claimed -4, numeric -2")
    assert all("the imaginary part at index [1]" in finding.text for finding in report.diagnosis)


@pytest.mark.parametrize("traced", [True, False])
def test_a_wrong_row_of_complex_outputs_is_named_by_its_part(traced):
    @function(lambda ctx, g: g.real + 4 * g.imag)
    def wrong(ctx, x):
        return gradcli.complex(x, 3 * x)

    if traced:
        report = check_gradient(wrong.apply, at={"x": X})
    else:
        report = check_gradient(lambda x: x + 3j * x, lambda x: np.diag([1 + 4j] * 3), {"x": X})
    worst = report.inputs[0].worst
    assert (worst.output_part, worst.output, worst.place) in {("im", (i,), (i,)) for i in range(3)}
    assert headline(report).startswith(f"d imaginary part of out[{worst.place[0]}]/d x[{worst.place[0]}]: claimed 4")


def test_wrong_imaginary_parts_are_told_together():
    def vjp(g, z):
        return g * (2 * z.real + 3j * z.imag)

    report = check_gradient(lambda z: (abs(z) ** 2).sum(), at={"z": Z}, vjp=vjp)
    assert "constant factor 3/2 in the imaginary parts" in report.diagnosis[0].text


@pytest.mark.parametrize(("count", "words"), [(1, "1 element is nan"), (2, "2 elements are nan")])
def test_one_element_is_and_two_are(count, words):
    claim = np.where(np.arange(3) < count, np.nan, 2 * X)
    assert words in check_gradient(lambda x: (x**2).sum(), lambda x: claim, {"x": X}).diagnosis[0].text


def test_a_pass_tells_small_elements_from_the_largest():
    x = np.r_[np.linspace(-1, 1, 9), 14.0]
    report = check_gradient(lambda x: np.tanh(x).sum(), lambda x: 1 / np.cosh(x) ** 2, at={"x": x})
    assert report.verdict == "pass"
    said = re.search(
        r"errors above (.*) of the largest slope .*, in the smallest elements above (.*) rel", str(agreement(report))
    )
    assert float(said[1]) < 1e-7 < 1e-4 < float(said[2])
    same = check_gradient(lambda x: np.tanh(x).sum(), lambda x: 1 / np.cosh(x) ** 2, at={"x": x[:9]})
    assert "largest slope" not in agreement(same)
