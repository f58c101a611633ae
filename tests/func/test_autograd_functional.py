"""The functions of torch.autograd.functional: differentiable results, modes, and errors."""

import numpy as np
import pytest

import gradcli as g
from gradcli.autograd import gradcheck, gradgradcheck
from gradcli.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


def leaf(*shape, seed=0):
    return g.tensor(np.random.default_rng(seed).normal(size=shape), dtype=g.double, requires_grad=True)


def sums(x, y):
    return (x * y.exp()).sum(0), x.sin() * y[0]


def number(x, y):
    return (x**3).sum() * y.cos().sum() + (x * y).sin().sum()


X, Y = leaf(2, 2), leaf(2, 2, seed=1)
V, W = leaf(2, 2, seed=2), leaf(2, 2, seed=3)
PRODUCTS = {
    "jacobian": lambda x, y, v, w: [b for row in jacobian(sums, (x, y), create_graph=True) for b in row],
    "jacobian forward": lambda x, y, v, w: [
        b for row in jacobian(sums, (x, y), create_graph=True, strategy="forward-mode") for b in row
    ],
    "hessian": lambda x, y, v, w: [b for row in hessian(number, (x, y), create_graph=True) for b in row],
    "vjp": lambda x, y, v, w: vjp(sums, (x, y), (v[0], w), create_graph=True)[1],
    "jvp": lambda x, y, v, w: jvp(sums, (x, y), (v, w), create_graph=True)[1],
    "hvp": lambda x, y, v, w: hvp(number, (x, y), (v, w), create_graph=True)[1],
    "vhp": lambda x, y, v, w: vhp(number, (x, y), (v, w), create_graph=True)[1],
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_results_can_be_differentiated(name):
    def call(x, y, v, w):
        return tuple(PRODUCTS[name](x, y, v, w))

    assert gradcheck(call, (X, Y, V, W), fast_mode=True)
    if name in ("vjp", "hvp"):
        assert gradgradcheck(call, (X, Y, V, W), fast_mode=True)


def test_products_agree_with_the_matrices():
    (a, b), (c, d) = hessian(number, (X, Y))
    for product in (hvp, vhp):
        out, (p, q) = product(number, (X, Y), (V, W))
        assert out.item() == number(X, Y).item()
        pairs = (p, (a * V).sum((2, 3)) + (b * W).sum((2, 3))), (q, (c * V).sum((2, 3)) + (d * W).sum((2, 3)))
        for found, expected in pairs:
            assert g.allclose(found, expected)
    assert vhp(lambda x: x**2, g.ones(1, dtype=g.double))[1].tolist() == [2.0]


def test_create_graph_works_under_no_grad():
    with g.no_grad():
        assert jacobian(g.exp, X, create_graph=True).grad_fn is not None
        assert hessian(lambda x: x.exp().sum(), X, create_graph=True).grad_fn is not None
        assert jacobian(g.exp, X).grad_fn is None


@pytest.mark.parametrize("transform", [vjp, jvp, jacobian])
def test_strict_with_create_graph_requires_a_jacobian_that_varies(transform):
    x = g.ones(4, dtype=g.double, requires_grad=True)
    more = () if transform is jacobian else (g.ones(4, dtype=g.double),)
    with pytest.raises(RuntimeError, match="jacobian of the user-provided function is independent of input 0"):
        transform(g.clone, x, *more, create_graph=True, strict=True)
    with pytest.raises(RuntimeError, match="not supported together"):
        jacobian(g.clone, x, strict=True, vectorize=True)
