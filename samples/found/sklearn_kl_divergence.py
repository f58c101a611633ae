"""scikit-learn 1.9.1: sklearn.manifold._t_sne._kl_divergence

Unless the t-distribution has one degree of freedom, the gradient has a wrong power: it weights each pair of points by
(1 + d^2/nu)^(-(nu + 1)/2), which is the kernel itself, instead of 1/(1 + d^2/nu). TSNE uses nu > 1 for more than two
dimensions. `_kl_divergence_bh` has the right power.

Right: 2 (nu + 1)/nu sum over j of (p_ij - q_ij) (y_i - y_j)/(1 + |y_i - y_j|^2/nu)
"""

import numpy as np
from mpmath import log
from released import in_floats, prove, require

import gradcli

NU, COUNT = 2, 4
PAIRS = [(i, j) for i in range(COUNT) for j in range(i + 1, COUNT)]
P = [n / 64 for n in (4, 6, 10, 5, 4, 3)]  # their sum is 1/2, as for all p_ij with i < j
AT = [0.3, -0.5, 1.1, 0.2]


def weights(y):
    return [1 / (1 + (y[i] - y[j]) ** 2 / NU) for i, j in PAIRS]


def divergence(y):
    kernel = [w ** ((NU + 1) / 2) for w in weights(y)]
    total = 2 * sum(kernel)
    return 2 * sum(p * log(p / (k / total)) for p, k in zip(P, kernel, strict=True))


def right(y):
    powers = [w ** ((NU + 1) / 2) for w in weights(y)]
    total, slopes = 2 * sum(powers), [0] * COUNT
    for (i, j), p, w, power in zip(PAIRS, P, weights(y), powers, strict=True):
        part = 2 * (NU + 1) / NU * (p - power / total) * w * (y[i] - y[j])
        slopes[i], slopes[j] = slopes[i] + part, slopes[j] - part
    return slopes


prove(divergence, right, AT)
require("scikit-learn", "1.9.1")
from sklearn.manifold._t_sne import _kl_divergence  # noqa: E402


def released(y):
    return _kl_divergence(y, np.array(P), NU, COUNT, 1)[0]


def gradient(y):
    return _kl_divergence(y, np.array(P), NU, COUNT, 1)[1]


gradcli.check(released, at={"y": AT}, grad=gradient, name="_kl_divergence")
gradcli.check(released, at={"y": AT}, grad=in_floats(right), name="right formula")
