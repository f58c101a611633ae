"""symfit 0.5.6: Hessians that fits with TrustConstr pass to scipy.optimize.minimize

resize_hess removes the rows and columns of fixed parameters. It indexes with one mask twice, out[mask, mask], which
selects only the diagonal: SciPy gets one row with n elements instead of a matrix.

Right: [[2, -2], [-2, 4]] of x^2 + 2 y^2 - 2 x y - 2 x, symfit's own example
"""

import numpy as np
from released import in_floats, prove, require

import gradcli

AT = [-1.0, 1.0]


def slopes(p):
    x, y = p
    return [2 * x - 2 * y - 2, 4 * y - 2 * x]


def right(p):
    return [[2 + 0 * p[0], -2 + 0 * p[0]], [-2 + 0 * p[0], 4 + 0 * p[0]]]


prove(slopes, right, AT)
require("symfit", "0.5.6")
from symfit import Fit, Model, parameters, variables  # noqa: E402
from symfit.core.minimizers import TrustConstr  # noqa: E402

x, y = parameters("x, y")
(z,) = variables("z")
MINIMIZER = Fit(Model({z: x**2 + 2 * y**2 - 2 * x * y - 2 * x}), minimizer=TrustConstr).minimizer


def released(p):
    return MINIMIZER.wrapped_jacobian(p)


def hessian(p):
    return np.asarray(MINIMIZER.wrapped_hessian(p), float)


gradcli.check(released, at={"p": AT}, grad=hessian, name="resize_hess")
gradcli.check(released, at={"p": AT}, grad=in_floats(right), name="right formula")
