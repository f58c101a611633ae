"""Functions of scipy.special: elliptic integrals, transforms, robust losses, binomials, inverses, polynomials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import hypot_slope
from .scipy_special import betainc_slope, exp_over, gamma, kummer, log_ratio, spherical
from .shapes import as_floats, as_int, as_operand_array, in_floats_of
from .special import (
    PROBABILITY,
    TWO_OVER_SQRT_PI,
    digamma,
    from_scipy,
    gamma_density,
    gammaln,
    of_order,
    scipy_function,
)
from .table import POSITIVE, A, Sample, internal, numpy_function, real_elementwise, rule
from .transcendental import positive

SMALL_DOMAIN = (-0.8, 0.8)


hyp2f1 = from_scipy("hyp2f1")


def gauss_forward(x, *, a, b, c):
    return hyp2f1(a, b, c, x).astype(x.dtype)


# With Gauss's function, derivatives of elliptic integrals are computed without cancellation near 0.
gauss: Any = internal.elementwise(
    gauss_forward,
    lambda _, x, *, a, b, c: a * b / c * gauss(x, a=a + 1, b=b + 1, c=c + 1),
    name="gauss",
    domain=(SMALL_DOMAIN,),
    samples=(Sample(A(3, 4), a=0.5, b=1.5, c=2.0), Sample(A(3), a=1.5, b=1.5, c=2.0)),
)


def near_zero(x, series, formula, within=0.5):
    """series(x) for |x| < within, and formula(x) elsewhere."""
    near = abs(x) < within
    return np.where(near, series(np.where(near, x, 0.0)), formula(np.where(near, within, x)))


ellipk: Any = scipy_function(
    "ellipk",
    lambda _, x: near_zero(
        x, lambda m: math.pi / 8 * gauss(m, a=1.5, b=1.5, c=2.0), lambda m: (ellipe(m) / (1 - m) - ellipk(m)) / (2 * m)
    ),
    slope="(ellipe(x) / (1 - x) - ellipk(x)) / (2 * x)",
    domain=(SMALL_DOMAIN,),
    twin="elliptic_k(x)",
    doc="Complete elliptic integral of the first kind, of the parameter m = k^2.",
)
ellipe: Any = scipy_function(
    "ellipe",
    lambda _, x: near_zero(
        x, lambda m: -math.pi / 8 * gauss(m, a=0.5, b=1.5, c=2.0), lambda m: (ellipe(m) - ellipk(m)) / (2 * m)
    ),
    slope="(ellipe(x) - ellipk(x)) / (2 * x)",
    domain=(SMALL_DOMAIN,),
    twin="elliptic_e(x)",
    doc="Complete elliptic integral of the second kind, of the parameter m = k^2.",
)


# -- exponentials ---------------------------------

scipy_function(
    "erfi", lambda _, x: TWO_OVER_SQRT_PI * np.exp(x * x), twin="erfi(x)", doc="Imaginary error function -i erf(i x)."
)


def exprel_slope(x):
    """The slope of (exp(x) - 1) / x: M(2, 3, x) / 2 near 0. DLMF 13.3.15."""
    return near_zero(
        x, lambda t: 0.5 * kummer(t, a=2.0, b=3.0), lambda t: exp_over(t) * (1 - 1 / t) + 1 / t / t, within=2.0
    )


scipy_function(
    "exprel",
    lambda _, x: exprel_slope(x),
    slope="(exp(x) - exprel(x)) / x",
    twin="Piecewise((1, Eq(x, 0)), ((exp(x) - 1) / x, True))",
    doc="(exp(x) - 1) / x, and 1 at 0.",
)


scipy_function("cosm1", lambda _, x: -np.sin(x), twin="cos(x) - 1", doc="cos(x) - 1, accurate near 0.")
scipy_function(
    "powm1",
    rule("y * x**(y - 1)", lambda _, x, y: y * x ** (y - 1)),
    rule("x**y * log(x)", lambda _, x, y: x**y * np.log(x)),
    domain=(POSITIVE, (-2.0, 2.0)),
    twin="x**y - 1",
    doc="x**y - 1, accurate near 0.",
)


def lambertw_forward(x):
    """The real solution w >= -1 of w exp(w) = x; nan below -1/e."""
    import scipy.special

    x = as_floats(as_operand_array(x))
    with np.errstate(invalid="ignore"):
        return np.where(x < -math.exp(-1), np.nan, scipy.special.lambertw(x.astype(float)).real).astype(x.dtype)


real_elementwise(
    lambertw_forward,
    lambda out, _: np.exp(-out) / (1 + out),
    name="lambertw",
    domain=((-0.3, 4.0),),
    twin="LambertW(x)",
    doc="Lambert's W function: the solution w of w exp(w) = x, on its real principal branch.",
)


# -- Box-Cox transforms and robust losses ---------------------------------


def power_ratio_slope(logarithm, y):
    """The slope of (x^y - 1) / y in y, for the logarithm of x."""
    return logarithm * logarithm * exprel_slope(y * logarithm)


scipy_function(
    "boxcox",
    rule("x**(y - 1)", lambda _, x, y: positive(x) ** (y - 1)),
    rule("(x**y * (y log(x) - 1) + 1) / y**2", lambda _, x, y: power_ratio_slope(np.log(x), y)),
    domain=(POSITIVE, (-2.0, 2.0)),
    twin="Piecewise((log(x), Eq(y, 0)), ((x**y - 1) / y, True))",
    doc="Box-Cox transform (x^y - 1) / y, and log(x) for y = 0.",
)
scipy_function(
    "boxcox1p",
    rule("(1 + x)**(y - 1)", lambda _, x, y: positive(1 + x) ** (y - 1)),
    rule("((1 + x)**y * (y log(1 + x) - 1) + 1) / y**2", lambda _, x, y: power_ratio_slope(np.log1p(x), y)),
    domain=((-0.8, 3.0), (-2.0, 2.0)),
    twin="Piecewise((log(1 + x), Eq(y, 0)), (((1 + x)**y - 1) / y, True))",
    doc="Box-Cox transform of 1 + x.",
)
scipy_function(
    "inv_boxcox",
    rule(
        "(x y + 1)**(1 / y - 1), and exp(x) for y = 0",
        lambda out, x, y: np.where(y == 0, out, positive(x * y + 1) ** (1 / np.where(y == 0, 1.0, y) - 1)),
    ),
    rule("out * (x / (y (x y + 1)) - log(x y + 1) / y**2)", lambda out, x, y: -out * x * x * log_ratio(x * y + 1, n=1)),
    domain=((0.2, 1.5), (0.2, 1.5)),
    twin="Piecewise((exp(x), Eq(y, 0)), ((x * y + 1)**(1 / y), True))",
    doc="Inverse of the Box-Cox transform: (x y + 1)^(1/y), and exp(x) for y = 0.",
)


def clipped(delta, residual):
    return np.minimum(np.maximum(residual, -delta), delta)


scipy_function(
    "huber",
    rule("|y| - x where |y| > x, else 0", lambda _, x, y: np.maximum(abs(y) - x, 0.0)),
    rule("y limited to [-x, x]", lambda _, x, y: clipped(x, y)),
    domain=((1.0, 1.5), (1.6, 3.0)),
    twin="Piecewise((y**2 / 2, abs(y) <= x), (x * (abs(y) - x / 2), True))",
    doc="Huber loss of the residual y: y^2 / 2 up to |y| = x, and linear beyond.",
)


def pseudo_huber(x, y):
    """x^2 (s - 1) for s = sqrt(1 + (y / x)^2), as a product."""
    ratio = y / x
    return x * y * (ratio / (1 + np.hypot(ratio, 1.0)))


def pseudo_huber_dx(_, x, y):
    """x (y / x)^4 / (s (1 + s)^2) for s = sqrt(1 + (y / x)^2)."""
    ratio = y / x
    s = np.hypot(ratio, 1.0)
    return x * (ratio / s) * (ratio / (1 + s)) ** 2 * ratio


real_elementwise(
    pseudo_huber,
    pseudo_huber_dx,
    rule("y / sqrt(1 + (y / x)^2)", lambda _, x, y: x * hypot_slope(y / x, 1.0)),
    domain=((0.5, 1.5), (-3.0, 3.0)),
    twin="x**2 * (sqrt(1 + (y / x)**2) - 1)",
    doc="Smooth Huber loss of the residual y: x^2 (sqrt(1 + (y / x)^2) - 1).",
)


# -- binomials ---------------------------------


@numpy_function(Sample(A(3, 4)), Sample(A()), domain=(POSITIVE,), doc="Factorial, for real numbers gamma(x + 1).")
def factorial(x):
    return gamma(as_floats(as_operand_array(x)) + 1.0)


scipy_function(
    "binom",
    rule("out * (digamma(x + 1) - digamma(x - y + 1))", lambda out, x, y: out * (digamma(x + 1) - digamma(x - y + 1))),
    rule("out * (digamma(x - y + 1) - digamma(y + 1))", lambda out, x, y: out * (digamma(x - y + 1) - digamma(y + 1))),
    aliases=("comb",),
    domain=((3.0, 6.0), (0.3, 2.5)),
    twin="gamma(x + 1) / (gamma(y + 1) * gamma(x - y + 1))",
    doc="Binomial coefficient: the number of ways to choose y of x things; also for real numbers.",
)
scipy_function(
    "poch",
    rule("out * (digamma(x + y) - digamma(x))", lambda out, x, y: out * (digamma(x + y) - digamma(x))),
    rule("out * digamma(x + y)", lambda out, x, y: out * digamma(x + y)),
    domain=(POSITIVE, POSITIVE),
    twin="gamma(x + y) / gamma(x)",
    doc="Pochhammer's symbol: the rising factorial gamma(x + y) / gamma(x).",
)


# -- distribution functions and inverses ---------------------------------

of_order(
    "betaincc",
    lambda _, x, *, order: -betainc_slope(None, x, order=order),
    "Complement 1 - betainc(a, b, x).",
    {"a": 1.5, "b": 2.5},
    PROBABILITY,
    twin="betainc_regularized(a, b, x, 1)",
)


def inverse_slope(density: Any, sign: float, formula: str) -> Any:
    """Return the slope of the inverse of a distribution function with a density."""

    def slope(out, _x, *, order):
        return sign / density(None, out, order=order)

    slope.__doc__ = formula
    return slope


of_order(
    "gammaincinv",
    inverse_slope(gamma_density, 1.0, "gamma(a) * exp(gammaincinv(a, x)) * gammaincinv(a, x) ** (1 - a)."),
    "Inverse of gammainc(a, x).",
    {"a": 2.5},
    PROBABILITY,
)
of_order(
    "gammainccinv",
    inverse_slope(gamma_density, -1.0, "-gamma(a) * exp(gammainccinv(a, x)) * gammainccinv(a, x) ** (1 - a)."),
    "Inverse of gammaincc(a, x).",
    {"a": 2.5},
    PROBABILITY,
)
of_order(
    "betaincinv",
    inverse_slope(
        betainc_slope, 1.0, "beta(a, b) * betaincinv(a, b, x) ** (1 - a) * (1 - betaincinv(a, b, x)) ** (1 - b)."
    ),
    "Inverse of betainc(a, b, x).",
    {"a": 1.5, "b": 2.5},
    PROBABILITY,
)


def student_density(_, x, *, order):
    """Density of Student's t distribution with n degrees of freedom."""
    (n,) = (in_floats_of(x, k) for k in order)
    log_scale = gammaln((n + 1) / 2) - gammaln(n / 2) - 0.5 * np.log(n * math.pi)
    return np.exp(log_scale - (n + 1) / 2 * np.log1p(x * x / n))


