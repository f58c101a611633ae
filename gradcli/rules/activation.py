"""Activation functions, logsumexp and softmax, in forms that neither overflow nor lose digits.

At a kink, the slope is that of PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import step
from .reduce import REDUCTIONS, reduction_signature
from .shapes import as_floats, conjugate, negative_axes, rank, sum_kept, unreduce
from .special import SQRT_2_OVER_PI, SQRT_HALF, erfc
from .table import LANES, REDUCTION, A, Sample, elementwise, general, internal, numpy_function, real_elementwise, rule
from .transcendental import sigmoid_entry, sigmoid_slope, tanh_slope

GELU_CUBIC = 0.044715
GELU_OF_TANH = "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))"
SOFTPLUS_OF_THRESHOLD = "Piecewise((x, beta * x > threshold), (log(1 + exp(beta * x)) / beta, True))"
logsigmoid_entry = real_elementwise(
    lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
    lambda _, x: sigmoid_entry(-x),
    name="logsigmoid",
    scipy="log_expit",
    node="LogSigmoid",
    twin="-log(1 + exp(-x))",
    doc="Logarithm of the logistic function.",
)


def softplus(x, *, beta, threshold):
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold."""
    z = x * beta
    return np.where(z > threshold, x, (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))) / beta)


softplus_entry = real_elementwise(
    softplus,
    rule(
        "sigmoid(beta x), and 1 on the linear part",
        lambda _, x, *, beta, threshold: np.where(x * beta > threshold, 1.0, sigmoid_entry(x * beta)),
    ),
    bind=lambda x, beta=1.0, threshold=None: (
        (x,),
        {"beta": beta, "threshold": math.inf if threshold is None else threshold},
    ),
    torch="softplus(input, beta=1.0, threshold=20.0)",
    samples=(Sample(A(3, 4)), Sample(A(3), beta=2.0), Sample(A(3), threshold=1.0)),
    twin="log(1 + exp(beta * x)) / beta",
    twin_of=lambda params: None if params.get("threshold") is None else SOFTPLUS_OF_THRESHOLD,
    doc="Smooth ramp log(1 + exp(beta x)) / beta.",
)
real_elementwise(
    lambda x: np.maximum(x, 0),
    lambda out, _: step(out != 0, out),  # also 1 at nan, as in PyTorch
    name="relu",
    twin="Piecewise((0, x <= 0), (x, True))",
    doc="Ramp max(x, 0).",
    subgradient="0 at 0",
)
real_elementwise(
    lambda x, *, negative_slope: np.where(x > 0, x, x * negative_slope),
    lambda _, x, *, negative_slope: step(x > 0, x) + negative_slope * step(~(x > 0), x),
    torch="leaky_relu(input, negative_slope=0.01)",
    samples=(Sample(A(3, 4)), Sample(A(3), negative_slope=0.2)),
    twin="Piecewise((x, x > 0), (negative_slope * x, True))",
    doc="x if x is positive, otherwise negative_slope * x.",
    subgradient="negative_slope at 0",
)


def below_zero(x):
    """minimum(x, 0); with slope 0 at 0."""
    return np.where(x < 0, x, 0.0)


real_elementwise(
    lambda x, *, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    lambda _, x, *, alpha: np.where(x <= 0, alpha * np.exp(below_zero(x)), 1.0),
    torch="elu(input, alpha=1.0)",
    samples=(Sample(A(3, 4)), Sample(A(3), alpha=0.5)),
    twin="Piecewise((x, x > 0), (alpha * (exp(x) - 1), True))",
    doc="x if x is positive, otherwise alpha (exp(x) - 1).",
    subgradient="alpha at 0",
)


def normal_cdf(x):
    """Distribution function of the standard normal, accurate in the lower tail."""
    return 0.5 * erfc(-SQRT_HALF * x)


def gelu(x, *, approximate):
    """x times the normal distribution function, or its tanh approximation (Hendrycks and Gimpel 2016)."""
    return x * (sigmoid_entry(gelu_inner(x)[0]) if approximate == "tanh" else normal_cdf(x))


