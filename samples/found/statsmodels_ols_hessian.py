"""statsmodels 0.15.0: OLS.hessian without a scale

The first term of the Hessian of the profile log-likelihood, which is log of the sum of squares times -n/2, lacks a
factor of 2. At the estimate, where the other term is 0, the Hessian is half of the right one.

Right: -n X'X/S + 2 n (X'r)(X'r)'/S^2, with residuals r = y - X b and S = r'r
"""

import numpy as np
from released import in_floats, prove, require

import gradcli

X, Y = [[1.0, 0.25], [1.0, -0.75], [1.0, 1.5], [1.0, 2.25]], [0.5, 1.75, -0.25, 1.0]
AT = [0.75, -0.25]


def slope(b):
    """Return the slope of the log-likelihood in b_0."""
    r = [y - x[0] * b[0] - x[1] * b[1] for x, y in zip(X, Y, strict=True)]
    return len(Y) * sum(x[0] * e for x, e in zip(X, r, strict=True)) / sum(e**2 for e in r)


def right(b):
    r = [y - x[0] * b[0] - x[1] * b[1] for x, y in zip(X, Y, strict=True)]
    total, n = sum(e**2 for e in r), len(Y)
    along = [sum(x[j] * e for x, e in zip(X, r, strict=True)) for j in (0, 1)]
    crossed = [sum(x[0] * x[j] for x in X) for j in (0, 1)]
    return [-n * crossed[j] / total + 2 * n * along[0] * along[j] / total**2 for j in (0, 1)]


prove(slope, right, AT)
require("statsmodels", "0.15.0")
from statsmodels.regression.linear_model import OLS  # noqa: E402

MODEL = OLS(np.array(Y), np.array(X))


def released(b):
    return MODEL.score(b)[0]


gradcli.check(released, at={"b": AT}, grad=lambda b: MODEL.hessian(b)[0], name="OLS.hessian")
gradcli.check(released, at={"b": AT}, grad=in_floats(right), name="right formula")
