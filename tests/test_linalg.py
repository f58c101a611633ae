"""Functions of gradcli.linalg that are more than entries of the table, against NumPy and identities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gradcli as gc
from gradcli import linalg
from gradcli.autograd import grad
from tests.rules import test_table as net
from tests.rules.calls import Given

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 3))
STACK = rng.normal(size=(2, 3, 3))
TALL = rng.normal(size=(4, 3))
B = rng.normal(size=(3, 2))
V = rng.normal(size=3)


# (name, function of tensors, operands, expected value from NumPy)
CALLS = [
    ("solve", linalg.solve, [X, B], np.linalg.solve(X, B)),
    ("solve vectors", linalg.solve, [STACK, V], np.linalg.solve(STACK, V[:, None])[..., 0]),
    (
        "solve a stack of vectors",
        linalg.solve,
        [STACK, STACK[0, :2]],
        np.linalg.solve(STACK, STACK[0, :2, :, None])[..., 0],
    ),
    ("solve right", lambda x, b: linalg.solve(x, b, left=False), [X, B.T], B.T @ np.linalg.inv(X)),
    ("upper", lambda x, b: linalg.solve_triangular(x, b, upper=True), [X, B], np.linalg.solve(np.triu(X), B)),
    (
        "lower right unit",
        lambda x, b: linalg.solve_triangular(x, b, upper=False, left=False, unitriangular=True),
        [X, B.T],
        B.T @ np.linalg.inv(np.tril(X, -1) + np.eye(3)),
    ),
    ("qr r", lambda x: linalg.qr(x, "r").R, [TALL], np.linalg.qr(TALL).R),
    ("pinv atol", lambda x: linalg.pinv(x, atol=1.0), [np.diag([3.0, 0.5])], np.diag([1 / 3, 0])),
    ("pinverse", gc.pinverse, [TALL], np.linalg.pinv(TALL)),
    ("lstsq", lambda x, b: linalg.lstsq(x, b).solution, [TALL, TALL[:, :2]], np.eye(3)[:, :2]),
    (
        "lstsq vector",
        lambda x, b: linalg.lstsq(x, b)[0],
        [TALL, TALL[:, 0] ** 2],
        np.linalg.lstsq(TALL, TALL[:, 0] ** 2)[0],
    ),
    ("lstsq residuals", lambda x, b: linalg.lstsq(x, b).residuals, [TALL, TALL**2], np.linalg.lstsq(TALL, TALL**2)[1]),
    ("norm", linalg.norm, [STACK], np.sqrt((STACK**2).sum())),
    ("norm nuc", lambda x: linalg.norm(x, "nuc"), [TALL], np.linalg.norm(TALL, "nuc")),
    (
        "matrix_norm",
        lambda x: linalg.matrix_norm(x, -1, (0, 2), True),
        [STACK],
        np.linalg.norm(STACK, -1, (0, 2), True),
    ),
    ("vector_norm", lambda x: linalg.vector_norm(x, 0.5, (0, 2)), [STACK], (abs(STACK) ** 0.5).sum((0, 2)) ** 2),
    ("cross", lambda x, y: linalg.cross(x, y, dim=0), [X, B[:, :1]], np.cross(X, B[:, :1], axis=0)),
    ("addmm", lambda c, a, b: gc.addmm(c, a, b, beta=2, alpha=3), [V[:2], X, B], 2 * V[:2] + 3 * X @ B),
]


@pytest.mark.parametrize(("name", "function", "arrays", "expected"), CALLS, ids=[c[0] for c in CALLS])
def test_value_type_and_gradient(name, function, arrays, expected):
    call = Given(function, arrays)
    if expected is None:
        expected = getattr(np.linalg, name)(*arrays)
    assert_allclose(call.plain(*call.arrays), expected, rtol=1e-10, atol=1e-11)
    net.test_the_dtype_is_kept.check(call)
    if name != "pinv atol":  # the gradient ignores the singular value that is left out
        net.test_gradients_match_differences.check(call)


def test_eigenvalues_of_any_matrix_are_complex():
    w, v = linalg.eig(gc.tensor(X))
    assert w.dtype == v.dtype == gc.complex128
    assert_allclose(X @ v.numpy(), v.numpy() * w.numpy(), atol=1e-13)
    assert_allclose(np.sort_complex(linalg.eigvals(gc.tensor(X)).numpy()), np.sort_complex(w.numpy()))


def test_ranks():
    x = gc.tensor(np.diag([2.0, 1.0, 1e-20]))
    ranks = [linalg.matrix_rank(x), linalg.matrix_rank(x, hermitian=True), linalg.matrix_rank(x, atol=1.5)]
    assert [r.item() for r in ranks] == [2, 2, 1]
    assert linalg.matrix_rank(gc.zeros(0, 3)).item() == 0


def test_empty_matrices():
    empty = gc.zeros(0, 3, requires_grad=True)
    assert [tuple(x.shape) for x in linalg.svd(empty)] == [(0, 0), (0,), (3, 3)]
    assert tuple(linalg.qr(empty).R.shape) == (0, 3)
    assert tuple(linalg.pinv(empty).shape) == (3, 0)
    assert linalg.norm(empty, 2).item() == linalg.cond(gc.zeros(0, 0)).item() == 0
    assert linalg.det(gc.zeros(2, 0, 0)).tolist() == [1, 1]
    assert tuple(linalg.matrix_exp(gc.zeros(0, 0)).shape) == (0, 0)
    (g,) = grad(linalg.svdvals(empty).sum(), empty)
    assert tuple(g.shape) == (0, 3)
