"""Which claims a changed backward pass explains, and how often a claim contains a part of the derivative."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.explain.shortcuts import claimed_share, gives_claim


def run(claimed, right, explained=None):
    """Return a recorded run with these numbers, of elements that all have to be explained unless given."""
    claimed, right = np.array(claimed, float), np.array(right, float)
    explained = np.ones(len(claimed), bool) if explained is None else np.array(explained)
    return SimpleNamespace(claimed=claimed, right=right, explained=explained)


@pytest.mark.parametrize(
    ("claimed", "right", "expected", "given"),
    [
        ([3.0, 5], [2.0, 5], [3.0, 5], True),
        ([3.0, 5], [2.0, 5], [3.0 + 1e-6, 5 - 1e-6], True),
        ([3.0, 5], [2.0, 5], [3.0 + 1e-5, 5], False),
        ([3.0, 5], [2.0, 5], [3.0, 5 + 1e-4], False),
        ([3.0, 0], [2.0, 0], [3.0, 1e-13], True),  # the rest of a cancellation
        ([3.0, 0], [2.0, 0], [3.0, 1e-11], False),
        ([3.0, 5e-10], [2.0, 0], [3.0, 5e-10 + 1e-13], True),
        ([3.0, 1e-11], [2.0, 0], [3.0, 1.2e-11], False),  # leaves a fifth of the difference
        ([3.0, 5], [3.0, 5], [3.0, 5], False),  # nothing is wrong
        ([np.nan, 5], [2.0, 5], [np.nan, 5], False),
    ],
)
def test_a_changed_backward_must_give_every_claimed_element(claimed, right, expected, given):
    assert gives_claim(np.array(expected), run(claimed, right)) is given


def test_elements_of_other_inputs_need_no_explanation():
    here = run([3.0, 5], [2.0, 7], [True, False])
    assert gives_claim(np.array([3.0, 7]), here)
    assert not gives_claim(np.array([2.0, 5]), here)
    right_there = run([2.0, 5], [2.0, 7], [True, False])
    assert not gives_claim(np.array([2.0, 5]), right_there)


@pytest.mark.parametrize(
    ("times", "share"), [(0, 0), (-1, -1), (2, 2), (0.5, 0.5), (2 / 3, 2 / 3), (1, None), (0.7313, None), (1e7, None)]
)
def test_a_part_is_claimed_a_simple_number_of_times_or_not_at_all(times, share):
    part, right = np.array([0.3, -1.2, 0.8]), np.array([1.0, 2.0, -0.5])
    found = claimed_share(part, run(right + (times - 1) * part, right))
    assert found is None if share is None else float(found) == pytest.approx(share)


def test_how_often_a_part_is_claimed_shows_in_the_elements_to_be_explained():
    part, right = np.array([0.3, -1.2, 0.8]), np.array([1.0, 2.0, -0.5])
    claimed = right + part * [1, 1, -4]
    assert claimed_share(part, run(claimed, right, [True, True, False])) == 2
    assert claimed_share(part, run(claimed, right)) is None
    assert claimed_share(0 * part, run(claimed, right)) is None


RNG = np.random.default_rng(0)
DATA, SQUARE, GOAL = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 3)), RNG.normal(size=(5, 3))
U, V = RNG.normal(size=(5, 2)), RNG.normal(size=(3, 2))
ENDS, LENGTHS = np.array([[0, 1], [1, 2], [2, 0]]), np.array([0.8, 1.1, 0.6])


def sampled(mu, s):
    z = mu + np.exp(s) * DATA
    return np.sum(np.tanh(z) ** 2) + np.sum(s**2)


def sampled_gradient(mu, s, times=1.0):
    t = np.tanh(mu + np.exp(s) * DATA)
    dz = 2 * t * (1 - t**2)
    return dz, times * dz * np.exp(s) * DATA + 2 * s


def factored(u, v):
    return 0.5 * np.sum((GOAL - u @ v.T) ** 2) + 0.1 * np.sum(u**2)


def factored_gradient(u, v, sign=1.0):
    off = u @ v.T - GOAL
    return sign * off @ v + 0.2 * u, off.T @ u


def bumps(c, s):
    d = (DATA - c) ** 2
    return np.sum(np.exp(-d / s**2))


def bumps_gradient(c, s, forgets=False):
    d = DATA - c
    e = np.exp(-(d**2) / s**2)
    return (2 * e * d / s**2).sum(axis=0), (2 * (1.0 if forgets else e) * d**2 / s**3).sum(axis=0)


def springs(x):
    d = x[ENDS[:, 0]] - x[ENDS[:, 1]]
    size = np.sqrt((d**2).sum(axis=1))
    return np.sum((size - LENGTHS) ** 2) + np.sum(np.cos(x))


def springs_gradient(x, forgets=False):
    d = x[ENDS[:, 0]] - x[ENDS[:, 1]]
    size = np.sqrt((d**2).sum(axis=1))
    force, g = 2 * d * (np.ones(3) if forgets else 1 - LENGTHS / size)[:, None], -np.sin(x)
    np.add.at(g, ENDS[:, 0], force)
    np.add.at(g, ENDS[:, 1], -force)
    return g


def scaled(g):
    return np.mean((DATA * g - GOAL) ** 2)


def scaled_gradient(g, factor=DATA):
    return (2 * (DATA * g - GOAL) * factor / GOAL.size).sum(axis=0)


def squares(g):
    return np.sum((SQUARE * g - 1) ** 3)


def squares_gradient(g, factor=SQUARE, axis=0):
    return (3 * (SQUARE * g - 1) ** 2 * factor).sum(axis=axis)


def one_scale(s):
    return np.sum(np.tanh(DATA * s))


def one_scale_gradient(s, factor=DATA):
    return np.sum((1 - np.tanh(DATA * s) ** 2) * factor)


G = {"g": np.array([0.7, -0.4, 1.3])}
CHAINS = {
    "a path of one input": (
        sampled,
        sampled_gradient,
        {"times": 2.0},
        {"mu": GOAL, "s": DATA / 2},
        "the derivative through `np.exp(s) * DATA` (tests/",
        "is counted twice",
    ),
    "an operation of two inputs": (
        factored,
        factored_gradient,
        {"sign": -1.0},
        {"u": U, "v": V},
        "u: the derivative through `u @ v.T` (",
        "has the wrong sign",
    ),
    "a derivative for one of two inputs": (
        bumps,
        bumps_gradient,
        {"forgets": True},
        {"c": GOAL[0], "s": np.array([0.8, 1.2, 1.5])},
        "s: in the claim, the derivative of `np.exp(-d / s**2)` (",
        "is left out",
    ),
    "operations in two lines": (
        springs,
        springs_gradient,
        {"forgets": True},
        {"x": np.array([[0.1, 0.0], [1.0, 0.2], [0.9, 1.1]])},
        "in the claim, the derivative of sqrt, subtract, power in `np.sqrt((d**2).sum(axis=1))` (",
        ") and `(size - LENGTHS) ** 2` (",
    ),
    "a factor before a sum": (
        scaled,
        scaled_gradient,
        {"factor": 1.0},
        G,
        "in the claim, the derivative of `DATA * g` (",
        ") with respect to g is left out",
    ),
    "a factor before a sum of a square array": (
        squares,
        squares_gradient,
        {"factor": 1.0},
        G,
        "in the claim, the derivative of `SQUARE * g` (",
        ") with respect to g is left out",
    ),
    "a factor before a sum over all axes": (
        one_scale,
        one_scale_gradient,
        {"factor": 1.0},
        {"s": 0.7},
        "in the claim, the derivative of `DATA * s` (",
        ") with respect to s is left out",
    ),
    "the wrong axis": (
        squares,
        squares_gradient,
        {"axis": 1},
        G,
        "a sum runs over the wrong axis (1): sum the gradient of `SQUARE * g` (",
        "over the axes that are broadcast",
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_said_of_an_operation_is_true_of_all_its_inputs_or_names_them(name):
    f, gradient, mistake, at, start, end = CHAINS[name]
    assert check_gradient(f, gradient, at).verdict == "pass"
    report = check_gradient(f, lambda *xs: gradient(*xs, **mistake), at)
    (finding,) = report.diagnosis
    assert finding.text.startswith(start) and end in finding.text


X = np.array([3.0, 1, 4, 1.5, 9, 2.6, 5, 3.5, 8])


def growth(x):
    return np.sum(np.exp(x.std() * x / 10))


def growth_grad(x, share):
    """Return the derivative of growth, with the part through std (with ddof=0) that often."""
    e = np.exp(x.std() * x / 10)
    return e * x.std() / 10 + share * np.sum(e * x) / 10 * (x - x.mean()) / (x.size * x.std())


@pytest.mark.parametrize(
    ("share", "verdict", "words"), [(1, "pass", None), (0.5, "fail", "through `x.std.* is 1/2 times")]
)
def test_methods_of_arrays_have_numpys_meaning(share, verdict, words):
    report = check_gradient(growth, at={"x": X}, grad=lambda x: growth_grad(x, share))
    assert report.verdict == verdict
    assert words is None or re.search(words, report.diagnosis[0].text)


def test_a_function_with_another_value_for_tensors_is_not_explained_by_its_graph():
    def two_faced(x):
        return np.sum(np.exp(x / 9)) + (1 if isinstance(x, np.ndarray) else 2) * np.sum(np.sin(x) * x)

    def second_part_four_times(x):
        return np.exp(x / 9) / 9 + 4 * (np.sin(x) + x * np.cos(x))

    report = check_gradient(two_faced, at={"x": X}, grad=second_part_four_times)
    assert report.verdict == "fail"
    assert not any("multiply" in finding.text for finding in report.diagnosis)


def differences(x):
    return np.sum(np.diff(x) ** 2)


def differences_wrong(x):
    d, out = 2 * np.diff(x), np.zeros_like(x)
    out[1:] += d
    out[:-1] += d  # the sign is wrong
    return out


def rolled(x):
    return np.sum(np.roll(x, 1) * x**3)


def outer(x):
    return np.sum(np.outer(x, np.sin(x)) ** 2)


@pytest.mark.parametrize(
    ("f", "grad", "words"),
    [
        (differences, differences_wrong, "the derivative through a part of `np.diff(x)` ("),
        (rolled, lambda x: np.roll(x, 1) * 3 * x**2, "the derivative through `np.roll(x, 1)` ("),
        (outer, lambda x: 2 * x * np.sum(np.sin(x) ** 2), "the derivative through `np.sin(x)` ("),
    ],
)
def test_a_part_of_a_library_function_is_not_called_the_whole(f, grad, words):
    (finding,) = check_gradient(f, at={"x": np.array([1.0, 2.0, 4.0, 3.0, 7.0])}, grad=grad).diagnosis
    assert finding.text.startswith(words)
