"""Bessel and Airy functions, and sinc."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .scipy_special import of_order
from .shapes import as_floats
from .special import from_scipy, half_turns, scipy_function
from .table import POSITIVE, TABLE, A, Sample, elementwise, real_elementwise

hyp0f1 = from_scipy("hyp0f1")


def neighbours(name: str, before: float, after: float) -> Any:
    """Return the slope before f(v - 1) + after f(v + 1) of a Bessel function, plus that of its scale."""
    extra, shown = SCALES.get(name, (None, ""))

    def slope(out, x, *, order):
        (v,) = order
        slope_of_both = family[name](x, order=(v - 1,)) * before + family[name](x, order=(v + 1,)) * after
        return slope_of_both if extra is None else slope_of_both + extra(out, x)

    slope.__doc__ = f"{before} * {name}(v - 1, x) {'+' if after > 0 else '-'} {abs(after)} * {name}(v + 1, x){shown}"
    return slope


BESSEL: list[tuple[str, float, float, str, str]] = [
    ("jv", 0.5, -0.5, "Bessel function of the first kind of order v at x.", "besselj(v, x)"),
    ("yv", 0.5, -0.5, "Bessel function of the second kind of order v at x.", "bessely(v, x)"),
    ("iv", 0.5, 0.5, "Modified Bessel function of the first kind of order v.", "besseli(v, x)"),
    ("kv", -0.5, -0.5, "Modified Bessel function of the second kind.", "besselk(v, x)"),
    (
        "ive",
        0.5,
        0.5,
        "exp(-|x|) times the modified Bessel function of the first kind.",
        "exp(-abs(x)) * besseli(v, x)",
    ),
    ("kve", -0.5, -0.5, "exp(x) times the modified Bessel function of the second kind.", "exp(x) * besselk(v, x)"),
]
SCALES: dict[str, tuple[Any, str]] = {
    "ive": (lambda out, x: -np.sign(x) * out, " - sign(x) * ive(v, x)"),
    "kve": (lambda out, x: out, " + kve(v, x)"),
}
"""What the slope of the scale adds."""


def iv_forward(v, x):
    """I_v(x): SciPy's is 0 for small x, where its ive is not."""
    near = abs(x) < 1
    inside, outside = np.where(near, x, 0.0), np.where(near, 1.0, x)
    return np.where(near, from_scipy("ive")(v, inside) * np.exp(abs(inside)), from_scipy("iv")(v, outside))


family: dict[str, Any] = {
    name: of_order(
        name, neighbours(name, before, after), doc, twin, (1.5,), function=iv_forward if name == "iv" else None
    )
    for name, before, after, doc, twin in BESSEL
}

# -- of orders 0 and 1 ----------------------------------------------------------------------------


def integrate_peak(x, n, step, curve):
    """Integral over t > 0 of (-r)^n exp(-x r) for r = 2 curve(t / 2)^2, by the trapezoidal rule in steps."""
    rates = [2 * curve(step * j / 2) ** 2 for j in range(31)]
    terms = [(-rate) ** n * np.exp(-x * rate) for rate in rates]
    return step * (sum(terms) - (terms[0] + terms[-1]) / 2)


def scaled_i0_forward(x, *, n):
    """n-th derivative of exp(-x) I_0(x), x >= 0, from an integral of exp(x (cos t - 1)). DLMF 10.32.1."""
    step = np.arcsin(np.sqrt(22.5 / np.maximum(x, 22.5))) / 15
    return (integrate_peak(x, n, step, np.sin) / math.pi).astype(x.dtype)


def scaled_k0_forward(x, *, n):
    """n-th derivative of exp(x) K_0(x) from an integral of exp(x (1 - cosh t)) for x > 1, DLMF 10.32.9; below by
    recurrence from Bessel's equation."""
    far = x > 1
    size, near = np.where(far, x, 1.0), np.where(far, 1.0, x)
    slopes = [k0e.forward(near), k0e.forward(near) - k1e.forward(near)]
    for m in range(n - 1):
        slopes.append(((2 * near - 1 - m) * slopes[-1] + (2 * m + 1) * slopes[-2]) / near)
    integral = integrate_peak(size, n, np.arcsinh(np.sqrt(22.5 / size)) / 15, np.sinh)
    return np.where(far, integral, slopes[n]).astype(x.dtype)


