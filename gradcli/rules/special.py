"""Special functions, with values from scipy.special, which is imported at the first call."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .shapes import as_floats, as_operand_array, in_floats_of
from .table import POSITIVE, A, Primitive, Sample, elementwise, internal, numpy_function, real_elementwise, rule

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
SQRT_2PI = math.sqrt(2 * math.pi)
SQRT_HALF = math.sqrt(0.5)
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
PROBABILITY = (0.05, 0.95)


def from_scipy(name):
    """Return the function of scipy.special with this name, imported at its first call."""

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
    """Add a function of scipy.special, for real numbers. scipy: its name there; by default name after any "bessel_"."""
    short = scipy or name.rpartition("bessel_")[2]
    return real_elementwise(from_scipy(short), *slopes, name=name, scipy=short if short != name else "", **options)


scipy_positive = functools.partial(scipy_function, domain=(POSITIVE,))


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


ierfcx: Any = internal.elementwise(
    ierfcx_forward,
    lambda _, x, *, n: -2 * (n + 1) * ierfcx(x, n=n + 1),
    name="ierfcx",
    samples=(Sample(A(3, 4), n=1), Sample(A(3), n=2)),
)
erfcx = scipy_function(
    "erfcx",
    lambda _, x: -2 * ierfcx(x, n=1),
    slope="2 * x * erfcx(x) - 2 / sqrt(pi)",
    twin="exp(x**2) * erfc(x)",
    doc="Scaled complementary error function exp(x^2) erfc(x).",
)


def exp_square_forward(out, tail):
    """exp(out^2), given tail = erfc(|out|): for large out, which is rounded, exp(out * out) loses digits."""
    far = (abs(out) > 1) & (tail > 0)
    return np.where(far, erfcx.forward(abs(out)) / np.where(far, tail, 1.0), np.exp(out * out))


exp_square = internal.elementwise(
    exp_square_forward, lambda slope, out, _: 2 * out * slope, 0, name="exp_square", samples=()
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


def hazard_sum_slope(x):
    """The slope of x + hazard(x) for x <= 0, where the terms cancel: by repeated integrals of erfc, far out 1 / x^2."""
    far = x < -1e8
    z = -SQRT_HALF * np.where(far, -1.0, x)
    first, second = (ierfcx(z, n=n) / erfcx(z) for n in (1, 2))
    inverse = 1 / np.where(far, x, -1.0)
    return np.where(far, inverse * inverse, 4 * second - 2 * first * first)


hazard = internal.elementwise(
    lambda x: SQRT_2_OVER_PI / erfcx(-SQRT_HALF * x),
    rule(
        "-out (x + out); in the lower tail, where x and out cancel, by the slope of their sum",
        lambda out, x: np.where(x < 0, hazard_sum_slope(np.where(x < 0, x, 0.0)) - 1, -out * (x + out)),
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


# With Kummer's function, derivatives of scaled functions are computed without cancellation.
hyp1f1 = from_scipy("hyp1f1")


def kummer_forward(x, *, a, b):
    """M(a, b, x); where SciPy underflows, the first term of its asymptotic series. DLMF 13.7.2."""
    far = x < -1e18
    tail = math.gamma(b) / math.gamma(b - a) * np.where(far, -x, 1.0) ** -a
    return np.where(far, tail, hyp1f1(a, b, x)).astype(x.dtype)


kummer: Any = internal.elementwise(
    kummer_forward,
    lambda _, x, *, a, b: a / b * kummer(x, a=a + 1, b=b + 1),
    name="kummer",
    samples=(Sample(A(3, 4), a=1.5, b=2.0), Sample(A(3), a=1.0, b=0.5)),
)


def polygamma_signature(n, x):
    """Bind polygamma(order, x); the order is not differentiated."""
    order = int(n)
    if order != n or order < 0:
        raise ValueError(f"polygamma: the order must be a non-negative integer, not {n!r}")
    return (x,), {"n": order}


def polygamma_forward(x, *, n):
    import scipy.special

    x = as_floats(as_operand_array(x))
    return scipy.special.polygamma(n, x).astype(x.dtype) if n else digamma(x)


polygamma_entry: Any = real_elementwise(
    polygamma_forward,
    rule("polygamma of the next order", lambda _, x, *, n: polygamma_entry(x, n=n + 1)),
    name="polygamma",
    bind=polygamma_signature,
    domain=(POSITIVE,),
    samples=(Sample(1, A(3, 4)), Sample(2, A(3)), Sample(0, A(3))),
    twin="polygamma(n, x)",
    doc="n-th derivative of digamma at x.",
)
digamma = scipy_positive(
    "digamma",
    lambda _, x: polygamma_entry(x, n=1),
    slope="polygamma(1, x)",
    aliases=("psi",),
    twin="polygamma(0, x)",
    doc="Logarithmic derivative of the gamma function.",
)
gammaln = scipy_positive(
    "gammaln",
    lambda _, x: digamma(x),
    aliases=("lgamma", "loggamma"),
    node="Lgamma",
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


def of_order(name, slope, doc, orders, domain=POSITIVE, forward=None, **options):
    """Add a function of x, its last operand; by default scipy's. orders: examples of the other operands."""
    function, count = forward or from_scipy(name), len(orders)

    def bind(*operands):
        for place, x in zip(("first", "second", "third"), operands[:count], strict=False):
            if getattr(x, "requires_grad", False):
                raise RuntimeError(f"{name}: the derivative with respect to the {place} operand is not implemented")
        return operands[count:], {"order": tuple(getattr(x, "_data", x) for x in operands[:count])}

    names = ", ".join((*orders, "x"))  # help, methods and errors take them from the signature of `bind`
    return real_elementwise(
        lambda x, *, order: function(*(in_floats_of(x, n) for n in order), x),
        slope,
        name=name,
        bind=eval(f"lambda {names}: bind({names})", {"bind": bind}),
        domain=(domain,),
        samples=(
            Sample(*orders.values(), A(3, 4)),
            Sample(*(np.array([n, n + 1]) for n in orders.values()), A(3, 2)),
            Sample(*orders.values(), A()),
        ),
        doc=doc,
        **options,
    )


def gamma_density(_, x, *, order):
    """x ** (a - 1) * exp(-x) / gamma(a)."""
    a = in_floats_of(x, *order)
    return np.exp((a - 1) * np.log(x) - x - gammaln(a))


def zeta_slope(_, x, *, order):
    """-a * zeta(a + 1, x)."""
    a = in_floats_of(x, *order)
    return -a * zeta(x, order=(a + 1,))


of_order(
    "gammainc",
    gamma_density,
    "Regularised lower incomplete gamma function of order a at x.",
    {"a": 2.5},
    twin="gammainc_regularized(a, x)",
    aliases=("igamma",),
)
of_order(
    "gammaincc",
    lambda _, x, *, order: -gamma_density(None, x, order=order),
    "Regularised upper incomplete gamma function of order a at x.",
    {"a": 2.5},
    twin="gammaincc_regularized(a, x)",
    aliases=("igammac",),
)
zeta = of_order(
    "zeta", zeta_slope, "Hurwitz zeta function: sum of 1 / (k + x)^a over k >= 0.", {"a": 2.5}, twin="zeta(a, x)"
)
