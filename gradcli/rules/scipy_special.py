"""Functions of scipy.special that PyTorch lacks, under scipy's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .shapes import in_floats_of
from .special import PROBABILITY, digamma, exp_square, from_scipy, half_turns, kummer, scipy_function
from .table import POSITIVE, A, Sample, real_elementwise
from .transcendental import positive

# -- functions of one operand --------------------------------------------------------------------


def rgamma_slope(x):
    """-digamma(x) / gamma(x), which has a value at 0, -1, ...; left of 1/2 by reflection. DLMF 5.5.3."""
    left = x < 0.5
    below, above = np.where(left, x, 0.0), np.where(left, 1.0, x)
    sine, cosine = half_turns(below)
    reflected = gamma(1 - below) * (cosine - digamma(1 - below) * sine / math.pi)
    return np.where(left, reflected, -digamma(above) * rgamma(above))


def log_ratio_forward(x, *, n):
    """n-th derivative of log(1 - t) / -t at t = 1 - x: a hypergeometric series near 0, elsewhere by recurrence."""
    import scipy.special

    t = 1 - x
    near = abs(t) < 0.5
    inside = np.where(near, t, 0.0)
    series = math.factorial(n) / (n + 1) * scipy.special.hyp2f1(n + 1, n + 1, n + 2, inside)
    t, away = np.where(near, 1.0, t), np.where(near, 2.0, x)
    ratio = -np.log(away) / t
    for k in range(1, n + 1):
        ratio = (math.factorial(k - 1) / away**k - k * ratio) / t
    return np.where(near, series, ratio).astype(x.dtype)


log_ratio: Any = real_elementwise(
    log_ratio_forward,
    lambda _, x, *, n: -log_ratio(x, n=n + 1),
    name="log_ratio",
    bind=lambda x, n: ((x,), {"n": n}),
    public=False,
    domain=(POSITIVE,),
    samples=(Sample(A(3, 4), 0), Sample(A(3), 1)),
    doc="n-th derivative of -log(1 - t) / t at t = 1 - x.",
)

gamma: Any = scipy_function(
    "gamma", lambda out, x: out * digamma(x), domain=(POSITIVE,), twin="gamma(x)", doc="Gamma function."
)
rgamma: Any = scipy_function(
    "rgamma",
    lambda _, x: rgamma_slope(x),
    slope="-digamma(x) / gamma(x)",
    domain=(POSITIVE,),
    twin="1 / gamma(x)",
    doc="One over the gamma function.",
)
scipy_function(
    "erfcinv",
    lambda out, x: -0.5 * math.sqrt(math.pi) * exp_square(out, np.where(x < 1, x, 2 - x)),
    slope="-sqrt(pi) / 2 * exp(erfcinv(x)**2)",
    domain=(PROBABILITY,),
    twin="erfcinv(x)",
    doc="Inverse of the complementary error function.",
)
scipy_function("exp10", lambda out, _: out * math.log(10), twin="10**x", doc="10 to the power x.")
scipy_function(
    "exp1",
    lambda _, x: -np.exp(-x) / positive(x),
    slope="-exp(-x) / x",
    domain=(POSITIVE,),
    twin="expint(1, x)",
    doc="Exponential integral E1.",
)
exp_over: Any = real_elementwise(
    lambda x: np.exp(x) / x,
    lambda out, x: out * (1 - 1 / x),  # of out - out / x, both may be infinite
    name="exp_over",
    public=False,
    domain=(POSITIVE,),
    doc="exp(x) / x.",
)
scipy_function(
    "expi",
    lambda _, x: exp_over(x),
    slope="exp(x) / x",
    domain=(POSITIVE,),
    twin="Ei(x)",
    doc="Exponential integral Ei.",
)
scipy_function(
    "dawsn",
    lambda _, x: kummer(-x * x, a=1.0, b=0.5),
    slope="1 - 2 * x * dawsn(x)",
    twin="sqrt(pi) / 2 * exp(-x**2) * erfi(x)",
    doc="Dawson's integral.",
)
scipy_function(
    "spence",
    lambda _, x: -log_ratio(x, n=0),
    slope="log(x) / (1 - x)",
    domain=((1.3, 4.0),),
    twin="polylog(2, 1 - x)",
    doc="Spence's function.",
)
scipy_function(
    "gammasgn",
    0,
    domain=(POSITIVE,),
    twin="sign(gamma(x))",
    doc="Sign of the gamma function.",
    subgradient="0 everywhere",
)


# -- functions of an order or of shapes that are not differentiated ------------------------------


def of_order(
    name: str, slope: Any, doc: str, twin: str, orders: tuple, domain: Any = POSITIVE, function: Any = None
) -> Any:
    """Enter a function of x, the last of its operands: of scipy's unless given."""
    function, count = function or from_scipy(name), len(orders)

    def bind(*operands):
        if len(operands) != count + 1:
            raise TypeError(f"{name}() takes {count + 1} operands, {len(operands)} given")
        if any(getattr(x, "requires_grad", False) for x in operands[:count]):
            raise RuntimeError(f"{name} has a derivative with respect to its last operand only")
        return operands[count:], {"order": tuple(getattr(x, "_data", x) for x in operands[:count])}

    return real_elementwise(
        lambda x, *, order: function(*(in_floats_of(x, n) for n in order), x),
        slope,
        name=name,
        bind=bind,
        domain=(domain,),
        samples=(Sample(*orders, A(3, 4)), Sample(*(np.array([n, n + 1]) for n in orders), A(3, 2))),
        scipy="yn" if name == "yv" else "",
        twin=twin,
        doc=doc,
    )


