"""At a kink exactly the elements of the generalized gradient pass, also when checked along directions."""

import functools
from typing import Any

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.numeric.kink import KinkRow, Slopes, components, distance, distinct, nearest
from gradcli.numeric.nearby import Nearby
from gradcli.numeric.probe import Probe
from gradcli.numeric.verdict import FAIL, OPEN, PASS

from .lines import entries_of


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


CUTOFF = 3.0
ENERGY_AT_CUTOFF = 4 * ((1 / CUTOFF) ** 12 - (1 / CUTOFF) ** 6)
FORCE_AT_CUTOFF = 4 * (6 / CUTOFF**7 - 12 / CUTOFF**13)


def pair(x):
    """Return the Lennard-Jones energy of two atoms. At the cutoff its terms cancel, so only rounding is left."""
    distance = np.sqrt((x[1] - x[0]) ** 2)
    power = (1 / distance**2) ** 3
    return 4 * (power**2 - power) - ENERGY_AT_CUTOFF if distance <= CUTOFF else 0.0


UNIT = np.random.default_rng(0).standard_normal(50)
UNIT /= np.linalg.norm(UNIT)
W = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [1.0, 0.0, 3.0]])
# function, point, right gradients, wrong ones
CASES = {
    "relu": (relu, 0.0, [0, 0.5, 1], [-0.5, 2, 1.01]),
    "relu 1e-12 away": (lambda x: relu(x - (1 - 1e-12)), 1.0, [1], [-0.5, 2]),
    "relu 1e-9 away": (lambda x: relu(x - 1e-9), 0.0, [0], [0.5, 1]),
    "abs": (np.abs, 0.0, [-1, 0, 0.3, 1], [1.5, -1.1]),
    "maximum of ties": (
        np.max,
        [2, 2, 2, 1],
        [[1, 0, 0, 0], [1 / 3] * 3 + [0]],
        [[1, 1, 1, 0], [0, 0, 0, 0], [0.5] * 3 + [0]],
    ),
    "median of ties": (np.median, [1, 1, 1], [[1, 0, 0], [0, 0, 1], [1 / 3] * 3], [[1, 1, 1], [2, -1, 0]]),
    "two kinks that cancel": (lambda x: relu(x) - relu(-x), 0.0, [1], [0, 0.5, 2]),
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
    "relu with an offset": (lambda x: 100 + relu(x), 1e-17, [], [2, -1]),
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
    "groups": (
        groups,
        np.zeros(7),
        [[0.6, 0.8, 0, 2, 0, 0, 0.5], [0.3, 0.2, 0.1, 1, 1, 1, -1], [0.3, 0.2, 0.1, 1, 1, 1, 1]],
        [[0.6, 0.81, 0, 2, 0, 0, 0.5], [0.3, 0.2, 0.1, 1, 1, 1, -1.01], [0.3, 0.2, 0.1, 1, 1, 1, 1.01]],
    ),
    "an ellipsoid": (lambda x: np.linalg.norm(W @ x), np.zeros(3), [W.T @ [0.6, 0, 0.8]], [W.T @ [0.6, 0.3, 0.8]]),
    "a permutohedron": (
        lambda x: np.sort(x) @ np.arange(1, 7),
        np.ones(6),
        [[3.5] * 6, [6, 5, 4, 3, 2, 1]],
        [[3.6] * 6, [6, 6, 3, 2, 1, 3]],
    ),
    "range": (np.ptp, [1, 1, 1], [[0, 0, 0], [1, -1, 0]], [[1, 1, -1], [1, -1, 0.1]]),
    "convex and concave": (lambda x: abs(x[0]) - abs(x[1]), [0, 0], [[1, 1], [0.3, -0.9]], [[1.1, 0]]),
    "a pair at its cutoff": (
        pair,
        [0, CUTOFF],
        [[-FORCE_AT_CUTOFF, FORCE_AT_CUTOFF], [0, 0]],
        [[-1.1 * FORCE_AT_CUTOFF, 1.1 * FORCE_AT_CUTOFF], [-FORCE_AT_CUTOFF, 0]],
    ),
    "rows": (rows, np.zeros(25), [(np.eye(25) + np.roll(np.eye(25), 1, 1)) / 2], [1.01 * np.eye(25)]),
}


