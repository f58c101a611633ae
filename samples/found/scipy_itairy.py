"""scipy 1.16.3: scipy.special.itairy

The integral of the Airy function Ai loses digits towards x = 9.25, where a different method takes over. The series
stops at terms of 10^-5 of the sum, although its terms cancel and are far larger than the result. The result is 0.329 at
x = 7 and 2.62 at x = 9; the right value is 0.333. The derivative, Ai, is right. Releases 1.17.1 and 1.18.1 have the
same mistake.

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
