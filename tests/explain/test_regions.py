"""Conditions on values that hold for wrong elements only."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.explain import regions

THRESHOLD = np.array(0.55)


def found(values, wrong, monkeypatch, **at):
    """Return the conditions, with the mask of the values for which each holds."""
    values = np.array(values)
    monkeypatch.setattr(regions, "numbers_behind", lambda block: [])
    block = SimpleNamespace(name="x", at={"x": values, **at})
    conditions = regions.limits(block, "x", lambda at: at.at["x"], values, np.isin(values, wrong))
    return [(condition.text, condition.of(block).tolist()) for condition in conditions]


@pytest.mark.parametrize(
    ("values", "wrong", "words"),
    [
        ([0.0, 0.0, 3.0, 3.0], [0.0], "x is 0"),
        ([0.0, 3.0, 3.0], [3.0], "x is 3"),
        ([-1.0, 2.0, 3.0], [-1.0], "x < 0"),
        ([-2.0, -1.0, 3.0], [3.0], "x > 0"),
        ([-2.0, -1.0, 3.0], [-2.0, -1.0], "x < 0"),
        ([-3.0, -2.4, -1.6, 0.3], [-3.0, -2.4], "x < -2"),
        ([-2.9, -1.6, 1.7, 2.4], [2.4], "x > 2"),
        ([0.31, 0.33, 0.4, 0.5], [0.31, 0.33], "x < about 0.365"),
        ([0.31, 0.33, 0.4, 0.5], [0.4, 0.5], "x > about 0.365"),
    ],
)
def test_the_condition_holds_for_the_wrong_elements(values, wrong, words, monkeypatch):
    conditions = found(values, wrong, monkeypatch)
    assert conditions[0][0] == words and len(conditions) <= regions.MOST_LIMITS
    assert all(holds == np.isin(values, wrong).tolist() for _, holds in conditions)


@pytest.mark.parametrize("wrong", [[0.2, 0.9], [0.5]])
def test_wrong_elements_on_both_sides_have_no_condition(wrong, monkeypatch):
    assert found([0.2, 0.5, 0.9], wrong, monkeypatch) == []


def test_a_limit_is_named_after_an_input_between_the_values(monkeypatch):
    values = [0.3, 0.31, 0.6, 0.7]
    assert found(values, [0.3, 0.31], monkeypatch, t=THRESHOLD)[0] == ("x < t", [True, True, False, False])
    for other in (np.array(0.8), np.array([0.55]), np.array(1)):
        assert found(values, [0.3, 0.31], monkeypatch, t=other)[0][0] == "x < 0.5"


@pytest.mark.parametrize(
    ("values", "wrong", "words"),
    [
        ([-2.0, -0.5, 0.5, 3.0], [-0.5, 0.5], ["abs(x) < 1"]),
        ([0.5, 0.6, 2.0, 3.0], [0.5, 0.6], ["x < 1"]),
        ([-2.0, 2.0, -2.0], [2.0], ["x is 2"]),
        ([1.5, 1.5, 1.5], [1.5], []),
        ([0.5, np.nan, 2.0], [0.5], []),
    ],
)
def test_sizes_are_compared_if_values_have_both_signs(values, wrong, words, monkeypatch):
    values = np.array(values)
    monkeypatch.setattr(regions, "numbers_behind", lambda block: [])
    monkeypatch.setattr(regions, "sources", lambda block: [("x", lambda at: at.at["x"])])
    numbers = np.ones((1, len(values)))
    block = SimpleNamespace(name="x", at={"x": values}, a=numbers, r=numbers, k=0)
    evidence = SimpleNamespace(place=None, narrowed={})
    conditions = regions.separating(block, np.isin(values, wrong), evidence)
    assert [condition.text for condition in conditions] == words


@pytest.mark.parametrize(
    ("claimed", "known", "words"),
    [
        ([0.0, 0.0], [5.0, 6.0], "; there, the claim is 0, but the derivative is not"),
        ([1.0, 2.0], [5.0, 5.0], "; there, the derivative is 5"),
        ([1.0, 2.0], [-5.0, -5.0 - 1e-9], "; there, the derivative is -5"),
        ([1.0, 2.0], [-5.0, 5.0], "; there, the derivative is 5 or -5"),
        ([1.0, 2.0], [5.0, 5.1], ""),
        ([1.0], [5.0], ""),
    ],
)
def test_the_derivative_is_named_if_all_wrong_elements_share_it(claimed, known, words):
    some = np.arange(len(known) + 1) < len(known)
    block = SimpleNamespace(a=np.array([[*claimed, 7.0]]), r=np.array([[*known, 7.0]]), wrong=some[None])
    condition = SimpleNamespace(text="x < 1", opposite="x > 1")
    said = regions.place_by_value(block, some, condition)
    assert said.text == f"the claim is right where x > 1, but wrong where x < 1{words}"


FIRST = np.arange(5) < 2


def scattered():
    """Return factors that no mistake explains, and that are not a number in the code."""
    return 2 + 0.5 * np.random.default_rng(1).uniform(size=5)


def in_some(which):
    """Return functions with gradients that are wrong in some elements. which: a mask of them, for x."""
    return {
        "twice": (lambda x: np.sin(x).sum(), lambda x: np.where(which(x), 2, 1) * np.cos(x)),
        "scattered": (lambda x: np.sin(x).sum(), lambda x: np.where(which(x), scattered(), 1) * np.cos(x)),
        "mask": (lambda x: np.where(which(x), 0, np.sin(x)).sum(), np.cos),
        "other mask": (lambda x: np.where(which(x), 0, np.sin(x)), lambda x: np.diag(np.where(which(x), np.cos(x), 0))),
    }


@pytest.mark.parametrize("name", in_some(None))
def test_a_condition_on_values_is_named_only_if_it_holds_in_another_order_of_the_elements(name):
    """At this point, the first two elements are the small ones, as they are at all points nearby and at minus x."""
    at = {"x": np.array([0.2, 0.5, 2.1, 2.9, 3.3]) * (1 if name == "other mask" else [1, -1, 1, -1, 1])}
    for which, named in ((lambda x: np.abs(x) < 1, True), (lambda x: FIRST, False)):
        report = check_gradient(*in_some(which)[name], at)
        assert report.verdict == "fail"
        assert any(" where x < 1" in f.text or " where abs(x) < 1" in f.text for f in report.diagnosis) is named
        assert any("a mask is missing" in f.text for f in report.diagnosis) is (named and name == "mask")


@pytest.mark.parametrize("name", ["scattered", "other mask"])
def test_an_order_of_the_elements_says_nothing_of_conditions_on_another_input(name):
    f, grad = in_some(lambda x: FIRST)[name]
    at = {"x": np.array([1.3, 0.2, 0.7, 2.1, 0.4]), "y": np.array([-1.0, -2, 1, 2, 3])}
    report = check_gradient(lambda x, y: f(x), lambda x, y: grad(x), at, wrt=["x"])
    assert report.verdict == "fail" and not any("where" in finding.text for finding in report.diagnosis)


def test_a_condition_on_another_input_is_confirmed_with_its_elements_in_another_order():
    at = {"x": np.array([0.3, 0.4, 1.0, 2.0, 0.7, 0.9]), "y": np.array([-1.0, -2.0, 1.0, 2.0, 3.0, 0.5])}

    def text(wrong):
        report = check_gradient(lambda x, y: np.sin(x).sum(), lambda x, y: np.cos(x) * wrong(y), at, wrt="x")
        return " ".join(finding.text for finding in report.diagnosis)

    assert "where y < 0" in text(lambda y: np.where(y < 0, 2.0, 1.0))
    assert "where y" not in text(lambda y: np.array([2.0, 2.0, 1.0, 1.0, 1.0, 1.0]))


def text_of(f, grad, x):
    report = check_gradient(f, grad, {"x": np.array(x)})
    assert report.verdict == "fail"
    return " ".join(finding.text for finding in report.diagnosis)


@pytest.mark.parametrize("reduced", [np.sum, np.asarray])
@pytest.mark.parametrize(
    ("limit", "x", "words"),
    [
        (1.7, [0.2, 0.5, 2.9, 2.1], r"wrong where x < about 1\.[67]\d*$"),  # not 1, which is between 0.5 and 2.1
        (-0.3, [-2.0, -1.2, 0.8, 1.1, 0.9], r"wrong where x < about -0\.(29|3)\d*$"),
        (0.0, [-2.0, -1.2, 0.8, 1.1, 0.9], "wrong where x < 0$"),
    ],
)
def test_a_limit_is_searched_between_right_and_wrong_elements(limit, x, words, reduced):
    number = [limit]  # a number that the code does not show

    def grad(x):
        slopes = np.where(x < number[0], np.exp(x) * (1 + x**2), np.cos(x))
        return slopes if reduced is np.sum else np.diag(slopes)

    assert re.search(words, text_of(lambda x: reduced(np.sin(x)), grad, x))


def test_elements_that_are_wrong_twice_between_two_limits_have_no_condition():
    wrong = lambda x: (x < 0.2) | ((x > 0.8) & (x < 1.4))  # noqa: E731
    x = [0.1, 0.15, 1.6, 1.8, 1.9, 2.0, 1.7, 2.2]
    text = text_of(lambda x: np.sin(x).sum(), lambda x: np.where(wrong(x), np.exp(x) * (1 + x**2), np.cos(x)), x)
    assert "where x" not in text


def test_a_wrong_element_at_a_kink_is_on_neither_side_of_a_condition():
    grad = lambda w: np.where(w > 0, 1.0, -2.0)  # noqa: E731
    assert "right where x > 0, but wrong where x < 0 and at a kink" in text_of(
        lambda w: np.abs(w).sum(), grad, [1.0, 0.0, -2.0]
    )
