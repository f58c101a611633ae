"""Activation functions of neural networks, in the forms that neither overflow nor lose digits."""

from __future__ import annotations

import math

import numpy as np

from .special import SQRT_2_OVER_PI, SQRT_HALF, erfc
from .table import REAL, A, Sample, elementwise
from .transcendental import sigmoid, sigmoid_slope
from .where import step

GELU_CUBIC = 0.044715


def logsigmoid_forward(x):
    """-log(1 + exp(-x)) as min(x, 0) - log1p(exp(-|x|))."""
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


logsigmoid = elementwise(
    logsigmoid_forward,
    lambda _, x: sigmoid(-x),
    name="logsigmoid",
    scipy="log_expit",
    node="LogSigmoid",
    complex=False,
    twin="-log(1 + exp(-x))",
    doc="Logarithm of the logistic function.",
)


def softplus(x, *, beta, threshold):
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold."""
    z = x * beta
    return np.where(z > threshold, x, (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))) / beta)


def softplus_dx(_, x, *, beta, threshold):
    """sigmoid(beta x), and 1 on the linear part."""
    return np.where(x * beta > threshold, 1.0, sigmoid(x * beta))


def softplus_twin(params):
    """Return the formula with a threshold."""
    if params.get("threshold") is None:
        return None
    return "Piecewise((x, beta * x > threshold), (log(1 + exp(beta * x)) / beta, True))"


def softplus_signature(x, beta=1.0, threshold=None):
    """Bind softplus; without a threshold the function is smooth everywhere."""
    return (x,), {"beta": beta, "threshold": math.inf if threshold is None else threshold}


softplus_entry = elementwise(
    softplus,
    softplus_dx,
    bind=softplus_signature,
    complex=False,
    samples=(Sample(A(3, 4)), Sample(A(3), beta=2.0), Sample(A(3), threshold=1.0)),
    twin="log(1 + exp(beta * x)) / beta",
    twin_of=softplus_twin,
    doc="Smooth ramp log(1 + exp(beta x)) / beta.",
)
elementwise(
    lambda x: np.maximum(x, 0),
    lambda out, _: step(out > 0, out),
    name="relu",
    complex=False,
    twin="maximum(x, 0)",
    doc="Ramp max(x, 0).",
    subgradient="0 at 0",
)


elementwise(
    lambda x, *, negative_slope: np.where(x > 0, x, x * negative_slope),
    lambda _, x, *, negative_slope: step(x > 0, x) + negative_slope * step(~(x > 0), x),
    name="leaky_relu",
    node="LeakyRelu",
    bind=lambda x, negative_slope=0.01: ((x,), {"negative_slope": negative_slope}),
    complex=False,
    samples=(Sample(A(3, 4)), Sample(A(3), negative_slope=0.2)),
    twin="Piecewise((x, x > 0), (negative_slope * x, True))",
    doc="x where positive, negative_slope * x elsewhere.",
    subgradient="negative_slope at 0",
)


def below_zero(x):
    """minimum(x, 0); with slope 0 at 0."""
    return np.where(x < 0, x, 0.0)


elementwise(
    lambda x, *, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    lambda _, x, *, alpha: np.where(x <= 0, alpha * np.exp(below_zero(x)), 1.0),
    name="elu",
    bind=lambda x, alpha=1.0: ((x,), {"alpha": alpha}),
    complex=False,
    samples=(Sample(A(3, 4)), Sample(A(3), alpha=0.5)),
    twin="Piecewise((x, x > 0), (alpha * (exp(x) - 1), True))",
    doc="x where positive, alpha (exp(x) - 1) elsewhere.",
    subgradient="alpha at 0",
)


def normal_cdf(x):
    """Distribution function of the standard normal, accurate in the lower tail."""
    return 0.5 * erfc(-SQRT_HALF * x)


def gelu(x, *, approximate):
    """x times the normal distribution function, or its tanh approximation (Hendrycks and Gimpel 2016)."""
    if approximate == "tanh":
        return x * sigmoid(2 * SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x))
    return x * normal_cdf(x)


def gelu_dx(_, x, *, approximate):
    """Phi(x) + x phi(x), or the derivative of the tanh approximation."""
    if approximate == "tanh":
        z = 2 * SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x)  # (1 + tanh(z / 2)) / 2 is sigmoid(z)
        inner = 2 * SQRT_2_OVER_PI * (1 + 3 * GELU_CUBIC * x * x)
        s = sigmoid(z)
        return s + x * sigmoid_slope(s, z) * inner
    return normal_cdf(x) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def gelu_twin(params):
    """Return the formula of the tanh approximation."""
    tanh = "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))"
    return tanh if params.get("approximate") == "tanh" else None


def gelu_signature(x, approximate="none"):
    """Bind gelu; raises ValueError for an unknown approximation."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', not {approximate!r}")
    return (x,), {"approximate": approximate}


elementwise(
    gelu,
    gelu_dx,
    bind=gelu_signature,
    complex=False,
    domain=(REAL,),
    samples=(Sample(A(3, 4)), Sample(A(3), approximate="tanh")),
    twin="x * (1 + erf(x / sqrt(2))) / 2",
    twin_of=gelu_twin,
    doc="x times the standard normal distribution function.",
)
