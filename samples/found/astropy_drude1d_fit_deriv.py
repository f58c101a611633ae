"""astropy 8.0.2: astropy.modeling.models.Drude1D.fit_deriv

The derivative with respect to x_0 contains `x / x_0` instead of x/x_0^2. It also contains `2 * fwhm**2 / x_0**3`,
although a factor of 2 is already in front of it. At x = 1.9, x_0 = 1.2 and fwhm = 0.8, the derivative is 62 % too
large. Fits take detours to the minimum, and their covariances are wrong.

Right: 4 A u w/(x (w^2 + u)^2) with u = (fwhm/x_0)^2 and w = x/x_0 - x_0/x
"""

from mpmath import mpf
from released import in_floats, prove, require

import gradcli

X, AT = mpf("1.9"), [1.3, 1.2, 0.8]


def profile(p):
    u, w = (p[2] / p[1]) ** 2, X / p[1] - p[1] / X
    return p[0] * u / (w**2 + u)


def right(p):
    u, w = (p[2] / p[1]) ** 2, X / p[1] - p[1] / X
    whole = w**2 + u
    return [u / whole, 4 * p[0] * u * w / (X * whole**2), 2 * p[0] * u * w**2 / (p[2] * whole**2)]


prove(profile, right, AT)
require("astropy", "8.0.2")
from astropy.modeling.models import Drude1D  # noqa: E402


def released(p):
    return Drude1D.evaluate(float(X), *p)


def slope(p):
    return Drude1D.fit_deriv(float(X), *p)


gradcli.check(released, at={"p": AT}, grad=slope, name="Drude1D.fit_deriv")
gradcli.check(released, at={"p": AT}, grad=in_floats(right), name="right formula")
