"""thermo 0.6.1: thermo.eos.PRSV.d3a_alpha_dT3_pure

PRSV and PRSV2 inherit the third derivative of a alpha from PR, whose kappa is a constant. Their own kappa depends on T.
The second derivatives of their departures with respect to T, such as `d2H_dep_dT2_l` and `d2S_dep_dT2_l`, are therefore
wrong: by 21 % and 9 % for hexane at 299 K.

Right: a (2 u u''' + 6 u' u'') with u = 1 + kappa_0 (1 - r) + kappa_1 (7/10 - 17/10 r^2 + r^4) and r = sqrt(T/Tc)
"""

from mpmath import mpf, sqrt
from released import in_floats, prove, require

import gradcli

CRITICAL, AT = mpf("507.6"), [299.0]
A, KAPPA_0, KAPPA_1 = 2.6923, 0.80744, 0.05104


def roots(t):
    """Return u and its first three derivatives."""
    r = sqrt(t / CRITICAL)
    u = 1 + KAPPA_0 * (1 - r) + KAPPA_1 * (7 - 17 * r**2 + 10 * r**4) / 10
    first = -KAPPA_0 * r / (2 * t) + KAPPA_1 * (20 * r**2 - 17) / (10 * CRITICAL)
    return u, first, KAPPA_0 * r / (4 * t**2) + 2 * KAPPA_1 / CRITICAL**2, -3 * r * KAPPA_0 / (8 * t**3)


def second(x):
    u, first, again, _ = roots(x[0])
    return 2 * A * (first**2 + u * again)


def right(x):
    u, first, again, third = roots(x[0])
    return [A * (2 * u * third + 6 * first * again)]


prove(second, right, AT)
require("thermo", "0.6.1")
from thermo.eos import PRSV  # noqa: E402

MODEL = PRSV(Tc=float(CRITICAL), Pc=3025000, omega=0.2975, T=AT[0], P=1e6, kappa1=KAPPA_1)
MODEL.a, MODEL.kappa0 = A, KAPPA_0


def released(x):
    return MODEL.a_alpha_and_derivatives_pure(x[0])[2]


def third(x):
    return MODEL.d3a_alpha_dT3_pure(x[0])


gradcli.check(released, at={"x": AT}, grad=third, name="PRSV.d3a_alpha_dT3_pure")
gradcli.check(released, at={"x": AT}, grad=in_floats(right), name="right formula")
