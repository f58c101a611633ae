"""Activation functions made of pieces, and those made of a sigmoid or tanh.

At a kink the slope is the one PyTorch takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .activation import below_zero
from .activation import softplus_entry as ramp
from .shapes import rank
from .table import A, Sample, composition, elementwise
from .transcendental import sigmoid, tanh_slope
from .where import step

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def inside(x, low, high):
    """where((x <= low) | (x >= high), 0, 1); in the type of x."""
    return step(~((x <= low) | (x >= high)), x)


def bind_parameters(**defaults):
    """Return what binds one operand and parameters with these defaults, by place or by name."""

    def bind(x, *args, **params):
        given = dict(zip(defaults, args, strict=False))
        if len(args) > len(defaults) or not set(params) <= set(defaults) - set(given):
            wrong = [*args[len(defaults) :], *(name for name in params if name not in defaults or name in given)]
            raise TypeError(f"unexpected argument {wrong[0]!r}; the parameters are {', '.join(defaults)}")
        return (x,), {**defaults, **given, **params}

    return bind


elementwise(
    lambda x, *, min_val, max_val: np.minimum(np.maximum(x, min_val), max_val),
    lambda _, x, *, min_val, max_val: inside(x, min_val, max_val),
    name="hardtanh",
    bind=bind_parameters(min_val=-1.0, max_val=1.0),
    complex=False,
    samples=(Sample(A(3, 4)), Sample(A(5), -0.5, 2.0)),
    twin="minimum(maximum(x, min_val), max_val)",
    doc="x limited to [min_val, max_val], -1 to 1 unless given.",
    subgradient="0 at a bound",
)
elementwise(
    lambda x: np.minimum(np.maximum(x, 0), 6),
    lambda _, x: inside(x, 0, 6),
    name="relu6",
    node="Hardtanh",
    complex=False,
    twin="minimum(maximum(x, 0), 6)",
    doc="x limited to [0, 6].",
    subgradient="0 at a bound",
)
elementwise(
    lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    lambda _, x: step((x > -3) & (x < 3), x) / 6,
    name="hardsigmoid",
    complex=False,
    twin="minimum(maximum(x + 3, 0), 6) / 6",
    doc="Ramp from 0 at -3 to 1 at 3.",
    subgradient="0 at -3 and 3",
)


def hardswish_dx(_, x):
    """x / 3 + 1/2 between -3 and 3, 0 below, 1 above."""
    return np.where(x <= -3, 0.0, np.where(x < 3, x / 3 + 0.5, 1.0))


elementwise(
    lambda x: x * (np.minimum(np.maximum(x + 3, 0), 6) / 6),
    hardswish_dx,
    name="hardswish",
    complex=False,
    twin="x * minimum(maximum(x + 3, 0), 6) / 6",
    doc="x times hardsigmoid(x).",
    subgradient="0 at -3, 1 at 3",
)
elementwise(
    lambda x, *, lambd: np.where(abs(x) <= lambd, 0.0, x),
    lambda _, x, *, lambd: step(~(abs(x) <= lambd), x),
    name="hardshrink",
    bind=bind_parameters(lambd=0.5),
    complex=False,
    samples=(Sample(A(3, 4)), Sample(A(5), lambd=1.0)),
    twin="Piecewise((x, abs(x) > lambd), (0, True))",
    doc="x where |x| > lambd, else 0.",
    subgradient="0 at -lambd and lambd",
)
elementwise(
    lambda x, *, lambd: np.where(abs(x) <= lambd, 0.0 * x, x - lambd * np.sign(x)),
    lambda _, x, *, lambd: step(~(abs(x) <= lambd), x),
    name="softshrink",
    bind=bind_parameters(lambd=0.5),
    complex=False,
    samples=(Sample(A(3, 4)), Sample(A(5), lambd=1.0)),
    twin="sign(x) * maximum(abs(x) - lambd, 0)",
    doc="x moved towards 0 by lambd, 0 where |x| <= lambd.",
    subgradient="0 at -lambd and lambd",
)
elementwise(
    lambda x, *, threshold, value: np.where(x <= threshold, value, x),
    lambda _, x, *, threshold, value: step(~(x <= threshold), x),
    name="threshold",
    bind=lambda x, threshold, value: ((x,), {"threshold": threshold, "value": value}),
    complex=False,
    samples=(Sample(A(3, 4), 0.5, -1.0),),
    twin="Piecewise((x, x > threshold), (value, True))",
    doc="x where it exceeds the threshold, else the value.",
    subgradient="0 at the threshold",
)


def scaled_elu(x, *, alpha, scale, rate):
    """scale x where positive, scale alpha (exp(rate x) - 1) elsewhere."""
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) * rate))


def scaled_elu_dx(_, x, *, alpha, scale, rate):
    """scale, or scale alpha rate exp(rate x)."""
    return np.where(x <= 0, (scale * alpha * rate) * np.exp(below_zero(x) * rate), scale)


def celu_signature(x, alpha=1.0):
    """Bind celu. Raises RuntimeError for alpha = 0."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return (x,), {"alpha": alpha, "scale": 1.0, "rate": 1.0 / alpha}


