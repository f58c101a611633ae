"""Gradients written by hand, with their checks: gradcli gradcheck samples/gradients.py"""

import numpy as np

import gradcli


def cross_entropy_gradient(w, x, y):
    """The gradient of cross_entropy with respect to w."""
    p = 1 / (1 + np.exp(-x @ w))
    return x.T @ (p - y) / len(y)


@gradcli.check(
    at=lambda rng: {"w": rng.normal(size=3), "x": rng.normal(size=(5, 3)), "y": rng.integers(0, 2, 5) * 1.0},
    grad=cross_entropy_gradient,
    wrt="w",
    samples=3,
)
def cross_entropy(w, x, y):
    """The mean cross-entropy of logistic regression."""
    z = x @ w
    return np.mean(np.logaddexp(0, z) - y * z)


def softmax_backward(cotangent, x):
    """The backward pass: the cotangent times the Jacobian of softmax."""
    p = softmax(x)
    return p * (cotangent - np.sum(cotangent * p))


@gradcli.check(at={"x": (4,)}, vjp=softmax_backward)
def softmax(x):
    """exp(x) / sum(exp(x))."""
    e = np.exp(x - x.max())
    return e / e.sum()


def mean_square_gradient(x):
    """Forgets that a mean divides by the number of elements."""
    return 2 * x


def mean_square(x):
    """The mean of squares."""
    return np.mean(x**2)