def verdict(f, claimed, x) -> str:
    x = np.asarray(x, float)
    return check_gradient(f, lambda x: np.asarray(claimed, float), at={"x": x}).verdict


LARGE = ("rows", "eight ties", "a larger ball", "thirty absolute values", "a permutohedron", "range", "median of ties")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in LARGE else name for name in CASES]
)
def test_exactly_the_generalized_gradient_passes(name):
    f, x, right, wrong = CASES[name]
    assert [verdict(f, g, x) for g in right] == ["pass"] * len(right)
    assert [verdict(f, g, x) for g in wrong] == ["fail"] * len(wrong)


OTHERS = np.linspace(-2, 2, 10)
BESIDE_OTHERS = (
    "relu", "clip", "maximum of ties", "norm at 0", "convex and concave", "three absolute values", "range", "groups",
    "eight ties",
)  # fmt: skip


def beside_others(name):
    """Return a case of few elements as a function of ten more, and the gradient for given values at the kink."""
    f, x, right, wrong = CASES[name]
    x = np.atleast_1d(np.array(x, float))
    of_few = lambda y: float(np.sum(f(y)))  # noqa: E731

    def grad(claimed, z):
        few, steps = z[: x.size], 1e-7 * np.eye(x.size)
        here = claimed if np.array_equal(few, x) else [(of_few(few + h) - of_few(few - h)) / 2e-7 for h in steps]
        return np.concatenate([np.broadcast_to(here, x.size), np.cos(z[x.size :])])

    return lambda z: of_few(z[: x.size]) + np.sin(z[x.size :]).sum(), np.concatenate([x, OTHERS]), grad, right, wrong


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in LARGE else name for name in BESIDE_OTHERS]
)
def test_exactly_the_generalized_gradient_passes_along_directions(name):
    f, z, grad, right, wrong = beside_others(name)
    for claimed in (*right, *wrong):
        report = check_gradient(f, functools.partial(grad, claimed), at={"z": z})
        assert report.verdict == ("pass" if any(claimed is g for g in right) else "fail"), claimed


def test_the_elements_that_share_a_violated_kink_are_the_wrong_ones():
    """Only one of several largest elements may have the slope, however many others there are."""
    f, grad = lambda x: np.abs(x).max(), lambda x: np.where(np.abs(x) == np.abs(x).max(), np.sign(x), 0)
    for x in ([3, -3, 1, 2, 0, 0, 1, 1, 1, 0.5], [2, -2, 1, 0, 0.5, 1, 1, 1, 1, 1]):
        (item,) = check_gradient(f, grad, at={"x": np.array(x, float)}).inputs
        assert (item.verdict, item.counts.wrong, item.worst.place) == ("fail", 2, (0,))
        assert item.places.axes == (((0, 1),),)


@pytest.mark.parametrize("count", [4, 12])
def test_a_gradient_of_nan_at_a_kink_is_wrong(count):
    x = np.zeros(count)
    assert check_gradient(np.linalg.norm, lambda x: x / np.linalg.norm(x), at={"x": x}).verdict == "fail"
    safe = lambda x: x / (np.linalg.norm(x) or 1.0)  # noqa: E731
    assert check_gradient(np.linalg.norm, safe, at={"x": x}).verdict == "pass"


