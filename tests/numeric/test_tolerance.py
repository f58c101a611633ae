"""Functions in float32, rough claims and solver tolerances are recognized by their values, not by the source."""

import numpy as np
import pytest

from gradcli import check_gradient


def bisected(c, steps):
    """Return the cube root of c by bisection, to within 3 / 2^steps."""
    low, high = 0.0, 3.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**3 < c else (low, middle)
    return (low + high) / 2


def relaxed(c, steps):
    """Approximate the cube root of c in steps that each remove part of the error: a smooth function of c."""
    x = 1.0
    for _ in range(steps):
        x += 0.3 * (c - x**3) / (3 * x**2)
    return x


def judge(f, grad, x=1.3):
    return check_gradient(f, grad, at={"x": np.array(x)})


def slope(c):
    return np.cbrt(c) ** -2 / 3


@pytest.mark.parametrize("steps", [14, 20, 26])
def test_the_trend_of_a_bisection_passes_or_is_undecided(steps):
    assert judge(lambda c: bisected(c, steps), slope).verdict in ("pass", "inconclusive")


@pytest.mark.parametrize("steps", [26, 40])
@pytest.mark.parametrize("factor", [1.01, 0.5, -1.0])
def test_a_wrong_slope_of_a_bisection_fails(steps, factor):
    assert judge(lambda c: bisected(c, steps), lambda c: factor * slope(c)).verdict == "fail"


def test_an_iteration_that_has_not_converged_is_another_smooth_function():
    assert judge(lambda c: relaxed(c, 100), slope).verdict == "pass"
    assert judge(lambda c: relaxed(c, 20), slope).verdict == "fail"


@pytest.mark.parametrize("error", [1e-3, 1e-5])
def test_a_smooth_difference_is_a_wrong_formula(error):
    report = judge(np.sin, lambda x: np.cos(x) * (1 + error * np.cos(x)))
    assert report.verdict == "fail"
    assert not any(finding.kind == "rough" for finding in report.diagnosis)


def test_a_rounded_claim_is_named():
    report = judge(np.sin, lambda x: np.round(np.cos(x), 3))
    assert report.verdict == "fail"
    assert report.diagnosis[0].kind == "precision"  # the cosine is below 1, so it has three significant digits


def short_softmax(x):
    p = np.exp(x.astype(np.float32))
    return (p / p.sum(-1, keepdims=True)).astype(float)


def short_loss(x):
    return (np.sin(np.float32(1) * x.astype(np.float32)) ** 2).sum()


def softmax_back(factor):
    def back(g, x):
        p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        return factor * p * (g - (p * g).sum(-1, keepdims=True))

    return back


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(k, marks=pytest.mark.nightly) for k in (2, 3))])
@pytest.mark.parametrize(("factor", "verdict"), [(1, "pass"), (1.02, "fail")])
def test_a_float32_function_is_checked_to_its_precision(seed, factor, verdict):
    x = np.random.default_rng(seed).normal(size=(3, 6))
    found = check_gradient(short_softmax, at={"x": x}, vjp=softmax_back(factor))
    place = "test_tolerance.py:{}: p = np.exp(x.astype(np.float32)))"
    (note,) = (note for note in found.notes if "float32" in note)
    assert found.verdict == verdict and note.endswith(place.format(short_softmax.__code__.co_firstlineno + 1))
    found = check_gradient(short_loss, lambda x: factor * np.sin(2 * x), {"x": x})
    assert found.verdict == verdict and any("float32 (7.2 digits)" in note for note in found.notes)


@pytest.mark.parametrize(
    "f", [lambda x: (x + 1e4).sum(), lambda x: np.round(x, 3).sum(), lambda x: (x * (x > 0)).sum()]
)
def test_other_functions_are_not_said_to_compute_in_float32(f):
    x = np.random.default_rng(0).normal(size=5)
    for claim in (lambda x: 1.1 * np.ones(5), lambda x: 1.0 * (x > 0)):
        assert not any("float32" in note for note in check_gradient(f, claim, {"x": x}).notes)


def test_a_fail_by_little_says_that_an_iteration_may_stop_too_early():
    def f(x):
        return np.sum(x**3)

    x = np.array([0.7, 1.3, 2.1])
    close = check_gradient(f, lambda x: 3 * x**2 + 1e-5 * np.array([1.0, -2.0, 0.5]), at={"x": x})
    assert close.verdict == "fail"
    assert any("if f iterates, check again with a smaller tolerance" in note for note in close.notes)
    far = check_gradient(f, lambda x: 3 * x**2 + 1e-2 * np.array([1.0, -2.0, 0.5]), at={"x": x})
    factor = check_gradient(f, lambda x: (1 + 3e-5) * 3 * x**2, at={"x": x})
    for report in (far, factor):
        assert report.verdict == "fail" and not any("iterates" in note for note in report.notes)
