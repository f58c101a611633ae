"""Functions for generated code, each in mpmath, and the points at which it is tested, to the ends of its range."""

from collections.abc import Callable
from typing import NamedTuple

import mpmath
from mpmath import mp

WIDE = (
    -1e300,
    -1e18,
    -800.0,
    -30.0,
    -1.0,
    -0.3,
    -1e-8,
    -1e-300,
    1e-300,
    1e-17,
    1e-5,
    0.7,
    1.5,
    25.0,
    745.0,
    1e160,
    1e308,
)
TAME = (-30.0, -5.5, -1.0, -0.3, -1e-8, -1e-300, 1e-300, 1e-17, 1e-5, 0.7, 1.5, 8.0, 25.0)
EVEN = (-30.0, -5.5, -0.3, -1e-8, 1e-100, 1e-17, 0.7, 8.0)
ABOVE = (5e-324, 1e-300, 1e-17, 1e-5, 0.4, 0.999, 1.0, 1.7, 12.0, 800.0, 1e18, 1e308)
UNIT = (-1 + 1e-15, -0.9, -0.3, -1e-9, -1e-300, 1e-300, 1e-12, 0.5, 0.8, 0.999999, 1 - 2**-53)
SHARE = (1e-300, 1e-17, 1e-5, 0.1, 0.3, 0.5, 0.62, 0.9, 0.999999, 1 - 2**-53)
PAIRS = ((1.5, -0.7), (-3.0, 2.0), (800.0, 799.0), (-1000.0, -1010.0), (1e-10, 3e-10), (40.0, -40.0), (1e15, -1e15))


class Function(NamedTuple):
    """A function: its text in the language, in mpmath, and its points: numbers, or pairs for two inputs."""

    text: str
    exact: Callable
    points: tuple
    inputs: str = "x"


def softplus(x):
    return mpmath.log1p(mpmath.exp(x)) if x < 1e4 else x + mpmath.mpf(0)


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def logsumexp(*xs):
    top = max(xs)
    return top + mpmath.log(sum(mpmath.exp(x - top) for x in xs))


def normal(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def log_normal(x):
    return mpmath.log(normal(x)) if x < 5 else mpmath.log1p(-normal(-x))


def inverse(function: Callable, derivative: Callable, start: Callable) -> Callable:
    """Return the inverse of a function by Newton's method on its logarithm."""

    def solve(y):
        x = start(y)
        for _ in range(100):
            value = function(x)
            step = (mpmath.log(value) - mpmath.log(y)) * value / derivative(x)
            x -= step
            if abs(step) <= abs(x) * mpmath.eps:
                break
        return x

    return solve


tail = inverse(
    mpmath.erfc, lambda x: -2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x), lambda y: mpmath.sqrt(-mpmath.log(y))
)


def erfcinv(y):
    return tail(y) if y < 0.2 else -tail(2 - y) if y > 1.8 else mpmath.erfinv(1 - y)


def erfinv(x):
    return mpmath.erfinv(x) if abs(x) < 0.8 else mpmath.sign(x) * tail(1 - abs(x))


def quantile(p):
    return -mpmath.sqrt(2) * erfcinv(2 * p)


