"""Diagnoses of wrong derivatives, and those that must not be made; rough claims and right counterparts."""

from typing import Any

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.show.checks import input_lines

X = np.array([0.3, 1.0, 2.5])


def texts(report: Any) -> list[str]:
    """Assert that a check failed, and return the texts of its diagnosis."""
    assert report.verdict == "fail"
    return [finding.text for finding in report.diagnosis]


def strictly(f: Any, grad: Any, x: Any) -> Any:
    """Check a gradient; errors below 1e-6 fail, too."""
    return check_gradient(f, grad, at={"x": x}, strict=True)


def test_a_value_outside_a_kink_is_only_a_wrong_element():
    report = check_gradient(
        lambda x: np.abs(x).sum(), at={"x": np.array([-1.0, 0, 2])}, grad=lambda x: np.where(x, np.sign(x), 1.5)
    )
    assert texts(report) == ["x: a single element is wrong: x[1]; the other 2 are right"]


@pytest.mark.parametrize("x", [np.array(0.0), np.zeros(3), np.array([[0.0, 0.0], [0.0, 0.0]])], ids=np.ndim)
@pytest.mark.parametrize(
    "f", [np.abs, lambda x: np.maximum(x, 0), lambda x: -np.abs(2 * x)], ids=["abs", "relu", "-2abs"]
)
def test_a_function_with_a_kink_is_not_called_constant(f, x):
    report = check_gradient(lambda x: f(x).sum(), at={"x": x}, grad=lambda x: np.full_like(x, 2.5))
    assert not {"surrogate", "some-elements"} & {finding.rule for finding in report.diagnosis}, texts(report)


def test_zeros_beside_kinks_do_not_make_a_function_constant():
    def pool(x):
        return np.maximum(x[::2], x[1::2])

    report = check_gradient(pool, at={"x": np.ones(4)}, vjp=lambda g, x: np.repeat(g, 2))
    assert report.verdict == "fail" and report.rule != "surrogate", report


@pytest.mark.parametrize("x", [0.0, [0.0, 0.0]])
def test_a_gradient_of_a_function_that_rounds_may_be_a_surrogate_at_zero(x):
    report = check_gradient(lambda x: np.round(x).sum(), at={"x": x}, grad=np.ones_like)
    assert (report.verdict, report.rule) == ("fail", "surrogate")


def test_a_gradient_of_a_function_that_rounds_may_be_a_surrogate():
    report = check_gradient(lambda x: np.round(x).sum(), at={"x": [0.3, 1.2]}, grad=np.ones_like)
    assert (report.verdict, report.rule) == ("fail", "surrogate")
    assert "--reference" in texts(report)[0]


def test_a_surrogate_of_one_number_is_confirmed_at_another_point():
    report = check_gradient(lambda x, y: 2 * y + 0 * x, at={"x": 1.3, "y": 0.4}, grad=lambda x, y: 1.0, wrt="x")
    assert (report.verdict, report.rule) == ("fail", "surrogate")
    for f, x in ((lambda x: np.maximum(x, 0), -1.3), (lambda x: np.clip(x, -1, 1), 2.0)):
        report = check_gradient(f, at={"x": x}, grad=lambda x: 1.0)
        assert report.verdict == "fail" and report.rule != "surrogate"  # constant here, but not everywhere


def test_errors_that_differ_are_not_the_same_relative_error():
    errors = 1 + 1e-6 * np.array([0.1, 0.3, 0.8])
    (text,) = texts(strictly(lambda x: np.sin(x).sum(), lambda x: np.cos(x) * errors, X))
    assert text == "x: the wrong elements have relative errors of 1e-07 to 8e-07"
    (text,) = texts(strictly(lambda x: np.sin(x).sum(), lambda x: np.cos(x) * (1 + 1e-6), X))
    assert "the same relative error, 1e-06" in text


def test_a_tiny_relative_error_is_not_called_one_times_the_derivative():
    errors = 1 + 1e-7 * np.array([0, 1.0, 0])
    found = texts(strictly(lambda x: np.sin(x).sum(), lambda x: np.cos(x) * errors, X))
    assert "x[1] (relative error 1e-07); the other 2 are right" in found[-1]


def test_a_missing_conjugate_is_not_called_a_transposition():
    z = X + 1j * X[::-1] ** 2
    report = check_gradient(lambda z: z * z, at={"z": z}, vjp=lambda g, z: g * 2 * z)
    assert "conj is missing" in texts(report)[0]


def test_the_output_that_is_off_by_a_factor_is_named():
    report = check_gradient(
        lambda x: np.array([x @ x, np.prod(x), x.sum()]),
        at={"x": X},
        grad=lambda x: np.array([2 * x, np.prod(x) / x, 2 * np.ones(3)]),
    )
    assert texts(report)[0].endswith("in d out[2]/d x")


