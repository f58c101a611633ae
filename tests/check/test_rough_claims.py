"""Claims that jump about between close points, of functions whose slope is smooth there; with right twins."""

import numpy as np
import pytest

from gradcli import check_gradient

X = np.array([0.3137, 1.2345, -0.7111])


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
    assert check_gradient(total, ROUGH[name], at={"x": X}).verdict == "fail"


@pytest.mark.parametrize("name", ["a factor in float16", "erratic by 1 %", "a loose iteration"])
def test_the_claim_is_blamed_and_not_the_function(name):
    report = check_gradient(total, ROUGH[name], at={"x": X})
    assert report.diagnosis[0].kind == "rough"


def test_what_rounding_makes_rough_is_not_blamed():
    """1 - cos(x) has lost its digits in value and slope alike, and a right gradient with it."""
    at = {"x": np.array([1e-5, 3e-6])}
    report = check_gradient(lambda x: ((1 - np.cos(x)) / x**2).sum(), lambda x: -x / 12, at=at)
    assert report.verdict != "fail"


def test_a_claim_in_float32_is_judged_by_its_digits():
    report = check_gradient(total, lambda x: slope(x).astype(np.float32), at={"x": X})
    assert report.verdict == "pass" and report.inputs[0].resolution > 1e-7
    assert "float32" in report.notes[0]
    wrong = check_gradient(total, lambda x: (slope(x) * [1, 1.001, 1]).astype(np.float32), at={"x": X})
    assert wrong.verdict == "fail"


def kinds(grad, x):
    return [finding.kind for finding in check_gradient(lambda x: (x**2).sum(), grad, at={"x": x}).diagnosis]


def test_diagnoses_explain_what_is_wrong_and_nothing_else():
    x = np.array([0.5, 1.5, 2.5, 3.5])
    assert kinds(lambda x: 2 * x + [0, 0, 1e-5, 0], x) == ["single element"]
    assert kinds(lambda x: 2 * x + 1e-6, x) == ["dropped term"]
    assert kinds(lambda x: 2 * x[[1, 0, 2, 3]], x)[0] == "permuted"
    assert kinds(lambda x: 2.2 * x, x) == ["factor"]


@pytest.mark.parametrize("off", [0.0, 3e-7])
@pytest.mark.parametrize("seed", range(8))
def test_the_scatter_of_a_claim_is_in_the_stated_resolution(seed, off):
    """Noise of 1e-7, alike at the same point: what passes is off by less than the pass says."""

    def grad(x):
        rng = np.random.default_rng([seed, *np.frombuffer(x.tobytes(), np.uint8)])
        noise = 1e-7 * rng.uniform(-1, 1, x.shape)
        return 4 * x**3 * (1 + noise + off * (np.arange(len(x)) == seed % 3))

    report = check_gradient(lambda x: (x**4).sum(), at={"x": np.array([1.0, 1.2, 0.7])}, grad=grad)
    assert report.verdict == ("fail" if report.verdict == "fail" and off else "pass"), report
    if report.verdict == "pass":
        assert report.inputs[0].resolution > 2e-7 + off
        assert not report.inputs[0].hidden