BORDERED = np.pad(np.random.default_rng(0).normal(size=(3, 4)), 1)
ELEMENTWISE = {
    "relu": (relu, lambda x: x > 0),
    "abs": (np.abs, np.sign),
    "prelu": (lambda x: np.where(x > 0, x, 0.1 * x), lambda x: np.where(x > 0, 1, 0.1)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_kinks_at_many_zeros_pass_and_other_mistakes_are_found(name):
    f, slope = ELEMENTWISE[name]
    at = {"x": BORDERED}
    assert check_gradient(f, at=at, vjp=lambda g, x: g * slope(x)).verdict == "pass"
    assert check_gradient(f, at=at, vjp=lambda g, x: g * np.where(x == 0, 1.5, slope(x))).verdict == "fail"
    assert check_gradient(f, at=at, vjp=lambda g, x: g * slope(x) * np.where(x == x.max(), 2, 1)).verdict == "fail"


def test_ties_of_a_median_share_its_slope_among_many_elements():
    """The fifth and the sixth of ten numbers are two of four ties; each of these may get a quarter."""

    def grad(x):
        middle = np.sort(x)[4:6]
        return sum(0.5 * (x == v) / (x == v).sum() for v in middle)

    at = {"x": np.array([3, 3, 3, 3, 2, 2.5, 2.2, 5, 5, 4])}
    assert check_gradient(np.median, grad, at=at).verdict == "pass"
    assert check_gradient(np.median, lambda x: 1.3 * grad(x), at=at).verdict == "fail"


@pytest.mark.parametrize(
    "claimed, verdict", [(0, "pass"), (5, "pass"), (-5, "fail"), (np.nan, "fail"), (np.inf, "inconclusive")]
)
def test_a_square_root_is_infinitely_steep_on_one_side_of_0(claimed, verdict):
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


BUDGETS = (11, 12, 14, 20, 30, 40, 60, 100, 150, 200, 400, 1000)


def hinges(x: np.ndarray) -> float:
    return np.maximum(x, 0).sum() + x @ x


def hinges_gradient(x: np.ndarray, at_zero: float = 0.0) -> np.ndarray:
    return np.where(x == 0, at_zero, x > 0) + 2 * x


def peak(x: np.ndarray) -> float:
    return np.abs(x - 1).sum() + (x**3).sum()


MANY = np.where(np.arange(41) == 20, 1.0, np.linspace(0.2, 0.8, 41))
ALONG = {
    "hinges": (hinges, hinges_gradient, [-1, 0, 2, 0.7]),
    "one hinge": (hinges, hinges_gradient, [0]),
    "two hinges": (hinges, hinges_gradient, [0, 1]),
    "largest of two": (np.max, lambda x: 1.0 * (np.arange(3) == 1), [1, 2, 2]),
    "absolute values": (lambda x: np.abs(x).sum(), np.sign, [-1, 0, 2]),
    "one kink among many": (peak, lambda x: np.sign(x - 1) + 3 * x**2, MANY),
    "one side of that kink": (peak, lambda x: np.where(x < 1, -1, 1) + 3 * x**2, MANY),
    "a jump near the point": (lambda x: (np.mod(x, 1) ** 2).sum(), lambda x: 2 * np.mod(x, 1), [0.3, 2.9, -1.2]),
    "a kink near the point": (
        lambda x: np.interp(x, [0, 1, 2, 4], [0, 1, 4, 2]).sum(),
        lambda x: np.where(x < 1, 1, np.where(x < 2, 3, -1.0)),
        [0.3, 1.5, 2.2, 3.999],
    ),
}


def judge_within(case: tuple, calls: int, seed: int = 0, grad: Any = None) -> Any:
    """Check a function at its point within a call budget."""
    f, right, x = case
    return check_gradient(f, at={"x": np.array(x, float)}, grad=grad or right, calls=calls, seed=seed)


@pytest.mark.parametrize("case", ALONG.values(), ids=ALONG)
def test_a_right_derivative_never_fails_and_passes_with_enough_calls(case):
    verdicts = {calls: {judge_within(case, calls, seed).verdict for seed in range(2)} for calls in BUDGETS}
    assert all("fail" not in found and "error" not in found for found in verdicts.values()), verdicts
    assert verdicts[1000] == {"pass"}


@pytest.mark.parametrize("claimed, verdict", [(0, "pass"), (0.5, "pass"), (1, "pass"), (-0.1, "fail"), (1.2, "fail")])
def test_a_claim_at_a_kink_is_compared_with_both_sides(claimed, verdict):
    report = judge_within(ALONG["hinges"], 200, grad=lambda x: hinges_gradient(x, claimed))
    assert report.verdict == verdict
    if verdict == "fail":
        worst = report.inputs[0].worst
        assert worst.place == (1,) and worst.sides == pytest.approx((0, 1))
        assert [finding.kind for finding in report.diagnosis] == ["single element"]


def test_a_claim_beyond_both_sides_is_found_along_directions():
    f, right, x = ALONG["one side of that kink"]
    report = check_gradient(f, lambda x: right(x) + (x == 1), at={"x": x})
    assert (report.verdict, report.inputs[0].worst.place) == ("fail", (20,))


def test_a_kink_does_not_hide_another_wrong_element():
    wrong = lambda x: hinges_gradient(x) * (1 + 0.01 * (x == 2))  # noqa: E731
    report = judge_within(ALONG["hinges"], 400, grad=wrong)
    assert report.verdict == "fail" and report.inputs[0].worst.place == (2,)


@pytest.mark.parametrize("calls", [85, 88])
def test_a_zero_gradient_at_a_minimum_passes_and_is_reported_as_zero(calls):
    f, zeros = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(), np.zeros_like
    report = judge_within((f, zeros, np.ones(6)), calls)
    assert report.verdict == "pass"
    assert report.agreement() == "the derivative is zero along random directions"
    assert judge_within((f, zeros, np.ones(6) + 1e-4), calls).verdict == "fail"


def test_the_nearest_point_of_a_hull():
    square = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    np.testing.assert_allclose(nearest(square, np.array([0.3, 0.7])), [0.3, 0.7], atol=1e-6)
    np.testing.assert_allclose(nearest(square, np.array([2.0, 0.5])), [1, 0.5], atol=1e-6)
    assert distance(square * 1e9, np.array([2e9, 0.5e9])) == pytest.approx(1e9)
    assert distance(square[:1], np.array([0.0, -3.0])) == pytest.approx(3)


def test_points_close_to_one_another_count_as_one():
    points, counts = distinct(np.array([[0.0, 1], [0, 1 + 1e-9], [1, 1], [0, 1 - 1e-9]]), 1e-8)
    assert points.tolist() == [[0, 1], [1, 1]] and counts.tolist() == [3, 1]


def test_connected_columns_form_a_component():
    assert components(5, np.array([[0, 3], [3, 4]])) == [[0, 3, 4], [1], [2]]


def row_of(f, x):
    """Return the row of a function at a kink, with its derivatives along the axes."""
    entries = entries_of(f, x, np.zeros_like)
    return KinkRow(Slopes(entries, np.random.default_rng(3)), entries, 0).measure_at_x()


ROOF = np.array([[1.0, -1, 0], [0, 1, -1], [-1, 0, 1], [-1, 1, 0], [0, -1, 1], [1, 0, -1]])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("claimed", "inside"), [([0, 0, 0], True), ([0.5, 0.4, -0.9], True), ([0.6, 0.6, -1.2], False)]
)
def test_supports_decide_from_a_few_gradients(claimed, inside, sign):
    """The generalized gradient of max - min is the hull of ROOF, of which two corners are known."""
    row = row_of(lambda x: sign * np.ptp(x), [1, 1, 1])
    assert row.by_supports(np.arange(3), sign * np.array(claimed), sign * ROOF[:2]) is inside


def test_supports_do_not_decide_for_a_function_that_bends_both_ways():
    row = row_of(lambda x: abs(x[0]) - abs(x[1]), [0, 0])
    assert row.by_supports(np.arange(2), np.array([0.3, 0.2]), np.array([[1.0, 1], [1, -1]])) is None


@pytest.mark.parametrize(
    ("f", "adds_up"),
    [
        (lambda x: np.abs(x - 1).sum() + x @ x, True),
        (np.max, False),
        (np.linalg.norm, True),
        (lambda x: np.linalg.norm(x - 1), False),
    ],
)
def test_derivatives_along_the_axes_add_up_unless_kinks_meet(f, adds_up):
    assert row_of(f, [1, 1, 1]).adds_up() is adds_up


def test_elements_that_meet_are_grouped():
    row = row_of(lambda x: max(x[0], x[1]) + np.linalg.norm(x[2:4] - 1) + x[4] ** 2, np.ones(5))
    columns = row.meeting_columns()
    assert columns.tolist() == [0, 1, 2, 3]
    assert [block.tolist() for block in row.blocks(columns)] == [[0, 1], [2, 3]]
    assert row.is_round(np.array([2, 3])) and not row.is_round(columns)


@pytest.mark.parametrize(("claimed", "inside"), [([0.6, 0.8], True), ([0.7, 0.8], False), ([0.1, -0.2], True)])
def test_an_ellipsoid_contains_the_gradients_at_its_corner(claimed, inside):
    """The even part of the derivative along d is the root of d Q d: the hull is 3 c + sqrt(Q) times a ball."""
    root, middle = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.3, -0.2])
    row = row_of(lambda x: np.linalg.norm(root @ (x - 1)) + middle @ x, np.ones(2))
    assert row.in_ellipsoid(np.arange(2), middle + root @ claimed) is inside


