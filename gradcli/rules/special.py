"""Special functions; their values come from scipy.special, imported when the first one is computed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .shapes import as_array, as_floats, in_floats_of
from .table import POSITIVE, A, Primitive, Sample, elementwise, internal, numpy_function, real_elementwise, rule

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
SQRT_2PI = math.sqrt(2 * math.pi)
SQRT_HALF = math.sqrt(0.5)
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
PROBABILITY = (0.05, 0.95)


def from_scipy(name):
    """Return scipy.special's function of that name, imported at its first call."""

    def function(*operands):
        import scipy.special

        arrays = [as_floats(x) for x in operands]
        types = [x.dtype for x in arrays if hasattr(x, "dtype")]
        kind = types[0] if types else np.dtype(float)  # scipy takes Python floats for float64
        out = getattr(scipy.special, name)(*(x if hasattr(x, "dtype") else kind.type(x) for x in arrays))
        return out.astype(np.float16) if types and all(kind == np.float16 for kind in types) else out

    function.__name__ = name
    return function


def scipy_function(name: str, *slopes: Any, scipy: str = "", **options: Any) -> Primitive:
    """Enter scipy.special's function of that name for real numbers; scipy: its name there, where that is another."""
    return real_elementwise(from_scipy(scipy or name), *slopes, name=name, scipy=scipy, **options)


# -- the error function and the normal distribution -----------------------------------------------

elementwise(from_scipy("erf"), lambda _, x: TWO_OVER_SQRT_PI * np.exp(-x * x), twin="erf(x)", doc="Error function.")
erfc = elementwise(
    from_scipy("erfc"),
    lambda _, x: -TWO_OVER_SQRT_PI * np.exp(-x * x),
    twin="erfc(x)",
    doc="Complementary error function 1 - erf(x), accurate for large x.",
)


def ierfcx_forward(x, *, n):
    """exp(x^2) i^n erfc(x): forward recurrence where it is stable, else Gauss's continued fraction. DLMF 7.18.7."""
    far = x > 2
    inside, outside = np.where(far, 0.0, x), np.where(far, x, 2.0)
    before, here = TWO_OVER_SQRT_PI, erfcx.forward(inside)
    for k in range(1, n + 1):
        before, here = here, (before - 2 * inside * here) / (2 * k)
    ratio: Any = 0.0
    product = erfcx.forward(outside)
    for k in range(n + 60, 0, -1):
        ratio = 1 / (2 * outside + 2 * (k + 1) * ratio)
        if k <= n:
            product = product * ratio
    return np.where(far, product, here).astype(x.dtype)


ierfcx: Primitive = internal.elementwise(
    ierfcx_forward,
    lambda _, x, *, n: -2 * (n + 1) * ierfcx(x, n=n + 1),
    name="ierfcx",
    bind=lambda x, n: ((x,), {"n": n}),
    samples=(Sample(A(3, 4), 1), Sample(A(3), 2)),
    doc="exp(x^2) times the n-th repeated integral of erfc.",
)
erfcx = scipy_function(
    "erfcx",
    lambda _, x: -2 * ierfcx(x, n=1),
    slope="2 * x * erfcx(x) - 2 / sqrt(pi)",
    twin="exp(x**2) * erfc(x)",
    doc="Scaled complementary error function exp(x^2) erfc(x).",
)


def exp_square_forward(out, tail):
    """exp(out^2) where erfc(|out|) = tail: of a large out, rounded, the exponential has fewer digits."""
    far = (abs(out) > 1) & (tail > 0)
    return np.where(far, erfcx.forward(abs(out)) / np.where(far, tail, 1.0), np.exp(out * out))


exp_square: Primitive = internal.elementwise(
    exp_square_forward,
    lambda slope, out, _: 2 * out * slope,
    0,
    name="exp_square",
    samples=(),
    doc="exp(out^2) where erfc(|out|) = tail.",
)


