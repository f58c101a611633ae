"""Normalization within a sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api.create import ones, zeros
from ...tape.parameter import Parameter
from ...tape.tensor import Tensor
from .. import functional, init
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
