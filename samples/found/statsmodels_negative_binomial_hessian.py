"""statsmodels 0.15.0: NegativeBinomial.hessian of nb1 and nb2

Until a fit has ended, the last parameter of a model is log alpha. Log-likelihood and score use it that way and are
right. The Hessian also uses it that way, but then differentiates with respect to alpha. Its last row and column are
therefore wrong, both in Newton steps and wherever the Hessian is used at given parameters.

Right: -x a (q D + q a D_a + mu D_mu), and a D + a^2 D_a on the diagonal, with a = mu^q / alpha (q = 1 for nb1, 0 for
nb2), D = digamma(y + a) - digamma(a) + log(a/(a + mu)) + 1 - (y + a)/(a + mu), and its derivatives D_a and D_mu
"""

import numpy as np
from mpmath import digamma, exp, log, psi
from released import in_floats, prove, require

import gradcli

DATA = [(0, 0.2), (1, -0.4), (3, 0.9), (5, 1.1)]
AT = [0.3, 0.5, 0.7]
POWERS = {"nb1": 1, "nb2": 0}


def parts(b, y, x, q):
    """Return mu, a, D, D_a and D_mu for one observation."""
    mu = exp(b[0] + b[1] * x)
    a = mu**q / exp(b[2])
    whole = a + mu
    d = digamma(y + a) - digamma(a) + log(a / whole) + 1 - (y + a) / whole
    d_a = psi(1, y + a) - psi(1, a) + 1 / a - 2 / whole + (y + a) / whole**2
    return mu, a, d, d_a, (y + a) / whole**2 - 1 / whole


def slope(b, q):
    return -sum(a * d for _, a, d, _, _ in (parts(b, y, x, q) for y, x in DATA))


def right(b, q):
    row = [0, 0, 0]
    for y, x in DATA:
        mu, a, d, d_a, d_mu = parts(b, y, x, q)
        crossed = -a * (q * d + q * a * d_a + mu * d_mu)
        row = [row[0] + crossed, row[1] + x * crossed, row[2] + a * d + a**2 * d_a]
    return row


for q in POWERS.values():
    prove(lambda b, q=q: slope(b, q), lambda b, q=q: right(b, q), AT)
require("statsmodels", "0.15.0")
from statsmodels.discrete.discrete_model import NegativeBinomial  # noqa: E402

for method, q in POWERS.items():
    model = NegativeBinomial([y for y, _ in DATA], np.array([[1, x] for _, x in DATA]), loglike_method=method)

    def released(b, model=model):
        return model.score(b)[2]

    def row(b, model=model):
        return model.hessian(b)[2]

    gradcli.check(released, at={"b": AT}, grad=row, name=f"{method}.hessian")
    gradcli.check(released, at={"b": AT}, grad=in_floats(lambda b, q=q: right(b, q)), name=f"right formula of {method}")