of_order(
    "stdtr",
    student_density,
    "Distribution function of Student's t distribution with n degrees of freedom.",
    {"n": 3.5},
    (-3.0, 3.0),
)


# -- families of integer order ---------------------------------


@numpy_function(
    Sample(2, A(3, 4)),
    Sample(0, A()),
    rounds=lambda n, x: as_int(n),
    doc="Spherical Bessel function j of order n at x.",
)
def spherical_jn(n, x):
    n = as_int(n)
    if n < 0:
        raise ValueError(f"spherical_jn: the order must not be negative, got {n}")
    return spherical(as_floats(as_operand_array(x)), n=n, k=0, turns=False)


def orthogonal(name: str, first: Any, following: Any, doc: str) -> None:
    """Add a family of polynomials. first(x): that of degree 1; following(k, x, p, before): that of degree k + 1."""

    def function(n, x):
        n, x = as_int(n), as_floats(as_operand_array(x))
        if n < 0:
            raise ValueError(f"{name}: the degree must not be negative, got {n}")
        before, p = x * 0.0 + 1.0, first(x)
        for k in range(1, n):
            before, p = p, following(k, x, p, before)
        return p if n else before

    function.__name__ = name
    samples = (Sample(3, A(3, 4)), Sample(0, A(3)), Sample(1, A()))
    numpy_function(*samples, rounds=lambda n, x: as_int(n), domain=((-0.95, 0.95),), name=name, doc=doc)(function)


