"""gsw 3.6.23: gsw.enthalpy_second_derivatives

Enthalpy is a polynomial in s = sqrt(f SA + o), t = CT/40 and z = p/10000. In its second derivative with respect to
salinity, five of the terms with z^3 (h103, h303, h113, h123 and h133) are inside one pair of brackets too many, so they
are multiplied by z once too often. At 1000 dbar, the error is 0.6 %. First derivatives are right.

Right: 10^8 (f/2)^2 sum i (i - 2) h_ijk s^(i - 4) t^j z^k
"""

from mpmath import mpf, sqrt
from released import in_floats, prove, require

import gradcli

COEFFICIENTS = """
101 -3.1038981976e-4  102 1.21312343735e-5  103 -1.9494810995e-7  104 9.0775471288e-8  105 -2.2294250846e-8
111 3.5009599764e-5  112 -4.7838544078e-6  113 -1.8566384852e-6  114 -6.8239240593e-8  121 -3.7435842344e-5
122 -1.18391541805e-7  123 1.3045795693e-7  131 2.4141479483e-5  132 -1.72793868275e-6  133 2.5872962697e-9
141 -8.7595873154e-6  142 6.4783588915e-7  151 -3.30527589e-7  201 6.6928067038e-4  202 -1.7396230487e-5
203 -1.6040750532e-6  204 4.186575945e-9  211 -4.3592678561e-5  212 5.5504173825e-6  213 1.8206916278e-6
221 3.590782276e-5  222 1.46416731475e-6  223 -2.1910368022e-7  231 -1.4353633048e-5  232 1.5827653039e-7
241 4.3703680598e-6  301 -8.5047933937e-4  302 1.87353886525e-5  303 1.6421035666e-6  311 3.4532461828e-5
312 -4.9223558922e-6  313 -4.5147285423e-7  321 -1.8698584187e-5  322 -2.44130696e-7  331 2.2863324556e-6
401 5.8086069943e-4  402 -8.661109306e-6  403 -5.937324909e-7  411 -1.1959409788e-5  421 3.8595339244e-6
412 1.295461263e-6  501 -2.1092370507e-4  502 1.54637136265e-6  511 1.3864594581e-6  601 3.1932457305e-5
"""
"""h_ijk with i > 0, each after its i, j and k: Roquet et al., Ocean Modelling 90 (2015), as in GSW-C."""
FACTOR, OFFSET = "0.0248826675584615", "0.5971840214030754"
CT, P, AT = 10, 1000, [35.0]


def series(x, power):
    """Return the sum of power(i, s) h_ijk t^j z^k."""
    s, t, z = sqrt(mpf(FACTOR) * x + mpf(OFFSET)), mpf(CT) / 40, mpf(P) / 10000
    words = COEFFICIENTS.split()
    terms = [(*map(int, place), mpf(h)) for place, h in zip(words[::2], words[1::2], strict=True)]
    return sum(power(i, s) * h * t**j * z**k for i, j, k, h in terms)


def slope(x):
    return 10**8 * mpf(FACTOR) / 2 * series(x[0], lambda i, s: i * s ** (i - 2))


def right(x):
    return [10**8 * (mpf(FACTOR) / 2) ** 2 * series(x[0], lambda i, s: i * (i - 2) * s ** (i - 4))]


prove(slope, right, AT)
require("gsw", "3.6.23")
import gsw  # noqa: E402


def released(x):
    return gsw.enthalpy_first_derivatives(x[0], CT, P)[0]


def second(x):
    return gsw.enthalpy_second_derivatives(x, CT, P)[0]


gradcli.check(released, at={"x": AT}, grad=second, name="enthalpy_second_derivatives")
gradcli.check(released, at={"x": AT}, grad=in_floats(right), name="right formula")
