"""Rows of a claimed Jacobian, all of them or random combinations, and their scatter at nearby points."""

import dataclasses

import numpy as np
import pytest

from gradcli.claims.hand_written import claim_by_hand
from gradcli.numeric.flat import Flat
from gradcli.numeric.rows import (
    COMBINATIONS,
    MOST_FORWARD,
    MOST_ROWS,
    NEIGHBOURS,
    SCATTER_LIMIT,
    ClaimedRows,
    combinations,
    draw_signs,
    neighbours,
    noise_differences,
    norms,
    points_on_line,
)

from .lines import sampler_of

MATRIX = np.arange(6.0).reshape(2, 3) + 1


def rows_of(matrix, **claim):
    given = {"x": np.linspace(1, 2, matrix.shape[1])}
    claim = claim or {"vjp": lambda g, x: matrix.T @ g}
    return ClaimedRows(Flat(claim_by_hand(lambda x: matrix @ x, given, claim, None, False)), np.random.default_rng(0))


@pytest.mark.parametrize(
    "claim",
    [{"vjp": lambda g, x: MATRIX.T @ g}, {"jvp": lambda t, x: MATRIX @ t[0]}, {"grad": lambda x: MATRIX}],
    ids=lambda claim: next(iter(claim)),
)
def test_few_rows_are_all_computed(claim):
    rows = rows_of(MATRIX, **claim)
    assert rows.single and rows.known
    assert np.array_equal(rows.claimed, MATRIX)
    assert np.allclose(rows.along(np.array([1.0, 0, -2])), MATRIX @ [1, 0, -2])


def test_many_rows_are_combined():
    matrix = np.random.default_rng(1).normal(size=(MOST_ROWS + 1, 3))
    rows = rows_of(matrix)
    assert not rows.single and rows.claimed.shape == (COMBINATIONS, 3)
    assert np.allclose(rows.claimed, rows.weights @ matrix)
    assert np.allclose(rows.combine(matrix.T), matrix.T @ rows.weights.T)


def test_a_forward_derivative_of_many_elements_is_used_through_products():
    matrix = np.random.default_rng(1).normal(size=(2, MOST_FORWARD + 1))
    rows = rows_of(matrix, jvp=lambda t, x: matrix @ t[0])
    direction = draw_signs(np.random.default_rng(2), MOST_FORWARD + 1)
    assert not rows.known
    assert np.allclose(rows.along(direction), rows.weights @ matrix @ direction)
    rows.fill_column(5)
    assert np.allclose(rows.claimed[:, 5], rows.weights @ matrix[:, 5])
    assert np.isnan(np.delete(rows.claimed, 5, axis=1)).all()


def test_weights_of_outputs_suit_their_sizes():
    sizes = 10.0 ** np.arange(-1, 3)
    parts = np.abs(combinations(np.random.default_rng(3), sizes)) * sizes
    assert parts.shape == (COMBINATIONS, 4)
    assert (parts <= 1.5).all() and (parts > 0.25).all()


def test_outputs_that_are_0_do_not_make_combinations_infinite():
    weights = combinations(np.random.default_rng(3), np.array([0.0, 0.0, 0.0, 2.0]))
    assert np.isfinite(weights).all() and (np.abs(weights[:, 3]) <= 0.75).all()


def test_no_element_of_a_random_direction_is_small():
    drawn = np.abs(draw_signs(np.random.default_rng(4), 10_000))
    assert drawn.min() >= 0.5 and drawn.max() <= 1.5


X = np.array([0.3, -1.7, 25.0])


def rows_near(grad, x=X):
    return ClaimedRows(sampler_of(np.sum, x, grad).flat, np.random.default_rng(0))


@pytest.mark.parametrize("order", [2, 3, 4, 6])
def test_differences_of_noise_are_as_large_as_the_noise(order):
    noise = np.random.default_rng(order).normal(size=20_000)
    assert np.sqrt((noise_differences(noise, order) ** 2).mean()) == pytest.approx(1, rel=0.05)


