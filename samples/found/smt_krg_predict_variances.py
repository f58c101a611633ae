"""smt 2.15.0: KRG(poly="linear").predict_variances

The derivative of the variance is right, but the variance is wrong. The code solves a system with the transpose of G,
the triangular matrix of the trend, without `lower=True`, so only the diagonal of G is used. With a constant trend, G is
a number and the result is right.

Right: s (1 - r' R^-1 r + u' (F' R^-1 F)^-1 u) with u = F' R^-1 r - f, and twice u' (F' R^-1 F)^-1 u_x - r' R^-1 r_x
"""

import numpy as np
from mpmath import exp, fsum, matrix, sqrt
from released import in_floats, prove, require

import gradcli

X, Y, AT = [0.0, 1.0, 2.5, 4.0, 7.0], [0.0, 1.0, 1.5, 0.9, 0.5], [1.7]
CENTRE = fsum(X) / len(X)
WIDTH = sqrt(fsum((t - CENTRE) ** 2 for t in X) / (len(X) - 1))
PLACES = [(t - CENTRE) / WIDTH for t in X]


def parts(x):
    """Return R^-1, r and u with their slopes, and (F' R^-1 F)^-1."""
    at = (x[0] - CENTRE) / WIDTH
    inverse = matrix([[exp(-((s - t) ** 2)) for s in PLACES] for t in PLACES]) ** -1
    r = matrix([exp(-((at - t) ** 2)) for t in PLACES])
    slope = matrix([-2 * (at - t) * exp(-((at - t) ** 2)) / WIDTH for t in PLACES])
    trend = matrix([[1, t] for t in PLACES])
    solved = trend.T * inverse
    return (
        inverse,
        r,
        slope,
        solved * r - matrix([1, at]),
        solved * slope - matrix([0, 1 / WIDTH]),
        (solved * trend) ** -1,
    )


def variance(x):
    """Return the variance, divided by that of the process."""
    inverse, r, _, u, _, middle = parts(x)
    return 1 - (r.T * inverse * r)[0] + (u.T * middle * u)[0]


def right(x):
    inverse, r, slope, u, bent, middle = parts(x)
    return [2 * ((u.T * middle * bent)[0] - (r.T * inverse * slope)[0])]


prove(variance, right, AT)
require("smt", "2.15.0")
from smt.surrogate_models import KRG  # noqa: E402

MODEL = KRG(poly="linear", theta0=[1.0], hyper_opt="NoOp", print_global=False)
MODEL.set_training_values(np.array(X), np.array(Y))
MODEL.train()
SCALE = MODEL.optimal_par["sigma2"][0]


def released(x):
    return MODEL.predict_variances(x[None])[0, 0] / SCALE


def slope(x):
    return MODEL.predict_variance_derivatives(x[None], 0)[0] / SCALE


gradcli.check(released, at={"x": AT}, grad=slope, name="KRG.predict_variances")
gradcli.check(in_floats(variance), at={"x": AT}, grad=slope, name="right formula")
