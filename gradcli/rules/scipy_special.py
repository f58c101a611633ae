"""Functions of scipy.special that PyTorch lacks, under scipy's names; Bessel and Airy functions, and sinc."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .shapes import as_floats, in_floats_of, in_type_of
from .special import PROBABILITY, digamma, exp_square, from_scipy, kummer, of_order, scipy_function, scipy_positive
from .table import POSITIVE, A, Sample, elementwise, internal, real_elementwise, rule
from .transcendental import positive


def rgamma_slope(x):
    """-digamma(x) / gamma(x), finite at 0, -1, ...; left of 1/2 by reflection. DLMF 5.5.3."""
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


log_ratio: Any = internal.elementwise(
    log_ratio_forward,
    lambda _, x, *, n: -log_ratio(x, n=n + 1),
    name="log_ratio",
    domain=(POSITIVE,),
    samples=(Sample(A(3, 4), n=0), Sample(A(3), n=1)),
)
gamma: Any = scipy_positive("gamma", lambda out, x: out * digamma(x), twin="gamma(x)", doc="Gamma function.")
rgamma: Any = scipy_positive(
    "rgamma", lambda _, x: rgamma_slope(x), slope="-digamma(x) / gamma(x)", twin="1 / gamma(x)", doc="1 / gamma(x)."
)
scipy_positive("gammasgn", 0, twin="sign(gamma(x))", doc="Sign of the gamma function.", subgradient="0 everywhere")
scipy_function(
    "erfcinv",
    lambda out, x: -0.5 * math.sqrt(math.pi) * exp_square(out, np.where(x < 1, x, 2 - x)),
    slope="-sqrt(pi) / 2 * exp(erfcinv(x)**2)",
    domain=(PROBABILITY,),
    twin="erfcinv(x)",
    doc="Inverse of the complementary error function.",
)
scipy_function("exp10", lambda out, _: out * math.log(10), twin="10**x", doc="10 to the power x.")
scipy_positive(
    "exp1",
    lambda _, x: -np.exp(-x) / positive(x),
    slope="-exp(-x) / x",
    twin="expint(1, x)",
    doc="Exponential integral E1.",
)
exp_over = internal.elementwise(
    lambda x: np.exp(x) / x,
    lambda out, x: out * (1 - 1 / x),  # not expanded: both terms might be infinite
    name="exp_over",
    domain=(POSITIVE,),
)
scipy_positive("expi", lambda _, x: exp_over(x), slope="exp(x) / x", twin="Ei(x)", doc="Exponential integral Ei.")
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


def betainc_slope(_, x, *, order):
    """x ** (a - 1) * (1 - x) ** (b - 1) / beta(a, b)."""
    a, b = (in_floats_of(x, n) for n in order)
    return np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - from_scipy("betaln")(a, b))


of_order(
    "betainc",
    betainc_slope,
    "Regularised incomplete beta function at x, with parameters a and b.",
    {"a": 1.5, "b": 2.5},
    PROBABILITY,
    twin="betainc_regularized(a, b, 0, x)",
)


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


def where_positive(slope, x, y):
    """Return slope for non-negative x and y; else nan, also in further derivatives: the function is undefined."""
    return slope * np.where((x < 0) | (y < 0), in_type_of(slope, np.nan), in_type_of(slope, 1.0))


scipy_function(
    "rel_entr",
    rule("log(x / y) + 1", lambda _, x, y: where_positive(np.log(x / y) + 1, x, y)),
    rule("-x / y", lambda _, x, y: where_positive(-x / y, x, y)),
    domain=(POSITIVE, POSITIVE),
    twin="x * log(x / y)",
    doc="Relative entropy x log(x / y).",
)


def divergence(x, y):
    """x log(x / y) - x + y; for x near y by the series of (1 + z) log(1 + z) - z. DLMF 15.4.1."""
    z = (x - y) / y
    near = abs(z) < 0.5
    inside = np.where(near, z, 0.0)
    series = 0.5 * (x - y) * inside * from_scipy("hyp2f1")(1.0, 1.0, 3.0, -inside)
    return np.where(near, series, from_scipy("kl_div")(x, y))


real_elementwise(
    divergence,
    rule("log(x / y)", lambda _, x, y: where_positive(np.log(x / y), x, y)),
    rule("1 - x / y", lambda _, x, y: where_positive(1 - x / y, x, y)),
    name="kl_div",
    domain=(POSITIVE, POSITIVE),
    twin="x * log(x / y) - x + y",
    doc="Divergence x log(x / y) - x + y.",
)


hyp0f1 = from_scipy("hyp0f1")


def bessel(name: str, before: float, after: float, doc: str, twin: str, scale: Any = None, **options: Any) -> Any:
    """Add a Bessel function f of order v with slope before * f(v - 1) + after * f(v + 1), plus that of its scale."""

    def slope(out, x, *, order):
        (v,) = order
        neighbours = itself(x, order=(v - 1,)) * before + itself(x, order=(v + 1,)) * after
        return neighbours if scale is None else neighbours + scale(out, x)

    shown = {"ive": " - sign(x) * ive(v, x)", "kve": " + kve(v, x)"}.get(name, "")
    slope.__doc__ = f"{before} * {name}(v - 1, x) {'+' if after > 0 else '-'} {abs(after)} * {name}(v + 1, x){shown}"
    itself: Any = of_order(name, slope, doc, {"v": 1.5}, twin=twin, **options)
    return itself


def iv_forward(v, x):
    """I_v(x); for small x from ive, because SciPy's iv underflows there."""
    near = abs(x) < 1
    inside, outside = np.where(near, x, 0.0), np.where(near, 1.0, x)
    return np.where(near, from_scipy("ive")(v, inside) * np.exp(abs(inside)), from_scipy("iv")(v, outside))


