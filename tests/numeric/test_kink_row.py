"""Directional derivatives at a kink, and what one row makes of them: groups of elements, ellipsoids, and hulls."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.numeric import kink
from gradcli.numeric.chain import WANTED
from gradcli.numeric.kink import MOST_MEETING, KinkRow, Slopes, nearest, settle_kinks
from gradcli.numeric.verdict import FAIL, OPEN, PASS, UNDECIDED

from .lines import entries_of

MANY = MOST_MEETING + 10


def row_of(f, x, grad=np.zeros_like, measured=True):
    """Return the row of a function at a kink. measured: whether its derivatives along the axes are."""
    entries = entries_of(f, x, grad)
    row = KinkRow(Slopes(entries, np.random.default_rng(3)), entries, 0)
    return row.measure_at_x() if measured else row


def slopes_of(f, x):
    return Slopes(entries_of(f, x), np.random.default_rng(3))


def largest(x):
    return x[:3].max() + x[3:].sum()


def test_errors_are_small_enough_relative_to_the_largest_slope_at_either_side():
    """Times the sizes of 2 and 3, the slopes are at most 7 * 2 and 5 * 3."""
    entries = entries_of(lambda x: x.sum(), [2.0, 3.0])
    entries.value, entries.sides = np.array([[np.nan, -5.0]]), {(0, 0): (-7.0, 1.0)}
    assert Slopes(entries, None).enough == pytest.approx(WANTED * 15)
    entries.sides = {(0, 0): (-8.0, 1.0)}
    assert Slopes(entries, None).enough == pytest.approx(WANTED * 16)


def test_slopes_along_directions_are_in_units_of_the_sizes():
    slopes = slopes_of(lambda x: 2 * abs(x[0]) + x[1] ** 2, [0.0, 4.0])
    value, error = slopes.along(np.array([[1.0, 0], [-1, 0], [0, 0.5], [3, -0.5]]))
    assert value.shape == error.shape == (4, 1)
    assert value[:, 0] == pytest.approx([2, 2, 8 * 4 * 0.5, 6 - 8 * 4 * 0.5]) and error.max() < 1e-5


def test_random_directions_are_half_of_them_near_corners_of_a_cube():
    slopes = slopes_of(lambda x: x.sum(), np.ones(2000))
    found = slopes.random(4, np.arange(500, 2000))
    assert (found[:, :500] == 0).all() and np.abs(found).max() <= 1
    corners, others = np.abs(found[0::2, 500:]), np.abs(found[1::2, 500:])
    assert corners.min() >= 0.5 and others.min() < 0.01
    assert corners.mean() == pytest.approx(0.75, abs=0.02) and others.mean() == pytest.approx(0.5, abs=0.03)
    assert (np.abs(found[:, 500:].mean(axis=1)) < 0.1).all()  # as many are negative
    directions, value, error = slopes.probes
    assert value[:, 0] == pytest.approx(directions.sum(axis=1)) and len(value) == len(error)
    assert (directions != 0).all()


@pytest.mark.parametrize(("direction", "slope"), [([1.0, 1.0], 1), ([-1.0, 0.5], -1), ([0.7, -1.0], 1)])
def test_limits_of_gradients_are_free_of_curvature(direction, slope):
    """Along the way to the point, |x| + 50 x**2 + y**3 has the gradient (slope + 100 x, 3 y**2). y is 2."""
    slopes = slopes_of(lambda x: abs(x[0]) + 50 * x[0] ** 2 + x[1] ** 3, [0.0, 2.0])
    found = slopes.gradients(np.array([direction]), np.arange(2))
    assert found.shape == (1, 2, 1)
    assert found[0, :, 0] == pytest.approx([slope, 12 * 2], rel=1e-5)
    assert slopes.gradients(np.array([direction] * 3), np.array([1])).shape == (3, 1, 1)


def test_a_slope_is_nan_where_the_function_has_no_value_on_one_side():
    slopes = slopes_of(lambda x: math.sqrt(x[0]), [1.0])
    assert np.isnan(slopes.slope_at(np.array([1e-5]), 0, 1e-4)).all()
    assert slopes.slope_at(np.array([4.0]), 0, 1e-4) == pytest.approx(0.25)


def test_a_row_has_the_sides_of_its_kinks_and_one_slope_elsewhere():
    """The sizes are 2 and 3. A kink of another row changes nothing."""
    entries = entries_of(lambda x: x, [2.0, 3.0], lambda x: np.array([[10.0, 20], [30, 40]]))
    entries.value, entries.error = np.array([[5.0, 7], [1, 1]]), np.array([[0.5, 0.1], [np.inf, 0.2]])
    entries.sides = {(0, 0): (1.0, 4.0), (1, 1): (9.0, 10.0)}
    first, second = (KinkRow(Slopes(entries, None), entries, j) for j in (0, 1))
    assert (first.left.tolist(), first.right.tolist()) == ([2, 21], [8, 21])
    assert (second.left.tolist(), second.right.tolist()) == ([2, 27], [2, 30])
    assert first.uncertain == pytest.approx([0, 0.3]) and second.uncertain.tolist() == [0, 0]
    assert (first.claimed.tolist(), second.claimed.tolist()) == ([20, 60], [60, 120])


@pytest.mark.parametrize(
    ("off", "error", "uncertain", "adds_up"),
    [
        (1e-6, 0.0, 0.0, True),
        (1e-5, 0.0, 0.0, False),
        (1e-5, 2e-6, 0.0, True),
        (1e-5, 5e-7, 0.0, False),
        (1e-5, 0.0, 2e-6, True),
        (1e-5, 0.0, 5e-7, False),
        (np.nan, 0.0, 0.0, False),
    ],
)
def test_derivatives_add_up_to_within_their_errors(off, error, uncertain, adds_up):
    """The terms are 1 - 2 and 1 + 1: sizes of 3 and 2, of which 1e-6 may be rounding. Ten errors may be."""
    row = row_of(lambda x: x.sum(), [1.0, 1.0], measured=False)
    row.left, row.right, row.uncertain = np.array([-1.0, 2.0]), np.array([1.0, 3.0]), np.array([uncertain, 0.0])
    directions = np.array([[1.0, -1.0], [-1.0, 1 / 3]])
    assert row.add_up(directions)[0] == pytest.approx([-1, 2])
    for values in ([-1.0 + off, 2.0], [-1.0, 2.0 - off]):
        row.slopes = SimpleNamespace(probes=(directions, np.array([values]).T, np.full((2, 1), error)))
        assert row.adds_up() is adds_up
    row.right = np.array([np.nan, 3.0])
    assert row.adds_up()  # nothing is known


def test_of_many_elements_those_meet_that_have_kinks_or_seem_wrong():
    x = np.ones(MANY)
    row = row_of(largest, x, np.ones_like, measured=False)
    row.left, row.right = np.where(np.arange(MANY) < 3, 0.0, 1.0), np.ones(MANY)
    assert row.meeting_columns().tolist() == [0, 1, 2]
    row.claimed[50] = 2.0  # it is compared, but has no kink
    assert row.meeting_columns().tolist() == [0, 1, 2]
    row.claimed[:] = 2.0
    assert row.meeting_columns() is None


def test_all_elements_of_a_norm_meet():
    row = row_of(np.linalg.norm, np.zeros(MANY), measured=False)
    row.left, row.right = -np.ones(MANY), np.ones(MANY)
    assert row.meeting_columns().tolist() == list(range(MANY))


@pytest.mark.parametrize("f", [lambda x: abs(x[0]) + x[1], lambda x: x.sum()])
def test_fewer_than_two_elements_with_kinks_do_not_meet(f):
    assert row_of(f, np.zeros(3)).meeting_columns() is None


def test_elements_do_not_meet_if_gradients_nearby_are_unknown():
    row = row_of(lambda x: np.abs(x).sum() if np.abs(x).max() < 2e-5 else math.nan, np.zeros(2), measured=False)
    row.left, row.right = -np.ones(2), np.ones(2)
    assert row.meeting_columns() is None
    assert row.contains(np.arange(2)) is None


def test_elements_whose_derivatives_add_up_in_pairs_only_stay_together():
    """The least of three positive numbers is 0 along any two axes, but not along three."""
    row = row_of(lambda x: max(0.0, x.min()), np.zeros(3))
    assert [block.tolist() for block in row.blocks(np.arange(3))] == [[0, 1, 2]]


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_elements_whose_derivatives_add_up_are_apart_unless_there_are_too_many(size):
    pair = row_of(lambda x: size * (max(x[0], x[2]) + abs(x[1])), np.zeros(3))
    assert pair.meeting_columns().tolist() == [0, 1, 2]
    assert [block.tolist() for block in pair.blocks(np.arange(3))] == [[0, 2], [1]]
    apart = row_of(lambda x: size * np.abs(x).sum(), np.zeros(3))
    assert [block.tolist() for block in apart.blocks(np.arange(3))] == [[0], [1], [2]]
    assert [block.tolist() for block in apart.blocks(np.arange(MOST_MEETING + 1))] == [list(range(MOST_MEETING + 1))]


@pytest.mark.parametrize(
    ("claimed", "uncertain", "inside"),
    [
        (1.0, 0.0, True),
        (-2.0, 0.0, True),
        (1 + 1e-5, 0.0, True),
        (1 + 1e-4, 0.0, False),
        (-2 - 1e-5, 0.0, True),
        (-2 - 1e-4, 0.0, False),
        (1 + 1e-4, 1e-4, True),
        (1 + 1e-3, 1e-4, False),
        (-2 - 1e-4, 1e-4, True),
        (np.nan, 0.0, False),
        (np.inf, 0.0, False),
    ],
)
def test_the_generalized_gradient_of_one_element_lies_between_its_sides(claimed, uncertain, inside):
    row = row_of(lambda x: x.sum(), [1.0, 1.0], measured=False)
    row.left, row.right = np.array([0.0, 1.0]), np.array([0.0, -2.0])
    row.claimed, row.uncertain = np.array([7.0, claimed]), np.array([0.0, uncertain])
    assert bool(row.contains(np.array([1]))) is inside


def test_of_many_elements_only_an_ellipsoid_is_known():
    row = row_of(np.max, np.ones(MANY), measured=False)
    assert row.contains(np.arange(MANY)) is None


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("f", "is_round"),
    [
        (np.linalg.norm, True),
        (lambda x: np.linalg.norm(x) + 3 * x[0] - x[1], True),
        (lambda x: np.abs(x).sum(), False),
        (lambda x: x.sum(), False),
        (lambda x: np.linalg.norm(x) + 0.5 * np.cbrt(x[0] ** 3 + x[1] ** 3), False),
    ],
    ids=["norm", "with a linear part", "absolute values", "linear", "with an odd part that is not linear"],
)
def test_the_even_part_of_a_norm_is_round(f, is_round, size):
    row = row_of(lambda x: size * f(x), np.zeros(2), measured=False)
    assert row.is_round(np.arange(2)) is is_round
    assert not row.is_round(np.arange(1))


def test_slopes_along_a_direction_have_even_and_odd_parts():
    row = row_of(lambda x: 3 * abs(x[0]) + 2 * x[1], np.zeros(2), measured=False)
    even, odd, _ = row.even_and_odd(np.array([[1.0, 1.0], [-2.0, 0.5]]))
    assert even == pytest.approx([3, 6]) and odd == pytest.approx([2, 1])
    row.along = lambda directions: (np.zeros(4), np.array([0.1, 0.4, 0.3, 0.2]))
    assert row.even_and_odd(np.zeros((2, 2)))[2].tolist() == [0.3, 0.4]


FORM = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [1.0, 0.0, 3.0]])


@pytest.mark.parametrize("unit", [*np.eye(3), np.array([2, -1, 2]) / 3, np.array([-6, 2, 3]) / 7], ids=str)
@pytest.mark.parametrize(
    "matrix", [FORM, 1e-6 * FORM, 1e6 * FORM, np.diag([0.01, 1.0, 5.0])], ids=["any", "small", "large", "diagonal"]
)
def test_an_ellipsoid_ends_where_the_claim_is_the_image_of_a_unit_vector(matrix, unit):
    """The generalized gradient of |A x| at 0 is A' times the unit ball (chain rule), with A invertible."""
    row = row_of(lambda x: np.linalg.norm(matrix @ x), np.zeros(3), measured=False)
    assert row.in_ellipsoid(np.arange(3), 0.99 * matrix.T @ unit) is True
    assert row.in_ellipsoid(np.arange(3), 1.01 * matrix.T @ unit) is False


