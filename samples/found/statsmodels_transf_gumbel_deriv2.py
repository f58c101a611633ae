"""statsmodels 0.15.0: TransfGumbel.deriv2

For a theta that is not an integer, the second derivative is nan: it raises log(t), which is negative, and -1 to the
power theta. For integers it is right.

Right: theta (-log t)^(theta - 2) (theta - 1 - log t)/t^2
"""

from mpmath import log
from released import in_floats, prove, require

import gradcli

THETA, AT = 1.5, [0.3]


def first(t):
    return -THETA * (-log(t[0])) ** (THETA - 1) / t[0]


def right(t):
    return [THETA * (-log(t[0])) ** (THETA - 2) * (THETA - 1 - log(t[0])) / t[0] ** 2]


prove(first, right, AT)
require("statsmodels", "0.15.0")
from statsmodels.distributions.copula.transforms import TransfGumbel  # noqa: E402

GUMBEL = TransfGumbel()


def released(t):
    return GUMBEL.deriv(t[0], THETA)


def slope(t):
    return GUMBEL.deriv2(t, THETA).real


gradcli.check(released, at={"t": AT}, grad=slope, name="TransfGumbel.deriv2")
gradcli.check(released, at={"t": AT}, grad=in_floats(right), name="right formula")