def test_wrong_elements_are_counted_over_the_whole_jacobian():
    def softmax(x: np.ndarray) -> np.ndarray:
        return np.exp(x) / np.exp(x).sum()

    report = check_gradient(softmax, at={"x": X}, vjp=lambda g, x: g * softmax(x) * (1 - softmax(x)))
    assert input_lines(report) == ["d out/d x: 6 of 9 elements wrong"]
    assert "only the diagonal p (1 - p) is claimed, where p is the softmax of x" in texts(report)[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_float32_claim_is_not_taken_for_a_solver_in_the_function(seed):
    x = np.random.default_rng(seed).standard_normal(3)
    report = strictly(lambda x: np.exp(x).sum(), lambda x: np.exp(x.astype(np.float32)).astype(float), x)
    assert any("precision lost to float32" in text for text in texts(report))


def test_a_constant_relative_error_is_not_taken_for_float32():
    report = strictly(lambda x: (x**2).sum(), lambda x: 2 * x * (1 + 1e-9), [1.0, 2, 3])
    assert texts(report) == ["x: all elements are off by the same relative error, 1e-09"]


RNG = np.random.default_rng(0)
S = 2 * np.eye(3) + 0.1 * RNG.normal(size=(3, 3))


def minus_but_one(x):
    return np.where(np.arange(x.size) == 4, 3.3, -np.cos(x))


@pytest.mark.parametrize(
    ("f", "grad", "x", "kind", "says"),
    [
        (lambda s: (s * s).sum() + np.log(np.linalg.det(s)), lambda s: 2 * s, S, "dropped term", "log-determinant"),
        (lambda x: np.sin(x).sum(), minus_but_one, np.linspace(-3, 3, 21), "sign", "there is another mistake in x[4]"),
    ],
    ids=["a log-determinant", "another element"],
)
def test_a_mistake_is_named_although_other_parts_differ(f, grad, x, kind, says):
    report = check_gradient(f, grad, at={"x": x})
    assert report.verdict == "fail"
    assert report.diagnosis[0].kind == kind and says in report.diagnosis[0].text


def test_right_inputs_are_listed():
    def grad(a, b, c):
        return b * c[0], a * c[0], np.array([a * b, 1.0])

    report = check_gradient(lambda a, b, c: a * b * c[0], grad, at={"a": 2.0, "b": 3.0, "c": np.array([4.0, 5.0])})
    assert input_lines(report) == ["a: right", "b: right", "c: 1 of 2 elements wrong"]


ROUGH_AT = np.array([0.3137, 1.2345, -0.7111])


def total(x):
    return (np.exp(x) * np.sin(x)).sum()


def slope(x):
    return np.exp(x) * (np.sin(x) + np.cos(x))


ROUGH = {
    "an argument in float16": lambda x: slope(x.astype(np.float16).astype(float)),
    "a factor in float16": lambda x: np.exp(x).astype(np.float16).astype(float) * (np.sin(x) + np.cos(x)),
    "a factor in float32": lambda x: np.exp(x).astype(np.float32).astype(float) * (np.sin(x) + np.cos(x)),
    "a table": lambda x: slope(np.round(x, 3)),
    "erratic by 1 %": lambda x: slope(x) * (1 + 0.01 * np.sin(1e12 * x)),
    "a loose iteration": lambda x: slope(x) * (1 + 1e-6 * np.sin(1e9 * x)),
}


@pytest.mark.parametrize("name", ROUGH)
def test_a_rough_claim_fails(name):
    assert strictly(total, ROUGH[name], ROUGH_AT).verdict == "fail"


@pytest.mark.parametrize("name", ["a factor in float16", "erratic by 1 %", "a loose iteration"])
def test_the_claim_is_blamed_and_not_the_function(name):
    report = strictly(total, ROUGH[name], ROUGH_AT)
    assert report.diagnosis[0].kind == "rough"


def test_roughness_from_rounding_does_not_fail():
    """1 - cos(x) loses its digits in both value and slope, so nothing confirms a right gradient."""
    at = {"x": np.array([1e-5, 3e-6])}
    report = check_gradient(lambda x: ((1 - np.cos(x)) / x**2).sum(), lambda x: -x / 12, at=at)
    assert report.verdict != "fail"


def test_a_float32_claim_is_checked_to_its_precision():
    report = check_gradient(total, lambda x: slope(x).astype(np.float32), at={"x": ROUGH_AT})
    assert report.verdict == "pass" and report.inputs[0].resolution > 1e-7
    assert "float32" in report.notes[0]
    wrong = check_gradient(total, lambda x: (slope(x) * [1, 1.001, 1]).astype(np.float32), at={"x": ROUGH_AT})
    assert wrong.verdict == "fail"


def kinds(grad, x):
    return [finding.kind for finding in strictly(lambda x: (x**2).sum(), grad, x).diagnosis]


def test_diagnoses_explain_what_is_wrong_and_nothing_else():
    x = np.array([0.5, 1.5, 2.5, 3.5])
    assert kinds(lambda x: 2 * x + [0, 0, 1e-5, 0], x) == ["single element"]
    assert kinds(lambda x: 2 * x + 1e-6, x) == ["dropped term"]
    assert kinds(lambda x: 2 * x[[1, 0, 2, 3]], x)[0] == "permuted"
    assert kinds(lambda x: 2.2 * x, x) == ["factor"]


@pytest.mark.parametrize("off", [0.0, 3e-7])
@pytest.mark.parametrize("seed", range(8))
def test_the_scatter_of_a_claim_is_included_in_the_resolution(seed, off):
    """With noise of 1e-7 that depends only on the point, a claim that passes is off by less than the resolution."""

    def error(x):
        rng = np.random.default_rng([seed, *np.frombuffer(x.tobytes(), np.uint8)])
        return 1e-7 * rng.uniform(-1, 1, x.shape) + off * (np.arange(len(x)) == seed % 3)

    x = np.array([1.0, 1.2, 0.7])
    report = check_gradient(lambda x: (x**4).sum(), at={"x": x}, grad=lambda x: 4 * x**3 * (1 + error(x)))
    assert report.verdict == "pass" and not report.inputs[0].negligible
    assert np.abs(error(x)).max() <= report.inputs[0].resolution < 1e-6
