"""Normalization within a sample, and with the moments of batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.create import ones, tensor, zeros
from ..tape.dtypes import int64
from ..tape.tensor import Parameter, Tensor
from . import functional, init
from .module import Module


class Scaled(Module):
    """A normalization with an optional scale and shift of its result."""

    def _make(self, shape: Any, device: Any, dtype: Any, **wanted: bool) -> None:
        for name, make in (("weight", ones), ("bias", zeros)):
            if name in wanted:
                x = Parameter(make(shape, dtype=dtype, device=device)) if wanted[name] else None
                self.register_parameter(name, x)

    def reset_parameters(self) -> None:
        """Make the scale 1 and the shift 0."""
        for name, x in self.named_parameters(recurse=False):
            (init.ones_ if name == "weight" else init.zeros_)(x)


def as_shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, int | np.integer) else tuple(shape)


class LayerNorm(Scaled):
    """(x - mean) / sqrt(variance + eps) over the last axes, then weight and bias."""

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
        self.normalized_shape, self.eps, self.elementwise_affine = as_shape(normalized_shape), eps, elementwise_affine
        shifted = elementwise_affine and bias
        self._make(self.normalized_shape, device, dtype, weight=elementwise_affine, bias=shifted)

    def forward(self, input: Tensor) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Scaled):
    """Standardize groups of channels of (N, C, ...), then weight and bias per channel."""

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
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make(num_channels, device, dtype, weight=affine, bias=affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RunningNorm(Scaled):
    """What batch and instance normalization share: running moments, and an affine map of each channel.

    running_mean, running_var and num_batches_tracked are buffers; momentum None averages over all batches.
    """

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
        how = {"dtype": dtype, "device": device}
        self._make(num_features, device, dtype, weight=affine, bias=affine and bias)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **how) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **how) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if tracked else None)

    def reset_running_stats(self) -> None:
        """Forget the running moments."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        super().reset_parameters()

    def _check(self, input: Tensor) -> None:
        if input.ndim not in self._ranks:
            ranks = " or ".join(f"{n}D" for n in self._ranks)
            raise ValueError(f"expected {ranks} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm(RunningNorm):
    """Standardize each channel with the batch's moments when training, else with the running ones."""

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        step = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                step = 1.0 / self.num_batches_tracked.item()
        use_batch = self.training or self.running_mean is None
        moves = not self.training or self.track_running_stats
        return functional.batch_norm(
            input,
            self.running_mean if moves else None,
            self.running_var if moves else None,
            self.weight,
            self.bias,
            use_batch,
            step,
            self.eps,
        )


def norm(name: str, base: type, ranks: tuple[int, ...]) -> Any:
    """Return the class of a norm for inputs of so many axes."""
    return type(name, (base,), {"_ranks": ranks, "__doc__": base.__doc__, "__module__": __name__})


BatchNorm1d = norm("BatchNorm1d", BatchNorm, (2, 3))
BatchNorm2d = norm("BatchNorm2d", BatchNorm, (4,))