elementwise(
    scaled_elu,
    scaled_elu_dx,
    name="celu",
    node="Celu",
    bind=celu_signature,
    complex=False,
    samples=(Sample(A(3, 4)), Sample(A(5), alpha=0.5)),
    twin="Piecewise((x, x > 0), (alpha * (exp(x / alpha) - 1), True))",
    doc="x where positive, alpha (exp(x / alpha) - 1) elsewhere.",
)
elementwise(
    scaled_elu,
    scaled_elu_dx,
    name="selu",
    node="Elu",
    bind=lambda x: ((x,), {"alpha": SELU_ALPHA, "scale": SELU_SCALE, "rate": 1.0}),
    complex=False,
    twin="scale * Piecewise((x, x > 0), (alpha * (exp(rate * x) - 1), True))",
    doc="elu scaled so that it keeps mean 0 and variance 1 (Klambauer et al. 2017).",
    subgradient="1.7581 at 0",
)
elementwise(
    lambda x: x / (1 + abs(x)),
    lambda _, x: 1 / (1 + abs(x)) ** 2,
    name="softsign",
    node="Div",
    complex=False,
    twin="x / (1 + abs(x))",
    doc="x / (1 + |x|).",
)


def tanhshrink_forward(x):
    """x - tanh(x); near 0 by Lambert's continued fraction tanh(x) = x / (1 + x^2 / (3 + x^2 / (5 + ...)))."""
    near = abs(x) < 1
    square = np.where(near, x, 0.0) ** 2
    rest: Any = 0.0
    for odd in range(19, 1, -2):
        rest = square / (odd + rest)
    return np.where(near, x * (rest / (1 + rest)), x - np.tanh(x)).astype(x.dtype)


elementwise(
    tanhshrink_forward,
    lambda _, x: np.tanh(x) ** 2,
    name="tanhshrink",
    node="Sub",
    twin="x - tanh(x)",
    doc="x - tanh(x).",
)


def silu_dx(_, x):
    """s(x) (1 + x s(-x)) with the sigmoid s."""
    return sigmoid(x) * (1 + x * sigmoid(-x))


def mish_dx(_, x):
    """tanh(r) + x tanh'(r) sigmoid(x) with r = softplus(x)."""
    r = soft_ramp(x)
    t = np.tanh(r)
    return t + x * tanh_slope(t, r) * sigmoid(x)


def soft_ramp(x):
    """log(1 + exp(x))."""
    return ramp(x, beta=1.0, threshold=np.inf)


elementwise(
    lambda x: x * sigmoid(x),
    silu_dx,
    name="silu",
    aliases=("swish",),
    twin="x / (1 + exp(-x))",
    doc="x times the logistic function of x.",
)
elementwise(
    lambda x: x * np.tanh(soft_ramp(x)),
    mish_dx,
    name="mish",
    complex=False,
    twin="x * tanh(log(1 + exp(x)))",
    doc="x tanh(softplus(x)).",
)


def prelu(x, weight):
    """x where positive, weight x elsewhere, with a weight per channel (axis 1)."""
    if rank(weight) == 1:
        weight = weight.reshape((-1,) + (1,) * (rank(x) - 2) if rank(x) > 1 else ())
    return np.where(x > 0, x, weight * x)


composition(
    prelu,
    samples=(Sample(A(2, 3, 2), A(3)), Sample(A(4), A(1)), Sample(A(2, 3), A())),
    subgradient="the weight at 0",
)
