"""The search finds mistakes in branches, at ties and near zero, shrinks the point, and fails no right gradient."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from gradcli.check.candidates import shrink
from gradcli.check.check import Check

from ..bank.hunt import Function

START = {"x": np.array([0.3, -0.2, 0.5, 0.1])}
THRESHOLD = 1.35


def softplus(x, limit=20):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, limit)))).sum()


def softplus32(x):
    return softplus(np.float32(x), np.float32(20))


def huber(x):
    return np.where(np.abs(x) <= THRESHOLD, x * x / 2, THRESHOLD * (np.abs(x) - THRESHOLD / 2)).sum()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


WRONG = {
    "zero beyond the branch": (softplus, lambda x: np.where(x > 20, 0, sigmoid(x)), START, [21.0]),
    "a wrong sign": (lambda x: (np.abs(x) ** 3).sum(), lambda x: 3 * x**2, {"x": np.array([0.5, 2.0])}, [-1.0]),
    "all ties count": (lambda x: x.max(), lambda x: (x == x.max()) * 1.0, START, [0.0, 0.0]),
    "overflow": (lambda x: np.logaddexp(0, x).sum(), lambda x: np.exp(x) / (1 + np.exp(x)), START, [710.0]),
    "near a named threshold": (huber, lambda x: np.where(np.abs(x) <= THRESHOLD, x, THRESHOLD), START, [-2.0]),
    "nan at zero": (lambda x: np.sqrt(x @ x), lambda x: x / np.sqrt(x @ x), START, [0.0]),
    "a special case at zero": (lambda x: np.sin(x).sum(), lambda x: np.where(x == 0, 0, np.cos(x)), START, [0.0]),
    "large values": (lambda x: (x * x).sum(), lambda x: np.clip(2 * x, -1e6, 1e6), START, None),
    "the end of the domain": (
        lambda x: np.sqrt(1 - x * x).sum(),
        lambda x: -np.where(np.abs(x) > 0.999, 0, x) / np.sqrt(1 - x * x),
        START,
        None,
    ),
}


REGIONS = {
    "x < -5": lambda x: x < -5,
    "x < 0": lambda x: x < 0,
    "x > 2": lambda x: x > 2,
    "near 0": lambda x: np.abs(x) < 0.1,
}


BESIDE_REGIONS = np.array([0.6, 0.7, 0.8])


def wave_on_parabola(x):
    return (np.sin(x) + x * x).sum()


def off_in(region, off):
    """Return the gradient of wave_on_parabola with a relative error in a region."""
    return lambda x: (np.cos(x) + 2 * x) * (1 + off * region(x))


@pytest.mark.parametrize("off", [*(pytest.param(off, marks=pytest.mark.nightly) for off in (0.5, 0.01)), 0.001])
@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS)
def test_small_errors_in_a_region_are_found(region, off):
    check = Check.of(wave_on_parabola, {"x": BESIDE_REGIONS}, grad=off_in(region, off), search=60)
    assert check.run().verdict == "fail"


@pytest.mark.parametrize(("f", "grad", "at", "smallest"), WRONG.values(), ids=WRONG)
def test_a_wrong_point_is_found_and_shrunk(f, grad, at, smallest):
    assert Check.of(f, at, grad=grad).run().verdict == "pass" or smallest == [-1.0]
    report = Check.of(f, at, grad=grad, search=100).run()
    assert report.verdict == "fail"
    if smallest is not None:
        np.testing.assert_array_equal(report.found.at["x"], smallest)
    again = eval(report.found.line.removeprefix("@gradcli.check(at=").removesuffix(")"))
    assert Check.of(f, again, grad=grad).run().verdict == "fail"


def test_a_float32_branch_is_found_below_90():
    at = {"x": np.array([1.0, 2.0], np.float32)}
    report = Check.of(softplus32, at, grad=lambda x: np.exp(x) / (1 + np.exp(x)), search=100).run()
    assert report.verdict == "fail"
    assert 88 < report.found.at["x"].max() <= 90
    assert report.found.line.startswith('@gradcli.check(at={"x": np.array([')


@pytest.mark.parametrize("k", [*range(2), *(pytest.param(k, marks=pytest.mark.nightly) for k in range(2, 100))])
def test_right_functions_do_not_fail(k):
    function = Function(np.random.default_rng([22, k]))
    with np.errstate(all="ignore"):
        report = Check.of(function.value, {"x": function.x}, grad=function.gradient, search=10, seed=k).run()
    assert report.verdict != "fail", (function, report.found)


RIGHT = {
    "reciprocal": (lambda x: (1 / x).sum(), lambda x: -1 / x**2),
    "logistic": (lambda x: np.logaddexp(0, x).sum(), lambda x: np.exp(-np.logaddexp(0, -x))),
    "softmax": (logsumexp, softmax),
    "largest": (lambda x: x.max(), lambda x: np.eye(len(x))[np.argmax(x)]),
    "entropy": (lambda x: (x * np.log(x)).sum(), lambda x: np.log(x) + 1),
    "roots": (lambda x: np.sqrt(x).sum(), lambda x: 0.5 / np.sqrt(x)),
    "rounded": (lambda x: np.round(np.sin(x), 9).sum(), np.cos),
    "fast wave": (lambda x: np.sin(30 * x).sum(), lambda x: 30 * np.cos(30 * x)),
    "product": (np.prod, lambda x: np.array([np.prod(np.delete(x, i)) for i in range(len(x))])),
    "distance": (lambda x: np.abs(x - 1).sum(), lambda x: np.sign(x - 1)),
    "many outputs": (np.tanh, lambda x: np.diag(1 - np.tanh(x) ** 2)),
}


@pytest.mark.parametrize("points", [30, pytest.param(200, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("f", "grad"), RIGHT.values(), ids=RIGHT)
def test_right_gradients_do_not_fail_at_extreme_values(f, grad, points):
    report = Check.of(f, {"x": np.array([0.3, 1.7, 0.9])}, grad=grad, search=points).run()
    assert report.verdict != "fail", (report.found, report.inputs)
    assert report.notes[-1] == f"searched {points} points: found none where the claim is wrong"


def test_inputs_are_shrunk_together():
    start = {"x": np.arange(12.0).reshape(4, 3), "labels": np.array([0, 1, 2, 0])}
    found = shrink(start, lambda p: len(p["x"]) == len(p["labels"]) and 2 in p["labels"], {"x": start["x"]})
    assert found["x"].shape == (1, 1)
    np.testing.assert_array_equal(found["labels"], [2])


def test_a_saved_point_is_checked_first():
    check = Check.of(softplus, START, grad=lambda x: np.where(x > 20, 0, sigmoid(x)))
    report = replace(check, saved=[{"x": np.array([25.0])}]).run()
    assert report.verdict == "fail"
    assert "a saved point fails again" in report.notes
    others = replace(check, saved=[{"y": np.array([25.0])}, {"x": np.array([1.0])}])
    assert others.run().verdict == "pass"


@pytest.mark.parametrize("search", [100, pytest.param(200, marks=pytest.mark.nightly)])
def test_clipped_values_fail_and_rounding_does_not(search):
    def loss(x):
        return np.log1p(np.exp(-x)).sum()

    cancelling = Check.of(loss, START, grad=lambda x: sigmoid(x) - 1, search=search).run()
    assert cancelling.verdict == "pass"  # wrong only by its own rounding, where it is tiny
    clipped = Check.of(
        lambda p: np.log(np.clip(p, 1e-6, 1)).sum(), {"p": [0.5]}, grad=lambda p: 1 / p, search=search
    ).run()
    assert clipped.verdict == "fail"
    assert clipped.found.at["p"][0] < 1e-6 or clipped.found.at["p"][0] > 1
