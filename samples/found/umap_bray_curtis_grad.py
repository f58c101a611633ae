"""umap-learn 0.5.12: umap.distances.bray_curtis_grad

The distance is d = sum |x - y| / sum |x + y|. The gradient lacks sign(x + y), the derivative of |x + y|, so it is right
only if no x + y is negative.

Right: (sign(x - y) - d sign(x + y)) / sum |x + y|
"""

import mpmath
import numpy as np
from released import in_floats, prove, require

import gradcli

X, Y = [1.0, 2.0, -3.0, 0.5], [0.5, -3.0, 1.0, 2.0]


def distance(x):
    return sum(abs(a - b) for a, b in zip(x, Y, strict=True)) / sum(abs(a + b) for a, b in zip(x, Y, strict=True))


def right(x):
    size = sum(abs(a + b) for a, b in zip(x, Y, strict=True))
    return [(mpmath.sign(a - b) - distance(x) * mpmath.sign(a + b)) / size for a, b in zip(x, Y, strict=True)]


prove(distance, right, X)
require("umap-learn", "0.5.12")
from umap.distances import bray_curtis, bray_curtis_grad  # noqa: E402


def released(x):
    return bray_curtis(x, np.array(Y))


def gradient(x):
    return bray_curtis_grad(x, np.array(Y))[1]


gradcli.check(released, at={"x": X}, grad=gradient, name="bray_curtis_grad")
gradcli.check(released, at={"x": X}, grad=in_floats(right), name="right formula")
