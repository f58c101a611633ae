"""scipy 1.16.3: scipy.special.obl_rad2

Value and derivative of the oblate radial function of the second kind do not match, mostly if n - m is odd and c x is
small. Together with `obl_rad1`, which is right, they do not have the Wronskian 1/(c (x^2 + 1)) at 175 of 320 points (m
to 3, n to m + 3, c and x from 0.5 to 5). At m = 1, n = 2, c = 0.5, x = 2 they are -1.95 and -1443 instead of -3.00 and
3.35. Releases 1.17.1 and 1.18.1 have the same mistake.

Right: (1 + 1/x^2)^(m/2) sum (-1)^((r + m - n)/2) w_r y_(m+r)(c x) / sum w_r with w_r = d_r (2 m + r)!/r! (Flammer 1957)
"""

import mpmath
from mpmath import factorial, mpf
from released import DIGITS, in_floats, prove, require

import gradcli

M, N, C, AT = 1, 2, mpf("0.5"), [2.0]
LAST = 140


def recurrence(r):
    """Return the factors of d_(r+2), d_r and d_(r-2) in the sum that equals the characteristic value times d_r."""
    k, q = M + r, -(C**2)
    after = q * (2 * M + r + 2) * (2 * M + r + 1) / ((2 * k + 3) * (2 * k + 5))
    here = k * (k + 1) + q * (2 * k * (k + 1) - 2 * M**2 - 1) / ((2 * k - 1) * (2 * k + 3))
    return after, here, q * r * (r - 1) / ((2 * k - 3) * (2 * k - 1))


def ratios(value):
    """Return d_r / d_(r-2) by r, computed from the last r down."""
    ratio, found = mpf(0), {}
    for r in range(LAST - (LAST - N + M) % 2, (N - M) % 2, -2):
        after, here, before = recurrence(r)
        ratio = found[r] = -before / (here - value + after * ratio)
    return found


def weights():
    """Return w_r by r."""
    first = (N - M) % 2
    after, here, _ = recurrence(first)
    value = mpmath.findroot(lambda value: here - value + after * ratios(value)[first + 2], N * (N + 1) - C**2 / 2)
    found = {first: factorial(2 * M + first) / factorial(first)}
    for r, ratio in sorted(ratios(value).items()):
        found[r] = found[r - 2] * ratio * (2 * M + r) * (2 * M + r - 1) / (r * (r - 1))
    return found


with mpmath.workdps(DIGITS + 5):
    WEIGHTS = weights()


def series(x, function):
    """Return the series with the weights: a sum over r of spherical Bessel functions, or of their slopes."""
    total = sum((-1) ** ((r + M - N) // 2) * w * function(M + r, C * x) for r, w in WEIGHTS.items())
    return (1 + 1 / x**2) ** (mpf(M) / 2) * total / sum(WEIGHTS.values())


def bessel(k, z):
    return mpmath.sqrt(mpmath.pi / (2 * z)) * mpmath.bessely(k + mpf(1) / 2, z)


def bessel_slope(k, z):
    return bessel(k - 1, z) - (k + 1) / z * bessel(k, z)


def value(x):
    return series(x[0], bessel)


def right(x):
    return [C * series(x[0], bessel_slope) - M / (x[0] ** 3 + x[0]) * series(x[0], bessel)]


prove(value, right, AT)
require("scipy", "1.16.3")
from scipy.special import obl_rad2  # noqa: E402


def released(x):
    return obl_rad2(M, N, float(C), x[0])[0]


def slope(x):
    return obl_rad2(M, N, float(C), x[0])[1]


gradcli.check(released, at={"x": AT}, grad=slope, name="obl_rad2")
gradcli.check(in_floats(value), at={"x": AT}, grad=in_floats(right), name="right formula")