@pytest.mark.parametrize(
    ("claimed", "inside"), [([0.5, -0.5], True), ([1.01, -1.01], False), ([0.5, -0.4], False), ([0.2, 0.2], False)]
)
def test_a_flat_ellipsoid_has_no_width_across(claimed, inside):
    """The generalized gradient of |x - y| is the segment from (-1, 1) to (1, -1)."""
    row = row_of(lambda x: abs(x[0] - x[1]), np.zeros(2), measured=False)
    assert row.in_ellipsoid(np.arange(2), np.array(claimed)) is inside


def test_a_large_ellipsoid_is_known_if_its_axes_are_those_of_the_elements():
    sizes, columns = np.linspace(1, 2, MANY), np.arange(MANY)
    row = row_of(lambda x: np.linalg.norm(sizes * x), np.zeros(MANY), measured=False)
    unit = np.ones(MANY) / math.sqrt(MANY)
    assert row.in_ellipsoid(columns, 0.99 * sizes * unit) is True
    assert row.in_ellipsoid(columns, 1.01 * sizes * unit) is False
    tilted = row_of(lambda x: np.hypot(np.linalg.norm(x), x[:2].sum()), np.zeros(MANY), measured=False)
    assert tilted.in_ellipsoid(columns, 0 * unit) is None


