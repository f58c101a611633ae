"""umap-learn 0.5.12: umap.distances.symmetric_kl_grad

With p = x / sum x and q = y / sum y, the distance is half of sum p log(p/q) + q log(q/p). The gradient is that with
respect to q instead of p. It also ignores the division by sum x, which makes the derivative along x zero. The inputs
are divided in place, so a second call gets different inputs.

Right: (g - p.g) / sum x with g = (log(p/q) - q/p + 1) / 2
"""

import mpmath
import numpy as np
from released import in_floats, prove, require

import gradcli

X, Y = [0.5, 1.0, 1.5], [0.4, 0.9, 0.7]


def distance(x):
    p, q = [t / sum(x) for t in x], [t / mpmath.fsum(Y) for t in Y]
    return sum((a - b) * mpmath.log(a / b) for a, b in zip(p, q, strict=True)) / 2


def right(x):
    p, q = [t / sum(x) for t in x], [t / mpmath.fsum(Y) for t in Y]
    g = [(mpmath.log(a / b) - b / a + 1) / 2 for a, b in zip(p, q, strict=True)]
    mean = sum(a * b for a, b in zip(p, g, strict=True))
    return [(t - mean) / sum(x) for t in g]


prove(distance, right, X)
require("umap-learn", "0.5.12")
from umap.distances import symmetric_kl_grad  # noqa: E402


def released(x):
    return symmetric_kl_grad(x.copy(), np.array(Y))[0]


def gradient(x):
    return symmetric_kl_grad(x.copy(), np.array(Y))[1]


gradcli.check(released, at={"x": X}, grad=gradient, name="symmetric_kl_grad")
gradcli.check(released, at={"x": X}, grad=in_floats(right), name="right formula")
