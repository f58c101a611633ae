"""Arithmetic, powers, comparisons, rounding, conditions, and the larger or smaller of two elements."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from .shapes import fit_to_shape, is_complex, mask
from .table import (
    ELEMENTWISE,
    POSITIVE,
    REAL,
    TEST,
    A,
    Sample,
    batch_aligned,
    constant,
    elementwise,
    first_operand,
    general,
    internal,
    no_gradient,
    real_elementwise,
    rule,
    second_operand,
)

flat = internal.elementwise(
    lambda value, x: np.positive(np.broadcast_arrays(value, x)[0]),
    1,
    0,
    name="flat",
    doc="value; a step function of x, so that its slope in x is 0.",
)


def step(condition, x):
    """where(condition, 1, 0); recorded as flat in x, so that its derivatives are 0, as in PyTorch, not missing."""
    steps = mask(condition, x)
    return steps if isinstance(x, np.ndarray | np.generic) else flat(steps, x)


def shared(other, x, y):
    """where(other, 0, where(x == y, 0.5, 1)); 1 also at nan."""
    return mask(~other, x, y) - 0.5 * mask(x == y, x, y)


real_elementwise(
    np.maximum,
    lambda _, x, y: shared(x < y, x, y),
    lambda _, x, y: shared(x > y, x, y),
    twin="maximum(x, y)",
    doc="Larger of two elements; nan if either is nan.",
    subgradient="1/2 to each at a tie, 1 to each at nan",
)
real_elementwise(
    np.minimum,
    lambda _, x, y: shared(x > y, x, y),
    lambda _, x, y: shared(x < y, x, y),
    twin="minimum(x, y)",
    doc="Smaller of two elements; nan if either is nan.",
    subgradient="1/2 to each at a tie, 1 to each at nan",
)
real_elementwise(
    np.fmax,
    lambda _, x, y: mask((x >= y) | np.isnan(y), x, y),
    lambda _, x, y: mask(~((x >= y) | np.isnan(y)), x, y),
    twin="Piecewise((x, x >= y), (y, True))",
    doc="Larger of two elements, ignoring nan.",
    subgradient="all to x at a tie",
)
real_elementwise(
    np.fmin,
    lambda _, x, y: mask((x <= y) | np.isnan(y), x, y),
    lambda _, x, y: mask(~((x <= y) | np.isnan(y)), x, y),
    twin="Piecewise((x, x <= y), (y, True))",
    doc="Smaller of two elements, ignoring nan.",
    subgradient="all to x at a tie",
)


def clip_signature(x, min=None, max=None, *, a_min=None, a_max=None):
    """Bind clip's bounds, either of which may be None."""
    low, high = min if a_min is None else a_min, max if a_max is None else a_max
    if low is None and high is None:
        raise ValueError("clip needs a lower or an upper bound")
    return (x, -np.inf if low is None else low, np.inf if high is None else high), {}


clip = real_elementwise(
    lambda x, low, high: np.minimum(np.maximum(x, low), high),
    lambda _, x, low, high: mask((x >= low) & (x <= high), x, low, high),
    lambda _, x, low, high: mask((x < low) & ((low < high) | (high == np.inf)), x, low, high),
    lambda _, x, low, high: mask((x > high) | (low > high), x, low, high),
    name="clip",
    aliases=("clamp",),
    numpy=(np.clip,),
    node="Clamp",
    bind=clip_signature,
    domain=(REAL, (-1.5, -1.3), (0.6, 0.8)),
    samples=(Sample(A(3, 4), -1.0, 1.0), Sample(A(3, 4), A(4), A(3, 1)), Sample(A(5), min=0.5), Sample(A(), max=1.0)),
    twin="Piecewise((z, x > z), (minimum(y, z), x < y), (x, True))",
    doc="x limited to the interval [min, max].",
    subgradient="1 at a bound",
)