def test_differences_of_a_smooth_curve_are_small():
    curve = np.sin(np.linspace(0, 0.01, 9))
    assert noise_differences(curve, 3).max() < 1e-9


def test_neighbours_are_a_few_rounding_units_away():
    claim = rows_near(np.ones_like).flat.claim
    for near in neighbours(claim):
        assert (np.abs(near["x"] - X) <= 3 * np.spacing(np.abs(X))).all()


def test_points_on_a_line_are_equally_spaced():
    claim = rows_near(np.ones_like).flat.claim
    points = np.array([near["x"] / X - 1 for near in points_on_line(claim, 1e-6, seed=0)])
    assert points.shape == (9, 3)
    assert np.abs(np.diff(points, axis=0)) == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize(
    "grad, low, high",
    [
        (np.cos, 0, 1e-9),
        (lambda x: 1 + 1e-6 * np.sin(1e19 * x), 1e-8, 1e-5),
        (lambda x: np.cos(x.astype(np.float32)), 0, 2e-6),
    ],
    ids=["float64", "erratic", "float32"],
)
def test_the_scatter_of_a_claim_is_its_rounding(grad, low, high):
    assert low <= rows_near(grad).measure_scatter().max() <= high


def test_a_claim_that_raises_at_a_nearby_point_has_no_scatter():
    def grad(x):
        if not np.array_equal(x, X):
            raise ValueError("elsewhere")
        return np.ones(3)

    rows = rows_near(grad)
    assert rows.try_at({"x": X + 1}) is None
    assert (rows.measure_scatter() == 0).all()


SQUARES = {
    "vjp": lambda g, x: g @ MATRIX * 2 * x,
    "jvp": lambda t, x: MATRIX @ (2 * x * t[0]),
    "grad": lambda x: MATRIX * 2 * x,
}
"""Derivatives of MATRIX @ x**2, whose Jacobian is 2 MATRIX x."""
AT, NEXT = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 0.5, 4.0])
WEIGHTS = np.array([[1.0, -2.0]])


def squares(*ways, weights=None, at=AT, **others):
    claims = {**{way: SQUARES[way] for way in ways}, **others}
    claim = claim_by_hand(lambda x: MATRIX @ x**2, {"x": at}, claims, None, False)
    return ClaimedRows(Flat(claim), np.random.default_rng(0), weights=weights)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["single", "combined"])
@pytest.mark.parametrize("ways", [("vjp",), ("jvp",), ("grad",), ("vjp", "jvp")], ids="+".join)
def test_rows_and_products_are_those_of_the_claim_at_any_point(ways, weights):
    if ways == ("grad",) and weights is not None:
        return
    rows, combine = squares(*ways, weights=weights), np.eye(2) if weights is None else weights
    here, there = (combine @ (2 * MATRIX * x) for x in (AT, NEXT))
    direction = np.array([1.0, 0.0, -3.0])
    assert rows.single == (weights is None)
    np.testing.assert_allclose(rows.along(direction), here @ direction)
    np.testing.assert_allclose(rows.products_at({"x": NEXT}, direction, [0]), (there @ direction)[:1])
    rows.fill_column(1)
    np.testing.assert_allclose(rows.claimed[:, 1], here[:, 1])
    np.testing.assert_allclose(rows.at({"x": NEXT}, 1)[:, 1], there[:, 1])
    known = rows.at({"x": NEXT})
    if ways == ("jvp",) and weights is not None:
        assert np.isnan(rows.at({"x": NEXT}, 0)[:, 1:]).all() and np.isnan(known[:, [0, 2]]).all()
        assert not rows.known
        known, there = known[:, 1], there[:, 1]
    np.testing.assert_allclose(known, there)


