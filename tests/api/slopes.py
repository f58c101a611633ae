"""One check of a differentiable function: value, gradient and gradient of the gradient."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import gradcli
from gradcli.tape.backward import grad

from ..rules.calls import numeric_gradient


def leaves(arrays: Any) -> list:
    """Return arrays as leaves that require grad."""
    return [gradcli.tensor(np.array(x, float), requires_grad=True) for x in arrays]


def first(result: Any) -> Any:
    """Return the values of (values, indices) and the like."""
    return result[0] if isinstance(result, tuple) else result


def check(function: Any, arrays: Any, expected: Any = None, *, second: bool = True) -> None:
    """Compare a function of Tensors with its expected value and, to second order, with finite differences."""
    arrays = [np.array(x, float) for x in arrays]
    out = first(function(*leaves(arrays)))
    if expected is not None:
        assert out.shape == np.shape(expected)
        assert_allclose(out.detach().numpy(), expected, rtol=1e-12, atol=1e-14)
    v = np.random.default_rng(1).uniform(0.5, 1.5, out.shape)

    def value(*xs: Any) -> Any:
        return first(function(*leaves(xs))).detach().numpy()

    def slope(*xs: Any, create_graph: bool = False) -> Any:
        inputs = leaves(xs)
        grads = grad(
            first(function(*inputs)), inputs, gradcli.tensor(v), create_graph=create_graph, materialize_grads=True
        )
        return inputs, sum((g * g).sum() for g in grads)

    inputs = leaves(arrays)
    got = grad(first(function(*inputs)), inputs, gradcli.tensor(v), materialize_grads=True)
    for g, want in zip(got, numeric_gradient(value, arrays, v), strict=True):
        assert_allclose(g.numpy(), want, rtol=1e-7, atol=1e-7)
    if not second:
        return
    inputs, total = slope(*arrays, create_graph=True)
    zeros = [np.zeros_like(x) for x in arrays]
    again = [g.numpy() for g in grad(total, inputs, materialize_grads=True)] if total.requires_grad else zeros
    for g, want in zip(
        again, numeric_gradient(lambda *xs: slope(*xs)[1].detach().numpy(), arrays, np.asarray(1.0)), strict=True
    ):
        assert_allclose(g, want, rtol=1e-6, atol=1e-6)
