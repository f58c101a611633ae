"""Bessel and Airy functions: each derivative is made of functions of the same family."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .shapes import as_floats
from .special import from_scipy, kummer, scipy_function
from .table import POSITIVE, A, Sample, elementwise

# -- modified Bessel functions of the first kind --------------------------------------------------


hyp0f1 = from_scipy("hyp0f1")


def ratio_forward(x, *, n, sign):
    """I_n(x) / x^n (sign 1) or J_n(x) / x^n (sign -1), as a hypergeometric series in x^2 / 4."""
    limit = 1 / (2.0**n * math.factorial(n))
    return limit * hyp0f1(np.asarray(n + 1, x.dtype), sign * x * x / 4)


ratio: Any = elementwise(
    ratio_forward,
    lambda _, x, *, n, sign: sign * x * ratio(x, n=n + 1, sign=sign),
    name="bessel_ratio",
    bind=lambda x, n, sign: ((x,), {"n": n, "sign": sign}),
    complex=False,
    public=False,
    samples=(Sample(A(3, 4), 1, 1), Sample(A(3), 1, -1)),
    doc="Bessel function of order n over x^n.",
)


def over(out, x, sign=1):
    """out / x; for a function of order 1, by its series near 0."""
    near = abs(x) < 1
    inside = np.where(near, x, 0.0)
    series = ratio(inside, n=1, sign=sign)
    return np.where(near, series, out / np.where(near, 1.0, x))


i0: Any = scipy_function(
    "i0",
    lambda _, x: i1(x),
    numpy=(np.i0,),
    aliases=("modified_bessel_i0",),
    twin="besseli(0, x)",
    doc="Modified Bessel function of the first kind, order 0.",
)
i1: Any = scipy_function(
    "i1",
    lambda out, x: i0(x) - over(out, x),
    aliases=("modified_bessel_i1",),
    twin="besseli(1, x)",
    doc="Modified Bessel function of the first kind, order 1.",
)
i0e: Any = scipy_function(
    "i0e",
    lambda _, x: -np.sign(x) * kummer(-2 * abs(x), a=1.5, b=2.0),  # of exp(-x) I_0(x) = M(1/2, 1, -2x), DLMF 10.39.5
    domain=(POSITIVE,),
    slope="i1e(x) - sign(x) * i0e(x)",
    twin="exp(-abs(x)) * besseli(0, x)",
    doc="exp(-|x|) times the modified Bessel function of the first kind, order 0.",
)
i1e: Any = scipy_function(
    "i1e",
    lambda _, x: 0.5 * (kummer(-2 * abs(x), a=1.5, b=3.0) - abs(x) * kummer(-2 * abs(x), a=2.5, b=4.0)),
    domain=(POSITIVE,),
    slope="i0e(x) - i1e(x) / x - sign(x) * i1e(x)",
    twin="exp(-abs(x)) * besseli(1, x)",
    doc="exp(-|x|) times the modified Bessel function of the first kind, order 1.",
)

# -- the others -----------------------------------------------------------------------------------


FIRST, SECOND = "Bessel function of the first kind", "Bessel function of the second kind"
j0: Any = scipy_function("bessel_j0", lambda _, x: -j1(x), scipy="j0", twin="besselj(0, x)", doc=f"{FIRST}, order 0.")
j1: Any = scipy_function(
    "bessel_j1",
    lambda out, x: j0(x) - over(out, x, -1),
    scipy="j1",
    twin="besselj(1, x)",
    doc=f"{FIRST}, order 1.",
)
y0: Any = scipy_function(
    "bessel_y0", lambda _, x: -y1(x), scipy="y0", twin="bessely(0, x)", domain=(POSITIVE,), doc=f"{SECOND}, order 0."
)
y1: Any = scipy_function(
    "bessel_y1",
    lambda out, x: y0(x) - out / x,
    scipy="y1",
    twin="bessely(1, x)",
    domain=(POSITIVE,),
    doc=f"{SECOND}, order 1.",
)
k0: Any = scipy_function(
    "modified_bessel_k0",
    lambda _, x: -k1(x),
    scipy="k0",
    twin="besselk(0, x)",
    domain=(POSITIVE,),
    doc=f"Modified {SECOND}, order 0.",
)
k1: Any = scipy_function(
    "modified_bessel_k1",
    lambda out, x: -k0(x) - out / x,
    scipy="k1",
    twin="besselk(1, x)",
    domain=(POSITIVE,),
    doc=f"Modified {SECOND}, order 1.",
)
k0e: Any = scipy_function(
    "scaled_modified_bessel_k0",
    lambda out, x: out - k1e(x),
    scipy="k0e",
    twin="exp(x) * besselk(0, x)",
    domain=(POSITIVE,),
    doc=f"exp(x) times the modified {SECOND}, order 0.",
)
k1e: Any = scipy_function(
    "scaled_modified_bessel_k1",
    lambda out, x: out - k0e(x) - out / x,
    scipy="k1e",
    twin="exp(x) * besselk(1, x)",
    domain=(POSITIVE,),
    doc=f"exp(x) times the modified {SECOND}, order 1.",
)


def airy(which):
    """Return one of scipy's four Airy functions."""
    every = from_scipy("airy")
    return lambda x: every(x)[which]