@pytest.mark.parametrize(
    ("ways", "weights", "known"),
    [(("vjp",), None, True), (("jvp",), WEIGHTS, True), (("vjp", "jvp"), WEIGHTS, True), (("vjp",), WEIGHTS, False)],
)
def test_a_column_for_all_outputs_takes_rows_or_one_product_with_a_tangent(ways, weights, known):
    column = squares(*ways, weights=weights).column(2)
    assert (column is not None) == known
    assert column is None or column.tolist() == (2 * MATRIX[:, 2] * 3).tolist()


@pytest.mark.parametrize(
    ("ways", "outputs", "inputs", "single"),
    [
        (("vjp",), MOST_ROWS, 3, True),
        (("vjp",), MOST_ROWS + 1, 3, False),
        (("jvp",), 2, MOST_FORWARD, True),
        (("jvp",), 2, MOST_FORWARD + 1, False),
        (("vjp", "jvp"), MOST_ROWS + 1, MOST_FORWARD, True),
        (("vjp", "jvp"), MOST_ROWS + 1, MOST_FORWARD + 1, False),
    ],
)
def test_all_rows_are_computed_if_the_cheaper_products_are_few(ways, outputs, inputs, single):
    matrix = np.random.default_rng(1).normal(size=(outputs, inputs))
    products = {"vjp": lambda g, x: g @ matrix, "jvp": lambda t, x: matrix @ t[0]}
    rows = rows_of(matrix, **{way: products[way] for way in ways})
    assert rows.single == single
    assert rows.forward == (ways == ("jvp",))
    assert rows.known == (single or not rows.forward)
    if rows.known:
        np.testing.assert_allclose(rows.claimed, matrix if single else rows.weights @ matrix)


def test_outputs_that_change_less_get_larger_weights():
    matrix = np.ones((MOST_ROWS + 1, 3))
    claim = claim_by_hand(lambda x: matrix @ x, {"x": AT}, {"vjp": lambda g, x: g @ matrix}, None, False)
    sizes = 10.0 ** np.linspace(-3, 3, MOST_ROWS + 1)
    rows = ClaimedRows(Flat(claim), np.random.default_rng(0), lambda: sizes)
    assert np.abs(rows.weights[:, 0]).min() > 100 * np.abs(rows.weights[:, -1]).max()


def test_elements_that_are_not_finite_are_not_claimed():
    for way in ("vjp", "grad"):
        rows = squares(way, at=np.array([1.0, np.inf, 3.0]))
        assert rows.claimed[:, 1].tolist() == [0, 0] and rows.claimed[:, 0].tolist() == [2, 8]
        assert not rows.between_calls.any()


@pytest.mark.parametrize(
    ("calls", "between"), [([1.0, 1.5], 0.5), ([1.5, 1.0], 0.5), ([1.0, np.inf], 0.0), ([np.nan, 1.0], 0.0)]
)
def test_calls_of_a_whole_gradient_at_the_point_are_compared(calls, between):
    left = iter(calls)
    rows = rows_near(lambda x: np.full(3, next(left)))
    assert rows.between_calls.tolist() == [[between] * 3]
    assert not squares("vjp").between_calls.any() and squares("vjp").between_calls.shape == (2, 3)


def test_slopes_along_a_line_are_those_of_the_claim_at_its_points():
    def grad(x):
        if x[0] > 1.4:
            raise ValueError("too far")
        return MATRIX * 2 * x

    rows, direction, offsets = squares(grad=grad), np.array([1.0, 0.0, -2.0]), np.array([0.0, 0.25, 0.5])
    line = sampler_of(np.sum, AT).line(direction)
    slopes = rows.slopes_at(line, offsets, [1])
    expected = [(MATRIX * 2 * (AT + t * direction) @ direction)[1] for t in offsets]
    np.testing.assert_allclose(slopes[:2, 0], expected[:2])
    assert slopes.shape == (3, 1) and np.isnan(slopes[2, 0])
    line = sampler_of(np.sum, AT).line(direction, origin=NEXT)
    np.testing.assert_allclose(rows.slopes_at(line, offsets[:1], [0, 1])[0], MATRIX * 2 * NEXT @ direction)