def exact_where(field, *operands):
    from .exact import map_elements, without_field  # loaded for exact numbers only

    return map_elements(field.choose, tuple(map(without_field, operands)))


general(
    "where",
    np.where,
    no_gradient,
    rule(
        "g where x was chosen; 0 elsewhere, even where g is infinite",
        lambda g, out_shape, condition, x_shape, _y: fit_to_shape(np.where(condition, g, 0.0), x_shape, len(out_shape)),
    ),
    rule(
        "g where y was chosen",
        lambda g, out_shape, condition, _x, y_shape: fit_to_shape(np.where(condition, 0.0, g), y_shape, len(out_shape)),
    ),
    batch=batch_aligned,
    promote=(1, 2),
    samples=(Sample(TEST, A(3, 4), A(3, 4)), Sample(TEST, A(4), A(3, 1)), Sample(TEST, A(), 1.0)),
    twin="Piecewise((y, x), (z, True))",
    exact=exact_where,
    pattern=ELEMENTWISE,
    doc="y where the condition x is true, otherwise z.",
)
BETWEEN_JUMPS = ((3.2, 3.8), (1.0, 1.05))
"""Domain of x and y where x / y lies between two integers."""

elementwise(np.add, 1, 1, node="Add", twin="x + y", doc="Sum of two arrays.")
elementwise(
    np.subtract,
    1,
    -1,
    aliases=("sub",),
    node="Sub",
    variants=("RsubBackward1", None),
    twin="x - y",
    doc="Difference of two arrays.",
)
elementwise(
    np.multiply,
    second_operand,
    first_operand,
    aliases=("mul",),
    node="Mul",
    twin="x * y",
    doc="Product of two arrays, element by element.",
)


def inverse(_, _x, y):
    """1 / y."""
    try:
        return 1 / y
    except ZeroDivisionError:  # a Python zero, by which NumPy would divide
        return complex(math.nan, math.nan) if isinstance(y, complex) else math.copysign(math.inf, y)


def quotient_pair(g, _out, x, y, first, second):
    """g / y, and -g x / y^2; None for an operand that needs no cotangent."""
    # NumPy negates the temporary product in place. x / y / y is 0 where x is 0, even if 1 / y overflows.
    # Keeping the quotient for backward would save a division, but programs often change quotients in place.
    return g / y if first else None, -(g * (x / y / y)) if second else None


elementwise(
    np.divide,
    inverse,
    lambda _, x, y: -x / y / y,
    pair=quotient_pair,
    aliases=("div", "true_divide"),
    node="Div",
    domain=(REAL, POSITIVE),
    twin="x / y",
    doc="Quotient of two arrays.",
)
elementwise(np.negative, -1, aliases=("neg",), node="Neg", twin="-x", doc="Minus x.")
elementwise(np.positive, 1, node="Positive", twin="x", doc="A copy of the array.")
elementwise(
    lambda x: 1 / x,  # NumPy's reciprocal of integers is an integer
    lambda out, _: -out * out,
    name="reciprocal",
    numpy=(np.reciprocal,),
    domain=(POSITIVE,),
    twin="1 / x",
    doc="1 / x.",
)
elementwise(np.square, lambda _, x: 2 * x, node="Pow", twin="x**2", doc="x squared.")


def power_dx(_, x, y):
    """y * x ** (y - 1); 0 where y is 0, so that 0^0 has slope 0 as in PyTorch."""
    if isinstance(y, (int, float)):
        if type(y) is float and y == 0.5:
            return 0.5 / np.sqrt(x)
        return 2 * x if y == 2 else np.zeros_like(x) if y == 0 else y * power.forward(x, y - 1)
    undefined = (x == 0) & (y == 0)  # 0 times infinity, here and in further derivatives
    return np.where(undefined, 0.0, y * power.forward(np.where(undefined, 1.0, x), y - 1))


