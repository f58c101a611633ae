"""Fill parameters with initial values, in place and unrecorded; each function returns its tensor."""

from __future__ import annotations

import math
from typing import Any

from ..api import create
from ..tape.modes import no_grad
from ..tape.tensor import Tensor

GAINS = {**dict.fromkeys(("linear", "conv1d", "conv2d", "sigmoid"), 1.0), "tanh": 5.0 / 3, "relu": math.sqrt(2.0)}


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a number."""
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 0.0)


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with uniform random numbers between a and b."""
    return create.uniform_(tensor, a, b)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill with normal random numbers; complex ones have total variance std^2. Raises RuntimeError for std < 0."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return create.normal_(tensor, mean, std)


def fans(tensor: Tensor) -> tuple[int, int]:
    """Return the fan-in and fan-out of a weight (out, in, ...). Raises ValueError for fewer than two axes."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = fans
"""A private name in PyTorch that tutorials use."""


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """Return the factor that compensates for the shrinking by a nonlinearity. Raises ValueError for unknown ones."""
    if nonlinearity in GAINS:
        return GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with uniform random numbers of variance gain^2 2 / (inputs + outputs) (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with normal random numbers of variance gain^2 2 / (inputs + outputs) (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))))


def he_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """Return gain / sqrt(inputs), or gain / sqrt(outputs) with mode 'fan_out' (He et al. 2015)."""
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    if 0 in tensor.shape:
        return 0.0
    return calculate_gain(nonlinearity, a) / math.sqrt(fans(tensor)[modes.index(mode.lower())])


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill with uniform random numbers of variance gain^2 / inputs; with mode 'fan_out', gain^2 / outputs."""
    bound = math.sqrt(3.0) * he_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill with normal random numbers of variance gain^2 / inputs; with mode 'fan_out', gain^2 / outputs."""
    return normal_(tensor, 0.0, he_std(tensor, a, mode, nonlinearity))


__all__ = ["calculate_gain", "constant_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "uniform_"]
__all__ += ["xavier_normal_", "xavier_uniform_", "zeros_"]
