"""statsmodels 0.15.0: TransfFrank.deriv and TransfFrank.deriv2

Both derivatives of the generator of the Frank copula have the wrong sign. A generator falls and is convex, so that the
first derivative must be negative and the second positive.

Right: -theta/(exp(theta t) - 1), and theta^2 exp(theta t)/(exp(theta t) - 1)^2
"""

from mpmath import exp, expm1, log
from released import in_floats, prove, require

import gradcli

THETA, AT = 2.5, [0.3]


def generator(t):
    return -log(expm1(-THETA * t[0]) / expm1(-THETA))


def first(t):
    return [-THETA / expm1(THETA * t[0])]


def second(t):
    return [THETA**2 * exp(THETA * t[0]) / expm1(THETA * t[0]) ** 2]


prove(generator, first, AT)
prove(lambda t: first(t)[0], second, AT)
require("statsmodels", "0.15.0")
from statsmodels.distributions.copula.transforms import TransfFrank  # noqa: E402

FRANK = TransfFrank()


def released(t):
    return FRANK.evaluate(t[0], THETA)


def slope(t):
    return in_floats(first)(t)[0]


gradcli.check(released, at={"t": AT}, grad=lambda t: FRANK.deriv(t, THETA), name="TransfFrank.deriv")
gradcli.check(released, at={"t": AT}, grad=in_floats(first), name="right formula")
gradcli.check(slope, at={"t": AT}, grad=lambda t: FRANK.deriv2(t, THETA), name="TransfFrank.deriv2")
gradcli.check(slope, at={"t": AT}, grad=in_floats(second), name="right formula of deriv2")