def gelu_inner(x):
    """z for which sigmoid(z) = (1 + tanh(z / 2)) / 2 approximates the distribution function, and its slope."""
    x = np.clip(x, -100, 100)  # outside, the slope of sigmoid(z) is 0 and cubes overflow
    return 2 * SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x), 2 * SQRT_2_OVER_PI * (1 + 3 * GELU_CUBIC * x * x)


def gelu_dx(_, x, *, approximate):
    """Phi(x) + x phi(x), or the derivative of the tanh approximation."""
    if approximate == "tanh":
        z, inner = gelu_inner(x)
        s = sigmoid_entry(z)
        return s + x * sigmoid_slope(s, z) * inner
    return normal_cdf(x) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def gelu_signature(x, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', not {approximate!r}")
    return (x,), {"approximate": approximate}


real_elementwise(
    gelu,
    gelu_dx,
    bind=gelu_signature,
    samples=(Sample(A(3, 4)), Sample(A(3), approximate="tanh")),
    twin="x * (1 + erf(x / sqrt(2))) / 2",
    twin_of=lambda params: GELU_OF_TANH if params.get("approximate") == "tanh" else None,
    doc="x times the standard normal distribution function.",
)
SELU_ALPHA, SELU_SCALE, SELU_UNIT = 16732632423543772848170429916717, 10507009873554804934193349852946, 10**31


def inside(x, low, high):
    """where((x <= low) | (x >= high), 0, 1); in the type of x."""
    return step(~((x <= low) | (x >= high)), x)


real_elementwise(
    lambda x, *, min_val, max_val: np.minimum(np.maximum(x, min_val), max_val),
    lambda _, x, *, min_val, max_val: inside(x, min_val, max_val),
    torch="hardtanh(input, min_val=-1.0, max_val=1.0)",
    samples=(Sample(A(3, 4)), Sample(A(5), -0.5, 2.0)),
    twin="Piecewise((max_val, x >= max_val), (min_val, x <= min_val), (x, True))",
    doc="x limited to the interval [min_val, max_val].",
    subgradient="0 at a bound",
)
real_elementwise(
    lambda x: np.minimum(np.maximum(x, 0), 6),
    lambda _, x: inside(x, 0, 6),
    name="relu6",
    node="Hardtanh",
    twin="Piecewise((6, x >= 6), (0, x <= 0), (x, True))",
    doc="x limited to [0, 6].",
    subgradient="0 at a bound",
)
real_elementwise(
    lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    lambda _, x: step((x > -3) & (x < 3), x) / 6,
    name="hardsigmoid",
    twin="Piecewise((1, x >= 3), (0, x <= -3), ((x + 3) / 6, True))",
    doc="Ramp from 0 at -3 to 1 at 3.",
    subgradient="0 at -3 and 3",
)
real_elementwise(
    lambda x: x * (np.minimum(np.maximum(x + 3, 0), 6) / 6),
    rule(
        "x / 3 + 1/2 between -3 and 3, 0 below, 1 above",
        lambda _, x: np.where(x <= -3, 0.0, np.where(x < 3, x / 3 + 0.5, 1.0)),
    ),
    name="hardswish",
    twin="Piecewise((x, x >= 3), (0, x <= -3), (x * (x + 3) / 6, True))",
    doc="x times hardsigmoid(x).",
    subgradient="0 at -3, 1 at 3",
)
real_elementwise(
    lambda x, *, lambd: np.where(abs(x) <= lambd, 0.0, x),
    lambda _, x, *, lambd: step(~(abs(x) <= lambd), x),
    torch="hardshrink(input, lambd=0.5)",
    samples=(Sample(A(3, 4)), Sample(A(5), lambd=1.0)),
    twin="Piecewise((x, abs(x) > lambd), (0, True))",
    doc="x if |x| > lambd, otherwise 0.",
    subgradient="0 at -lambd and lambd",
)
real_elementwise(
    lambda x, *, lambd: np.where(abs(x) <= lambd, 0.0 * x, x - lambd * np.sign(x)),
    lambda _, x, *, lambd: step(~(abs(x) <= lambd), x),
    torch="softshrink(input, lambd=0.5)",
    samples=(Sample(A(3, 4)), Sample(A(5), lambd=1.0)),
    twin="Piecewise((x - lambd * sign(x), abs(x) > lambd), (0, True))",
    doc="x moved towards 0 by lambd; 0 if |x| <= lambd.",
    subgradient="0 at -lambd and lambd",
)
real_elementwise(
    lambda x, *, threshold, value: np.where(x <= threshold, value, x),
    lambda _, x, *, threshold, value: step(~(x <= threshold), x),
    torch="threshold(input, threshold, value)",
    samples=(Sample(A(3, 4), 0.5, -1.0),),
    twin="Piecewise((x, x > threshold), (value, True))",
    doc="x if x exceeds the threshold, otherwise the value.",
    subgradient="0 at the threshold",
)


def scaled_elu(x, *, alpha, scale, rate):
    """scale x where positive, scale alpha (exp(rate x) - 1) elsewhere."""
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) * rate))