def nearby(f, x, grad):
    """Return what is seen next to a kink, and the entries at it."""
    entries = entries_of(f, x, grad)
    return Nearby(Probe(entries, 1)), entries


X12 = np.where(np.arange(12) % 3 == 0, 0.0, np.linspace(0.5, 1.5, 12))


def hinges_of(x):
    return np.maximum(x, 0).sum() + (x**2).sum()


def test_claims_that_jump_nearby_are_at_a_kink():
    near, entries = nearby(hinges_of, X12, lambda x: (x > 0) + 2 * x)
    assert near.is_known
    assert near.jumps[0].tolist() == (X12 == 0).tolist()
    np.testing.assert_allclose(near.low[0], np.where(X12 == 0, 0, 1 + 2 * X12), rtol=5e-3, atol=5e-3)
    np.testing.assert_allclose(near.high[0], 1 + 2 * X12, rtol=5e-3)
    assert (near.outside <= 0).all()
    assert near.settles(np.ones(1, bool))
    assert (entries.state == PASS).all()


@pytest.mark.parametrize(
    ("claimed", "outside"), [(0.5, False), (1.0, False), (1.2, True), (-0.2, True), (np.nan, True)]
)
def test_claims_at_a_kink_lie_between_those_nearby(claimed, outside):
    near, entries = nearby(hinges_of, X12, lambda x: np.where(x == 0, claimed, (x > 0) + 2 * x))
    found = near.outside[0] > 0
    assert found.tolist() == ((X12 == 0) & outside).tolist()
    if np.isfinite(claimed):
        assert near.settles(np.ones(1, bool))
        assert (entries.state[0, X12 == 0] == FAIL).any() == outside
        assert (entries.state[0] == OPEN).sum() == 0 or outside