FUNCTIONS = [
    Function("exp(x)", mpmath.exp, (*WIDE[1:-4], 709.0)),
    Function("expm1(x)", mpmath.expm1, (*WIDE[1:-4], 25.0, 709.0)),
    Function("log(x)", mpmath.log, ABOVE),
    Function("log2(x)", lambda x: mpmath.log(x, 2), ABOVE),
    Function("log10(x)", mpmath.log10, ABOVE),
    Function("log1p(x)", mpmath.log1p, (-1 + 2**-53, -0.5, -1e-9, *ABOVE)),
    Function("sqrt(x)", mpmath.sqrt, ABOVE),
    Function("cbrt(x)", lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), (-1e300, -8.0, -1e-100, 1e-100, 27.0, 1e300)),
    Function("sin(x)", mpmath.sin, TAME),
    Function("cos(x)", mpmath.cos, EVEN),
    Function("tan(x)", mpmath.tan, TAME),
    Function("arcsin(x)", mpmath.asin, UNIT),
    Function("arccos(x)", mpmath.acos, UNIT),
    Function("arctan(x)", mpmath.atan, (*WIDE[2:-3], 1e100)),
    Function("sinh(x)", mpmath.sinh, (-700.0, *TAME, 709.0)),
    Function("cosh(x)", mpmath.cosh, (-700.0, *EVEN, 709.0)),
    Function("tanh(x)", mpmath.tanh, (-350.0, *TAME, 350.0)),
    Function("arcsinh(x)", mpmath.asinh, WIDE),
    Function("arccosh(x)", mpmath.acosh, (1 + 1e-12, 1.001, 1.5, 2.1, 30.0, 1e9, 1e150, 1.7e308)),
    Function("arctanh(x)", mpmath.atanh, UNIT),
    Function("sigmoid(x)", sigmoid, (-745.0, *WIDE[3:-4], 700.0)),
    Function("logsigmoid(x)", lambda x: -softplus(-x), (*WIDE[1:-4], 700.0)),
    Function("softplus(x)", softplus, (-740.0, *WIDE[3:-4], 1000.0, 1e300)),
    Function("logsumexp([x, 0])", lambda x: logsumexp(x, mpmath.mpf(0)), (-700.0, *WIDE[3:-4], 1000.0)),
    Function("logsumexp([x, y, 1])", lambda x, y: logsumexp(x, y, mpmath.mpf(1)), PAIRS[:3], "xy"),
    Function("logaddexp(x, y)", logsumexp, PAIRS[:4], "xy"),
    Function(
        "hypot(x, y)", mpmath.hypot, ((3.0, 4.0), (1e200, 1e200), (1e-200, 2e-200), (-5e150, 1.0), (1.0, 1e8)), "xy"
    ),
    Function("arctan2(x, y)", mpmath.atan2, ((1.0, 2.0), (-1e200, 1e200), (1e-160, -1e-160), (5.0, 1e9)), "xy"),
    Function("log(ndtr(x))", log_normal, (-37.0, -10.0, -1.0, 0.1, 3.0)),
    Function("log_ndtr(x)", log_normal, (-1e4, -37.0, -10.0, -1.0, -1e-9, 0.1, 3.0, 8.0)),
    Function("ndtr(x)", normal, (-37.0, -10.0, -1.0, -1e-9, 0.1, 3.0, 8.0)),
    Function("ndtri(x)", quantile, SHARE),
    Function("erf(x)", mpmath.erf, (-5.0, *TAME[2:-2], 5.5)),
    Function("erfc(x)", mpmath.erfc, (-5.0, *TAME[2:-2], 8.0, 26.0)),
    Function("erfcx(x)", lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (-20.0, -1.0, -1e-9, 0.3, 2.0, 30.0)),
    Function("erfinv(x)", erfinv, UNIT[1:-1]),
    Function("gamma(x)", mpmath.gamma, (-10.3, -1.5, 1e-100, 1e-5, 0.4, 1.2, 2.7, 12.0, 100.5, 170.0)),
    Function("gammaln(x)", mpmath.loggamma, (1e-300, 1e-5, 0.4, 1.2, 2.7, 12.0, 100.5, 1e10, 1e300)),
    Function("digamma(x)", mpmath.digamma, (-10.3, -1.4, 1e-100, 1e-5, 0.4, 1.2, 2.7, 12.0, 100.5, 1e10)),
    Function("polygamma(2, x)", lambda x: mpmath.psi(2, x), (-1.3, 1e-5, 0.4, 1.2, 2.7, 12.0, 100.5)),
    Function("beta(x, y)", mpmath.beta, ((0.3, 2.5), (12.0, 30.0), (1e-5, 2.0), (300.0, 2.0)), "xy"),
    Function(
        "betaln(x, y)",
        lambda x, y: mpmath.log(mpmath.beta(x, y)),
        ((0.3, 2.5), (12.0, 30.0), (1e-5, 2.0), (1e5, 2.0), (500.0, 600.0)),
        "xy",
    ),
    Function("sinc(x)", mpmath.sincpi, (1e-100, 1e-9, 1e-3, 0.2, 0.5, 1.3, 7.7, 100.3)),
    Function("spherical_bessel_j0(x)", mpmath.sinc, (1e-100, 1e-9, 1e-3, 0.2, 0.5, 1.3, 7.7, 100.3)),
    Function(
        "softmax([x, y, 0])[0]",
        lambda x, y: mpmath.exp(x) / (mpmath.exp(x) + mpmath.exp(y) + 1),
        ((1.5, -0.7), (-300.0, 2.0), (30.0, -4.0), (700.0, 1.0)),
        "xy",
    ),
    Function(
        "log_softmax([x, y])[0]",
        lambda x, y: -softplus(y - x),
        ((1.5, -0.7), (-300.0, 2.0), (30.0, -4.0), (700.0, 1.0)),
        "xy",
    ),
    Function("norm([x, y])", mpmath.hypot, ((3.0, 4.0), (1e200, 1e200), (1e-200, 2e-200), (1.0, 1e8)), "xy"),
    Function("x^2 - y^2", lambda x, y: x**2 - y**2, ((3.0, 4.0), (1e150, 1e140), (1e-150, 2e-150)), "xy"),
    Function(
        "(x - y) * (x + y)", lambda x, y: x**2 - y**2, ((1.0, 1 + 1e-12), (3e100, 3e100 + 1e88), (1e-100, 2e-100)), "xy"
    ),
    Function("x^y", mpmath.power, ((2.0, 0.5), (1e-300, 0.01), (10.0, -300.0), (1 + 1e-12, 1e12)), "xy"),
    Function("x^3 + 1/x^2", lambda x: x**3 + 1 / x**2, (-1e90, -2.0, 1e-80, 0.7, 1e100)),
    Function("xlogy(x, y)", lambda x, y: x * mpmath.log(y), ((0.3, 2.0), (1e-300, 1e-300), (2.0, 1e300)), "xy"),
    Function("xlog1py(x, y)", lambda x, y: x * mpmath.log1p(y), ((0.3, 2.0), (3.0, 1e-17), (2.0, 1e300)), "xy"),
    Function("entr(x)", lambda x: -x * mpmath.log(x), (1e-300, 1e-5, 0.3, 0.5, 2.0, 1e300)),
    Function(
        "kl_div(x, y)",
        lambda x, y: x * mpmath.log(x / y) - x + y,
        ((0.3, 2.0), (1.0, 1 + 1e-9), (2.0, 1.9), (1e100, 1e90)),
        "xy",
    ),
    Function("exprel(x)", lambda x: mpmath.expm1(x) / x, (-700.0, -20.0, -1.0, -1e-9, 1e-300, 0.3, 1.9, 2.1, 600.0)),
    Function("cosm1(x)", lambda x: -2 * mpmath.sin(x / 2) ** 2, (-3.0, -1e-9, 1e-100, 0.3, 2.0, 6.0)),
    Function(
        "powm1(x, y)", lambda x, y: mpmath.expm1(y * mpmath.log(x)), ((2.0, 0.5), (1.5, 1e-17), (3.0, 100.0)), "xy"
    ),
    Function(
        "boxcox(x, y)",
        lambda x, y: mpmath.expm1(y * mpmath.log(x)) / y,
        ((2.0, 0.5), (1.5, 1e-17), (1e-300, 0.1), (3.0, -2.0)),
        "xy",
    ),
    Function("binom(x, y)", mpmath.binomial, ((5.0, 2.5), (-20.25, 3.5), (300.5, 40.25), (7.25, 120.5)), "xy"),
    Function("poch(x, y)", mpmath.rf, ((5.0, 2.5), (-20.25, 3.5), (1e8, 0.3), (1e4, -20.25)), "xy"),
    Function("logit(x)", lambda x: mpmath.log(x / (1 - x)), SHARE[:5]),
    Function("gelu(x)", lambda x: x * normal(x), (-30.0, -5.0, -1.5, -1e-9, 0.3, 2.0, 50.0)),
    Function("silu(x)", lambda x: x * sigmoid(x), (-700.0, -20.0, -2.0, -1e-9, 0.3, 2.0, 800.0)),
    Function("mish(x)", lambda x: x * mpmath.tanh(softplus(x)), (-300.0, -20.0, -2.0, -1e-9, 0.3, 2.0, 300.0)),
    Function("tanhshrink(x)", lambda x: x - mpmath.tanh(x), (-300.0, -1.5, -0.9, -1e-5, 1e-90, 0.3, 2.0, 300.0)),
    Function("softsign(x)", lambda x: x / (1 + abs(x)), (-1e140, -3.0, -1e-300, 1e-8, 0.5, 1e140)),
    Function("elu(x)", lambda x: x if x > 0 else mpmath.expm1(x), (-700.0, -1.0, -1e-17, 1e-17, 2.0)),
    Function(
        "var([x, y, 1e8])",
        lambda x, y: variance(x, y, mpmath.mpf(10) ** 8),
        ((1e8 + 1, 1e8 - 1), (0.5, 3.0), (-1e8, 1e-8)),
        "xy",
    ),
]


def variance(*xs):
    mean = sum(xs) / len(xs)
    return sum((x - mean) ** 2 for x in xs) / len(xs)


def exact_results(function: Function, at: tuple[float, ...]) -> list:
    """Return value and derivatives in 50 digits. Derivatives are central differences, computed in 400 digits."""
    with mp.workdps(400):
        xs = [mpmath.mpf(x) for x in at]
        value, slopes = function.exact(*xs), []
        for i, x in enumerate(xs):
            step = abs(x) * mpmath.mpf(10) ** -40
            above, below = ([*xs[:i], x + sign * step, *xs[i + 1 :]] for sign in (1, -1))
            slopes.append((function.exact(*above) - function.exact(*below)) / (2 * step))
        return [+mpmath.re(x) for x in (value, *slopes)]
