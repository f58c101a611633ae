"""Random zeros: elements or whole channels, when training."""

from __future__ import annotations

import math

from ...api.random import source
from ...api.wrap import operand
from ...rules.rectifiers import SELU_ALPHA, SELU_SCALE
from ...tape.tensor import Tensor
from .arguments import compute_into


def draw_mask(input: Tensor, p: float, channels: bool) -> Tensor:
    """Return 1 with probability 1 - p, else 0: per element, or per sample and channel."""
    shape = tuple(input.shape)
    if channels:
        shape = shape[:2] + (1,) * (len(shape) - 2)
    return operand(source.rng.random(shape) < 1 - p).to(input.dtype)


def check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def drop_elements(input: Tensor, p: float, training: bool, inplace: bool, channels: bool, alpha: bool) -> Tensor:
    """Drop elements or channels. Raises ValueError unless 0 <= p <= 1.

    alpha: the dropped ones get selu's lowest value, and a linear map restores mean and variance.
    """
    check_probability(p)
    if not training or p == 0:
        return input
    kept = draw_mask(input, p, channels)
    if p == 1:
        return compute_into(input, inplace, lambda: input * kept)
    if not alpha:
        return compute_into(input, inplace, lambda: input * (kept / (1 - p)))
    low = -SELU_ALPHA * SELU_SCALE
    scale = 1 / math.sqrt((1 - p) * (1 + p * low * low))
    return compute_into(input, inplace, lambda: (input * kept + low * (1 - kept) - low * p) * scale)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability p when training, the others divided by 1 - p."""
    return drop_elements(input, p, training, inplace, False, False)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for selu networks."""
    return drop_elements(input, p, training, inplace, False, True)


def channel_dropout(input: Tensor, p: float, training: bool, inplace: bool, ndim: int, alpha: bool) -> Tensor:
    """Drop whole channels of (N, C, ...) or, with one axis less, (C, ...)."""
    if input.ndim != ndim - 1:
        return drop_elements(input, p, training, inplace, True, alpha)
    whole = drop_elements(input.unsqueeze(0), p, training, False, True, alpha)
    return compute_into(input, inplace, lambda: whole.squeeze(0))


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero channels of (N, C, L) or (C, L) with probability p when training."""
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input.")
    return channel_dropout(input, p, training, inplace, 3, False)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero channels of (N, C, H, W) with probability p when training."""
    return channel_dropout(input, p, training, inplace, -1, False)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero channels of (N, C, D, H, W) or (C, D, H, W) with probability p when training."""
    return channel_dropout(input, p, training, inplace, 5, False)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels."""
    return channel_dropout(input, p, training, inplace, -1, True)
