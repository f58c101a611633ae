"""Normalization over the last axes, over groups of channels, and by the moments of batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api.create import ones, tensor, zeros
from ..api.wrap import records_as
from ..rules import entry
from ..rules.shapes import lay_along
from ..tape.dtypes import int64
from ..tape.modes import no_grad
from ..tape.tensor import Parameter, Tensor
from . import init
from .layers import Layer


def scale_channels(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return x * weight + bias per channel, for x (N, C, ...); weight and bias may be None."""
    x = x if weight is None else x * lay_along(weight, 1 - x.ndim)
    return x if bias is None else x + lay_along(bias, 1 - x.ndim)


@records_as("NativeLayerNormBackward0")
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """(input - mean) / sqrt(variance + eps) * weight + bias over the last axes, of shape normalized_shape."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(int(n) for n in normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element"
        )
    if tuple(input.shape[-len(shape) :]) != shape or input.ndim < len(shape):
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], "
            f"but got input of size{list(input.shape)}"
        )
    if any(x is not None and tuple(x.shape) != shape for x in (weight, bias)):
        raise RuntimeError(f"layer_norm: expected weight and bias of shape {list(shape)} (normalized_shape)")
    out = entry("standardize")(input, axis=(*range(-len(shape), 0),), eps=eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


@records_as("NativeGroupNormBackward0")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Standardize each of num_groups groups of channels of (N, C, ...). Raises RuntimeError unless they divide C."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    batch, channels, *sizes = input.shape
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, "
            f"but got input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    groups = input.reshape(batch, num_groups, channels // num_groups * math.prod(sizes))
    out = entry("standardize")(groups, axis=(-1,), eps=eps).reshape(tuple(input.shape))
    return scale_channels(out, weight, bias)


@records_as("NativeBatchNormBackward0")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Standardize each channel of (N, C, ...): by the batch's moments when training, else by the running moments.

    Training moves the running moments towards the batch's. Raises ValueError for a single value per channel, and
    RuntimeError for running moments that are missing or do not match the channels.
    """
    if input.ndim < 2:
        if input.numel():
            raise RuntimeError(f"batch_norm needs a batch of channels (N, C, ...), got shape {list(input.shape)}")
        return input.clone()
    if any(x is not None and x.numel() != input.shape[1] for x in (running_mean, running_var)):
        raise RuntimeError(f"running_mean and running_var should contain {input.shape[1]} elements")
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
        mean, variance = (lay_along(moment, 1 - input.ndim) for moment in (running_mean, running_var))
        return scale_channels((input - mean) / (variance + eps).sqrt(), weight, bias)
    if not math.prod(input.shape):
        return scale_channels(input.clone(), weight, bias)
    axes = (0, *range(2, input.ndim))
    if math.prod(input.shape) == input.shape[1]:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    with no_grad():
        if running_mean is not None:
            running_mean.copy_(running_mean * (1 - momentum) + input.mean(axes) * momentum)
        if running_var is not None:
            running_var.copy_(running_var * (1 - momentum) + input.var(axes) * momentum)
    out = entry("standardize")(input, axis=tuple(i - input.ndim for i in axes), eps=eps)
    return scale_channels(out, weight, bias)


class Norm(Layer):
    """A normalization with an optional scale and shift."""

    weight: Parameter | None
    bias: Parameter | None

    def _make(self, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, make, wanted in (("weight", ones, weight), ("bias", zeros, weight and bias)):
            self.register_parameter(name, Parameter(make(shape, dtype=dtype, device=device)) if wanted else None)

    def reset_parameters(self) -> None:
        """Set the scale to 1 and the shift to 0."""
        for name, x in self.named_parameters(recurse=False):
            init.constant_(x, float(name == "weight"))


class LayerNorm(Norm):
    """(x - mean) / sqrt(variance + eps) over the last axes, followed by weight and bias."""

    _shown = "=normalized_shape eps elementwise_affine bias"

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int | np.integer) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self._make(shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(Norm):
    """Standardize groups of channels of (N, C, ...), followed by weight and bias per channel."""

    _shown = "=num_groups =num_channels eps affine bias"

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        if num_groups < 1:
            raise ValueError(f"num_groups must be at least 1, got {num_groups}")
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make(num_channels, affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class BatchNorm(Norm):
    """Standardize each channel by the batch's moments when training, else by running ones, followed by weight and bias.

    running_mean, running_var and num_batches_tracked are buffers; momentum=None averages over all batches.
    """

    _shown = "=num_features eps momentum affine bias track_running_stats"
    _ranks: tuple[int, ...] = ()
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._make(num_features, affine, bias, device, dtype)
        moments = (zeros(num_features, dtype=dtype), ones(num_features, dtype=dtype), tensor(0, dtype=int64))
        for name, x in zip(("running_mean", "running_var", "num_batches_tracked"), moments, strict=True):
            self.register_buffer(name, x if track_running_stats else None)

    def reset_parameters(self) -> None:
        """Reset the running moments, and set the scale to 1 and the shift to 0."""
        for name, x in self.named_buffers(recurse=False):
            x.fill_(name == "running_var")
        super().reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in self._ranks:
            ranks = " or ".join(f"{n}D" for n in self._ranks)
            raise ValueError(f"expected {ranks} input (got {input.ndim}D input)")
        step = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            step = 1.0 / self.num_batches_tracked.item() if step is None else step
        moments = (self.running_mean, self.running_var)
        if self.training and not self.track_running_stats:
            moments = (None, None)
        batch = self.training or self.running_mean is None
        return batch_norm(input, *moments, self.weight, self.bias, batch, step or 0.0, self.eps)


class BatchNorm1d(BatchNorm):
    __doc__ = BatchNorm.__doc__
    _ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    __doc__ = BatchNorm.__doc__
    _ranks = (4,)
