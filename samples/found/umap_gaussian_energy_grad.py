"""umap-learn 0.5.12: umap.distances.gaussian_energy_grad

The energy of two normal distributions is m' S^-1 m + log det S + log 2 pi, where m is the difference of the means and S
the sum of the covariances, each given by a width, a height and an angle. The derivatives with respect to these three
lack the derivative of log det S. The derivative with respect to the height has a wrong sign at m_1 m_2, and that with
respect to the angle has one at S_12.

Right: trace(S^-1 dS) - m' S^-1 dS S^-1 m, where dS is the derivative of S with respect to width, height or angle
"""

import numpy as np
from mpmath import cos, log, matrix, pi, sin
from mpmath import det as determinant
from released import in_floats, prove, require

import gradcli

X, Y = [0.3, -0.4, 1.2, 0.7, 0.5], [-0.2, 0.5, 0.6, 0.9, -0.3]


def covariance(x):
    turned = matrix([[cos(x[4]), -sin(x[4])], [sin(x[4]), cos(x[4])]])
    return turned * matrix([[x[2], 0], [0, x[3]]]) * turned.T


def energy(x):
    m, s = matrix([x[0] - Y[0], x[1] - Y[1]]), covariance(x) + covariance(Y)
    return (m.T * s**-1 * m)[0] + log(determinant(s)) + log(2 * pi)


def right(x):
    across, along = matrix([-sin(x[4]), cos(x[4])]), matrix([cos(x[4]), sin(x[4])])
    slopes = [along * along.T, across * across.T, (x[2] - x[3]) * (along * across.T + across * along.T)]
    m, inverse = matrix([x[0] - Y[0], x[1] - Y[1]]), (covariance(x) + covariance(Y)) ** -1
    shift = inverse * m
    products = [inverse * slope for slope in slopes]
    return [2 * shift[0], 2 * shift[1], *(p[0, 0] + p[1, 1] - (m.T * p * shift)[0] for p in products)]


prove(energy, right, X)
require("umap-learn", "0.5.12")
from umap.distances import gaussian_energy_grad  # noqa: E402


def released(x):
    return gaussian_energy_grad(x.copy(), np.array(Y))[0]


def gradient(x):
    return gaussian_energy_grad(x.copy(), np.array(Y))[1]


gradcli.check(released, at={"x": X}, grad=gradient, name="gaussian_energy_grad")
gradcli.check(released, at={"x": X}, grad=in_floats(right), name="right formula")
