"""At a kink every element of the generalized gradient is right, and nothing else."""

import numpy as np
import pytest

from gradcli import check_gradient


def relu(x):
    return np.maximum(x, 0)


def two_kinks(x):
    return np.abs(x[0]) + np.abs(x[1]) + np.abs(x[0] - x[1])


def huber(x):
    return np.where(np.abs(x) <= 1, 0.5 * x * x, np.abs(x) - 0.5).sum()


def groups(x):
    return np.linalg.norm(x[:3]) + 2 * np.linalg.norm(x[3:6]) + abs(x[6])


def rows(x):
    return np.maximum(x, np.roll(x, -1))


UNIT = np.random.default_rng(0).standard_normal(50)
UNIT /= np.linalg.norm(UNIT)
W = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [1.0, 0.0, 3.0]])
# function, point, right gradients, wrong ones
CASES = {
    "relu": (relu, 0.0, [0, 0.5, 1], [-0.5, 2, 1.01]),
    "relu a hair away": (lambda x: relu(x - (1 - 1e-12)), 1.0, [1], [0, 0.5]),
    "relu a little away": (lambda x: relu(x - 1e-9), 0.0, [0], [0.5, 1]),
    "abs": (np.abs, 0.0, [-1, 0, 0.3, 1], [1.5, -1.1]),
    "maximum of ties": (
        np.max,
        [2, 2, 2, 1],
        [[1, 0, 0, 0], [1 / 3] * 3 + [0]],
        [[1, 1, 1, 0], [0, 0, 0, 0], [0.5] * 3 + [0]],
    ),
    "median of ties": (np.median, [1, 1, 1], [[1, 0, 0], [0, 0, 1], [1 / 3] * 3], [[1, 1, 1], [2, -1, 0]]),
    "two that cancel": (lambda x: relu(x) - relu(-x), 0.0, [1], [0, 0.5, 2]),
    "norm at 0": (lambda x: np.sqrt((x**2).sum()), [0, 0], [[0, 0], [1, 0], [0.6, 0.8]], [[1, 1], [2, 0]]),
    "clip": (
        lambda x: np.clip(x, -1, 1).sum(),
        [1, -1, 0.3],
        [[1, 1, 1], [0, 0, 1], [0.5, 1, 1]],
        [[2, 1, 1], [1, 1, 0]],
    ),
    "three absolute values": (two_kinks, [0, 0], [[0, 0], [2, 0], [-2, 0]], [[2, 2], [2.2, 0]]),
    "a smooth joint": (huber, [1, -1], [[1, -1]], [[0, -1], [1, 1]]),
    "a sort": (lambda x: np.sort(x) @ [1, 2, 3], [1, 1, 0], [[2, 3, 1], [2.5, 2.5, 1]], [[3, 3, 1], [2, 2, 1]]),
    "beside an offset": (lambda x: 100 + relu(x), 1e-17, [], [2, -1]),
    "nearly a tie": (np.max, [1, 1, 0], [[0.25, 0.75, 0]], [[0.5001, 0.5, 0], [0.5, 0.5, 0.01]]),
    "eight ties": (np.max, np.ones(8), [np.full(8, 1 / 8)], [np.full(8, 1.01 / 8)]),
    "a ball": (np.linalg.norm, np.zeros(4), [[0.5] * 4, [0.485] * 4], [[0.525] * 4]),
    "a larger ball": (np.linalg.norm, np.zeros(50), [0.97 * UNIT, UNIT, 0 * UNIT], [1.05 * UNIT]),
    "thirty absolute values": (
        lambda x: np.abs(x).sum(),
        np.zeros(30),
        [np.zeros(30), np.linspace(-1, 1, 30)],
        [np.linspace(-1, 1.01, 30)],
    ),
    "the middle of three": (lambda x: np.sort(x)[1], [1, 1 + 1e-8, 1 + 2e-8], [[0, 1, 0]], [[1, 0, 0], [0, 0, 1]]),
    "groups": (groups, np.zeros(7), [[0.6, 0.8, 0, 2, 0, 0, 0.5]], [[0.6, 0.81, 0, 2, 0, 0, 0.5]]),
    "an ellipsoid": (lambda x: np.linalg.norm(W @ x), np.zeros(3), [W.T @ [0.6, 0, 0.8]], [W.T @ [0.6, 0.3, 0.8]]),
    "a permutohedron": (
        lambda x: np.sort(x) @ np.arange(1, 7),
        np.ones(6),
        [[3.5] * 6, [6, 5, 4, 3, 2, 1]],
        [[3.6] * 6, [6, 6, 3, 2, 1, 3]],
    ),
    "range": (np.ptp, [1, 1, 1], [[0, 0, 0], [1, -1, 0]], [[1, 1, -1], [1, -1, 0.1]]),
    "convex and concave": (lambda x: abs(x[0]) - abs(x[1]), [0, 0], [[1, 1], [0.3, -0.9]], [[1.1, 0]]),
    "rows": (rows, np.zeros(25), [(np.eye(25) + np.roll(np.eye(25), 1, 1)) / 2], [1.01 * np.eye(25)]),
}


def verdict(f, claimed, x) -> str:
    x = np.asarray(x, float)
    return check_gradient(f, lambda x: np.asarray(claimed, float), at={"x": x}).verdict


LARGE = ("rows", "a larger ball", "thirty absolute values", "a permutohedron")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in LARGE else name for name in CASES]
)
def test_the_generalized_gradient_decides(name):
    f, x, right, wrong = CASES[name]
    assert [verdict(f, g, x) for g in right] == ["pass"] * len(right)
    assert [verdict(f, g, x) for g in wrong] == ["fail"] * len(wrong)


def test_rounding_hides_on_which_side_of_a_kink_a_point_is():
    for claimed in (0, 1):
        assert verdict(lambda x: 100 + relu(x), claimed, 1e-17) != "fail"


@pytest.mark.nightly
def test_a_thousand_inputs_with_zeros_among_them():
    x = np.r_[np.zeros(3), np.linspace(-1, 1, 997)]
    for at_zero in (0.0, 1.0, 0.5):
        claimed = np.where(x == 0, at_zero, x > 0)
        assert verdict(lambda x: relu(x).sum(), claimed, x) == "pass"
    assert verdict(lambda x: relu(x).sum(), np.where(x == 0, 2.0, x > 0), x) == "fail"


@pytest.mark.parametrize(
    "claimed, verdict", [(0, "pass"), (5, "pass"), (-5, "fail"), (np.nan, "fail"), (np.inf, "inconclusive")]
)
def test_where_a_root_begins_one_side_is_infinitely_steep(claimed, verdict):
    report = check_gradient(
        lambda x: np.sqrt(np.maximum(x, 0)).sum(),
        at={"x": np.array([0.0, 1.0])},
        grad=lambda x: np.where(x > 0, 0.5 / np.sqrt(np.maximum(x, 0.1)), claimed),
    )
    assert report.verdict == verdict
    if verdict == "fail":
        assert report.inputs[0].worst.sides == pytest.approx((0, np.inf), abs=1e-12)


def test_a_cube_root_is_infinitely_steep_on_both_sides():
    report = check_gradient(
        lambda x: np.cbrt(x).sum(), at={"x": np.array([0.0, 1.0])}, grad=lambda x: np.where(x > 0, 1 / 3, 0)
    )
    assert report.verdict == "fail" and report.inputs[0].worst.numeric == np.inf
    assert [finding.kind for finding in report.diagnosis] == ["single element"]
