"""cvxpy 1.9.3: (x / y).grad

For a quotient of two variables, `grad` uses the derivative of affine expressions. It treats y as the constant 1. It
returns 1 for x and 0 for y at every point. Functions built on quotients, such as `diff_pos`, have the same mistake.

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
