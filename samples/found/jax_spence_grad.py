"""jax 0.10.2: the gradient of jax.scipy.special.spence

For 1 < x < 2 the gradient is nan. The function computes the formula for x < 1/2, which contains log(1 - x), for all x
and then selects among them with where(), so that the gradient of the unused formula, which is nan, is multiplied by 0.

Right: log(x)/(1 - x)
"""

from mpmath import log, polylog
from released import in_floats, prove, require

import gradcli

AT = [1.4]


def spence(x):
    return polylog(2, 1 - x[0])


def right(x):
    return [log(x[0]) / (1 - x[0])]


prove(spence, right, AT)
require("jax", "0.10.2")
import jax  # noqa: E402
import numpy as np  # noqa: E402


def released(x):
    with jax.enable_x64(True):
        return float(jax.scipy.special.spence(x[0]))


def gradient(x):
    with jax.enable_x64(True):
        return np.array([jax.grad(jax.scipy.special.spence)(x[0])])


gradcli.check(released, at={"x": AT}, grad=gradient, name="spence")
gradcli.check(released, at={"x": AT}, grad=in_floats(right), name="right formula")
