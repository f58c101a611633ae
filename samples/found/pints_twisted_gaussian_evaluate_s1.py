"""pints 0.6.1: pints.toy.TwistedGaussianLogPDF(V=10).evaluateS1

The first element of the gradient contains 50 V instead of V^2/2. The two are equal only at the default V = 100.

Right: -x_1/V^2 - 2 b x_1 (x_2 + b (x_1^2 - V))
"""

from mpmath import log, pi
from released import in_floats, prove, require

import gradcli

B, V, AT = 0.1, 10, [1.5, -0.4]


def density(x):
    twisted = x[1] + B * (x[0] ** 2 - V)
    return -(x[0] ** 2 / V**2 + twisted**2) / 2 - log(2 * pi) - log(V) / 2


def right(x):
    twisted = x[1] + B * (x[0] ** 2 - V)
    return [-x[0] / V**2 - 2 * B * x[0] * twisted, -twisted]


prove(density, right, AT)
require("pints", "0.6.1")
from pints.toy import TwistedGaussianLogPDF  # noqa: E402

MODEL = TwistedGaussianLogPDF(2, b=B, V=V)


def gradient(x):
    return MODEL.evaluateS1(x)[1]


gradcli.check(MODEL, at={"x": AT}, grad=gradient, name="TwistedGaussianLogPDF.evaluateS1")
gradcli.check(MODEL, at={"x": AT}, grad=in_floats(right), name="right formula")