orthogonal(
    "eval_legendre",
    lambda x: x * 1.0,
    lambda k, x, p, before: ((2 * k + 1) * x * p - k * before) / (k + 1),
    "Legendre polynomial of degree n at x.",
)
orthogonal(
    "eval_chebyt",
    lambda x: x * 1.0,
    lambda _k, x, p, before: 2 * x * p - before,
    "Chebyshev polynomial of the first kind, of degree n, at x.",
)
orthogonal(
    "eval_chebyu",
    lambda x: 2 * x,
    lambda _k, x, p, before: 2 * x * p - before,
    "Chebyshev polynomial of the second kind, of degree n, at x.",
)
orthogonal(
    "eval_hermite",
    lambda x: 2 * x,
    lambda k, x, p, before: 2 * x * p - 2 * k * before,
    "Hermite polynomial of degree n at x, as in physics.",
)
orthogonal(
    "eval_hermitenorm",
    lambda x: x * 1.0,
    lambda k, x, p, before: x * p - k * before,
    "Hermite polynomial of degree n at x, as in probability theory.",
)
orthogonal(
    "eval_laguerre",
    lambda x: 1 - x,
    lambda k, x, p, before: ((2 * k + 1 - x) * p - k * before) / (k + 1),
    "Laguerre polynomial of degree n at x.",
)
