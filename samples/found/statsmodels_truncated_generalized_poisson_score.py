"""statsmodels 0.15.0: TruncatedLFGeneralizedPoisson(p=2).score

For the counts that are left out, the score uses further models. They are created without the p of the model, so they
have the default p = 1. The log-likelihood is right for every p.

Right: x ((y - mu) - odds mu)/c^2 with c = 1 + alpha mu and odds = P0/(1 - P0), where log P0 = -mu/c; with respect to
alpha, y (y - 1)/(1 + alpha y) - 2 y mu/c + (1 + alpha y + odds) mu^2/c^2
"""

import numpy as np
from mpmath import exp, log, loggamma
from released import in_floats, prove, require

import gradcli

DATA = [(1, 0.2), (2, -0.4), (4, 0.9), (6, 1.1)]
AT = [0.3, 0.5, 0.2]


def likelihood(b):
    total = 0
    for y, x in DATA:
        mu = exp(b[0] + b[1] * x)
        c, grown = 1 + b[2] * mu, 1 + b[2] * y
        total += log(mu) + (y - 1) * log(mu * grown) - y * log(c) - loggamma(y + 1) - mu * grown / c
        total -= log(1 - exp(-mu / c))
    return total


def right(b):
    score = [0, 0, 0]
    for y, x in DATA:
        mu = exp(b[0] + b[1] * x)
        c, grown = 1 + b[2] * mu, 1 + b[2] * y
        odds = exp(-mu / c) / (1 - exp(-mu / c))
        by_mu = (y - mu - odds * mu) / c**2
        by_alpha = y * (y - 1) / grown - 2 * y * mu / c + (grown + odds) * mu**2 / c**2
        score = [score[0] + by_mu, score[1] + x * by_mu, score[2] + by_alpha]
    return score


prove(likelihood, right, AT)
require("statsmodels", "0.15.0")
from statsmodels.discrete.truncated_model import TruncatedLFGeneralizedPoisson  # noqa: E402

MODEL = TruncatedLFGeneralizedPoisson([y for y, _ in DATA], np.array([[1, x] for _, x in DATA]), p=2)

gradcli.check(MODEL.loglike, at={"params": AT}, grad=MODEL.score, name="TruncatedLFGeneralizedPoisson.score")
gradcli.check(MODEL.loglike, at={"params": AT}, grad=in_floats(right), name="right formula")
