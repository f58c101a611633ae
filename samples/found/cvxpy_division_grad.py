"""cvxpy 1.9.3: (x / y).grad

For a quotient of two variables `grad` takes the rule of affine expressions, as if y were a constant 1: it gives 1 for
x and 0 for y, at every point. So it is in what is built on quotients, such as `diff_pos`.

Right: 1/y and -x/y^2
"""

import numpy as np
from released import in_floats, prove, require

import gradcli

AT = [0.7, 1.2]


def quotient(x):
    return x[0] / x[1]


def right(x):
    return [1 / x[1], -x[0] / x[1] ** 2]


prove(quotient, right, AT)
require("cvxpy", "1.9.3")
import cvxpy  # noqa: E402

UPPER, LOWER = cvxpy.Variable(), cvxpy.Variable()
EXPRESSION = UPPER / LOWER


def released(x):
    UPPER.value, LOWER.value = x
    return EXPRESSION.value


def gradient(x):
    UPPER.value, LOWER.value = x
    return np.array([EXPRESSION.grad[UPPER], EXPRESSION.grad[LOWER]])


gradcli.check(released, at={"x": AT}, grad=gradient, name="(x / y).grad")
gradcli.check(released, at={"x": AT}, grad=in_floats(right), name="right formula")
