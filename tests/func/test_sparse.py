"""Sparse Jacobians equal dense ones and take few products."""

import numpy as np
import pytest

import gradcli as g
from gradcli.errors import GradcliError
from gradcli.func.sparse import sparse_matrix
from gradcli.func.trace import trace_function

RNG = np.random.default_rng(3)
BAND = np.diag(RNG.normal(size=30)) + np.diag(RNG.normal(size=29), 1)


def neighbours(x):
    left, right = g.cat([g.zeros(1), x[:-1]]), g.cat([x[1:], g.zeros(1)])
    return left * right * x**2 - 2 * x + left - g.sin(right)


def grid(x):
    u = x.reshape(5, 6)
    return (4 * u[1:-1, 1:-1] - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - g.sin(u[1:-1, 2:])).flatten()


def assigned(x):
    y = x * 2
    y[3] = x[4] * x[5]
    return y


CASES = {
    "tridiagonal": (neighbours, 3),
    "elementwise": (lambda x: g.exp(x) / (1 + x * x), 1),
    "grid": (grid, 8),
    "sums of blocks": (lambda x: (x.reshape(6, 5) ** 2).sum(1), 1),
    "softmax of rows": (lambda x: g.softmax(x.reshape(6, 5), 1).flatten(), 5),
    "constant band matrix": (lambda x: g.tanh(g.tensor(BAND) @ x), 2),
    "assignment": (assigned, 2),
    "one row": (lambda x: (x**2).sum().reshape(1), 1),
    "reversed, one element chosen twice": (lambda x: g.flip(x, (0,))[g.tensor([0, 0, 7])] ** 2, 1),
    "branches": (lambda x: g.where(x > 0, x**2, g.roll(x, 1)), 3),
    "constant": (lambda x: g.ones(4) + 0 * x[:4], 1),
}


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
@pytest.mark.parametrize("name", CASES)
def test_equals_the_dense_jacobian(name, mode):
    f, most = CASES[name]
    x = g.tensor(RNG.normal(size=30))
    matrix, products = sparse_matrix(trace_function(f, (x,), {}), mode)
    np.testing.assert_allclose(matrix.toarray(), g.func.jacrev(f)(x).numpy(), rtol=1e-12, atol=1e-13)
    assert mode != "auto" or products <= most


def test_a_tridiagonal_jacobian_of_any_size_takes_three_products():
    record = trace_function(neighbours, (g.tensor(RNG.normal(size=100_000)),), {})
    matrix, products = sparse_matrix(record)
    assert products == 3
    assert matrix.nnz == 3 * 100_000 - 2


def test_columns_follow_the_inputs_and_rows_the_outputs():
    x, y = g.tensor(RNG.normal(size=4)), g.tensor(RNG.normal(size=4))

    def f(x, y):
        return x * y, x[:2] - y[2:]

    matrix, _ = sparse_matrix(trace_function(f, (x, y), {}, (0, 1)))
    blocks = [[block.numpy() for block in row] for row in g.func.jacrev(f, argnums=(0, 1))(x, y)]
    np.testing.assert_allclose(matrix.toarray(), np.block(blocks))


def test_a_jacobian_that_is_not_sparse_is_an_error():
    with pytest.raises(GradcliError, match="not sparse"):
        sparse_matrix(trace_function(lambda x: g.cumsum(x, 0)[:, None] @ x[None, :], (g.ones(1000),), {}))