airy_ai: Any = elementwise(
    airy(0),
    lambda _, x: airy_slope(x),
    name="airy_ai",
    complex=False,
    slope="the derivative of the Airy function Ai",
    twin="airyai(x)",
    doc="Airy function Ai.",
)
airy_slope: Any = elementwise(
    airy(1),
    lambda _, x: x * airy_ai(x),
    name="airy_ai_slope",
    complex=False,
    twin="airyaiprime(x)",
    doc="Derivative of the Airy function Ai.",
)


# -- spherical ones ---------------------------------------------------------------------------------


def spherical_ratio_forward(x, *, n):
    """j_n(x) / x^n: a hypergeometric series near 0, spherical Bessel functions elsewhere. DLMF 10.53.1."""
    import scipy.special

    near = abs(x) < 1
    order = np.asarray(n + 1.5, x.real.dtype)
    series = hyp0f1(order, -(np.where(near, x, 0.0) ** 2) / 4) / math.prod(range(1, 2 * n + 2, 2))
    even = x if x.dtype.kind == "c" else abs(x)  # SciPy before 1.14 gives odd orders the wrong sign below 0
    far = np.where(near, 1.0, even)
    return np.where(near, series, scipy.special.spherical_jn(n, far) / far**n).astype(x.dtype)


spherical_ratio: Any = elementwise(
    spherical_ratio_forward,
    lambda _, x, *, n: -x * spherical_ratio(x, n=n + 1),
    name="spherical_bessel_ratio",
    bind=lambda x, n: ((x,), {"n": n}),
    public=False,
    samples=(Sample(A(3, 4), 1), Sample(A(3), 2)),
    doc="Spherical Bessel function of the first kind of order n over x^n.",
)
elementwise(
    lambda x: spherical_ratio_forward(as_floats(x), n=0),
    lambda _, x: -x * spherical_ratio(x, n=1),
    name="spherical_bessel_j0",
    complex=False,
    slope="(cos(x) - sin(x) / x) / x",
    twin="Piecewise((1, Eq(x, 0)), (sin(x) / x, True))",
    doc="Spherical Bessel function of the first kind, order 0: sin(x) / x.",
)
elementwise(
    np.sinc,
    lambda _, x: -(math.pi**2) * x * spherical_ratio(math.pi * x, n=1),
    numpy=(np.sinc,),
    domain=((0.1, 3.0),),
    slope="(cos(pi * x) - sinc(x)) / x",
    twin="Piecewise((1, Eq(x, 0)), (sin(pi * x) / (pi * x), True))",
    doc="sin(pi x) / (pi x), 1 at 0.",
)