def test_claims_that_are_wrong_nearby_are_compared_at_the_kink():
    near, entries = nearby(hinges_of, X12, lambda x: (x > 0) + 2 * x * np.where(np.arange(12) == 4, 1.5, 1))
    assert near.settles(np.ones(1, bool))
    assert entries.state[0, 4] == FAIL and (entries.state == FAIL).sum() == 1


@pytest.mark.parametrize(
    ("f", "sign"), [(np.max, 1), (np.min, -1), (lambda x: abs(x[0] - 1) - abs(x[1] - 1), 0), (np.sum, 0)]
)
def test_the_curvature_of_a_kink(f, sign):
    near, _ = nearby(f, np.ones(3), np.zeros_like)
    assert near.curvature(0) == sign


def test_derivatives_along_the_axes_are_measured_on_both_sides():
    row = row_of(lambda x: abs(x[0]) + x[1] - 2 * max(x[1], 0), [0, 0])
    assert row.right.tolist() == pytest.approx([1, -1]) and row.left.tolist() == pytest.approx([-1, 1])
    row.along = lambda directions: (np.array([1.0, 2, 3, 4]), np.array([0.1, 0.2, 0.3, 0.1]))
    row.measure_at_x()
    assert (row.right.tolist(), row.left.tolist(), row.uncertain.tolist()) == ([1, 2], [-3, -4], [0.3, 0.2])


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_elements_without_kinks_are_compared_along_directions_of_their_own(factor):
    smooth = X12 != 0
    near, entries = nearby(hinges_of, X12, lambda x: (x > 0) + 2 * x * np.where(np.arange(12) == 4, factor, 1))
    assert near.compare_rest() is (factor != 1)
    assert (near.directions.probed[0].line.direction != 0).tolist() == smooth.tolist()
    if factor == 1:
        assert np.isfinite(entries.bound[0]).tolist() == smooth.tolist()


