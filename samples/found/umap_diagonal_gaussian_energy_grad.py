"""umap-learn 0.5.12: umap.distances.diagonal_gaussian_energy_grad

The input consists of two means and two variances, but the gradient has six elements. The last two are uninitialized
memory. The first four are right.

Right: m_i / v_i and (1 - m_i^2 / v_i) / (2 v_i), where m is the difference of the means and v the sum of the variances
"""

import mpmath
import numpy as np
from released import in_floats, prove, require

import gradcli

X, Y = [0.3, -0.4, 1.2, 0.7], [-0.2, 0.5, 0.6, 0.9]


def energy(x):
    m, v = [x[0] - Y[0], x[1] - Y[1]], [x[2] + Y[2], x[3] + Y[3]]
    return sum(a**2 / b + mpmath.log(b) for a, b in zip(m, v, strict=True)) / 2 + mpmath.log(2 * mpmath.pi)


def right(x):
    m, v = [x[0] - Y[0], x[1] - Y[1]], [x[2] + Y[2], x[3] + Y[3]]
    return [a / b for a, b in zip(m, v, strict=True)] + [(1 - a**2 / b) / (2 * b) for a, b in zip(m, v, strict=True)]


prove(energy, right, X)
require("umap-learn", "0.5.12")
from umap.distances import diagonal_gaussian_energy_grad  # noqa: E402


def released(x):
    return diagonal_gaussian_energy_grad(x, np.array(Y))[0]


def gradient(x):
    return diagonal_gaussian_energy_grad(x, np.array(Y))[1]


gradcli.check(released, at={"x": X}, grad=gradient, name="diagonal_gaussian_energy_grad")
gradcli.check(released, at={"x": X}, grad=in_floats(right), name="right formula")
