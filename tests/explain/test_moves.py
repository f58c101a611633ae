"""Derivatives with their values in the wrong place: the words for them, and that the repair undoes the mistake."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.explain import moves

RNG = np.random.default_rng(11)
G = RNG.normal(size=(3, 4))
LOWER = {0: np.tril(np.ones((3, 3))), 1: np.tril(np.ones((4, 4)))}
"""Matrices that sum up from the beginning, along each axis of G; transposed, they sum from the end."""


def along(axis, matrix):
    return matrix @ G if axis == 0 else G @ matrix.T


MATRICES = [
    (lambda lower: lower, lambda lower: lower.T),  # the sum goes the wrong way
    (lambda lower: np.eye(len(lower)), lambda lower: lower.T),  # it is missing
    (lambda lower: lower.T, lambda lower: np.eye(len(lower))),  # one too many, from the end
    (lambda lower: lower, lambda lower: np.eye(len(lower))),  # and from the beginning
]
"""What the claim and the derivative are multiplied by, for each mistake."""


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("place", "claimed", "right"), [(i, *pair) for i, pair in enumerate(MATRICES)])
def test_mistakes_in_cumulative_sums_are_undone(place, claimed, right, axis):
    undo, lower = list(moves.SUMS.values())[place], LOWER[axis]
    np.testing.assert_allclose(undo(axis, along(axis, claimed(lower))), along(axis, right(lower)), atol=1e-13)


@pytest.mark.parametrize(
    ("n", "expected"), [(2, []), (3, [1, -1, 2, -2]), (4, [1, -1]), (5, [1, -1, 2, -2]), (1, []), (6, [1, -1, 2, -2])]
)
def test_shifts_that_are_tried_are_neither_nothing_nor_half_a_turn(n, expected):
    assert moves.shifts(n) == expected


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ([0, 2, 1, 3], "rows 1 and 2 are exchanged"),
        ([3, 1, 2, 0], "rows 0 and 3 are exchanged"),
        ([0, 3, 4, 1, 2, 5], "rows 1 to 2 and 3 to 4 are exchanged"),
        ([1, 2, 0], "rows 0 to 1 and 2 are exchanged"),
        ([2, 0, 1], "rows 0 and 1 to 2 are exchanged"),
        ([2, 0, 3, 1], "in the claim, the order is 1, 3, 0, 2"),
        ([1, 0, 3, 2], "in the claim, the order is 1, 0, 3, 2"),
        ([1, 0, 3, 2, *range(4, 12)], "in the claim, the order is 1, 0, 3, 2, 4, 5, 6, 7, 8, 9, 10, 11"),
        ([1, 0, 3, 2, *range(4, 13)], "4 of 13 are in another place"),
    ],
)
def test_an_order_in_words(order, words):
    """order: the place in the claim of each row of the derivative. A list names the row of each place in the claim."""
    assert moves.words_of_order(np.array(order), "rows") == words


def test_an_order_of_elements_in_words():
    block = SimpleNamespace(array=np.zeros((2, 3)))
    assert moves.elements_in_order(block, np.array([0, 5, 2, 3, 4, 1])) == "elements [0, 1] and [1, 2] are exchanged"
    assert moves.elements_in_order(block, np.array([1, 2, 0, 3, 4, 5])) == "3 of 6 are in another place"
    assert moves.elements_in_order(SimpleNamespace(array=np.zeros(2)), np.array([1, 0])) == (
        "elements 0 and 1 are exchanged"
    )


def test_the_order_of_rows_is_found_within_their_errors():
    known = np.array([[1.0, 2], [3, 4], [5, 6]])
    error = np.full(known.shape, 1e-8)
    order = np.array([2, 0, 1])
    claimed = np.empty_like(known)
    claimed[order] = known
    assert moves.order_of(claimed, known, error).tolist() == order.tolist()
    assert moves.order_of(claimed + 1e-9, known, error).tolist() == order.tolist()
    assert moves.order_of(known, known, error) is None
    assert moves.order_of(claimed + [0.1, 0], known, error) is None
    assert moves.order_of(np.array([[1.0], [1]]), np.array([[1.0], [2]]), error[:2, :1]) is None
    assert moves.order_of(np.array([[2.0], [1], [1]]), np.array([[1.0], [1], [2]]), error[:, :1]).tolist() == [2, 1, 0]
    assert moves.order_of(np.array([[1.0], [1], [2]]), np.array([[2.0], [2], [1]]), error[:, :1]) is None
    assert moves.order_of(0 * known, 0 * known, error) is None
    assert moves.order_of(np.diag([1.0, 2])[::-1], np.diag([1.0, 2]), np.zeros((2, 2))).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("order", "outs", "words"),
    [
        ((1, 0, 2), 1, "such as R.T in place of R: axis 0 of the output and axis 0 of x are exchanged"),
        ((2, 1, 0), 1, "such as R.T in place of R: axis 0 of the output and axis 1 of x are exchanged"),
        ((1, 2, 0), 2, "output, not axis 0 of the output, axis 1 of the output, axis 0 of x"),
    ],
)
def test_orders_of_the_axes_of_a_jacobian_in_words(order, outs, words):
    assert moves.words_of_axes(order, outs, "x").endswith(words)


WEIGHTS = RNG.normal(size=(4, 3))
THREE = RNG.normal(size=(3, 3, 3))
AT3 = {"x": RNG.normal(size=3)}
ORDER = [2, 0, 3, 1]


def cube(x):
    return THREE @ x @ x


def cube_jacobian(x):
    return THREE @ x + np.swapaxes(THREE, 1, 2) @ x


def outer_jacobian(x, order=(0, 1, 2)):
    """Return the Jacobian of outer(x, v) * outer(x, x), with its axes in another order."""
    v = np.array([0.5, 2.0, -1.2])
    one = np.eye(3)
    whole = 2 * x[:, None, None] * one[:, None, :] * (x * v)[None, :, None]
    whole = whole + (x**2)[:, None, None] * v[None, :, None] * one[None, :, :]
    return np.transpose(whole, order)


def outer_function(x):
    return np.outer(x, np.array([0.5, 2.0, -1.2])) * np.outer(x, x)


JACOBIANS = {
    "rows in another order": (
        lambda x: np.sin(WEIGHTS @ x),
        lambda x: (np.cos(WEIGHTS @ x)[:, None] * WEIGHTS)[ORDER],
        "the rows of the Jacobian are in the wrong order: in the claim, the order is 2, 0, 3, 1",
    ),
    "blocks of rows": (
        lambda x: np.cumsum(x**2),
        lambda x: np.roll(2 * np.tri(len(x)) * x, 3, 0),
        "the rows of the Jacobian are in the wrong order: rows 0 to 3 and 4 to 6 are exchanged",
    ),
    "columns in another order": (
        lambda x: np.sin(WEIGHTS @ x),
        lambda x: (np.cos(WEIGHTS @ x)[:, None] * WEIGHTS)[:, [1, 0, 2]],
        "the values are right, but permuted: elements 0 and 1 are exchanged",
    ),
    "transposed": (cube, lambda x: cube_jacobian(x).T, "the claimed Jacobian is the transpose of the right one"),
    "transposed with the wrong sign": (
        cube,
        lambda x: -cube_jacobian(x).T,
        "as if w were used in place of w.T; in addition, the sign is wrong",
    ),
    "transposed and tripled": (cube, lambda x: 3 * cube_jacobian(x).T, "in addition, the claim is multiplied by 3"),
    "rolled rows": (
        lambda x: np.sin(WEIGHTS @ x),
        lambda x: np.roll(np.cos(WEIGHTS @ x)[:, None] * WEIGHTS, -1, 0),
        "the claim for out[i] is the derivative of out[i+1]",
    ),
    "reversed rows": (
        lambda x: np.sin(WEIGHTS @ x),
        lambda x: (np.cos(WEIGHTS @ x)[:, None] * WEIGHTS)[::-1],
        "the derivatives of the outputs are in reverse order along axis 0",
    ),
    "outputs exchanged": (outer_function, lambda x: outer_jacobian(x, (1, 0, 2)), "exchanges axes 0 and 1 of out"),
    "an output and an input exchanged": (
        outer_function,
        lambda x: outer_jacobian(x, (0, 2, 1)),
        "axis 1 of the output and axis 0 of x are exchanged",
    ),
    "three axes": (
        outer_function,
        lambda x: outer_jacobian(x, (1, 2, 0)),
        "a factor is transposed or on the wrong side of a product",
    ),
    "sorted": (
        lambda x: np.sort(x) @ [1.0, 2, 4],
        lambda x: np.array([1.0, 2, 4]),
        "the values are in the order of the sorted x; put them back into the order of x",
    ),
}


POINTS = {"sorted": {"x": np.array([0.9, -0.4, 0.3])}, "blocks of rows": {"x": np.linspace(0.5, 2.1, 7)}}


@pytest.mark.parametrize("name", JACOBIANS)
def test_what_is_in_the_wrong_place_is_named(name):
    f, claim, words = JACOBIANS[name]
    at = POINTS.get(name, AT3)
    report = check_gradient(f, claim, at)
    assert report.verdict == "fail" and words in report.diagnosis[0].text, report.diagnosis


def test_the_jacobian_of_the_table_is_right():
    assert check_gradient(outer_function, outer_jacobian, AT3).verdict == "pass"
    assert check_gradient(cube, cube_jacobian, AT3).verdict == "pass"


def test_other_orders_of_the_axes_of_an_input_are_undone():
    x = RNG.normal(size=(2, 3, 4))
    for order in itertools.permutations(range(3)):
        np.testing.assert_array_equal(moves.in_order_of_axes(np.transpose(x, order).reshape(x.shape), order), x)


def orders(outs, ins):
    """Return the orders of axes that are tried on a Jacobian. Its elements differ, so that each order shows."""
    rows, shape = int(np.prod(outs)), (*outs, *ins)
    flat = SimpleNamespace(out_shape=outs, out_dtype=np.dtype(float))
    block = SimpleNamespace(whole=True, flat=flat, array=np.zeros(ins), a=np.arange(np.prod(shape)).reshape(rows, -1))
    block.name = "x"
    whole = block.a.reshape(shape)
    found = [hypothesis.corrected(block).reshape(shape) for hypothesis in moves.other_orders(block)]
    every = [*itertools.permutations(range(len(shape)))]
    return [next(order for order in every if np.array_equal(np.transpose(whole, order), x)) for x in found]


def test_orders_of_axes_mix_outputs_and_inputs():
    assert orders((3, 3), (3,)) == [(1, 2, 0), (2, 0, 1)]
    assert orders((), (3, 3, 3)) == orders((2, 3), (4,)) == orders((3,), (3,)) == []
    of_matrices = orders((2, 2), (2, 2))
    assert {(2, 3, 0, 1), (2, 3, 1, 0), (0, 2, 3, 1)} < {*of_matrices}
    assert not {(1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2)} & {*of_matrices}
    assert (1, 2, 0, 3) not in orders((2, 2, 2), (2,))
