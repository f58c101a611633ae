"""Rounding that looks like a slope, and steps that look like rounding: neither makes a right gradient fail.

The derivatives of the cancelling functions come from mpmath with 60 digits; the others are derived by hand.
"""

from collections import Counter

import mpmath as mp
import numpy as np
import pytest

from gradcli import check_gradient

CANCELLING = {
    "1 - cos": (lambda x: 1 - np.cos(x), lambda x: 1 - mp.cos(x)),
    "(1 - cos) / x^2": (lambda x: (1 - np.cos(x)) / x**2, lambda x: (1 - mp.cos(x)) / x**2),
    "log(1 + x) / x": (lambda x: np.log(1 + x) / x, lambda x: mp.log(1 + x) / x),
    "(exp - 1 - x) / x^2": (lambda x: (np.exp(x) - 1 - x) / x**2, lambda x: (mp.exp(x) - 1 - x) / x**2),
    "(sqrt(1 + x) - 1) / x": (lambda x: (np.sqrt(1 + x) - 1) / x, lambda x: (mp.sqrt(1 + x) - 1) / x),
    "(x - sin) / x^3": (lambda x: (x - np.sin(x)) / x**3, lambda x: (x - mp.sin(x)) / x**3),
    "log(1 + x^2)": (lambda x: np.log(1 + x**2), lambda x: mp.log(1 + x**2)),
    "x - sin": (lambda x: x - np.sin(x), lambda x: x - mp.sin(x)),
    "(1e6 + x) - 1e6": (lambda x: (1e6 + x) - 1e6, lambda x: x),
    "saturated sigmoid": (lambda x: 1 / (1 + np.exp(-30 - x)), lambda x: 1 / (1 + mp.exp(-30 - x))),
    "small root": (lambda x: (np.sqrt(1e8 + 4 * x) - 1e4) / 2, lambda x: (mp.sqrt(10**8 + 4 * x) - 10**4) / 2),
}
PLACES = [1e-10, 1e-8, 3e-8, 1e-6, 3e-6, 1e-4, 1e-3, 1e-2, 0.3]


def verdict(f, claimed: float, x: float) -> str:
    return check_gradient(f, lambda x: np.asarray(claimed), at={"x": np.float64(x)}).verdict


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", CANCELLING)
def test_rounding_is_not_taken_for_a_slope(name, every):
    f, exact = CANCELLING[name]
    counts: Counter[str] = Counter()
    for x in PLACES[::every]:
        with mp.workdps(60):
            true = float(mp.diff(exact, mp.mpf(x), h=mp.mpf(x) * mp.mpf(10) ** -20))
        assert verdict(f, true, x) != "fail", x
        for wrong in (-true, 1.5 * true):
            found = verdict(f, wrong, x)
            assert found != "pass", (x, wrong)
            counts[found] += 1
    # undecidable if rounding leaves no digit of the slope, as in (x - sin) / x^3 below 1e-3
    assert counts["fail"] >= 2, counts


def rosenbrock(x):
    return np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])


def rosenbrock_hessian(x):
    return np.array([[1200 * x[0] ** 2 - 400 * x[1] + 2, -400 * x[0]], [-400 * x[0], 200.0]])


@pytest.mark.parametrize("exponent", range(-10, -5))
def test_a_point_next_to_a_minimum(exponent):
    """Near 1, rounded squares are linear in pieces, where the computed slope is off by about as much as x is from 1."""
    rng = np.random.default_rng(exponent + 10)
    for _ in range(5):
        at = {"x": 1 + 10.0**exponent * rng.standard_normal(2)}
        assert check_gradient(rosenbrock, rosenbrock_hessian, at).verdict == "pass"
        wrong = check_gradient(rosenbrock, lambda x: rosenbrock_hessian(x) + [[0, 1e-3], [0, 0]], at)
        assert (wrong.verdict, wrong.inputs[0].worst.output, wrong.inputs[0].worst.place) == ("fail", (0,), (1,))


def test_a_nearby_pole_does_not_hide_an_error():
    """Rounding is measured by the values at the point, not by those next to the pole at 0."""

    def from_root(x):
        return np.array([np.exp(x[0]) - np.exp(1.5), 9 / x[1] - 9 / 2.25])

    for off in (1e-6, -3e-7, 2e-9):
        at = {"x": np.array([1.5, 2.25]) * (1 + off)}
        for factor, verdict in ((1.0, "pass"), (1.02, "fail")):
            found = check_gradient(from_root, lambda x, c=factor: np.diag([np.exp(x[0]), -9 * c / x[1] ** 2]), at)
            assert found.verdict == verdict


