"""paramz 0.10.0: paramz.transformations.NegativeExponent.gradfactor

The transformation f = -exp(x) is its own derivative. `gradfactor` changes its sign a second time, so an optimizer goes
up instead of down. `finv` also has a superfluous minus sign.

Right: df/dx = f
"""

import mpmath
import numpy as np
from released import in_floats, prove, require

import gradcli

AT = [0.7]


def transformation(x):
    return -mpmath.exp(x[0])


def right(x):
    return [transformation(x)]


prove(transformation, right, AT)
require("paramz", "0.10.0")
from paramz.transformations import NegativeExponent  # noqa: E402

NEGATIVE = NegativeExponent()


def released(x):
    return NEGATIVE.f(x)[0]


def gradient(x):
    return NEGATIVE.gradfactor(NEGATIVE.f(x), np.ones(1))


gradcli.check(released, at={"x": AT}, grad=gradient, name="NegativeExponent.gradfactor")
gradcli.check(released, at={"x": AT}, grad=in_floats(right), name="right formula")
