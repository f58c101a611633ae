"""Factors and terms of a part of the elements, and how many numbers a constant needs."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.explain.factors import FoundFactor, best

AT = {"x": np.array([0.7, 1.4, 0.3, 2.2, 1.1, 0.9])}
FIRST = np.arange(6) < 3


def regularized(x):
    return (np.sin(x) + 0.1 * x**2).sum()


@pytest.mark.parametrize(
    ("f", "grad", "words"),
    [
        (lambda x: (x**3).sum(), lambda x: 3 * x**2 / np.where(FIRST, x, 1), "a factor x is missing"),
        (regularized, lambda x: np.cos(x) + np.where(FIRST, 0, 0.2 * x), "claim plus 0.2 * x in x[0:3]"),
    ],
)
def test_what_a_part_of_the_elements_lacks_is_named_with_their_place(f, grad, words):
    (finding,) = check_gradient(f, grad, AT).diagnosis
    assert words in finding.text and " in x[0:3]" in finding.text


WEIGHTS = np.array([1.5, 0.4, -2.0, 0.9, 3.0, 0.7])


def weights():
    return WEIGHTS


def test_an_array_of_a_function_that_is_called_is_named():
    f = lambda x: np.sum(weights() * np.sin(x))  # noqa: E731
    assert check_gradient(f, lambda x: weights() * np.cos(x), AT).verdict == "pass"
    (finding,) = check_gradient(f, np.cos, AT).diagnosis
    assert finding.text == "x: a factor WEIGHTS is missing"


def test_the_same_difference_in_a_few_elements_is_not_a_missing_constant():
    def kind(which):
        report = check_gradient(lambda x: np.sin(x).sum(), lambda x: np.cos(x) + np.where(which, 0.3, 0), AT)
        return report.diagnosis[0].kind

    assert [kind(FIRST), kind(True)] == ["some elements", "dropped term"]


def test_a_gradient_that_is_the_same_everywhere_does_not_lack_a_factor_and_a_constant():
    def finding(scale):
        return check_gradient(lambda x: scale * np.log(x).sum(), np.ones_like, AT).diagnosis[0]

    assert [finding(scale).kind for scale in (1, 7)] == ["chain factor", "unsteady"]
    assert "the claim is x times the derivative" in finding(1).text


@pytest.mark.parametrize(("count", "constants"), [(1, [1.0, -1]), (2, [1.0, -1, 2, 0.5]), (3, [1.0, -1, 2, 0.5, 7.3])])
def test_a_constant_needs_numbers_that_confirm_it(count, constants):
    """One number allows none but a sign, two numbers a usual one, and three any."""
    quantity = SimpleNamespace(name="x", place=False)
    found = [FoundFactor(quantity, 1.0, c) for c in (7.3, 2, 1.0, 0.5, -1)]
    assert {factor.constant for factor in best(found, count)} == {*constants}
