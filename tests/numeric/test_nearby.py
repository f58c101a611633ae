"""What is seen next to a kink: the range of the claims, the curvature of the kink, and which elements share it."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.numeric.compare import MARGIN
from gradcli.numeric.nearby import DISTANCE, FURTHER_POINTS, OUTSIDE, POINTS, WITHIN, Nearby
from gradcli.numeric.probe import Probe
from gradcli.numeric.verdict import FAIL, OPEN, PASS

from .lines import entries_of

ALL = np.ones(1, bool)


def next_to(f, x, grad, h=None):
    """Return what is seen next to a kink, and the entries at it. h: its directional derivatives, if these are given."""
    entries = entries_of(f, x, grad)
    near = Nearby(Probe(entries, 1))
    if h is not None:
        near.right = lambda d: (np.array([float(h(d))]), np.zeros(1))
    return near, entries


def with_slopes(h):
    return next_to(np.sum, np.ones(3), np.ones_like, h)[0]


def one_apart(d):
    return abs(d[0]) + max(d[1], d[2])


def tilted(d):
    return max(d) + 100 * d.sum()


def saddle(d):
    return abs(d[0]) - abs(d[1])


@pytest.mark.parametrize(
    ("h", "elements", "some"),
    [
        (np.max, [True, True, True], True),
        (one_apart, [False, True, True], True),
        (lambda d: np.abs(d).sum(), [False, False, False], False),
        (saddle, [False, False, False], False),
        (np.sum, [False, False, False], False),
    ],
)
def test_elements_share_a_kink_if_slopes_do_not_add_up(h, elements, some):
    near = with_slopes(h)
    assert [near.shares(0, i) for i in range(3)] == elements
    assert near.shares_kinks(0) is some


def test_halves_of_a_direction_make_up_the_whole():
    near = with_slopes(lambda d: d @ [1.0, 10, 100])
    halves = {near.slopes_of_halves(0, np.array([1.0, -1, 2])) for _ in range(40)}
    assert {one + other for one, other in halves} == {191.0}
    assert {one for one, _ in halves} == {0.0, 1, -10, 200, -9, 201, 190, 191}


@pytest.mark.parametrize(("part", "shared"), [(1e-6, False), (1e-2, True)])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_slopes_add_up_to_within_their_rounding_at_any_size(part, shared, size):
    near = with_slopes(lambda d: size * (np.abs(d).sum() + part * np.max(d)))
    assert near.shares(0, 1) is shared and near.shares_kinks(0) is shared


SIZES = np.array([2.0, 0.5, 8.0])


@pytest.mark.parametrize("test", [Nearby.shares_kinks, Nearby.measure_curvature])
def test_elements_move_by_about_their_sizes(test):
    """A sum of two directions moves them by up to 3 sizes, and no direction by more."""
    near, asked = next_to(np.sum, SIZES, np.ones_like)[0], []
    near.right = lambda d: asked.append(np.abs(d) / SIZES) or (np.array([d.sum()]), np.zeros(1))
    near.slopes_of_halves = lambda j, d: (d.sum(), 0.0)
    test(near, 0)
    assert asked[0].min() >= 0.5 and asked[0].max() <= 1.5 and np.max(asked) <= 3


def test_an_element_moves_by_its_size_alone_and_with_others():
    near, asked = next_to(np.sum, SIZES, np.ones_like)[0], []
    near.right = lambda d: asked.append(np.abs(d) / SIZES) or (np.array([d.sum()]), np.zeros(1))
    near.shares(0, 1)
    assert asked[0].tolist() == [0, 1, 0]
    others = np.array(asked[1:])[:, [0, 2]]
    assert others.min() >= 0.5 and others.max() <= 1.5
    assert [moves[1] for moves in asked[1:3]] == [0, 1]


CURVATURES = [(np.max, 1), (np.min, -1), (saddle, 0), (np.sum, 0), (one_apart, 1), (tilted, 1)]


@pytest.mark.parametrize(("h", "sign"), CURVATURES)
def test_a_kink_bends_up_or_down_if_it_does_along_all_pairs_of_directions(h, sign):
    for size in (1e-9, 1.0, 1e9):
        assert with_slopes(lambda d, k=size: k * h(d)).curvature(0) == sign


@pytest.mark.parametrize(("h", "falling", "growing"), [(np.max, 0, 1), (np.min, -1, 0)])
def test_claims_nearby_confirm_the_curvature(h, falling, growing):
    near = with_slopes(h)
    near.claims = [-x[None] for x in near.points]
    assert near.measure_curvature(0) == falling
    near.claims = [x[None] for x in near.points]
    assert near.measure_curvature(0) == growing


@pytest.mark.parametrize(
    ("claims", "up", "down"),
    [([-2, -1, -1], True, False), ([1, 0, 0], False, True), ([0, 1, 0.5], False, False), ([2, 2, 2], True, True)],
)
def test_claims_of_a_convex_function_grow_along_the_way_from_point_to_point(claims, up, down):
    near = with_slopes(np.max)
    near.points = [np.array([x, 7.0]) for x in (-6.0, -4.0, -3.0)]
    near.claims = [np.array([[5.0, 5.0], [claim, 1.0]]) for claim in claims]
    assert (near.grows(1, 1), near.grows(1, -1)) == (up, down)
    assert near.grows(0, 1) and near.grows(0, -1)


@pytest.mark.parametrize(
    ("sums", "sign", "bends"),
    [
        ([1.5] * 8, 1, True),
        ([1.5, 0.95] * 4, 1, True),
        ([1.05] * 8, 1, False),
        ([1.5, 0.8] * 4, 1, False),
        ([0.5] * 8, -1, True),
        ([0.5, 1.2] * 4, -1, False),
        ([1.5] * 8, -1, False),
    ],
)
def test_halves_of_a_direction_confirm_the_curvature_beyond_the_tolerance(sums, sign, bends):
    """The slope along the whole is 1, and known to 0.1; a convex function has larger sums."""
    near, halves = with_slopes(np.max), iter(sums)
    near.curvatures = {0: sign}
    near.slopes_of_halves = lambda j, d: (0.25, next(halves) - 0.25)
    assert near.bends(0, np.ones(3), 1.0, 0.1) is bends


def test_the_range_of_claims_shows_jumps_relative_to_the_largest_claim():
    near = with_slopes(np.max)
    near.set_range([np.array([[1.0, 2.0, -4.0]]), np.array([[1.3, 1.9, -4.0]])])
    assert near.low.tolist() == [[1, 1.9, -4]] and near.high.tolist() == [[1.3, 2, -4]]
    assert near.jumps.tolist() == [[True, False, False]]  # the limit is JUMPS_NEARBY * 4 = 0.2
    assert near.constant.tolist() == [False]
    near.set_range([np.ones((2, 3)), np.array([[1.0, 1, 1], [1, 1, 2]])])
    assert near.constant.tolist() == [True, False]


X = np.array([0.0, 2.0, -3.0])


def hinge(x):
    return max(x[0], 0) + x[1] * x[2]


@pytest.mark.parametrize(("at_zero", "count"), [(0.5, POINTS), (1.5, POINTS + FURTHER_POINTS)])
def test_more_points_are_looked_at_if_a_claim_lies_outside_those_nearby(at_zero, count):
    near, entries = next_to(hinge, X, lambda x: np.array([at_zero if x[0] == 0 else x[0] > 0, x[2], x[1]]))
    assert near.is_known and entries.nearby is near
    assert len(near.points) == len(near.claims) == count
    moves = np.abs(np.array(near.points) - X) / (DISTANCE * entries.flat.scales)
    assert moves.min() >= 0.5 - 1e-9 and moves.max() <= 1.5 + 1e-9
    assert (near.low[0, 0], near.high[0, 0]) == (0, 1)
    assert (near.low == np.min(near.claims, axis=0)).all() and (near.high == np.max(near.claims, axis=0)).all()


def test_without_claims_at_all_points_nearby_the_range_is_that_at_the_point():
    near, entries = next_to(hinge, X, lambda x: np.array([0.5, x[2] if x[0] <= 0 else np.nan, x[1]]))
    assert not near.is_known and entries.nearby is None and near.bound_there is None
    assert near.low.tolist() == near.high.tolist() == [[0.5, -3, 2]]


def outside_of(claimed, low, high):
    near = with_slopes(np.max)
    entries = near.entries
    entries.own_rounding, entries.least_accused = np.zeros((1, 3)), np.zeros((1, 3))
    entries.claimed = np.array([claimed])
    near.set_range([np.array([low]), np.array([high])])
    return near


def test_a_claim_may_lie_outside_those_nearby_by_what_a_smooth_one_changes_by():
    """The first element jumps, so it may be off by OUTSIDE of its size; the second may change by another 0.01."""
    near = outside_of([2.3, 1.03, np.nan], [1.0, 1.0, 0.0], [2.0, 1.01, 0.0])
    assert near.outside[0, :2] == pytest.approx([0.3 - OUTSIDE * 2, 0.02 - 0.01]) and near.outside[0, 2] == np.inf
    near.entries.claimed = np.array([[0.5, 0.985, -1e-3]])
    assert near.outside[0] == pytest.approx([0.5 - OUTSIDE * 2, 0.015 - 0.01, 1e-3])
    near.entries.own_rounding[:], near.entries.least_accused[:] = 1e-4, 2e-4
    assert near.outside[0] == pytest.approx([0.5 - OUTSIDE * 2 - 3e-4, 0.005 - 3e-4, 7e-4])


@pytest.mark.parametrize(
    ("here", "curvature", "shares", "some_share", "explained"),
    [
        (0.5, 1, False, False, True),
        (1.5, 0, True, False, True),
        (1.5, 1, True, True, False),
        (1.5, -1, True, True, False),
        (1.5, 0, False, True, True),
        (1.5, 0, False, False, False),
        (2.5, 0, False, True, False),
        (-2.5, 0, False, True, False),
        (-1.5, 0, False, True, True),
        (2.5, 0, True, False, True),
    ],
)
def test_a_claim_beyond_both_sides_may_be_right_at_a_shared_kink(here, curvature, shares, some_share, explained):
    """Nearby, 0 to 1 is claimed for an element of size 2, and -1 to 1 for one of size 4: times the sizes, -4 to 4."""
    near, entries = next_to(np.sum, [2.0, 4.0], np.ones_like)
    near.set_range([np.array([[0.0, -1.0]]), np.array([[1.0, 1.0]])])
    entries.claimed = np.array([[here, 1.0]])
    near.bound_there, near.curvatures = np.zeros((1, 2)), {0: curvature}
    near.shares, near.shares_kinks = lambda j, i: shares, lambda j: some_share
    assert near.explains(0, 0) is explained
    near.bound_there = None
    assert near.explains(0, 0) is False


@pytest.mark.parametrize(
    ("value", "error", "failed", "explained"),
    [
        ([1.0, 1.0, 1.0], 0.0, [True, False, False], True),
        ([1.0, 1.0, 1.0], 0.0, [False, False, False], False),
        ([1.0, 1.0, 1.0], 0.0, [True, True, False], False),
        ([1.95, 1.0, 1.0], 0.0, [True, False, False], False),
        ([0.9, 1.0, 1.0], 0.0, [True, False, False], False),
        ([0.9, 1.0, 1.0], 0.1, [True, False, False], True),
        ([1.0, 1.0, 0.0], 0.0, [True, False, True], False),
    ],
)
def test_wrong_claims_are_explained_if_they_are_off_by_as_much_as_they_jump(value, error, failed, explained):
    """Only the first element jumps nearby, from 1 to 2, and 2 is claimed: a gap of 0.1 to 1 is explained."""
    near = outside_of([2.0, 1.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 1.0])
    near.entries.value, near.entries.error = np.array([value]), np.full((1, 3), error)
    assert near.explains_jumps(np.array([failed])).tolist() == [explained]


def test_the_tolerance_of_a_claimed_product_counts_the_elements_that_move():
    near = outside_of([2.0, np.nan, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    found = near.tolerance(np.array([3.0, 0.0, -1.0]), np.array([-4.0]), np.array([0.1]))
    assert found == pytest.approx(WITHIN * (6 + 1 + 4) + MARGIN * 0.1)


def test_both_sides_of_a_direction_have_slopes():
    near = with_slopes(lambda d: max(d[0], 3 * d[0]))
    right, left, error = near.sides(np.array([2.0, 0, 0]))
    assert (right[0], left[0], error[0]) == (6, 2, 0)
    errors = iter([0.1, 0.3, 0.4, 0.2])
    near.right = lambda d: (np.zeros(1), np.array([next(errors)]))
    assert [near.sides(np.ones(3))[2][0] for _ in range(2)] == [0.3, 0.4]


def test_directions_to_test_are_equal_moves_and_the_claims():
    """The sizes are 2, 4 and 6, with median 4. The claims times the sizes are 2, -12 and 0."""
    near, entries = next_to(lambda x: x[:3].sum(), [2.0, -4.0, 6.0, np.inf], np.zeros_like)
    entries.claimed = np.array([[1.0, -3.0, 0.0, 0.0]])
    found = near.tests(ALL)
    assert len(found) == 2 and found[0].tolist() == [4, 4, 4, 0]
    assert found[1] == pytest.approx([2 / 6, -4, 0, 0])
    assert len(near.tests(~ALL)) == 1
    for nothing in (0.0, np.inf):
        entries.claimed[0, 1:3], entries.claimed[0, 0] = 0.0, nothing
        assert len(near.tests(ALL)) == 1


@pytest.mark.parametrize(
    ("sign", "left", "right", "error", "bends", "slope"),
    [
        (1, 1.0, 1.5, 0.0, True, 1.5),
        (1, 1.0, 1.5, 0.19, True, 1.5),
        (1, 1.0, 1.5, 0.21, True, None),
        (1, 2.5, 3.0, 0.0, True, 2.5),
        (1, 2.5, 3.0, 0.21, True, None),
        (1, 1.5, 2.5, 0.0, True, None),
        (-1, 1.5, 1.0, 0.0, True, 1.5),
        (-1, 3.0, 2.5, 0.0, True, 2.5),
        (-1, 2.5, 1.5, 0.0, True, None),
        (0, 1.0, 1.5, 0.0, True, None),
        (1, 1.0, 1.5, 0.0, False, None),
    ],
)
def test_a_claim_lies_between_the_slopes_of_a_kink_that_bends_one_way(sign, left, right, error, bends, slope):
    """The claim along equal moves is 1 + 1 = 2, and may be off by 2.5 errors of the slopes."""
    near, entries = next_to(np.sum, np.ones(2), np.ones_like)
    near.curvatures, near.bends = {0: sign}, lambda *_: bends
    near.tests, near.directions.settle = lambda rows: [np.ones(2)], lambda: True
    near.sides = lambda d: (np.array([right]), np.array([left]), np.array([error]))
    assert near.contradicts_slopes(ALL) is (slope is not None)
    assert [note.partition("along")[2] for note in entries.notes] == (
        [] if slope is None else [f" a direction the slope is {slope}, but 2 is claimed"]
    )
    assert (entries.state == FAIL).all() == (slope is not None)
    assert not near.contradicts_slopes(~ALL)


@pytest.mark.parametrize(
    ("slopes", "error", "wrong", "found", "compared"),
    [
        ((3.0, 3.0), 0.0, True, True, True),
        ((3.0, 3.0), 0.0, True, False, True),
        ((3.0, 3.0), 0.0, False, True, True),
        ((2.0, 2.0), 0.0, True, True, False),
        ((3.0, 2.5), 0.0, True, True, False),
        ((3.0, 3.0 + 1e-5), 0.0, True, True, True),
        ((3.0, 3.0 + 1e-3), 0.0, True, True, False),
        ((3.0, 3.05), 0.1, True, True, True),
        ((3.0, 3.15), 0.1, True, True, False),
        ((2.2, 2.2), 0.1, True, True, False),
    ],
)
def test_a_direction_without_a_kink_is_compared_if_the_claim_differs(slopes, error, wrong, found, compared):
    near, asked = next_to(np.sum, np.ones(2), np.ones_like)[0], []
    near.curvatures, near.tests = {0: 0}, lambda rows: [np.ones(2)]
    near.sides = lambda d: (*(np.array([x]) for x in slopes), np.array([error]))
    near.directions.compare = lambda d, family: asked.append(family) or SimpleNamespace(wrong=np.array([wrong]))
    near.probe.find_wrong = lambda probed: found
    assert near.contradicts_slopes(ALL) is (compared and wrong and found)
    assert asked == ["relative"] * compared


@pytest.mark.parametrize(
    ("claimed", "error", "compared"),
    [
        (-0.5, 0.0, True),
        (0.5, 0.0, False),
        (1.5, 0.0, True),
        (1 + 1e-5, 0.0, False),
        (-1e-5, 0.0, False),
        (1 + 1e-4, 0.0, True),
        (-0.1, 0.1, False),
        (-0.15, 0.1, True),
    ],
)
def test_an_element_is_compared_alone_if_its_claim_lies_beyond_both_sides(claimed, error, compared):
    """The last of ten elements is a suspect. Its slopes times its size of 2 are 2 and 0, known to 2.5 errors."""
    near, entries = next_to(np.sum, np.where(np.arange(10) < 9, 1.0, 2.0), np.ones_like)
    entries.claimed, asked = np.where(np.arange(10) < 9, 1.0, claimed)[None], []
    near.set_range([np.where(np.arange(10) < 9, 1.0, 0.4)[None]])
    entries.compare_element = asked.append
    for slopes in ((2.0, 0.0), (0.0, 2.0)):
        near.sides = lambda d, s=slopes: (*(np.array([x]) * (d[9] == 2) for x in s), np.array([error]))
        assert not near.compare_suspects() and asked == [9] * compared
        asked.clear()
    entries.state[0, 1] = FAIL
    assert near.compare_suspects()


def settling(there, rest=False, suspects=False, contradicts=False):
    """Return a Nearby with given answers of its tests, of which `asked` collects the names."""
    near, asked = outside_of([1.5, 1.0, 1.5], [1.0, 1.0, 1.0], [2.0, 1.0, 1.0]), []
    near.bound_there = there
    near.compare_rest = lambda: asked.append("rest") or rest
    near.compare_suspects = lambda: asked.append("suspects") or suspects
    near.contradicts_slopes = lambda rows: asked.append("slopes") or contradicts
    return near, asked


@pytest.mark.parametrize(
    ("answers", "asked", "accepted"),
    [
        ({}, ["rest", "suspects", "slopes"], True),
        ({"rest": True}, ["rest"], False),
        ({"suspects": True}, ["rest", "suspects"], False),
        ({"contradicts": True}, ["rest", "suspects", "slopes"], False),
    ],
)
def test_entries_near_a_kink_are_accepted_if_no_test_finds_a_mistake(answers, asked, accepted):
    near, seen = settling(np.array([[0.1, np.nan, 0.2]]), **answers)
    assert near.settles(ALL) and seen == asked
    assert near.entries.bound.tolist() == [[1.1, np.inf, 0.2]]  # with the range of the claims nearby, 1 and 0
    assert near.entries.state.tolist() == [[PASS, OPEN, PASS] if accepted else [OPEN] * 3]
    assert near.entries.kinks == ({0: [0, 2]} if accepted else {})  # where claims jump, or lie outside those nearby


@pytest.mark.parametrize("contradicts", [True, False])
def test_without_a_check_nearby_only_slopes_at_the_kink_decide(contradicts):
    near, seen = settling(None, contradicts=contradicts)
    assert near.settles(ALL) is contradicts and seen == ["slopes"]
    assert (near.entries.state == OPEN).all() and np.isinf(near.entries.bound).all()
    near.entries.state[0, 1] = FAIL
    seen.clear()
    assert near.settles(ALL) is True and seen == []


def test_a_claim_is_checked_once_at_a_point_nearby():
    near, entries = next_to(hinge, X, lambda x: np.array([x[0] > 0, x[2], x[1]]))
    seen = []
    near.check_at = lambda x: seen.append(x) or np.ones((1, 3))
    assert near.bound_there.tolist() == [[1, 1, 1]] and near.bound_there is near.bound_there
    assert len(seen) == 1 and seen[0] is near.points[0] and entries.nearby is near


def test_a_claim_that_jumps_must_pass_where_it_is_like_the_one_here():
    """The function is constant near 1, and the claim is 1 to the left of it and 0 to the right."""
    near, entries = next_to(lambda x: np.sign(x).sum() + 0 * x[0], np.ones(1), lambda x: 1.0 * (np.abs(x) <= 1))
    assert not near.explains_jumps(np.ones((1, 1), bool)).any()
    assert entries.nearby is near


def test_bounds_of_a_point_nearby_are_small_where_the_claim_is_right():
    """The slopes of this function of ten elements are about 1, and known to about 1e-9 at a point without a kink."""
    near, entries = next_to(lambda x: np.abs(x).sum() + (x**2).sum(), np.zeros(10), lambda x: np.sign(x) + 2 * x)
    calls = near.sampler.calls
    bounds = near.check_at(near.points[0])
    assert bounds.shape == (1, 10) and (bounds >= 0).all() and bounds.max() < 1e-3
    assert near.sampler.calls > calls and entries.nearby is near


def test_elements_that_are_wrong_nearby_are_compared_at_the_kink():
    near, asked = outside_of([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]), []
    near.entries.compare_element = lambda i: asked.append((i, near.entries.nearby))
    near.suspect_elements_of(SimpleNamespace(state=np.array([[PASS, FAIL, OPEN], [FAIL, FAIL, PASS]])))
    assert asked == [(0, None), (1, None)] and near.entries.nearby is near
