"""Helpers for comparing functions with formulas: random arrays, tensors of arrays, values and slopes."""

import numpy as np
from numpy.testing import assert_allclose

import gradcli

RNG = np.random.default_rng(8)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def t(x) -> gradcli.Tensor:
    return gradcli.tensor(np.asarray(x))


def check(got, want) -> None:
    assert_allclose(got.detach().numpy(), want, rtol=1e-10, atol=1e-12)


def slope(function, x) -> np.ndarray:
    point = gradcli.tensor(np.array(x, float), requires_grad=True)
    function(point).sum().backward()
    return point.grad.numpy()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def standard(x, axes, eps=1e-5):
    """Return x with mean 0 and variance 1 over the axes."""
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
