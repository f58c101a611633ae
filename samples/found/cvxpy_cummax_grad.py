"""cvxpy 1.9.3: cummax(x, axis=1).grad

The running maximum has as many elements as x, but its derivative has only one column for each row of x, like that of a
plain maximum. For a vector, `grad` raises a ValueError.

Right: 1 if element j of the result is element i of x, otherwise 0
"""

import numpy as np
from released import in_floats, prove, require

import gradcli

AT = [0.7, 0.4, 1.5, 0.2]


def running(x):
    """Return the result as a vector, column after column. x is the matrix in the same order."""
    return [x[0], x[1], max(x[0], x[2]), max(x[1], x[3])]


def right(x):
    first, second = int(x[2] > x[0]), int(x[3] > x[1])
    return [[1, 0, 0, 0], [0, 1, 0, 0], [1 - first, 0, first, 0], [0, 1 - second, 0, second]]


prove(running, right, AT)
require("cvxpy", "1.9.3")
import cvxpy  # noqa: E402

MATRIX = cvxpy.Variable((2, 2))
EXPRESSION = cvxpy.cummax(MATRIX, axis=1)


def released(x):
    MATRIX.value = x.reshape(2, 2, order="F")
    return EXPRESSION.value.ravel(order="F")


def gradient(x):
    MATRIX.value = x.reshape(2, 2, order="F")
    return np.asarray(EXPRESSION.grad[MATRIX].todense()).T


gradcli.check(released, at={"x": AT}, grad=gradient, name="cummax.grad")
gradcli.check(released, at={"x": AT}, grad=in_floats(right), name="right formula")
