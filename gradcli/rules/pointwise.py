"""More functions that work element by element: fractions, entropies, steps."""

from __future__ import annotations

import numpy as np

from .shapes import as_floats, mask
from .special import scipy_function
from .table import POSITIVE, A, Sample, constant, elementwise, linear

# -- fractions and replacements -------------------------------------------------------------------


elementwise(
    lambda x: x - np.trunc(x),
    1,
    name="frac",
    complex=False,
    domain=((1.05, 1.45),),
    twin="x - sign(x) * floor(abs(x))",
    doc="Fractional part x - trunc(x), with the sign of x.",
)


def scale_vjp(g, _, _x, *, exponent):
    """The same scaling."""
    return scale_exponent(g, exponent=exponent)


scale_exponent = linear(
    "scale_exponent",
    lambda x, *, exponent: np.ldexp(x, exponent),
    scale_vjp,
    bind=lambda x, exponent: ((x,), {"exponent": exponent}),
    complex=False,
    node="Ldexp",
    samples=(Sample(A(3, 4), -2), Sample(A(3), np.array([1, -1, 3]))),
    public=False,
    doc="x times 2 to a whole power, exact.",
)


elementwise(
    np.nan_to_num,
    lambda _, x, **others: mask(np.isfinite(x), x),
    name="nan_to_num",
    bind=lambda x, nan=0.0, posinf=None, neginf=None: (
        (x,),
        {"nan": 0.0 if nan is None else nan, "posinf": posinf, "neginf": neginf},
    ),
    samples=(Sample(A(3, 4)), Sample(A(), nan=2.0)),
    twin="x",
    doc="nan replaced by 0 and infinities by the largest numbers, or by others.",
    subgradient="0 where an element was replaced",
)


def lerp_forward(x, y, weight):
    """x + weight (y - x), exact at both ends."""
    near, span = abs(weight) < 0.5, y - x
    return np.where(near, x + weight * span, y - span * (1 - weight))


elementwise(
    lerp_forward,
    lambda _, _x, _y, weight: 1 - weight,
    lambda _, _x, _y, weight: weight,
    lambda _, x, y, _weight: y - x,
    name="lerp",
    node="LerpBackward1",
    variants=(None, "LerpBackward0"),
    samples=(Sample(A(3, 4), A(3, 4), A(3, 4)), Sample(A(3), A(), 0.25), Sample(A(3, 1), A(4), 0.75)),
    twin="x + z * (y - x)",
    doc="x + weight (y - x).",
)

# -- entropies ------------------------------------------------------------------------------------


def xlogy_dx(_, x, y):
    """log y, and 0 where x = 0 and y <= 0."""
    return np.where((x == 0) & (y <= 0), 0.0, np.log(y))


def xlog1py_dx(_, x, y):
    """log(1 + y), and 0 where x = 0 and y <= -1."""
    return np.where((x == 0) & (y <= -1), 0.0, np.log1p(y))


scipy_function(
    "xlogy",
    xlogy_dx,
    lambda _, x, y: x / y,
    domain=((0.1, 3.0), POSITIVE),
    twin="x * log(y)",
    doc="x log(y), 0 where x = 0.",
)
scipy_function(
    "xlog1py",
    xlog1py_dx,
    lambda _, x, y: x / (y + 1),
    node="SpecialXlog1Py",
    domain=((0.1, 3.0), (-0.8, 3.0)),
    twin="x * log(1 + y)",
    doc="x log(1 + y), 0 where x = 0.",
)
scipy_function(
    "entr",
    lambda _, x: -1 - np.log(x),
    node="SpecialEntr",
    domain=(POSITIVE,),
    twin="-x * log(x)",
    doc="Entropy -x log(x); 0 at 0, -inf below.",
)


def logit_forward(x, *, eps):
    """log(x / (1 - x))."""
    x = as_floats(x)
    z = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(z / (1 - z))


def logit_twin(params):
    """Return the formula where x is limited."""
    limited = "minimum(maximum(x, eps), 1 - eps)"
    return None if params.get("eps") is None else f"log({limited} / (1 - {limited}))"


def logit_dx(_, x, *, eps):
    """1 / (x (1 - x)); outside [eps, 1 - eps] 0, or nan where there is no eps."""
    low = 0.0 if eps is None else eps
    inside = (x >= low) & (x <= 1 - low)
    slope = 1 / np.where(inside, x * (1 - x), 1.0)
    return np.where(inside, slope, np.nan if eps is None else 0.0)


elementwise(
    logit_forward,
    logit_dx,
    name="logit",
    bind=lambda x, eps=None: ((x,), {"eps": eps}),
    complex=False,
    domain=((0.05, 0.95),),
    samples=(Sample(A(3, 4)), Sample(A(), eps=0.01), Sample(A(5), eps=0.3)),
    twin="log(x / (1 - x))",
    twin_of=logit_twin,
    doc="log(x / (1 - x)), the inverse of the logistic function.",
)

# -- without derivative, or with none that is not 0 -----------------------------------------------

constant(np.heaviside, arity=2, doc="0 where x < 0, 1 where x > 0, y where x = 0.")
constant(np.isneginf, doc="True where x is minus infinity.", numpy=(np.isneginf,))
constant(np.isposinf, doc="True where x is plus infinity.", numpy=(np.isposinf,))
constant(np.isreal, doc="True where the imaginary part is 0.", numpy=(np.isreal,))
elementwise(
    np.nextafter,
    lambda _, x, y: mask(x != y, x),
    0,
    complex=False,
    doc="The next number after x in the direction of y.",
    subgradient="0 where x = y",
)
WHOLE: list[tuple[np.ufunc, str, str]] = [
    (np.gcd, "gcd", "Greatest common divisor of integers."),
    (np.lcm, "lcm", "Least common multiple of integers."),
]
for ufunc, name, doc in WHOLE:
    constant(ufunc, name=name, arity=2, promote=None, samples=(), doc=doc)