FIRST_KIND, SECOND_KIND = "Bessel function of the first kind", "Bessel function of the second kind"
jv = bessel("jv", 0.5, -0.5, f"{FIRST_KIND} of order v at x.", "besselj(v, x)", aliases=("jn",))
bessel("yv", 0.5, -0.5, f"{SECOND_KIND} of order v at x.", "bessely(v, x)", scipy="yn")
iv = bessel("iv", 0.5, 0.5, f"Modified {FIRST_KIND} of order v.", "besseli(v, x)", forward=iv_forward)
bessel("kv", -0.5, -0.5, f"Modified {SECOND_KIND} of order v.", "besselk(v, x)", aliases=("kn",))
bessel("ive", 0.5, 0.5, "exp(-|x|) times iv(v, x).", "exp(-abs(x)) * besseli(v, x)", lambda out, x: -np.sign(x) * out)
bessel("kve", -0.5, -0.5, "exp(x) times kv(v, x).", "exp(x) * besselk(v, x)", lambda out, _x: out)


def scaled_k0_forward(x, *, n):
    """n-th derivative of exp(x) K_0(x) for x > 1 from an integral of exp(x (1 - cosh t)) by the trapezoidal rule,
    DLMF 10.32.9; below by recurrence from Bessel's equation."""
    far = x > 1
    size, near = np.where(far, x, 1.0), np.where(far, 1.0, x)
    slopes = [k0e.forward(near), k0e.forward(near) - k1e.forward(near)]
    for m in range(n - 1):
        slopes.append(((2 * near - 1 - m) * slopes[-1] + (2 * m + 1) * slopes[-2]) / near)
    step = np.arcsinh(np.sqrt(22.5 / size)) / 15
    rates = [2 * np.sinh(step * j / 2) ** 2 for j in range(31)]
    terms = [(-rate) ** n * np.exp(-size * rate) for rate in rates]
    integral = step * (sum(terms) - (terms[0] + terms[-1]) / 2)
    return np.where(far, integral, slopes[n]).astype(x.dtype)


scaled_k0: Any = internal.elementwise(
    scaled_k0_forward,
    lambda _, x, *, n: scaled_k0(x, n=n + 1),
    name="scaled_k0",
    domain=(POSITIVE,),
    samples=(Sample(A(3, 4), n=1), Sample(A(3), n=2)),
)


def scaled_i0(x, n):
    """n-th derivative of exp(-x) I_0(x), x >= 0, for n = 1 or 2. DLMF 10.39.5, 13.3.16."""
    return -kummer(-2 * x, a=1.5, b=2.0) if n == 1 else 1.5 * kummer(-2 * x, a=2.5, b=3.0)