def test_an_infinite_claim_of_an_element_that_does_not_move_does_not_hide_the_others():
    rows = ClaimedRows(sampler_of(np.sum, np.ones(2), lambda x: np.array([np.inf, 3.0])).flat, np.random.default_rng(0))
    assert rows.products_at({"x": np.ones(2)}, np.array([0.0, 2.0]), [0]) == 6


def test_slopes_do_not_include_elements_that_are_not_finite():
    rows = squares(grad=lambda x: MATRIX * np.where(np.isfinite(x), 2 * x, 7.0), at=np.array([1.0, np.inf, 3.0]))
    line = sampler_of(np.sum, AT).line(np.array([1.0, 1.0, 1.0]))
    assert rows.slopes_at(line, np.array([0.5]), [0])[0, 0] == 2 * (1 * 1.5 + 3 * 3.5)


def test_the_expected_size_of_a_sum_is_the_root_of_the_sum_of_squares():
    rows = rows_of(np.array([[3.0, 4.0, 0.0], [3.0, -4.0, 0.0]]))
    direction = np.array([2.0, 2.0, 5.0])
    assert rows.size(direction, rows.along(direction)) == pytest.approx([14, 10])
    combined = squares("jvp", weights=WEIGHTS)
    assert combined.size(direction, np.array([-7.0])).tolist() == [7.0]


def test_norms_do_not_overflow_and_leave_out_nan():
    rows = np.array([[3.0, -4.0], [3e200, 4e200], [3e-200, 4e-200], [np.nan, -2.0], [0.0, 0.0], [np.nan, np.nan]])
    with np.errstate(all="raise"):
        assert norms(rows) == pytest.approx([5, 5e200, 5e-200, 2, 0, 0], rel=1e-12, abs=0)


def test_random_points_are_a_step_away_in_every_element_and_have_finite_claims():
    def grad(x):
        if x[0] > 1:
            raise ValueError("on this side")
        return MATRIX * (np.inf if x[1] > 2 else 2 * x)

    rows, sizes = squares(grad=grad), np.array([0.1, 0.2, 0.4])
    drawn = list(rows.draw(np.random.default_rng(0), 40, sizes))
    assert 0 < len(drawn) < 40
    for x, claim in drawn:
        assert x[0] < 1 and x[1] < 2
        assert (np.abs(x - AT) >= 0.49 * sizes).all() and (np.abs(x - AT) <= 1.51 * sizes).all()
        np.testing.assert_allclose(claim, MATRIX * 2 * x)
    assert {bool(x[2] > 3) for x, _ in drawn} == {True, False}
    assert len(list(squares("grad").draw(np.random.default_rng(0), 5, sizes))) == 5


def erratic(x):
    return 1 + 1e-6 * np.sin(1e19 * x)


def test_scatter_is_not_measured_if_calls_are_costly_or_products_only():
    rows = rows_near(erratic)
    assert rows.measure_scatter().any()
    rows.flat.claim.capabilities = dataclasses.replace(rows.flat.claim.capabilities, costly=True)
    assert rows.measure_scatter().tolist() == [[0, 0, 0]]
    assert squares("jvp", weights=WEIGHTS).measure_scatter().tolist() == [[0, 0, 0]]
    many = rows_near(erratic)
    many.claimed = np.zeros((1, SCATTER_LIMIT + 1))
    assert not many.measure_scatter().any()


def test_scatter_is_that_between_neighbours_where_the_claim_is_finite():
    """The claim is infinite in the second element, and differs by 2 between calls in the first."""
    values = iter([1.0, 1.0, *[5.0, 7.0, 6.0][:NEIGHBOURS]])
    rows = rows_near(lambda x: np.array([next(values), np.inf, 1.0]))
    assert rows.measure_scatter().tolist() == [[2.0, 0.0, 0.0]]