SEEN = np.array([[1.0, 3.0], [1.0, 1.0]])


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("claimed", "answer"),
    [([0.3, 0.2], None), ([2.5, 2], None), ([3.1, 2], False), ([1, -1.1], False), ([1, 4.9], None), ([1, 5.1], False)],
)
def test_a_claim_far_outside_the_gradients_seen_nearby_is_wrong_for_any_function(claimed, answer, size):
    """The gradients seen are 2 apart, so a claim that is more than 2 outside them is wrong."""
    row = row_of(lambda x: size * (abs(x[0]) - abs(x[1])), [0, 0], measured=False)
    assert row.by_supports(np.arange(2), size * np.array(claimed), size * SEEN) is answer


@pytest.mark.parametrize("inside", [True, False])
def test_supports_decide_only_from_gradients_that_are_known(inside):
    """The generalized gradient of the largest of three is a triangle, and the function has values close to x only."""

    def f(x):
        return np.max(x) if np.abs(x - 1).max() < 5e-5 else math.nan

    row = row_of(f, np.ones(3), measured=False)
    claimed = np.full(3, 1 / 3) if inside else np.array([0.5, 0.5, 1.5])
    assert row.by_supports(np.arange(3), claimed, np.eye(3)[:2]) is (None if inside else False)
    assert row.by_supports(np.arange(3), np.array([0.5, 0.5, 0]), np.eye(3)[:2]) is True


