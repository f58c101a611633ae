"""astropy 8.0.2: astropy.modeling.models.Hermite2D.evaluate

The derivative with respect to the coefficients, `fit_deriv`, is right. The value is wrong for degrees of 2 and more in
y. One table holds the polynomials of x and of y, and the recurrence uses the position in the table as the degree. With
the coefficients that a linear fit finds, the model does not reproduce the data.

Right: sum c_nm H_n(x) H_m(y) with H_m = 2 y H_(m-1) - 2 (m - 1) H_(m-2)
"""

import mpmath
import numpy as np
from released import in_floats, prove, require

import gradcli

X, Y, DEGREES = 0.3, 0.7, (1, 2)
AT = [0.5, -1.0, 2.0, 0.3, 1.5, -0.7]


def right(c):
    """Return the products of polynomials, one for each coefficient."""
    return [mpmath.hermite(n, X) * mpmath.hermite(m, Y) for m in range(DEGREES[1] + 1) for n in range(DEGREES[0] + 1)]


def value(c):
    return sum(a * b for a, b in zip(c, right(c), strict=True))


prove(value, right, AT)
require("astropy", "8.0.2")
from astropy.modeling.models import Hermite2D  # noqa: E402

MODEL = Hermite2D(*DEGREES)


def released(c):
    return MODEL.evaluate(np.array([X]), np.array([Y]), *[np.array([t]) for t in c])[0]


def gradient(c):
    return MODEL.fit_deriv(np.array([X]), np.array([Y]), *c)[0]


gradcli.check(released, at={"c": AT}, grad=gradient, name="Hermite2D.evaluate")
gradcli.check(in_floats(value), at={"c": AT}, grad=gradient, name="right formula")
