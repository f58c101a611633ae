"""statsmodels 0.15.0: NegativeBinomialP(p=1.5).hessian

With mu = exp(x b), q = 2 - p and a = mu^q / alpha, the derivative with respect to alpha is -(a/alpha) D, where D =
digamma(y + a) - digamma(a) + log(a/(a + mu)) + 1 - (y + a)/(a + mu). In the row of alpha and the columns of b, the
formula has a superfluous factor q: `p * a1` instead of `a1`. At p = 1 and p = 2, this makes no difference, because q^2
= q. `hessian_factor` has the same mistake.

Right: -x (a/alpha) (q D + q a D_a + mu D_mu), where D_a and D_mu are the derivatives of D with respect to a and mu
"""

import numpy as np
from mpmath import digamma, exp, log, psi
from released import in_floats, prove, require

import gradcli

DATA = [(0, 0.2), (1, -0.4), (3, 0.9), (5, 1.1)]
AT, Q = [0.3, 0.5, 0.7], 0.5


def parts(b, y, x):
    """Return mu, a, D, D_a and D_mu for one observation."""
    mu = exp(b[0] + b[1] * x)
    a = mu**Q / b[2]
    whole = a + mu
    d = digamma(y + a) - digamma(a) + log(a / whole) + 1 - (y + a) / whole
    d_a = psi(1, y + a) - psi(1, a) + 1 / a - 2 / whole + (y + a) / whole**2
    return mu, a, d, d_a, (y + a) / whole**2 - 1 / whole


def slope(b):
    return sum(-a / b[2] * d for _, a, d, _, _ in (parts(b, y, x) for y, x in DATA))


def right(b):
    row = [0, 0, 0]
    for y, x in DATA:
        mu, a, d, d_a, d_mu = parts(b, y, x)
        crossed = -a / b[2] * (Q * d + Q * a * d_a + mu * d_mu)
        row = [row[0] + crossed, row[1] + x * crossed, row[2] + a / b[2] ** 2 * (2 * d + a * d_a)]
    return row


prove(slope, right, AT)
require("statsmodels", "0.15.0")
from statsmodels.discrete.discrete_model import NegativeBinomialP  # noqa: E402

MODEL = NegativeBinomialP([y for y, _ in DATA], np.array([[1, x] for _, x in DATA]), p=2 - Q)


def released(b):
    return MODEL.score(b)[2]


gradcli.check(released, at={"b": AT}, grad=lambda b: MODEL.hessian(b)[2], name="NegativeBinomialP.hessian")
gradcli.check(released, at={"b": AT}, grad=in_floats(right), name="right formula")