def test_without_kinks_nothing_is_compared_apart():
    near, _ = nearby(lambda x: (x**2).sum(), X12, lambda x: 2 * x)
    assert not near.compare_rest() and not near.directions.probed


@pytest.mark.parametrize("size", [9, 40, 300])
@pytest.mark.parametrize("seed", range(3))
def test_kinks_that_bend_up_and_down_are_judged_element_by_element(seed, size):
    """The generalized gradient of a sum of functions of single elements combines their intervals in all ways."""
    weights = np.random.default_rng([seed, size]).standard_normal(size)

    def relus(x):
        return weights @ np.maximum(x, 0)

    for factor, verdict in ((1.0, "pass"), (1.05, "fail"), (-1.0, "fail")):
        report = check_gradient(relus, lambda x, k=factor: k * weights * (x >= 0), {"x": np.zeros(size)})
        assert report.verdict == verdict


@pytest.mark.parametrize("size", [12, 40])
@pytest.mark.parametrize("seed", range(3))
def test_a_network_without_biases_is_not_accused_at_zero(seed, size):
    """There are points where all eight units are active, so the claim is the limit of gradients there."""
    rng = np.random.default_rng([seed, size])
    inner, outer = rng.standard_normal((8, size)), rng.standard_normal(8)

    def network(x):
        return outer @ np.maximum(inner @ x, 0)

    def slopes(x):
        return inner.T @ (outer * (inner @ x >= 0))

    assert check_gradient(network, slopes, {"x": np.zeros(size)}).verdict != "fail"
    assert check_gradient(network, lambda x: 2 * slopes(x), {"x": np.zeros(size)}).verdict == "fail"


