"""statsmodels 0.15.0: ZeroInflatedPoisson.hessian

The mixed derivatives (of the inflation and the mean) are computed and then overwritten: the lower triangle, which is
still zero, is copied onto the upper one. Standard errors come from this Hessian.

Right: x z mu w (1 - w) exp(-mu)/P^2 for each y = 0, with P = w + (1 - w) exp(-mu) and w = 1/(1 + exp(-z g)); 0 for
others
"""

import numpy as np
from mpmath import exp
from released import in_floats, prove, require

import gradcli

DATA = [(0, 0.2), (0, -0.4), (3, 0.9), (5, 1.1)]
AT = [-0.2, 0.3, 0.5]


def slope(b):
    """Return the slope of the log-likelihood in g, the logit of the share of inflated zeros, for z = 1."""
    w, total = 1 / (1 + exp(-b[0])), 0
    for y, x in DATA:
        none = exp(-exp(b[1] + b[2] * x))
        total += w * (1 - w) * (1 - none) / (w + (1 - w) * none) if y == 0 else -w
    return total


def right(b):
    w, row = 1 / (1 + exp(-b[0])), [0, 0, 0]
    for y, x in DATA:
        mu = exp(b[1] + b[2] * x)
        p, more = w + (1 - w) * exp(-mu), 1 - exp(-mu)
        if y == 0:
            crossed = mu * w * (1 - w) * exp(-mu) / p**2
            again = w * (1 - w) * more * ((1 - 2 * w) * p - w * (1 - w) * more) / p**2
            row = [row[0] + again, row[1] + crossed, row[2] + x * crossed]
        else:
            row[0] -= w * (1 - w)
    return row


prove(slope, right, AT)
require("statsmodels", "0.15.0")
from statsmodels.discrete.count_model import ZeroInflatedPoisson  # noqa: E402

MODEL = ZeroInflatedPoisson([y for y, _ in DATA], np.array([[1, x] for _, x in DATA]), exog_infl=np.ones((4, 1)))


def released(b):
    return MODEL.score(b)[0]


gradcli.check(released, at={"b": AT}, grad=lambda b: MODEL.hessian(b)[0], name="ZeroInflatedPoisson.hessian")
gradcli.check(released, at={"b": AT}, grad=in_floats(right), name="right formula")