erfinv: Primitive = scipy_function(
    "erfinv",
    lambda _, x: 0.5 * math.sqrt(math.pi) * exp_square(erfinv(x), 1 - abs(x)),
    slope="sqrt(pi) / 2 * exp(erfinv(x)**2)",
    domain=((-0.9, 0.9),),
    twin="erfinv(x)",
    doc="Inverse of the error function.",
)
scipy_function(
    "ndtr",
    lambda _, x: np.exp(-x * x / 2) / SQRT_2PI,
    twin="erfc(-x / sqrt(2)) / 2",
    doc="Distribution function of the standard normal distribution.",
)
scipy_function(
    "ndtri",
    lambda out, x: SQRT_2PI * exp_square(SQRT_HALF * out, 2 * np.where(x < 0.5, x, 1 - x)),
    slope="sqrt(2 * pi) * exp(ndtri(x)**2 / 2)",
    domain=(PROBABILITY,),
    twin="sqrt(2) * erfinv(2 * x - 1)",
    doc="Inverse of the standard normal distribution function.",
)


def hazard_excess_forward(x, *, n):
    """n-th derivative of u = x + hazard(x), by Taylor coefficients: of Laplace's continued fraction in the tail
    (DLMF 7.9.3: u = 1 / (-x + 2 / (-x + 3 / ...))), else from u' = 1 + x u - u^2."""
    far = x < -1.5
    s, near = np.where(far, -x, 1.5), np.where(far, 0.0, x)
    fraction: list[Any] = [0.0 * s] * (n + 1)
    for k in range(100, 0, -1):
        below = [(k + 1) * part for part in fraction]
        below[0] = below[0] + s
        below[1:2] = [part - 1 for part in below[1:2]]
        fraction = [1 / below[0]]
        for m in range(1, n + 1):
            fraction.append(-fraction[0] * sum(below[i] * fraction[m - i] for i in range(1, m + 1)))
    u = [near + hazard.forward(near)]
    for m in range(n):
        change = near * u[m] + (u[m - 1] if m else 1.0) - sum(u[i] * u[m - i] for i in range(m + 1))
        u.append(change / (m + 1))
    return (math.factorial(n) * np.where(far, fraction[n], u[n])).astype(x.dtype)


hazard_excess: Primitive = internal.elementwise(
    hazard_excess_forward,
    lambda _, x, *, n: hazard_excess(x, n=n + 1),
    name="hazard_excess",
    bind=lambda x, n: ((x,), {"n": n}),
    domain=((-3.0, 0.0),),
    samples=(Sample(A(3, 4), 0), Sample(A(3), 1)),
    doc="n-th derivative of x + normal_hazard(x), for x up to 0.",
)


hazard = internal.elementwise(
    lambda x: SQRT_2_OVER_PI / erfcx(-SQRT_HALF * x),
    rule(
        "-out (x + out); in the lower tail, where x and out cancel, by the slope of their sum",
        lambda out, x: np.where(x < 0, hazard_excess(np.where(x < 0, x, 0.0), n=1) - 1, -out * (x + out)),
    ),
    name="normal_hazard",
    doc="Density over distribution function of the standard normal distribution.",
)
scipy_function(
    "log_ndtr",
    lambda _, x: hazard(x),
    slope="exp(-(x**2) / 2 - log_ndtr(x)) / sqrt(2 * pi)",
    twin="log(erfc(-x / sqrt(2)) / 2)",
    doc="Logarithm of the standard normal distribution function, accurate in the lower tail.",
)


def half_turns(x):
    """sin(pi x) and cos(pi x), which keep their digits where x is large."""
    whole = np.rint(x.real)
    sign = 1 - 2 * (whole % 2)
    return sign * np.sin(math.pi * (x - whole)), sign * np.cos(math.pi * (x - whole))


# With Kummer's function, derivatives of scaled functions do not cancel.
hyp1f1 = from_scipy("hyp1f1")
kummer: Primitive = internal.elementwise(
    lambda x, *, a, b: hyp1f1(a, b, x),
    lambda _, x, *, a, b: a / b * kummer(x, a=a + 1, b=b + 1),
    name="kummer",
    bind=lambda x, a, b: ((x,), {"a": a, "b": b}),
    samples=(Sample(A(3, 4), 1.5, 2.0), Sample(A(3), 1.0, 0.5)),
    doc="Kummer's confluent hypergeometric function M(a, b, x).",
)

