"""Inputs in longer shapes keep their structure."""

import numpy as np
import pytest

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
