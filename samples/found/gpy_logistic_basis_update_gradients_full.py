"""GPy 1.15.0: GPy.kern.LogisticBasisFuncKernel.update_gradients_full

With a second set of inputs, brackets are missing in the gradient with respect to the slope: the variance multiplies
only the first of two sums. The other sum uses the functions of the second set instead of those of the first. Sets of
different sizes therefore raise an error. `update_gradients_diag` leaves the slope at 0.

Right: v sum W_ij (f_i h'_j + f'_i h_j) with the logistic functions f and h of the two sets, where f' =
f (1 - f) (x - c)
"""

import mpmath
import numpy as np
from released import in_floats, prove, require

import gradcli

X, Z, WEIGHTS, CENTRE = [0.2, 1.1], [-0.7, 0.9], [[1.0, -0.5], [0.3, 2.0]], 0.4
AT = [1.3, 0.8]


def logistic(x, slope):
    return 1 / (1 + mpmath.exp(-slope * (x - CENTRE)))


def weighted(p):
    """Return the weighted sum of the covariances. p: variance and slope."""
    pairs = [(w, x, z) for row, x in zip(WEIGHTS, X, strict=True) for w, z in zip(row, Z, strict=True)]
    return p[0] * sum(w * logistic(x, p[1]) * logistic(z, p[1]) for w, x, z in pairs)


def right(p):
    total = 0
    for row, x in zip(WEIGHTS, X, strict=True):
        for w, z in zip(row, Z, strict=True):
            f, h = logistic(x, p[1]), logistic(z, p[1])
            total += w * f * h * ((1 - h) * (z - CENTRE) + (1 - f) * (x - CENTRE))
    return [weighted(p) / p[0], p[0] * total]


prove(weighted, right, AT)
require("GPy", "1.15.0")
from GPy.kern import LogisticBasisFuncKernel  # noqa: E402

FIRST, SECOND = np.array(X)[:, None], np.array(Z)[:, None]


def kernel(p):
    return LogisticBasisFuncKernel(1, [CENTRE], variance=p[0], slope=p[1])


def released(p):
    return np.sum(WEIGHTS * kernel(p).K(FIRST, SECOND))


def gradient(p):
    made = kernel(p)
    made.update_gradients_full(np.array(WEIGHTS), FIRST, SECOND)
    return made.gradient


gradcli.check(released, at={"p": AT}, grad=gradient, name="LogisticBasisFuncKernel.update_gradients_full")
gradcli.check(released, at={"p": AT}, grad=in_floats(right), name="right formula")
