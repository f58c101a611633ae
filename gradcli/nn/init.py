"""Filling parameters with starting values, in place and unrecorded; each function returns its tensor."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..api import random
from ..api.random import source
from ..tape.modes import no_grad
from ..tape.tensor import Tensor

GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "sigmoid"), 1.0),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1.0),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def _fill(tensor: Tensor, values: Any) -> Tensor:
    """Copy numbers into a tensor and return it."""
    with no_grad():
        raw = np.asarray(values)
        kind = tensor.dtype.numpy
        return tensor.copy_(Tensor._wrap(raw if raw.dtype.kind == kind.kind == "c" else raw.astype(kind), None))


# -- given numbers --------------------------------------------------------------------------------


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a number."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Make a matrix the identity. Raises ValueError for another number of axes."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _fill(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make a convolution's weight keep as many channels of each group as it can."""
    shape = tensor.shape
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(shape)
    middle = tuple(n // 2 for n in shape[2:])
    size = shape[0] // groups
    for group in range(groups):
        for i in range(min(size, shape[1])):
            values[(group * size + i, i, *middle)] = 1
    return _fill(tensor, values)


# -- random numbers -------------------------------------------------------------------------------


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with uniform numbers between a and b."""
    with no_grad():
        return random.uniform_(tensor, a, b)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill with normal numbers; complex ones have the variance std^2 in all. Raises RuntimeError for std < 0."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    with no_grad():
        return random.normal_(tensor, mean, std)


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Fill with normal numbers between a and b."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    from scipy.special import erfinv  # here, because it takes long to import

    low, high = (math.erf((edge - mean) / std / math.sqrt(2)) for edge in (a, b))
    values = mean + std * math.sqrt(2) * erfinv(source.rng.uniform(low, high, tuple(tensor.shape)))
    return _fill(tensor, np.clip(values, a, b))


def fans(tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs and outputs each element of a weight (out, in, ...) connects.

    Raises ValueError below two axes.
    """
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = fans


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """Return by how much a nonlinearity shrinks its input, inverted. Raises ValueError for others."""
    if nonlinearity in GAINS:
        return GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if isinstance(param, bool) or not isinstance(param, int | float | None):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill uniformly, variance gain^2 2 / (inputs + outputs) (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with normal numbers, variance gain^2 2 / (inputs + outputs) (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))))


def _he_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return calculate_gain(nonlinearity, a) / math.sqrt(fans(tensor)[modes.index(mode.lower())])


def _nothing_to_fill(tensor: Tensor) -> bool:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return 0 in tensor.shape


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill uniformly, variance gain^2 / inputs, or outputs with mode 'fan_out' (He et al. 2015)."""
    if _nothing_to_fill(tensor):
        return tensor
    bound = math.sqrt(3.0) * _he_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill with normal numbers, variance gain^2 / inputs, or outputs with mode 'fan_out' (He et al. 2015)."""
    if _nothing_to_fill(tensor):
        return tensor
    return normal_(tensor, 0.0, _he_std(tensor, a, mode, nonlinearity))


def orthogonal_(tensor: Tensor, gain: float = 1) -> Tensor:
    """Make rows or columns, whichever are fewer, orthogonal of length gain (Saxe et al. 2013).

    Axes from the second on are taken together. Raises ValueError below two axes.
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if 0 in tensor.shape:
        return tensor
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    drawn = random.draw_normal((rows, columns), tensor.dtype.numpy)
    tall = drawn if rows >= columns else drawn.T
    q, r = np.linalg.qr(tall)
    q = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)  # uniform among all orthogonal matrices
    return _fill(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01) -> Tensor:
    """Fill a matrix with normal numbers, and that share of each column with zeros (Martens 2010)."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    values = std * random.draw_normal((rows, columns), tensor.dtype.numpy)
    for column in range(columns):
        values[source.rng.permutation(rows)[: math.ceil(sparsity * rows)], column] = 0
    return _fill(tensor, values)


__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]
