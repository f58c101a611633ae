"""Inputs in longer shapes keep their structure."""

import numpy as np
import pytest

from gradcli.explain import points
from gradcli.explain.points import LONGER, in_longer_shape

RNG = np.random.default_rng(3)
MATRIX = RNG.standard_normal((4, 3))


def test_only_axes_of_the_given_lengths_grow():
    assert in_longer_shape(MATRIX, [3, 4], True).shape == (4 + LONGER, 3 + LONGER)
    assert in_longer_shape(MATRIX, [3], True).shape == (4, 3 + LONGER)
    assert in_longer_shape(MATRIX, [5], True) is MATRIX


def test_no_number_occurs_twice():
    assert len(np.unique(in_longer_shape(MATRIX, [3, 4], True))) == (4 + LONGER) * (3 + LONGER)


@pytest.mark.parametrize("lengths", [[4], [3], [3, 4]])
def test_rows_that_sum_to_1_still_do(lengths):
    rows = np.exp(MATRIX) / np.exp(MATRIX).sum(axis=1, keepdims=True)
    longer = in_longer_shape(rows, lengths, True)
    np.testing.assert_allclose(longer.sum(axis=1), 1, rtol=1e-12)
    assert longer.min() >= 0


@pytest.mark.parametrize("x", [MATRIX / np.linalg.norm(MATRIX, axis=1, keepdims=True), np.array([0.6, -0.8])])
def test_unit_vectors_stay_unit_vectors(x):
    longer = in_longer_shape(x, [2, 3], True)
    np.testing.assert_allclose(np.linalg.norm(longer, axis=-1), 1, rtol=1e-12)


def test_an_equally_spaced_grid_goes_on():
    grid = np.linspace(0.5, 2.5, 5)
    np.testing.assert_allclose(in_longer_shape(grid, [5], False), 0.5 + 0.5 * np.arange(5 + LONGER), rtol=1e-12)
    assert not np.allclose(np.diff(in_longer_shape(grid, [5], True)), 0.5)


def test_symmetric_matrices_stay_symmetric():
    a = MATRIX.T @ MATRIX
    longer = in_longer_shape(a, [3], True)
    assert longer.shape == (3 + LONGER, 3 + LONGER)
    np.testing.assert_array_equal(longer, longer.T)


def test_a_new_class_has_no_members():
    one_hot = np.eye(3)[[0, 2, 1, 1]]
    longer = in_longer_shape(one_hot, [3, 4], False)
    assert longer.shape == (4 + LONGER, 3 + LONGER)
    assert (longer[:, 3:] == 0).all() and (longer.sum(axis=1) == 1).all()


def test_three_numbers_are_not_a_grid():
    assert not np.allclose(np.diff(in_longer_shape(np.array([0.5, 1.0, 1.5]), [3], False)), 0.5)


ROTATIONS = np.array([[[0.6, -0.8], [0.8, 0.6]], [[0.0, 1.0], [-1.0, 0.0]]])
SIMPLEX = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
UNIT = np.array([[0.6, 0.0, -0.8], [1 / 3, 2 / 3, 2 / 3]])
SYMMETRIC = np.array([[2.0, 0.5], [0.5, 1.0]])
KEPT = {
    "rotations": (ROTATIONS, lambda x: np.abs(x @ np.swapaxes(x, 1, 2) - np.eye(2)).max() < 1e-12),
    "probabilities": (SIMPLEX, lambda x: np.allclose(x.sum(axis=1), 1, rtol=1e-12) and x.min() > 0),
    "unit vectors": (UNIT, lambda x: np.allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-12)),
    "symmetric": (SYMMETRIC, lambda x: np.array_equal(x, x.T)),
    "between 0 and 1": (np.array([0.2, 0.9, 0.99]), lambda x: ((x > 0) & (x < 1)).all()),
    "positive": (np.array([0.2, 30.0, 1e-3]), lambda x: (x > 0).all()),
    "negative": (np.array([-0.2, -30.0, -1e-3]), lambda x: (x < 0).all()),
    "a scalar": (np.array(-1.7), lambda x: x < 0),
    "float32": (np.array([0.5, -2.0], np.float32), lambda x: x.dtype == np.float32),
    "complex": (np.array([0.5 + 1j, -2.0]), lambda x: x.dtype == complex),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_points_keep_what_inputs_have_in_common(name):
    x, kept = KEPT[name]
    others = {sign: points.nearby({"x": x}, ["x"], sign)["x"] for sign in (1.0, -1.0, 0.3)}
    others["far"] = points.faraway({"x": x}, ["x"])["x"]
    rng = np.random.default_rng(0)
    others["new"] = points.fresh({"x": x}, ["x"], rng)["x"]
    for which, other in others.items():
        assert other.shape == x.shape and kept(other), (which, other)
        assert (other != x).all(), which
    if name != "rotations":  # elements move by different fractions
        with np.errstate(divide="ignore"):
            fractions = np.round((others[1.0] / x).reshape(-1), 6)
        assert len(np.unique(fractions)) == x.size or name == "symmetric"
    assert np.abs(others[0.3] - x).max() < np.abs(others[1.0] - x).max()
    assert ((others[1.0] - x) * (others[-1.0] - x) <= 0).all() or name in ("rotations", "symmetric", "unit vectors")


