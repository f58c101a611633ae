"""scipy 1.16.3: scipy.special.lqn(1, x)

For x > 1.021 the derivative of the Legendre function Q_1 is wrong (at 1.7 it has the wrong sign), and Q_0 is 0. Both
are right in lqn(2, x). Release 1.17.1 has the same mistake; release 1.18.1 does not.

Right: Q_1' = log((x + 1)/(x - 1))/2 - x/(x^2 - 1)
"""

from mpmath import log
from released import in_floats, prove, require

import gradcli

AT = [1.7]


def legendre(x):
    return x[0] * log((x[0] + 1) / (x[0] - 1)) / 2 - 1


def right(x):
    return [log((x[0] + 1) / (x[0] - 1)) / 2 - x[0] / (x[0] ** 2 - 1)]


prove(legendre, right, AT)
require("scipy", "1.16.3")
from scipy.special import lqn  # noqa: E402


def released(x):
    return lqn(1, x[0])[0][1]


def slope(x):
    return lqn(1, x[0])[1][1]


gradcli.check(released, at={"x": AT}, grad=slope, name="lqn")
gradcli.check(released, at={"x": AT}, grad=in_floats(right), name="right formula")