i0: Any = scipy_function(
    "i0",
    lambda _, x: i1(x),
    numpy=(np.i0,),
    aliases=("modified_bessel_i0",),
    twin="besseli(0, x)",
    doc=f"Modified {FIRST_KIND}, order 0.",
)
i1: Any = scipy_function(
    "i1",
    lambda _, x: 0.5 * (i0(x) + iv(x, order=(2.0,))),
    slope="i0(x) - i1(x) / x",
    aliases=("modified_bessel_i1",),
    twin="besseli(1, x)",
    doc=f"Modified {FIRST_KIND}, order 1.",
)
i0e: Any = scipy_positive(
    "i0e",
    lambda _, x: np.sign(x) * scaled_i0(abs(x), n=1),
    slope="i1e(x) - sign(x) * i0e(x)",
    twin="exp(-abs(x)) * besseli(0, x)",
    doc=f"exp(-|x|) times the modified {FIRST_KIND}, order 0.",
)
i1e: Any = scipy_positive(
    "i1e",
    lambda _, x: scaled_i0(abs(x), n=1) + scaled_i0(abs(x), n=2),  # i0e and its slope
    slope="i0e(x) - i1e(x) / x - sign(x) * i1e(x)",
    twin="exp(-abs(x)) * besseli(1, x)",
    doc=f"exp(-|x|) times the modified {FIRST_KIND}, order 1.",
)
j0: Any = scipy_function("bessel_j0", lambda _, x: -j1(x), twin="besselj(0, x)", doc=f"{FIRST_KIND}, order 0.")
j1: Any = scipy_function(
    "bessel_j1",
    lambda _, x: 0.5 * (j0(x) - jv(x, order=(2.0,))),
    slope="bessel_j0(x) - bessel_j1(x) / x",
    twin="besselj(1, x)",
    doc=f"{FIRST_KIND}, order 1.",
)
y0: Any = scipy_positive("bessel_y0", lambda _, x: -y1(x), twin="bessely(0, x)", doc=f"{SECOND_KIND}, order 0.")
y1: Any = scipy_positive(
    "bessel_y1", lambda out, x: y0(x) - out / x, twin="bessely(1, x)", doc=f"{SECOND_KIND}, order 1."
)
k0: Any = scipy_positive(
    "modified_bessel_k0", lambda _, x: -k1(x), twin="besselk(0, x)", doc=f"Modified {SECOND_KIND}, order 0."
)
k1: Any = scipy_positive(
    "modified_bessel_k1", lambda out, x: -k0(x) - out / x, twin="besselk(1, x)", doc=f"Modified {SECOND_KIND}, order 1."
)
k0e: Any = scipy_positive(
    "scaled_modified_bessel_k0",
    lambda _, x: scaled_k0(x, n=1),
    slope="scaled_modified_bessel_k0(x) - scaled_modified_bessel_k1(x)",
    scipy="k0e",
    twin="exp(x) * besselk(0, x)",
    doc=f"exp(x) times the modified {SECOND_KIND}, order 0.",
)
k1e: Any = scipy_positive(
    "scaled_modified_bessel_k1",
    lambda _, x: scaled_k0(x, n=1) - scaled_k0(x, n=2),  # k0e minus its slope
    slope="scaled_modified_bessel_k1(x) * (1 - 1 / x) - scaled_modified_bessel_k0(x)",
    scipy="k1e",
    twin="exp(x) * besselk(1, x)",
    doc=f"exp(x) times the modified {SECOND_KIND}, order 1.",
)
airy = from_scipy("airy")
airy_ai: Any = real_elementwise(
    lambda x: airy(x)[0],
    lambda _, x: airy_slope(x),
    name="airy_ai",
    slope="the derivative of the Airy function Ai",
    twin="airyai(x)",
    doc="Airy function Ai.",
)
airy_slope: Any = real_elementwise(
    lambda x: airy(x)[1],
    lambda _, x: x * airy_ai(x),
    name="airy_ai_slope",
    twin="airyaiprime(x)",
    doc="Derivative of the Airy function Ai.",
)


def half_turns(x):
    """sin(pi x) and cos(pi x), accurate for large x."""
    whole = np.rint(x.real)
    sign = 1 - 2 * (whole % 2)
    return sign * np.sin(math.pi * (x - whole)), sign * np.cos(math.pi * (x - whole))


def spherical_forward(x, *, n, k, turns):
    """j_n(z) / z^k for k <= n, z = pi x if turns, else x: a hypergeometric series near 0, recurrence elsewhere.
    DLMF 10.53.1, 10.51.1."""
    x = as_floats(x)
    unit = math.pi if turns else 1.0
    near = abs(unit * x) < n + 1
    inside, outside = unit * np.where(near, x, 0.0), np.where(near, 1.0, x)
    series = hyp0f1(np.asarray(n + 1.5, x.real.dtype), -inside * inside / 4) / math.prod(range(1, 2 * n + 2, 2))
    sine, cosine = half_turns(outside) if turns else (np.sin(outside), np.cos(outside))
    z = unit * outside
    before, here = cosine / z, sine / z
    for m in range(n):
        before, here = here, (2 * m + 1) * here / z - before
    for _ in range(k):
        here = here / z
    return np.where(near, series * inside ** (n - k), here).astype(x.dtype)


spherical: Any = elementwise(
    spherical_forward,
    lambda _, x, *, n, k, turns: (
        (math.pi if turns else 1.0)
        * ((n - k) * spherical(x, n=n, k=min(k + 1, n), turns=turns) - spherical(x, n=n + 1, k=k, turns=turns))
    ),
    name="spherical_bessel_ratio",
    public=False,
    samples=(Sample(A(3, 4), n=1, k=1, turns=False), Sample(A(3), n=2, k=1, turns=True)),
    doc="Spherical Bessel function of the first kind of order n at x, or at pi x, divided by its argument^k.",
)
real_elementwise(
    lambda x: spherical_forward(x, n=0, k=0, turns=False),
    lambda _, x: 0.0 - spherical(x, n=1, k=0, turns=False),
    name="spherical_bessel_j0",
    slope="(cos(x) - sin(x) / x) / x",
    twin="Piecewise((1, Eq(x, 0)), (sin(x) / x, True))",
    doc="Spherical Bessel function of the first kind, order 0: sin(x) / x.",
)
elementwise(
    lambda x: spherical_forward(x, n=0, k=0, turns=True),
    lambda _, x: 0.0 - math.pi * spherical(x, n=1, k=0, turns=True),
    name="sinc",
    numpy=(np.sinc,),
    domain=((0.1, 3.0),),
    slope="(cos(pi * x) - sinc(x)) / x",
    twin="Piecewise((1, Eq(x, 0)), (sin(pi * x) / (pi * x), True))",
    doc="sin(pi x) / (pi x), and 1 at 0.",
)
