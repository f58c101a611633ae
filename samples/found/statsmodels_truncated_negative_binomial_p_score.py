"""statsmodels 0.15.0: TruncatedLFNegativeBinomialP(p=1).score

For the counts that are left out, the score uses further models. They are created without the p of the model, so they
have the default p = 2. The log-likelihood is right for every p.

Right: the score of the model plus P0/(1 - P0) times the slopes of log P0 = -(mu/alpha) log(1 + alpha), all with
the same p
"""

import numpy as np
from mpmath import digamma, exp, log, loggamma
from released import in_floats, prove, require

import gradcli

DATA = [(1, 0.2), (2, -0.4), (4, 0.9), (6, 1.1)]
AT = [0.3, 0.5, 0.7]


def likelihood(b):
    total = 0
    for y, x in DATA:
        mu = exp(b[0] + b[1] * x)
        a = mu / b[2]
        total += loggamma(y + a) - loggamma(a) - loggamma(y + 1)
        total += y * log(b[2] / (1 + b[2])) - a * log(1 + b[2]) - log(1 - (1 + b[2]) ** -a)
    return total


def right(b):
    score, grown = [0, 0, 0], log(1 + b[2])
    for y, x in DATA:
        mu = exp(b[0] + b[1] * x)
        a = mu / b[2]
        left_out = (1 + b[2]) ** -a
        odds = left_out / (1 - left_out)
        d = digamma(y + a) - digamma(a) - grown
        by_mu = a * d - odds * a * grown
        by_alpha = y / (b[2] * (1 + b[2])) - a / b[2] * d - a / (1 + b[2]) + odds * a * (grown / b[2] - 1 / (1 + b[2]))
        score = [score[0] + by_mu, score[1] + x * by_mu, score[2] + by_alpha]
    return score


prove(likelihood, right, AT)
require("statsmodels", "0.15.0")
from statsmodels.discrete.truncated_model import TruncatedLFNegativeBinomialP  # noqa: E402

MODEL = TruncatedLFNegativeBinomialP([y for y, _ in DATA], np.array([[1, x] for _, x in DATA]), p=1)

gradcli.check(MODEL.loglike, at={"params": AT}, grad=MODEL.score, name="TruncatedLFNegativeBinomialP.score")
gradcli.check(MODEL.loglike, at={"params": AT}, grad=in_floats(right), name="right formula")