def betainc_slope(_, x, *, order):
    """x ** (a - 1) * (1 - x) ** (b - 1) / beta(a, b)."""
    a, b = (in_floats_of(x, n) for n in order)
    return np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - from_scipy("betaln")(a, b))


of_order(
    "betainc",
    betainc_slope,
    "Regularised incomplete beta function of shapes a and b at x.",
    "betainc_regularized(a, b, 0, x)",
    (1.5, 2.5),
    PROBABILITY,
)


# -- functions of two operands -------------------------------------------------------------------


def log_beta_slope(_, x, y):
    """digamma(x) - digamma(x + y)."""
    return digamma(x) - digamma(x + y)


scipy_function(
    "betaln",
    log_beta_slope,
    lambda out, x, y: log_beta_slope(out, y, x),
    domain=(POSITIVE, POSITIVE),
    twin="loggamma(x) + loggamma(y) - loggamma(x + y)",
    doc="Logarithm of the beta function.",
)
scipy_function(
    "beta",
    lambda out, x, y: out * log_beta_slope(None, x, y),
    lambda out, x, y: out * log_beta_slope(None, y, x),
    domain=(POSITIVE, POSITIVE),
    twin="gamma(x) * gamma(y) / gamma(x + y)",
    doc="Beta function.",
)
scipy_function(
    "rel_entr",
    lambda _, x, y: np.log(x / y) + 1,
    lambda _, x, y: -x / y,
    domain=(POSITIVE, POSITIVE),
    twin="x * log(x / y)",
    doc="Relative entropy x log(x / y).",
)


def divergence(x, y):
    """x log(x / y) - x + y; where x is near y by the series of (1 + z) log(1 + z) - z. DLMF 15.4.1."""
    z = (x - y) / y
    near = abs(z) < 0.5
    inside = np.where(near, z, 0.0)
    series = 0.5 * (x - y) * inside * from_scipy("hyp2f1")(1.0, 1.0, 3.0, -inside)
    return np.where(near, series, from_scipy("kl_div")(x, y))


real_elementwise(
    divergence,
    lambda _, x, y: np.log(x / y),
    lambda _, x, y: 1 - x / y,
    name="kl_div",
    domain=(POSITIVE, POSITIVE),
    twin="x * log(x / y) - x + y",
    doc="Divergence x log(x / y) - x + y.",
)