def scaled_elu_dx(_, x, *, alpha, scale, rate):
    """scale, or scale alpha rate exp(rate x)."""
    return np.where(x <= 0, (scale * alpha * rate) * np.exp(below_zero(x) * rate), scale)


real_elementwise(
    scaled_elu,
    scaled_elu_dx,
    name="celu",
    bind=lambda x, alpha=1.0: ((x,), {"alpha": alpha, "scale": 1.0, "rate": 1.0 / alpha}),
    samples=(Sample(A(3, 4)), Sample(A(5), alpha=0.5)),
    twin="Piecewise((x, x > 0), (alpha * (exp(x / alpha) - 1), True))",
    doc="x if x is positive, otherwise alpha (exp(x / alpha) - 1).",
)
real_elementwise(
    scaled_elu,
    scaled_elu_dx,
    name="selu",
    node="Elu",
    bind=lambda x: ((x,), {"alpha": SELU_ALPHA / SELU_UNIT, "scale": SELU_SCALE / SELU_UNIT, "rate": 1.0}),
    twin=f"Piecewise((x, x > 0), ((exp(x) - 1) * {SELU_ALPHA} / {SELU_UNIT}, True)) * {SELU_SCALE} / {SELU_UNIT}",
    doc="elu, scaled so that mean 0 and variance 1 are preserved (Klambauer et al. 2017).",
    subgradient="1.7581 at 0",
)
real_elementwise(
    lambda x: x / (1 + abs(x)),
    lambda _, x: 1 / (1 + abs(x)) ** 2,
    name="softsign",
    node="Div",
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


def mish_dx(_, x):
    """tanh(r) + x tanh'(r) sigmoid(x) with r = softplus(x)."""
    r = soft_ramp(x)
    t = np.tanh(r)
    return t + x * tanh_slope(t, r) * sigmoid_entry(x)


def soft_ramp(x):
    """log(1 + exp(x))."""
    return softplus_entry(x, beta=1.0, threshold=np.inf)


elementwise(
    lambda x: x * sigmoid_entry(x),
    rule("s(x) (1 + x s(-x)) with the sigmoid s", lambda _, x: sigmoid_entry(x) * (1 + x * sigmoid_entry(-x))),
    name="silu",
    aliases=("swish",),
    twin="x / (1 + exp(-x))",
    doc="x times the logistic function of x.",
)
real_elementwise(
    lambda x: x * np.tanh(soft_ramp(x)),
    mish_dx,
    name="mish",
    twin="x * tanh(log(1 + exp(x)))",
    doc="x tanh(softplus(x)).",
)


@numpy_function(Sample(A(2, 3, 2), A(3)), Sample(A(4), A(1)), Sample(A(2, 3), A()), subgradient="the weight at 0")
def prelu(x, weight):
    """x if x is positive, otherwise weight * x, with one weight for each channel (axis 1)."""
    if rank(weight) == 1:
        weight = weight.reshape((-1,) + (1,) * (rank(x) - 2) if rank(x) > 1 else ())
    return np.where(x > 0, x, weight * x)


def largest(x, axis):
    """Largest element over axis, which is kept; -inf if the axis is empty."""
    return np.maximum.reduce(x.real, axis=axis, keepdims=True, initial=-np.inf)


def finite_max(x, axis):
    """Largest element over axis, which is kept; 0 if that element is not finite or the axis is empty."""
    top = largest(x, axis)
    return np.where(np.isfinite(top), top, 0.0).astype(top.dtype)


def log_of_sum(shifted, axis):
    """log(sum(exp(shifted))), accurate where the largest element, which is 0, outweighs the others."""
    top = shifted == 0
    rest = np.add.reduce(np.where(top, 0, np.exp(shifted)), axis=axis, keepdims=True)
    return np.log1p(rest + (np.add.reduce(top, axis=axis, keepdims=True, dtype=rest.dtype) - 1))


def logsumexp_forward(x, *, axis, keepdims):
    """log(sum(exp(x))), shifted by the largest element so that nothing overflows."""
    x = as_floats(x)
    shift = finite_max(x, axis)
    total = log_of_sum(x - shift, axis) + shift
    return total if keepdims else np.squeeze(total, axis)


def logsumexp_vjp(g, _, x, *, axis, keepdims):
    """softmax(x) times g: for large values more accurate than exp(x - out) times g."""
    return unreduce(g, x.shape, axis, keepdims) * conjugate(finite_softmax(x, axis=axis))


general(
    "logsumexp",
    logsumexp_forward,
    logsumexp_vjp,
    bind=reduction_signature,
    folds=(np.logaddexp.reduce,),
    torch="logsumexp(input, dim, keepdim=False)",
    samples=REDUCTIONS,
    exact=lambda _field, x, *, axis, keepdims: np.log(np.add.reduce(np.exp(x), axis=axis, keepdims=keepdims)),
    pattern=REDUCTION,
    doc="log(sum(exp(x))) over axis, without overflow.",
)


def softmax_of(shifted, axis):
    """exp(shifted) normalised over axis."""
    e = np.exp(shifted)
    return e / np.add.reduce(e, axis=axis, keepdims=True)


def softmax_vjp(g, out, _x_shape, *, axis):
    """s (g - sum(g s)); g is first shifted by its value at the largest s, which only reduces rounding errors."""
    s = conjugate(out)
    size = np.abs(out)
    at_top = (size == largest(size, axis)).astype(s.dtype)
    scaled = s * (g - sum_kept(at_top * g, axis) / sum_kept(at_top, axis))
    return scaled - s * sum_kept(scaled, axis)


def log_softmax_forward(x, *, axis):
    shifted = x - largest(x, axis)
    return shifted - log_of_sum(shifted, axis)


def log_softmax_vjp(g, out, _x_shape, *, axis):
    """g - softmax(x) sum(g); (1 - softmax(x)) g - softmax(x) (sum of the other g) if one element dominates."""
    out = conjugate(out)
    s, outweighs = np.exp(out), out.real > -0.5
    top = sum_kept(np.where(outweighs, g, 0), axis)
    others = sum_kept(np.where(outweighs, 0, g), axis)
    return np.where(outweighs, -np.expm1(out) * g, g - s * top) - s * others


def softmax_signature(x, axis=-1):
    """Bind softmax over one axis, several axes, or all (None)."""
    return (x,), {"axis": negative_axes(axis, rank(x)) if rank(x) else ()}


SOFTMAXES = (Sample(A(3, 4)), Sample(A(3, 4), axis=0), Sample(A(2, 3, 4), axis=1), Sample(A()))
softmax_entry = general(
    "softmax",
    lambda x, *, axis: softmax_of(x - largest(x, axis), axis),
    softmax_vjp,
    bind=softmax_signature,
    torch="softmax(input, dim=None, *, dtype=None)",
    floats_only="softmax is not implemented for '{type}'",
    samples=SOFTMAXES,
    exact=lambda _field, x, *, axis: softmax_of(x, axis),
    pattern=LANES,
    doc="exp(x) / sum(exp(x)), with the sum over axis.",
)
finite_softmax = internal.general(
    "finite_softmax",
    lambda x, *, axis: softmax_of(x - finite_max(x, axis), axis),
    softmax_vjp,
    node="Softmax",
    exact=lambda _field, x, *, axis: softmax_of(x, axis),
)
general(
    "log_softmax",
    log_softmax_forward,
    log_softmax_vjp,
    bind=softmax_signature,
    torch="log_softmax(input, dim=None, *, dtype=None)",
    floats_only="log_softmax is not implemented for '{type}'",
    samples=SOFTMAXES,
    exact=lambda _field, x, *, axis: x - np.log(np.add.reduce(np.exp(x), axis=axis, keepdims=True)),
    pattern=LANES,
    doc="Logarithm of softmax, without overflow.",
)