# -- the gamma function ---------------------------------------------------------------------------


def polygamma_signature(n, x):
    """Bind polygamma(order, x); the order is not differentiated."""
    order = int(n)
    if order != n or order < 0:
        raise ValueError(f"polygamma: the order must be a non-negative integer, not {n!r}")
    return (x,), {"n": order}


def polygamma_forward(x, *, n):
    import scipy.special

    x = as_floats(as_array(x))
    return scipy.special.polygamma(n, x).astype(x.dtype) if n else digamma(x)


polygamma: Any = real_elementwise(
    polygamma_forward,
    rule("The next order", lambda _, x, *, n: polygamma(x, n=n + 1)),
    name="polygamma",
    bind=polygamma_signature,
    domain=(POSITIVE,),
    samples=(Sample(1, A(3, 4)), Sample(2, A(3)), Sample(0, A(3))),
    twin="polygamma(n, x)",
    doc="n-th derivative of digamma at x.",
)
digamma = scipy_function(
    "digamma",
    lambda _, x: polygamma(x, n=1),
    slope="polygamma(1, x)",
    aliases=("psi",),
    domain=(POSITIVE,),
    twin="polygamma(0, x)",
    doc="Logarithmic derivative of the gamma function.",
)
gammaln = scipy_function(
    "gammaln",
    lambda _, x: digamma(x),
    aliases=("lgamma",),
    node="Lgamma",
    domain=(POSITIVE,),
    twin="loggamma(x)",
    doc="Logarithm of |gamma(x)|.",
)


@numpy_function(
    Sample(A(3, 4), 3),
    Sample(A(), 1),
    aliases=("multigammaln",),
    rounds=lambda x, p: p,
    domain=((2.2, 5.0),),
    doc="Logarithm of the multivariate gamma function of dimension p.",
)
def mvlgamma(x, p):
    """p (p - 1) / 4 log(pi) + sum of lgamma(x - j/2) for j < p."""
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, not {p}")
    total = gammaln(x) + math.log(math.pi) * (p * (p - 1) / 4)
    return sum((gammaln(x - j / 2) for j in range(1, p)), total)


# -- functions of an order that is not differentiated ---------------------------------------------


def order_signature(name):
    """Return what binds name(order, x). Raises RuntimeError when the order requires grad, as in PyTorch."""

    def bind(a, x):
        if getattr(a, "requires_grad", False):
            raise RuntimeError(f"{name}: the derivative with respect to the first operand is not implemented")
        return (x,), {"a": getattr(a, "_data", a)}

    return bind


def gamma_density(_, x, *, a):
    """x ** (a - 1) * exp(-x) / gamma(a)."""
    a = in_floats_of(x, a)
    return np.exp((a - 1) * np.log(x) - x - gammaln(a))


def zeta_slope(_, x, *, a):
    """-a * zeta(a + 1, x)."""
    a = in_floats_of(x, a)
    return -a * zeta(x, a=a + 1)


ORDERED: list[tuple] = [
    (
        "gammainc",
        "igamma",
        gamma_density,
        "Regularised lower incomplete gamma function of order a at x.",
        "gammainc_regularized(a, x)",
    ),
    (
        "gammaincc",
        "igammac",
        lambda _, x, *, a: -gamma_density(None, x, a=a),
        "Regularised upper incomplete gamma function of order a at x.",
        "gammaincc_regularized(a, x)",
    ),
    ("zeta", None, zeta_slope, "Hurwitz zeta function: sum of 1 / (k + x)^a over k >= 0.", "zeta(a, x)"),
]
for name, alias, slope, doc, twin in ORDERED:
    entry = real_elementwise(
        lambda x, *, a, function=from_scipy(name): function(in_floats_of(x, a), x),
        slope,
        name=name,
        bind=order_signature(name),
        aliases=(alias,) if alias else (),
        domain=(POSITIVE,),
        samples=(Sample(2.5, A(3, 4)), Sample(np.array([1.5, 3.0]), A(3, 2)), Sample(1.5, A())),
        twin=twin,
        doc=doc,
    )
zeta = entry
