"""scipy 1.16.3: scipy.special.itairy

The integral of the Airy function Ai loses its digits towards x = 9.25, where another method begins: its series stops at
terms of 10^-5 of the sum, and what cancels is far larger than what is left. At x = 7 it is 0.329, at x = 9 it is 2.62,
and right is 0.333. Ai itself, its slope, is right. So it is in 1.17.1 and 1.18.1.

Right: Ai(x)
"""

from mpmath import airyai
from released import in_floats, prove, require

import gradcli

AT = [9.0]


def integral(x):
    return airyai(x[0], derivative=-1)


def right(x):
    return [airyai(x[0])]


prove(integral, right, AT)
require("scipy", "1.16.3")
from scipy.special import airy, itairy  # noqa: E402


def released(x):
    return itairy(x[0])[0]


def slope(x):
    return airy(x)[0]


gradcli.check(released, at={"x": AT}, grad=slope, name="itairy")
gradcli.check(in_floats(integral), at={"x": AT}, grad=slope, name="right formula")