def test_numbers_of_both_signs_are_negated_far_away():
    x = np.array([1.0, -2.0, 3.0])
    assert (points.faraway({"x": x}, ["x"])["x"] * x < 0).all()
    assert (np.abs(points.faraway({"x": x}, ["x"])["x"]) > np.abs(x)).all()
    np.testing.assert_allclose(points.faraway({"x": np.array([0.2, 0.9])}, ["x"])["x"], [0.8, 0.1])
    np.testing.assert_allclose(points.faraway({"x": np.array([2.0, 9.5])}, ["x"])["x"], points.FAR * np.array([2, 9.5]))


@pytest.mark.parametrize(
    ("x", "differentiated", "label"),
    [
        ([1, 2, 3], True, True),
        ([True, False], False, True),
        ([1.0, 2.0], False, True),
        ([1.0, 2.0], True, False),
        ([1.0, 0.0], True, True),
        ([0.0, 0.0], True, False),
        ([1.0, 2.5], False, False),
        (3.0, False, False),
        ([1.0 + 0j, 2.0], False, False),
    ],
)
def test_labels_are_not_moved(x, differentiated, label):
    x = np.array(x)
    assert points.is_label(x, differentiated) is label
    at = {"x": x, "y": np.array([0.3])}
    moved = points.nearby(at, ["x", "y"] if differentiated else ["y"], 1.0)
    assert np.array_equal(moved["x"], x) is label
    assert moved["y"] != 0.3
    assert np.array_equal(points.faraway(at, ["y"])["x"], x)


def test_labels_move_if_nothing_else_is_differentiated():
    at = {"x": np.array([1.0, 0.0]), "n": np.array([1, 2])}
    assert (points.nearby(at, ["x", "n"], 1.0)["x"] != at["x"]).all()
    assert points.nearby(at, ["x", "n"], 1.0)["n"] is at["n"]


@pytest.mark.parametrize("x", [[0.2, 30.0], [-0.2, -30.0], [0.2, 0.9], [-1.0, 2.0]])
def test_a_positive_sign_moves_numbers_away_from_0(x):
    """All values between 0 and 1 and all numbers of both signs grow."""
    x = np.array(x)
    way = -1 if (x < 0).all() else 1
    assert (way * (points.moved(x, 1.0) - x) > 0).all()
    assert (way * (points.moved(x, -0.3) - x) < 0).all()


def test_inputs_move_by_different_fractions():
    at = {"a": np.array(2.0), "b": np.array(3.0), "c": np.array([1.0, 4.0])}
    moved = points.nearby(at, [*at], 1.0)
    ratios = np.concatenate([np.ravel(moved[name] / at[name]) for name in at])
    assert len(set(ratios.round(9))) == 4


def test_an_evenly_spaced_grid_that_is_not_differentiated_stays_one():
    grid = np.linspace(0.5, 2.0, 4)
    moved = points.nearby({"t": grid, "x": np.array(0.3)}, ["x"], 1.0)["t"]
    np.testing.assert_allclose(np.diff(moved), np.diff(moved)[0])
    assert (moved != grid).all()
    assert not np.allclose(np.diff(points.nearby({"t": grid}, ["t"], 1.0)["t"]), np.diff(moved)[0])


def test_all_lengths_grow_together_then_each_alone():
    at = {"x": RNG.normal(size=(4, 3)), "y": RNG.normal(size=3), "one": RNG.normal(size=1), "turn": ROTATIONS}
    shapes = [{name: x.shape for name, x in longer.items()} for longer in points.resized(at, ["x"])]
    assert [(s["x"], s["y"]) for s in shapes] == [((5, 4), (4,)), ((4, 4), (4,)), ((5, 3), (3,))]
    assert {s["one"] for s in shapes} == {(1,)} and {s["turn"] for s in shapes} == {ROTATIONS.shape}
    assert len(list(points.resized({"x": np.ones(3)}, ["x"]))) == 1
    assert list(points.resized({"x": np.ones(1)}, ["x"])) == []


def test_new_numbers_have_the_size_of_the_old_ones():
    x = np.linspace(-3e4, 5e4, 400)
    new = points.fresh({"x": x}, ["x"], np.random.default_rng(1))["x"]
    assert 1 < np.sqrt((new**2).mean() / (x**2).mean()) < 2
    assert points.fresh({"x": x, "y": x}, ["x"], np.random.default_rng(1))["y"] is x


def test_copies_of_one_hot_rows_have_a_column_of_zeros():
    rows = np.eye(3)
    longer = points.without_copies(np.take(rows, [0, 1, 2, 0], axis=1), rows)
    np.testing.assert_array_equal(longer, np.hstack([rows, np.zeros((3, 1))]))
    labels = np.array([[0, 1], [1, 1]])
    np.testing.assert_array_equal(points.without_copies(labels[:, [0, 1, 0]], labels), labels[:, [0, 1, 0]])
    batch = np.eye(3)[[[0, 2], [1, 1]]]
    longer = points.without_copies(np.take(batch, [0, 1, 2, 0], axis=-1), batch)
    np.testing.assert_array_equal(longer, np.concatenate([batch, np.zeros((2, 2, 1))], axis=-1))