def power_dy(out, x, y):
    """out * log(x), complex if out is; 0 where x is 0 and y is not negative."""
    if isinstance(x, (int, float)) and x > 0:
        return out * math.log(x)
    if is_complex(out):
        x = x + 0j
    flat = (x == 0) & (abs(y) == y)
    return np.where(flat, 0.0, out * np.log(np.where(flat, 1.0, x)))


power = elementwise(
    operator.pow,  # faster than np.power for small integer exponents
    power_dx,
    power_dy,
    name="power",
    numpy=(np.power, np.float_power),
    aliases=("pow", "float_power"),
    node="PowBackward1",
    variants=("PowBackward2", "PowBackward0"),
    domain=(POSITIVE, REAL),
    twin="x**y",
    doc="x raised to the power y.",
    subgradient="d/dx is 0 where y = 0; d/dy is 0 where x = 0 and y >= 0",
)
elementwise(np.sqrt, lambda out, _: 0.5 / out, domain=(POSITIVE,), twin="sqrt(x)", doc="Square root.")
elementwise(
    lambda x: 1 / np.sqrt(x),
    lambda out, _: -0.5 * out * out * out,
    name="rsqrt",
    domain=(POSITIVE,),
    twin="1 / sqrt(x)",
    doc="1 / sqrt(x).",
)
real_elementwise(
    np.cbrt,
    lambda out, _: 1 / (3 * out * out),
    domain=((-4.0, -0.2),),
    twin="cbrt(x)",
    doc="Real cube root, also of negative numbers.",
)
hypot_slope: Any = internal.elementwise(
    lambda x, y: x / np.hypot(x, y),
    lambda _, x, y: hypot_slope(y, x) * hypot_slope(y, x) / np.hypot(x, y),  # 1 - out^2 loses digits near 1
    lambda out, x, y: -out * hypot_slope(y, x) / np.hypot(x, y),
    name="hypot_slope",
    samples=(),
    twin="x / sqrt(x**2 + y**2)",
    doc="Derivative of the length of (x, y) with respect to x.",
)
real_elementwise(
    np.hypot,
    lambda _, x, y: hypot_slope(x, y),
    lambda _, x, y: hypot_slope(y, x),
    twin="sqrt(x**2 + y**2)",
    doc="Length of the vector (x, y), without overflow.",
    subgradient="nan at (0, 0)",
)


def sgn_vjp(g, out, x):
    """(g - s Re(conj(s) g)) / |x|: the part of g perpendicular to x; 0 at the origin and for real numbers."""
    if not is_complex(x):
        return np.zeros_like(g)
    size = abs(x)
    across = g - out * (out.conj() * g).real
    return np.where(size == 0, 0.0, across / np.where(size == 0, 1.0, size))


sgn_entry = general(
    "sgn",
    np.sign,
    sgn_vjp,
    domain=((0.3, 3.0),),
    doc="x / |x|: the sign of real numbers, the direction of complex ones.",
    subgradient="0 at 0",
)


def direction(x):
    """sign(x); x / |x| for a complex number."""
    return sgn_entry(x) if is_complex(x) else np.sign(x)


elementwise(
    np.absolute,
    lambda _, x: direction(x),
    aliases=("abs",),
    node="Abs",
    holomorphic=False,
    twin="abs(x)",
    doc="Absolute value (modulus of a complex number).",
    subgradient="0 at 0",
)
TO_WHOLE_NUMBERS: list[tuple[str, tuple, tuple[str, ...], str]] = [
    ("sign", (np.sign,), (), "Sign of x: -1, 0 or 1. For complex numbers, x / |x|."),
    ("floor", (np.floor,), (), "Largest integer not greater than x."),
    ("ceil", (np.ceil,), (), "Smallest integer not less than x."),
    ("round", (np.rint,), ("rint",), "Nearest integer, with halves rounded to even."),
    ("trunc", (np.trunc, np.fix), ("fix",), "Integer part."),
]
for name, functions, aliases, doc in TO_WHOLE_NUMBERS:
    real_elementwise(
        functions[0],
        0,
        name=name,
        aliases=aliases,
        numpy=functions,
        domain=((1.05, 1.45),),
        twin=f"{name}(x)",
        doc=doc,
        subgradient="0 everywhere",
    )