SCALED: list[tuple[str, Any, str]] = [
    ("scaled_i0", scaled_i0_forward, "n-th derivative of i0e, for x from 0."),
    ("scaled_k0", scaled_k0_forward, "n-th derivative of scaled_modified_bessel_k0."),
]
for name, forward, doc in SCALED:
    real_elementwise(
        forward,
        lambda _, x, *, n, name=name: TABLE[name](x, n=n + 1),
        name=name,
        bind=lambda x, n: ((x,), {"n": n}),
        public=False,
        domain=(POSITIVE,),
        samples=(Sample(A(3, 4), 1), Sample(A(3), 2)),
        doc=doc,
    )
scaled_i0, scaled_k0 = TABLE["scaled_i0"], TABLE["scaled_k0"]
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
    lambda _, x: 0.5 * (i0(x) + family["iv"](x, order=(2.0,))),
    slope="i0(x) - i1(x) / x",
    aliases=("modified_bessel_i1",),
    twin="besseli(1, x)",
    doc="Modified Bessel function of the first kind, order 1.",
)
i0e: Any = scipy_function(
    "i0e",
    lambda _, x: np.sign(x) * scaled_i0(abs(x), n=1),
    domain=(POSITIVE,),
    slope="i1e(x) - sign(x) * i0e(x)",
    twin="exp(-abs(x)) * besseli(0, x)",
    doc="exp(-|x|) times the modified Bessel function of the first kind, order 0.",
)
i1e: Any = scipy_function(
    "i1e",
    lambda _, x: scaled_i0(abs(x), n=1) + scaled_i0(abs(x), n=2),  # it is i0e and its slope
    domain=(POSITIVE,),
    slope="i0e(x) - i1e(x) / x - sign(x) * i1e(x)",
    twin="exp(-abs(x)) * besseli(1, x)",
    doc="exp(-|x|) times the modified Bessel function of the first kind, order 1.",
)

FIRST, SECOND = "Bessel function of the first kind", "Bessel function of the second kind"
j0: Any = scipy_function("bessel_j0", lambda _, x: -j1(x), scipy="j0", twin="besselj(0, x)", doc=f"{FIRST}, order 0.")
j1: Any = scipy_function(
    "bessel_j1",
    lambda _, x: 0.5 * (j0(x) - family["jv"](x, order=(2.0,))),
    slope="bessel_j0(x) - bessel_j1(x) / x",
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
    lambda _, x: scaled_k0(x, n=1),
    slope="scaled_modified_bessel_k0(x) - scaled_modified_bessel_k1(x)",
    scipy="k0e",
    twin="exp(x) * besselk(0, x)",
    domain=(POSITIVE,),
    doc=f"exp(x) times the modified {SECOND}, order 0.",
)
k1e: Any = scipy_function(
    "scaled_modified_bessel_k1",
    lambda _, x: scaled_k0(x, n=1) - scaled_k0(x, n=2),  # it is k0e less its slope
    slope="scaled_modified_bessel_k1(x) * (1 - 1 / x) - scaled_modified_bessel_k0(x)",
    scipy="k1e",
    twin="exp(x) * besselk(1, x)",
    domain=(POSITIVE,),
    doc=f"exp(x) times the modified {SECOND}, order 1.",
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


# -- spherical ones ---------------------------------------------------------------------------------


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
    bind=lambda x, n, k, turns=False: ((x,), {"n": n, "k": k, "turns": turns}),
    public=False,
    samples=(Sample(A(3, 4), 1, 1), Sample(A(3), 2, 1, True)),
    doc="Spherical Bessel function of the first kind of order n at x, or at pi x, over its argument to the power k.",
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
    doc="sin(pi x) / (pi x), 1 at 0.",
)
