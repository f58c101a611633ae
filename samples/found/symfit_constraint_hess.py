"""symfit 0.5.6: Hessians of constraints that fits with TrustConstr pass to scipy.optimize.minimize

The functions are created in a loop over the constraints, and each looks up con, the loop's variable, when it is called.
Every constraint therefore has the Hessian of the last one.

Right: 2, the Hessian of x^2 - 1. SciPy gets 6 x, the Hessian of x^3
"""

import numpy as np
from released import in_floats, prove, require

import gradcli

AT = [1.5]


def slope(p):
    return 2 * p[0]


def right(p):
    return [2 + 0 * p[0]]


prove(slope, right, AT)
require("symfit", "0.5.6")
from symfit import Fit, Ge, Model, parameters, variables  # noqa: E402
from symfit.core.minimizers import TrustConstr  # noqa: E402

(x,) = parameters("x")
(z,) = variables("z")
MINIMIZER = Fit(Model({z: x**4}), constraints=[Ge(x**2, 1), Ge(x**3, 0)], minimizer=TrustConstr).minimizer
FIRST = MINIMIZER.scipy_constraints(MINIMIZER.constraints)[0]


def released(p):
    return np.reshape(FIRST.jac(p), ())


def hessian(p):
    return np.reshape(FIRST.hess(p, np.ones(1)), 1).astype(float)


gradcli.check(released, at={"p": AT}, grad=hessian, name="hess of the first constraint")
gradcli.check(released, at={"p": AT}, grad=in_floats(right), name="right formula")