real_elementwise(
    np.remainder,
    1,
    lambda _, x, y: -np.floor_divide(x, y),
    aliases=("mod",),
    node="RemainderBackward1",
    variants=("RemainderBackward2", "RemainderBackward0"),
    domain=BETWEEN_JUMPS,
    twin="x - y * floor(x / y)",
    doc="Remainder with the sign of y, like % in Python.",
    subgradient="the slope of the piece to the right at a jump",
)
real_elementwise(
    np.fmod,
    1,
    lambda _, x, y: -trunc_divide(x, y),
    node="FmodBackward1",
    variants=(None, "FmodBackward0"),
    domain=BETWEEN_JUMPS,
    twin="x - y * trunc(x / y)",
    doc="Remainder with the sign of x, like fmod in C.",
)
real_elementwise(
    np.floor_divide,
    0,
    0,
    domain=BETWEEN_JUMPS,
    twin="floor(x / y)",
    doc="Quotient rounded down, like // in Python.",
    subgradient="0 everywhere",
)


def trunc_divide_forward(x, y):
    """x / y rounded towards 0; exact for integers."""
    if np.result_type(x, y).kind in "fO":
        return np.trunc(np.true_divide(x, y))
    quotient = np.floor_divide(x, y)
    return quotient + ((quotient < 0) & (quotient * y != x))


trunc_divide: Any = internal.elementwise(
    trunc_divide_forward, 0, 0, name="trunc_divide", node="Div", domain=BETWEEN_JUMPS, twin="trunc(x / y)"
)
real_elementwise(
    np.copysign,
    lambda out, x, _: np.where(x == 0, 0.0, out / np.where(x == 0, 1.0, x)),
    0,
    twin="abs(x) * sign(y)",
    doc="Magnitude of x with the sign of y.",
    subgradient="0 where x = 0",
)
constant(np.signbit, doc="True where the sign bit is set.")
constant(np.isnan, doc="True where x is nan.")
constant(np.isinf, doc="True where x is infinite.")
constant(np.isfinite, doc="True where x is neither infinite nor nan.")


COMPARISONS: list[tuple[np.ufunc, tuple[str, ...], str]] = [
    (np.equal, ("eq",), "True where x == y."),
    (np.not_equal, ("ne",), "True where x != y."),
    (np.less, ("lt",), "True where x < y."),
    (np.less_equal, ("le",), "True where x <= y."),
    (np.greater, ("gt",), "True where x > y."),
    (np.greater_equal, ("ge",), "True where x >= y."),
    (np.logical_and, (), "True where both x and y are true."),
    (np.logical_or, (), "True where x or y is true, or both are."),
    (np.logical_xor, (), "True where exactly one of x and y is true."),
    (np.bitwise_and, (), "Bitwise and of integers, or logical and of booleans."),
    (np.bitwise_or, (), "Bitwise or of integers, or logical or of booleans."),
    (np.bitwise_xor, (), "Bitwise exclusive or of integers, or logical exclusive or of booleans."),
]
for ufunc, aliases, doc in COMPARISONS:
    promote = () if ufunc.__name__.startswith("logical") else None
    constant(ufunc, arity=2, aliases=aliases, promote=promote, doc=doc)
constant(np.logical_not, doc="True where x is false.")
constant(np.invert, aliases=("bitwise_not",), doc="Bitwise complement of integers, or logical not of booleans.")
of_integers = functools.partial(constant, arity=2, promote=None, samples=())
of_integers(np.left_shift, name="bitwise_left_shift", doc="x times 2**y, for integers.")
of_integers(np.right_shift, name="bitwise_right_shift", doc="x divided by 2**y and rounded down, for integers.")