def median_of_two(x: np.ndarray) -> np.ndarray:
    places = np.argsort(x, kind="stable")[len(x) // 2 - 1 : len(x) // 2 + 1]
    return np.isin(np.arange(len(x)), places) / 2


def mean_of_middle(x: np.ndarray) -> np.ndarray:
    k = len(x) // 5
    return np.isin(np.arange(len(x)), np.argsort(x, kind="stable")[k : len(x) - k]) / (len(x) - 2 * k)


ORDER = {
    "median": (np.median, median_of_two),
    "trimmed mean": (lambda x: np.sort(x)[len(x) // 5 : len(x) - len(x) // 5].mean(), mean_of_middle),
}


@pytest.mark.parametrize("size, seed", [(10, 0), (20, 1), (50, 1), (50, 2), (200, 3)])
@pytest.mark.parametrize("name", ORDER)
def test_order_statistics_of_rounded_numbers_are_not_accused(name, size, seed):
    """Alone, a tied element moves a median neither up nor down; the claim is its gradient once ties are broken."""
    f, slopes = ORDER[name]
    rng = np.random.default_rng([seed, size])
    x = np.round(rng.standard_normal(size), 1) if seed else np.zeros(size)
    assert check_gradient(f, slopes, {"x": x}).verdict != "fail"
    assert check_gradient(f, lambda x: 1.5 * slopes(x), {"x": x}).verdict == "fail"
    assert check_gradient(f, np.zeros_like, {"x": x}).verdict == "fail"


@pytest.mark.parametrize("x", [np.zeros(3), np.zeros(5)], ids=len)
@pytest.mark.parametrize("f", [np.median, lambda x: np.sort(x)[1:-1].mean()], ids=["median", "trimmed mean"])
def test_a_tied_element_that_changes_nothing_by_itself_may_not_be_claimed_to_have_no_effect(f, x):
    report = check_gradient(f, np.zeros_like, {"x": x})
    assert report.verdict == "fail" and "not together with the other" in report.headline(), report
    slopes = (
        median_of_two if f is np.median else lambda x: np.isin(np.arange(len(x)), np.argsort(x)[1:-1]) / (len(x) - 2)
    )
    report = check_gradient(f, slopes, {"x": x})
    assert report.verdict == "pass" and "kinks meet here" in report.headline(), report


@pytest.mark.parametrize("f", [lambda x: (x**2).sum(), lambda x: 3.0 + 0 * x[0], lambda x: np.round(x + 0.3).sum()])
def test_claims_of_zero_pass_where_no_element_has_an_effect(f):
    assert check_gradient(f, np.zeros_like, {"x": np.zeros(4)}).verdict == "pass"


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.nightly) for k in range(1, 4))])
def test_a_few_inputs_of_a_network_without_biases_are_judged_together(seed, size):
    """At 0, the claim is the limit of gradients along one direction; slopes along axes do not bound it."""
    rng = np.random.default_rng([seed, size])
    inner, outer, towards = rng.standard_normal((16, size)), rng.standard_normal(16), rng.standard_normal(size)

    def network(x):
        return outer @ np.maximum(inner @ x, 0)

    def slopes(x):
        before = inner @ x
        return inner.T @ (outer * np.where(before == 0, inner @ towards > 0, before > 0))

    assert check_gradient(network, slopes, {"x": np.zeros(size)}).verdict != "fail"
    assert check_gradient(network, lambda x: 1.5 * slopes(x), {"x": np.zeros(size)}).verdict == "fail"
    shifted = slopes(np.zeros(size)) + 40  # a constant, far from all gradients
    assert check_gradient(network, lambda x: shifted, {"x": np.zeros(size)}).verdict == "fail"
    assert check_gradient(network, lambda x: slopes(np.zeros(size)), {"x": np.zeros(size)}).verdict != "fail"


@pytest.mark.parametrize("seed, size", [(0, 300), (1, 300), (3, 40), (19, 12)])
def test_a_weighted_sort_with_ties_is_not_accused(seed, size):
    """The claim is the gradient at x + (0, t, 2 t, ...) for any small t, so it is a generalized gradient.

    With seed 3, most kinks bend downwards, but not all. With seed 19, the wrong element is one of a single tie, and
    both values lie between the slopes of their elements.
    """
    rng = np.random.default_rng([seed, size])
    weights, x = rng.standard_normal(size), np.round(rng.standard_normal(size), 1)

    def slopes(x):
        order = np.empty(size, int)
        order[np.argsort(x, kind="stable")] = np.arange(size)
        return weights[order]

    def wrong(x):
        return slopes(x) * np.where(np.arange(size) == size // 2, 1.5, 1)

    assert check_gradient(lambda x: weights @ np.sort(x), slopes, {"x": x}).verdict != "fail"
    if size < 300:
        assert check_gradient(lambda x: weights @ np.sort(x), wrong, {"x": x}).verdict == "fail"
