"""Bessel and Airy functions: each derivative is made of functions of the same family."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .special import from_scipy
from .table import POSITIVE, REAL, A, Sample, composition, elementwise

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


def over(out, x, sign=1, scaled=False):
    """out / x for a function of order 1, by its series near 0."""
    near = abs(x) < 1
    inside = np.where(near, x, 0.0)
    series = ratio(inside, n=1, sign=sign)
    return np.where(near, series * np.exp(-abs(inside)) if scaled else series, out / np.where(near, 1.0, x))


i0: Any = elementwise(
    from_scipy("i0"),
    lambda _, x: i1(x),
    complex=False,
    numpy=(np.i0,),
    aliases=("modified_bessel_i0",),
    twin="besseli(0, x)",
    doc="Modified Bessel function of the first kind, order 0.",
)
i1: Any = elementwise(
    from_scipy("i1"),
    lambda out, x: i0(x) - over(out, x),
    complex=False,
    aliases=("modified_bessel_i1",),
    twin="besseli(1, x)",
    doc="Modified Bessel function of the first kind, order 1.",
)
i0e: Any = elementwise(
    from_scipy("i0e"),
    lambda out, x: i1e(x) - np.sign(x) * out,
    complex=False,
    domain=(POSITIVE,),
    twin="exp(-abs(x)) * besseli(0, x)",
    doc="exp(-|x|) times the modified Bessel function of the first kind, order 0.",
)
i1e: Any = elementwise(
    from_scipy("i1e"),
    lambda out, x: i0e(x) - np.sign(x) * out - over(out, x, scaled=True),
    complex=False,
    domain=(POSITIVE,),
    twin="exp(-abs(x)) * besseli(1, x)",
    doc="exp(-|x|) times the modified Bessel function of the first kind, order 1.",
)

# -- the others -----------------------------------------------------------------------------------


def enter(name: str, scipy_name: str, slope: Any, doc: str, *, twin: str, domain: Any = REAL) -> Any:
    """Enter a function of scipy's under PyTorch's name."""
    return elementwise(
        from_scipy(scipy_name), slope, name=name, complex=False, domain=(domain,), twin=twin, doc=f"{doc}."
    )


FIRST, SECOND = "Bessel function of the first kind", "Bessel function of the second kind"
j0: Any = enter("bessel_j0", "j0", lambda _, x: -j1(x), f"{FIRST}, order 0", twin="besselj(0, x)")
j1: Any = enter("bessel_j1", "j1", lambda out, x: j0(x) - over(out, x, -1), f"{FIRST}, order 1", twin="besselj(1, x)")
y0: Any = enter("bessel_y0", "y0", lambda _, x: -y1(x), f"{SECOND}, order 0", twin="bessely(0, x)", domain=POSITIVE)
y1: Any = enter(
    "bessel_y1", "y1", lambda out, x: y0(x) - out / x, f"{SECOND}, order 1", twin="bessely(1, x)", domain=POSITIVE
)
k0: Any = enter(
    "modified_bessel_k0",
    "k0",
    lambda _, x: -k1(x),
    f"Modified {SECOND}, order 0",
    twin="besselk(0, x)",
    domain=POSITIVE,
)
k1: Any = enter(
    "modified_bessel_k1",
    "k1",
    lambda out, x: -k0(x) - out / x,
    f"Modified {SECOND}, order 1",
    twin="besselk(1, x)",
    domain=POSITIVE,
)
k0e: Any = enter(
    "scaled_modified_bessel_k0",
    "k0e",
    lambda out, x: out - k1e(x),
    f"exp(x) times the modified {SECOND}, order 0",
    twin="exp(x) * besselk(0, x)",
    domain=POSITIVE,
)
k1e: Any = enter(
    "scaled_modified_bessel_k1",
    "k1e",
    lambda out, x: out - k0e(x) - out / x,
    f"exp(x) times the modified {SECOND}, order 1",
    twin="exp(x) * besselk(1, x)",
    domain=POSITIVE,
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


def spherical_bessel_j0(x):
    """sin(x) / x, 1 at 0."""
    return np.sinc(x / math.pi)


composition(spherical_bessel_j0, doc="Spherical Bessel function of the first kind, order 0: sin(x) / x.")
