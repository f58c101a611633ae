"""Claims that depend on how or when they are called: on earlier calls, on the incoming gradient, on other outputs."""

import numpy as np
import pytest

from gradcli import check_gradient

X = np.array([1.0, 2.0, 3.0])


def growing(first):
    """Return a gradient in small units that grows with every call from the given one on."""
    calls = []

    def grad(x):
        calls.append(x)
        return 2e-9 * x * (1 + 0.5 * max(len(calls) - first, 0))

    return grad


@pytest.mark.parametrize("first", [1, 2, 3])
def test_a_gradient_that_grows_with_every_call_fails_in_any_units(first):
    report = check_gradient(lambda x: 1e-9 * np.sum(x**2), growing(first), at={"x": X})
    assert (report.verdict, report.diagnosis[0].kind) == ("fail", "unsteady")
    assert check_gradient(lambda x: 1e-9 * np.sum(x**2), lambda x: 2e-9 * x, at={"x": X}).verdict == "pass"


def test_a_gradient_that_uses_values_of_the_last_forward_call_fails():
    kept = {}

    def forward(x):
        kept["x"] = x.copy()
        return np.sum(np.sin(x))

    report = check_gradient(forward, lambda x: np.cos(kept.get("x", x)), at={"x": X})
    assert report.verdict == "fail"
    assert check_gradient(forward, np.cos, at={"x": X}).verdict == "pass"


def test_a_first_call_that_differs_fails():
    calls = []

    def grad(x):
        calls.append(x)
        return np.cos(x) * (1.1 if len(calls) == 1 else 1.0)

    assert check_gradient(lambda x: np.sum(np.sin(x)), grad, at={"x": X}).verdict == "fail"


def test_a_random_gradient_is_inconclusive_and_one_within_nondet_tol_passes():
    rng = np.random.default_rng(0)

    def grad(x):
        return np.cos(x) * (1 + 1e-5 * rng.normal(size=x.shape))

    report = check_gradient(lambda x: np.sum(np.sin(x)), grad, at={"x": X})
    assert report.verdict == "inconclusive" and "two calls at the same point differ" in report.message
    assert "check its mean with --stochastic grad " in report.hint
    assert check_gradient(lambda x: np.sum(np.sin(x)), grad, at={"x": X}, nondet_tol=1e-3).verdict == "pass"


SPECIAL = {
    "ones": lambda g: (g == 1).all(),
    "equal numbers": lambda g: np.ptp(g) == 0,
    "one output": lambda g: (g != 0).sum() == 1,
}


@pytest.mark.parametrize("m", [5, 90])
@pytest.mark.parametrize("kind", SPECIAL)
def test_incoming_gradients_that_programs_pass_are_tried(kind, m):
    def vjp(g, x):
        return g * np.cos(x) * (2 if SPECIAL[kind](g) else 1)

    x = np.linspace(0.1, 1, m)
    report = check_gradient(np.sin, vjp=vjp, at={"x": x})
    assert (report.verdict, report.diagnosis[0].kind) == ("fail", "nonlinear")
    assert check_gradient(np.sin, vjp=lambda g, x: g * np.cos(x), at={"x": x}).verdict == "pass"


@pytest.mark.parametrize(("wrong", "factor"), [(slice(7, 8), -1.0), (slice(7, None), 1.001), (slice(0, 1), 1.001)])
def test_a_steep_output_that_is_zero_does_not_hide_the_others(wrong, factor):
    """The first of 100 outputs is in units of 1e-6, and 0 at the point, like a constraint that holds."""
    rng = np.random.default_rng(0)
    matrix, x, units, shift = rng.normal(size=(100, 40)), rng.normal(size=40), np.ones(100), rng.normal(size=100)
    units[0], shift[0] = 1e6, -(matrix @ x)[0]

    def vjp(g, x, part=slice(0, 0)):
        jacobian = (units * np.cos(matrix @ x + shift))[:, None] * matrix
        jacobian[part] *= factor
        return jacobian.T @ g

    f = lambda x: units * np.sin(matrix @ x + shift)  # noqa: E731
    assert check_gradient(f, vjp=lambda g, x: vjp(g, x, wrong), at={"x": x}).verdict == "fail"
    assert check_gradient(f, vjp=vjp, at={"x": x}).verdict == "pass"


def test_a_wrong_claim_fails_although_one_input_element_is_nan():
    x = np.array([1.0, np.nan, 2.0, 3.0])
    report = check_gradient(lambda x: np.nansum(x**2), lambda x: np.where(np.isnan(x), 0, 4 * x), at={"x": x})
    assert report.verdict == "fail"


def test_options_hold_at_every_point_of_a_search(tmp_path):
    """0.2 % off, which the tolerance allows."""
    report = check_gradient(lambda x: x**2, lambda x: 2.004 * x, at={"x": 3.0}, rtol=0.01, atol=0, search=50)
    assert report.verdict == "pass"
    report = check_gradient(lambda x: x**2, lambda x: 2.004 * x, at={"x": 3.0}, rtol=1e-3, atol=0, search=50)
    assert report.verdict == "fail"


def tangents(x):
    return np.sum(np.tan(0.3 * x))


def slopes(x):
    return 0.3 / np.cos(0.3 * x) ** 2


def wrong_in_a_band(x):
    return slopes(x) * np.where((x > 3) & (x < 4), 1.001, 1.0)


WRONG = {
    "close to zero": lambda x: slopes(x) * np.where(np.abs(x) < 1e-3, 1.001, 1.0),
    "zero close to zero": lambda x: np.where(np.abs(x) < 1e-3, 0.0, slopes(x)),
    "between 3 and 4": wrong_in_a_band,
    "close to 1e-8": lambda x: slopes(x) * np.where(np.abs(x - 1e-8) < 1e-9, 1.001, 1.0),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_claim_that_is_wrong_in_a_region_is_found(name):
    at = {"x": np.array([0.3, -0.4, 1.7])}
    assert check_gradient(tangents, WRONG[name], at=at, search=60).verdict == "fail"


@pytest.mark.parametrize("points", [60, pytest.param(200, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("f", "grad"),
    [(tangents, slopes), (lambda x: np.sum(1 / (x - 2)), lambda x: -1 / (x - 2) ** 2)],
    ids=["tan", "reciprocal"],
)
def test_no_right_claim_is_accused_near_a_pole(f, grad, points):
    assert check_gradient(f, grad, at={"x": np.array([0.3, -0.4, 1.7])}, search=points).verdict == "pass"


def test_a_function_that_never_ends_at_other_points_still_fails(monkeypatch):
    monkeypatch.setattr("gradcli.check.claim_check.EXPLAIN_FACTOR", 0.0)
    monkeypatch.setattr("gradcli.check.claim_check.EXPLAIN_SECONDS", 0.1)

    def f(x):
        while abs(x[0] - 1) > 0.5:
            pass
        return np.sum(x**2)

    report = check_gradient(f, lambda x: 3 * x, at={"x": X})
    assert report.verdict == "fail"
    assert any("took too long" in note for note in report.notes)