STRUCTURES = {
    "steps and slope": (lambda x, _: np.floor(x) + x, lambda x: 1.0),
    "teeth": (lambda x, _: (50 * x) % 1 * x, lambda x: 50 * x + (50 * x) % 1),
    "rounded to 3 digits, times x": (lambda x, _: np.round(x, 3) * x, lambda x: np.round(x, 3)),
    "fast sine": (lambda x, _: np.sin(1e6 * x), lambda x: 1e6 * np.cos(1e6 * x)),
    "sine in float32": (lambda x, _: np.float64(np.float32(np.sin(x))), np.cos),
    "jump nearby": (lambda x, near: np.where(x > near, 2 * x, x), lambda x: 1.0),
    "kink nearby": (lambda x, near: np.maximum(x - near, 0) + x, lambda x: 1.0),
    "step nearby": (lambda x, near: np.where(x > near, 1.0, 0.0) + x / near, lambda x: 1 / (1.01 * x)),
}


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("x", [0.01371, 1.371, *(pytest.param(x, marks=pytest.mark.nightly) for x in (0.5371, 13.71))])
def test_steps_are_not_taken_for_rounding(name, x):
    function, derivative = STRUCTURES[name]

    def f(t):
        return function(t, 1.01 * x)

    true = float(derivative(x))
    assert verdict(f, true, x) == "pass"
    assert verdict(f, 1.1 * true, x) == "fail"
    assert verdict(f, -true, x) == "fail"


@pytest.mark.parametrize("name", ["1 - cos", "log(1 + x^2)", "saturated sigmoid", "(1e6 + x) - 1e6"])
@pytest.mark.parametrize("x", [1e-10, 1e-8, 1e-6])
def test_zero_fails_if_the_function_only_seems_constant(name, x):
    assert verdict(CANCELLING[name][0], 0.0, x) == "fail"


@pytest.mark.parametrize("x", [20.0, 25.0, 30.0, 34.0, 36.0])
def test_zero_does_not_pass_on_a_step_of_rounding(x):
    """In a fixed type, no second one shows that the steps are rounding; further away, the logarithm is infinite."""

    def f(t):
        return np.log(1 - 1 / (1 + np.exp(-np.float64(t))))

    slope = -1 / (1 + np.exp(-x))
    assert verdict(f, 0.0, x) != "pass"
    assert verdict(f, slope / 2, x) != "pass"
    assert verdict(f, slope, x) != "fail"


@pytest.mark.parametrize("digits", [4, 5, 6])
def test_a_fine_staircase_that_no_rounding_explains_has_slope_0(digits):
    def f(t):
        return np.round(t, digits)

    x = 1.3 + 0.12 * 10.0**-digits
    assert verdict(f, 0.0, x) == "pass"
    assert verdict(f, 1.0, x) == "inconclusive"
    assert verdict(f, 0.5, x) == "fail"


@pytest.mark.parametrize("x", [-510000.0, -4.1e7, 1e6, 3.0, 1e6 + 0.3])
def test_the_slope_between_jumps_is_not_wrong_at_a_jump_or_far_from_0(x):
    """Far from 0, the steps are so fine that the function follows the slope 2 over nearly all scales."""

    def f(t):
        return np.floor(t) + t

    assert verdict(f, 1.0, x) in ("pass", "inconclusive")
    assert verdict(f, 1.7, x) != "pass"
    assert verdict(f, -1.0, x) != "pass"


def test_the_slopes_of_a_staircase_are_those_by_the_input():
    report = check_gradient(lambda t: np.round(t, 4), lambda t: 1.0, at={"x": np.float64(5.20003)})
    assert report.message == "a staircase: the slope is 0 on the step here and 1 over many steps"


def entropy(z):
    shifted = z - z.max()
    logs = shifted - np.log(np.exp(shifted).sum())
    return -(np.exp(logs) * logs).sum()


@pytest.mark.parametrize("least", [-1.0, 0.0, 1.0, 2.0])
@pytest.mark.parametrize(("off", "verdict"), [(1.0, "pass"), (1.1, "fail")])
def test_a_small_element_in_the_rounding_steps_of_a_large_sum(least, off, verdict):
    """The sum is 1 + 1e-3 + 1e-13, and its last digits are a few hundredths of the smallest term."""

    def grad(z):
        shifted = z - z.max()
        logs = shifted - np.log(np.exp(shifted).sum())
        return -np.exp(logs) * (logs + entropy(z)) * [1, 1, off]

    at = {"z": np.array([30.0, 23.0, least])}
    assert check_gradient(entropy, at=at, grad=grad).verdict == verdict


@pytest.mark.parametrize("count", [3001, 10001, 100001])
def test_the_curve_behind_a_table_passes_only_within_the_resolution(count):
    nodes = np.linspace(0, 10, count)
    values, width = np.sin(nodes), nodes[1]
    for x in np.random.default_rng(1).uniform(1, 9, 4):
        cell = int(x // width)
        slope = (values[cell + 1] - values[cell]) / width
        for claimed in (slope, np.cos(x)):
            report = check_gradient(lambda t: np.interp(t, nodes, values), lambda t, c=claimed: c, at={"t": x})
            assert report.verdict == "pass" or claimed != slope
            if report.verdict == "pass" and claimed != slope:
                assert report.inputs[0].resolution > abs(np.cos(x) / slope - 1)


def test_a_sort_of_many_close_values_passes():
    x = np.random.default_rng(0).normal(size=150)
    report = check_gradient(np.sort, lambda x: np.eye(150)[np.argsort(x)], at={"x": x})
    assert report.verdict == "pass"


@pytest.mark.parametrize("distance", [1e-4, 1e-5, 1e-6])
def test_zero_passes_close_to_the_edge_of_a_step(distance):
    report = check_gradient(np.floor, np.zeros_like, at={"x": 1 + distance})
    assert report.verdict == "pass"
    assert check_gradient(np.floor, lambda x: 0.5, at={"x": 1 + distance}).verdict == "fail"