def test_rounding_is_the_difference_from_a_derivative_with_more_digits():
    rows = squares("grad")
    assert not rows.measure_rounding().any()  # a derivative that is given is wrong if rounding spoils it
    rows.flat.claim.whole_wider = lambda: {"x": 2 * MATRIX * AT + [0.0, 0.5, np.nan]}
    assert rows.measure_rounding().tolist() == [[0.0, 0.5, 0.0]] * 2
    combined = squares("vjp", weights=WEIGHTS)
    combined.flat.claim.whole_wider = rows.flat.claim.whole_wider
    assert combined.measure_rounding().tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("claim_unit", "spread", "unit"), [(None, 0.0, 2.0**-52), (2.0**-24, 0.0, 2.0**-23), (None, 1e-4, 1e-4)]
)
def test_neighbours_move_every_element_by_one_or_two_units_of_the_claim(claim_unit, spread, unit):
    claim = rows_near(np.ones_like).flat.claim
    claim.capabilities, claim.spread = dataclasses.replace(claim.capabilities, claim_unit=claim_unit), spread
    moved = np.array([near["x"] / X - 1 for near in neighbours(claim, 50)]) / unit
    assert moved.shape == (50, 3) and sorted(set(np.round(moved).ravel())) == [-2, -1, 1, 2]


def test_points_on_a_line_have_the_point_in_their_middle():
    claim = rows_near(np.ones_like).flat.claim
    points = [near["x"] for near in points_on_line(claim, 1e-3, seed=0)]
    assert points[4].tolist() == X.tolist()
    assert np.abs(points[0] / X - 1) == pytest.approx(4e-3)
    assert points[0] / X - 1 == pytest.approx(1 - points[-1] / X)


def test_combinations_of_outputs_that_do_not_change_have_random_signs():
    weights = combinations(np.random.default_rng(3), np.zeros(50))
    assert (np.abs(weights) >= 0.5).all() and (np.abs(weights) <= 1.5).all()
    assert (weights > 0).any() and (weights < 0).any()


@pytest.mark.parametrize(
    ("matrix", "weights", "product"),
    [(MATRIX, None, "vjp"), (MATRIX, WEIGHTS, "vjp"), (MATRIX.T, None, "jvp")],
    ids=["few outputs", "combined", "few inputs"],
)
def test_slopes_come_from_the_product_that_the_rows_came_from(matrix, weights, product):
    """The product with a tangent is twice that with a cotangent; all rows take whichever is needed less often."""
    x = np.linspace(1, 2, matrix.shape[1])
    products = {"vjp": lambda g, x: g @ matrix, "jvp": lambda t, x: 2 * matrix @ t[0]}
    claim = claim_by_hand(lambda x: matrix @ x, {"x": x}, products, None, False)
    rows = ClaimedRows(Flat(claim), np.random.default_rng(0), weights=weights)
    direction, combine = np.array([1.0, -3.0, 2.0])[: len(x)], np.eye(len(matrix)) if weights is None else weights
    expected = combine @ matrix @ direction * (2 if product == "jvp" else 1)
    np.testing.assert_allclose(rows.along(direction), expected)
    np.testing.assert_allclose(rows.products_at({"x": x}, direction, range(len(combine))), expected)
    assert claim.claims == product


def test_a_product_with_a_unit_tangent_is_a_single_one():
    assert squares("jvp").push_unit(1).tolist() == [[8.0, 20.0]]  # 2 MATRIX x of the second element, 2


@pytest.mark.parametrize("sizes", [[1e-3, 1.0, 1.0], [0.5, 0.5, 0.5], [0.0, 1e6, 1e6]])
def test_no_output_gets_an_enormous_weight(sizes):
    weights = combinations(np.random.default_rng(3), np.array(sizes))
    assert (np.abs(weights) < 1e3).all()
    assert sizes[0] or (np.abs(weights[:, 0]) < 1).all()