def test_supports_do_not_decide_after_too_many_directions(monkeypatch):
    row = row_of(np.max, np.ones(3), measured=False)
    assert row.by_supports(np.arange(3), np.full(3, 1 / 3), np.eye(3)[:2]) is True
    monkeypatch.setattr(kink, "MOST_SUPPORTS", 1)
    assert row.by_supports(np.arange(3), np.full(3, 1 / 3), np.eye(3)[:2]) is None


@pytest.mark.parametrize("sign", [1.0, -1.0, 1e-6, -1e6])
@pytest.mark.parametrize(("part", "inside"), [(0.99, True), (1.01, False)])
def test_supports_decide_for_the_larger_of_a_function_and_zero(part, inside, sign):
    """The generalized gradient of max(0, x + 2 y) is the segment from 0 to (1, 2)."""
    row = row_of(lambda x: sign * max(0.0, x[0] + 2 * x[1]), np.zeros(2), measured=False)
    corners = sign * np.array([[0.0, 0.0], [1.0, 2.0]])
    assert row.by_supports(np.arange(2), sign * part * np.array([1.0, 2.0]), corners) is inside
    assert row.by_supports(np.arange(2), sign * np.array([-0.01, -0.02]), corners) is False


def test_the_nearest_point_of_a_hull_at_zero():
    assert nearest(np.zeros((2, 3)), np.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("state", "kinks", "after"), [(OPEN, range(MANY), UNDECIDED), (FAIL, range(MANY), OPEN), (OPEN, [], OPEN)]
)
def test_elements_of_a_kink_that_is_too_large_are_undecided_unless_one_is_wrong(state, kinks, after):
    entries = entries_of(np.max, np.ones(MANY), lambda x: np.full(MANY, 1 / MANY))
    entries.value[:], entries.error[:] = 0.5, 0.5
    entries.sides = {(0, i): (0.0, 1.0) for i in range(MANY)}
    entries.kinks = {0: list(kinks)} if kinks else {}
    entries.state[0, 0] = state
    settle_kinks(entries, {0}, 0)
    assert entries.state[0].tolist() == [FAIL if state == FAIL else after] + [after] * (MANY - 1)
    assert len(entries.reasons) == (MANY if after == UNDECIDED else 0)
    if after == UNDECIDED:
        assert entries.reasons[0, 3].text.startswith(f"{MANY} elements meet at a kink, and it is not known")


