"""Rows of a claimed Jacobian: all of them where they are few, else random combinations."""

import numpy as np
import pytest

from gradcli.check.flat import Flat
from gradcli.check.rows import COMBINATIONS, MOST_COLUMNS, MOST_ROWS, ClaimedRows, combinations, draw_signs
from gradcli.program.hand_written import claim_by_hand

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
def test_few_rows_are_all_known(claim):
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


def test_a_forward_derivative_of_many_elements_comes_in_products():
    matrix = np.random.default_rng(1).normal(size=(2, MOST_COLUMNS + 1))
    rows = rows_of(matrix, jvp=lambda t, x: matrix @ t[0])
    direction = draw_signs(np.random.default_rng(2), MOST_COLUMNS + 1)
    assert not rows.known
    assert np.allclose(rows.along(direction), rows.weights @ matrix @ direction)
    rows.fill_column(5)
    assert np.allclose(rows.claimed[:, 5], rows.weights @ matrix[:, 5])
    assert np.isnan(np.delete(rows.claimed, 5, axis=1)).all()


def test_every_output_has_a_weight_that_suits_its_size():
    sizes = 10.0 ** np.arange(-1, 3)
    parts = np.abs(combinations(np.random.default_rng(3), sizes)) * sizes
    assert parts.shape == (COMBINATIONS, 4)
    assert (parts <= 1.5).all() and (parts > 0.25).all()


def test_no_element_of_a_random_direction_is_small():
    drawn = np.abs(draw_signs(np.random.default_rng(4), 10_000))
    assert drawn.min() >= 0.5 and drawn.max() <= 1.5


def test_the_scatter_of_a_claim_is_its_rounding():
    exact = rows_of(np.ones((1, 2)), grad=lambda x: np.ones((1, 2)))
    single = rows_of(np.ones((1, 2)), grad=lambda x: np.sin(1e6 * x.astype(np.float32))[None])
    assert (exact.scatter == 0).all()
    assert (single.scatter <= 1).all()
