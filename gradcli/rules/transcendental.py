"""Exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .shapes import as_floats, is_complex, may_hold
from .table import POSITIVE, REAL, Interval, Primitive, elementwise, real_elementwise, rule

LN2, LN10 = math.log(2), math.log(10)
INSIDE_UNIT = (-0.9, 0.9)


def within_forward(x, *, low, high):
    """x, but nan outside [low, high] for real numbers."""
    if np.iscomplexobj(x):
        return x
    outside = (x < low) | (x > high) if high < math.inf else x < low
    return np.where(outside, math.nan, x) if may_hold(outside) else x


# Rules pass x through this, so that they and their own derivatives are nan outside the function's domain.
within_entry: Primitive = elementwise(
    within_forward,
    lambda out, _x, *, low, high: np.where(np.isnan(out), math.nan, 1.0),
    name="within",
    public=False,
    samples=(),
    twin="x",
    doc="x, and nan outside an interval.",
)


def positive(x):
    """x, and nan below 0, where a real logarithm is not defined."""
    return within_entry(x, low=0.0, high=math.inf)


elementwise(np.exp, lambda out, _: out, twin="exp(x)", doc="e to the power x.")
elementwise(np.exp2, lambda out, _: out * LN2, twin="2**x", doc="2 to the power x.")
elementwise(
    np.expm1,
    rule(
        "exp(x); out + 1 would lose digits in the left tail",
        lambda out, x_or_none: out + 1 if x_or_none is None else np.exp(x_or_none),
    ),
    twin="exp(x) - 1",
    doc="exp(x) - 1, accurate near 0.",
)
elementwise(
    np.log,
    lambda _, x: 1 / positive(x),
    slope="1 / x",
    domain=(POSITIVE,),
    aliases=("ln",),
    twin="log(x)",
    doc="Natural logarithm.",
)
elementwise(
    np.log2,
    lambda _, x: (1 / LN2) / positive(x),
    slope="1 / (x * log(2))",
    domain=(POSITIVE,),
    twin="log(x) / log(2)",
    doc="Logarithm to base 2.",
)
elementwise(
    np.log10,
    lambda _, x: (1 / LN10) / positive(x),
    slope="1 / (x * log(10))",
    domain=(POSITIVE,),
    twin="log(x) / log(10)",
    doc="Logarithm to base 10.",
)
elementwise(
    np.log1p,
    lambda _, x: 1 / positive(x + 1),
    slope="1 / (x + 1)",
    node="Log1P",
    domain=((-0.8, 3.0),),
    twin="log(1 + x)",
    doc="log(1 + x), accurate near 0.",
)


def logistic_forward(x):
    """1 / (1 + exp(-x)), accurate in both tails."""
    x = as_floats(x)
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, np.ones_like(e), e) / (1 + e)


# The slopes of sigmoid and tanh take both result and operand, because out (1 - out) and 1 - out^2 lose digits in the
# tails and 1 - 2 out near 0. Their own derivative is attributed entirely to the result. If the operand has been changed
# in place since, only the result is used.
sigmoid_slope: Primitive = elementwise(
    lambda out, x: out * logistic_forward(-x),
    lambda _, _out, x: -np.tanh(x / 2),
    0,
    name="sigmoid_slope",
    public=False,
    samples=(),
    doc="out (1 - out) for out = sigmoid(x).",
)
sigmoid_entry = elementwise(
    logistic_forward,
    rule(
        "out * (1 - out)",
        lambda out, x_or_none: out * (1 - out) if x_or_none is None else sigmoid_slope(out, x_or_none),
    ),
    name="sigmoid",
    aliases=("expit",),
    twin="1 / (1 + exp(-x))",
    doc="Logistic function 1 / (1 + exp(-x)).",
)


def logaddexp_forward(x, y):
    """log(exp(x) + exp(y)); for complex numbers the larger real part is factored out."""
    if np.result_type(x, y).kind != "c":
        return np.logaddexp(x, y)
    first = np.real(x) >= np.real(y)
    larger, smaller = np.where(first, x, y), np.where(first, y, x)
    return larger + np.log1p(np.exp(smaller - larger))


logaddexp = elementwise(
    logaddexp_forward,
    lambda _, x, y: sigmoid_entry(x - y),
    lambda _, x, y: sigmoid_entry(y - x),
    name="logaddexp",
    numpy=(np.logaddexp,),
    twin="log(exp(x) + exp(y))",
    doc="log(exp(x) + exp(y)) without overflow.",
)
real_elementwise(
    np.logaddexp2,
    lambda _, x, y: sigmoid_entry((x - y) * LN2),
    lambda _, x, y: sigmoid_entry((y - x) * LN2),
    twin="log(2**x + 2**y) / log(2)",
    doc="log2(2**x + 2**y) without overflow.",
)

elementwise(np.sin, lambda _, x: np.cos(x), twin="sin(x)", doc="Sine of x radians.")
elementwise(np.cos, lambda _, x: -np.sin(x), twin="cos(x)", doc="Cosine of x radians.")
elementwise(np.tan, lambda out, _: 1 + out * out, domain=((-1.2, 1.2),), twin="tan(x)", doc="Tangent of x radians.")


# In slopes of complex functions, x - 1 and x - -1 keep the sign of a zero imaginary part, which distinguishes the
# sides of a branch cut; 1 - x and x + 1 do not.


arcsin_slope = elementwise(
    lambda x: 1 / np.sqrt(-(x - 1) * (x - -1) if np.iscomplexobj(x) else (1 - x) * (1 + x)),
    lambda out, x: x * out * out * out,
    name="arcsin_slope",
    domain=(INSIDE_UNIT,),
    twin="1 / sqrt(1 - x**2)",
    public=False,
    doc="Derivative of the inverse sine, with an infinite slope of its own at both ends.",
)
INVERSES: list[tuple[np.ufunc, str, Any, Interval]] = [
    (np.arcsin, "sine", lambda _, x: arcsin_slope(x), INSIDE_UNIT),
    (np.arccos, "cosine", lambda _, x: -arcsin_slope(x), INSIDE_UNIT),
    (np.arctan, "tangent", lambda _, x: 1 / (1 + x * x), REAL),
]
for ufunc, word, slope, domain in INVERSES:
    short = ufunc.__name__.replace("arc", "a")
    elementwise(
        ufunc,
        slope,
        aliases=(short,),
        node=short.title(),
        domain=(domain,),
        twin=f"{short}(x)",
        doc=f"Inverse {word}, in radians.",
    )


def over_square_sum(numerator, x, y):
    """numerator / (x**2 + y**2); scaled so that the squares do not overflow."""
    length = np.hypot(x, y)
    length = np.where(length == 0, 1.0, length)
    return numerator / length / length


real_elementwise(
    np.arctan2,
    lambda _, x, y: over_square_sum(y, x, y),
    lambda _, x, y: -over_square_sum(x, x, y),
    aliases=("atan2",),
    node="Atan2",
    domain=((-3.0, -0.3), (0.3, 3.0)),
    twin="atan2(x, y)",
    doc="Angle, in radians, of the point with vertical coordinate x and horizontal coordinate y.",
    subgradient="0 at (0, 0)",
)
for ufunc, alias, node, factor, text, doc in (
    (np.deg2rad, np.radians, "Deg2Rad", math.pi / 180, "pi / 180", "Degrees to radians."),
    (np.rad2deg, np.degrees, "Rad2Deg", 180 / math.pi, "180 / pi", "Radians to degrees."),
):
    real_elementwise(
        ufunc,
        factor,
        node=node,
        aliases=(alias.__name__,),
        slope=text,
        numpy=(ufunc, alias),
        twin=f"x * {text}",
        doc=doc,
    )

elementwise(np.sinh, lambda _, x: np.cosh(x), twin="sinh(x)", doc="Hyperbolic sine.")
elementwise(np.cosh, lambda _, x: np.sinh(x), twin="cosh(x)", doc="Hyperbolic cosine.")


def tanh_slope_forward(_out, x):
    """1 / cosh(x)^2, accurate where out is near 1; for complex x as 4 e / (1 + e)^2, e = exp(-2 |x|)."""
    if np.iscomplexobj(x):  # 1 / cosh(x) would be nan where cosh overflows
        e = np.exp(-2 * np.where(np.real(x) > 0, x, -x))
        return 4 * e / (1 + e) ** 2
    part = 1 / np.cosh(x)  # squared last: cosh(x)^2 would overflow before the result underflows
    return part * part


tanh_slope: Primitive = elementwise(
    tanh_slope_forward,
    lambda _, out, _x: -2 * out,
    0,
    name="tanh_slope",
    public=False,
    samples=(),
    doc="1 - out^2 for out = tanh(x).",
)
elementwise(
    np.tanh,
    rule("1 - out^2", lambda out, x_or_none: 1 - out * out if x_or_none is None else tanh_slope(out, x_or_none)),
    twin="tanh(x)",
    doc="Hyperbolic tangent.",
)
elementwise(
    np.arcsinh,
    rule("1 / sqrt(x**2 + 1)", lambda _, x: 1 / (np.sqrt(x * x - -1) if is_complex(x) else np.hypot(x, 1.0))),
    aliases=("asinh",),
    node="Asinh",
    twin="asinh(x)",
    doc="Inverse hyperbolic sine.",
)
elementwise(
    np.arccosh,
    lambda _, x: 1 / (np.sqrt(x - 1) * np.sqrt(x - -1)),
    aliases=("acosh",),
    node="Acosh",
    domain=((1.2, 4.0),),
    twin="acosh(x)",
    doc="Inverse hyperbolic cosine.",
)
arctanh_slope = elementwise(
    lambda x: 1 / ((1 - x) * (1 + x)),
    lambda out, x: 2 * x * out * out,
    name="arctanh_slope",
    domain=(INSIDE_UNIT,),
    twin="1 / (1 - x**2)",
    public=False,
    doc="Derivative of the inverse hyperbolic tangent.",
)
elementwise(
    np.arctanh,
    lambda _, x: arctanh_slope(within_entry(x, low=-1.0, high=1.0)),
    slope="1 / (1 - x**2)",
    aliases=("atanh",),
    node="Atanh",
    domain=(INSIDE_UNIT,),
    twin="atanh(x)",
    doc="Inverse hyperbolic tangent.",
)