@pytest.mark.parametrize(("claimed", "states"), [([0.5, 0.5, 0.9], [PASS] * 3), ([0.6, 0.6, 0.9], [FAIL, FAIL, OPEN])])
def test_only_elements_that_meet_are_decided_together(claimed, states):
    """The first two elements tie for the largest; the third has a kink of its own, which is decided elsewhere."""
    entries = entries_of(lambda x: max(x[0], x[1]) + abs(x[2]), np.zeros(3), lambda x: np.array(claimed))
    entries.value[:], entries.error[:] = [[0.5, 0.5, 0]], [[0.5, 0.5, 1]]
    entries.sides = {(0, 0): (0.0, 1.0), (0, 1): (0.0, 1.0), (0, 2): (-1.0, 1.0)}
    settle_kinks(entries, {0}, 0)
    assert entries.state[0, :2].tolist() == states[:2]


def test_a_row_whose_derivatives_add_up_is_left_as_it_is():
    entries = entries_of(lambda x: np.abs(x).sum(), np.zeros(2), lambda x: np.array([2.0, 0.0]))
    entries.value[:], entries.error[:] = 0.0, 1.0
    entries.sides = {(0, 0): (-1.0, 1.0), (0, 1): (-1.0, 1.0)}
    settle_kinks(entries, {0}, 0)
    assert (entries.state == OPEN).all() and not entries.notes


def test_an_ellipsoid_with_an_infinite_slope_decides_nothing():
    row = row_of(lambda x: abs(x[0] - x[1]), np.zeros(2), measured=False)
    row.even_and_odd = lambda directions: (np.full(len(directions), np.inf),) * 3
    assert row.in_ellipsoid(np.arange(2), np.zeros(2)) is None
