"""Convolutions."""

from __future__ import annotations

import math
from typing import Any

from ...tape.tensor import Tensor
from .. import functional
from ..functional.convolution import paddings, per_axis
from .linear import fill_uniform, parameter
from .module import Module

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class Convolution(Module):
    """What all convolutions share; `_axes` is the number of axes that windows move along."""

    _axes = 1
    padding: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        n = self._axes
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {set(PADDING_MODES)}, but got padding_mode='{padding_mode}'"
            )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = per_axis(kernel_size, n, "kernel_size")
        self.stride, self.dilation = per_axis(stride, n, "stride"), per_axis(dilation, n, "dilation")
        self.padding = self._check_padding(padding)
        self.groups, self.padding_mode = groups, padding_mode
        self.weight = parameter(out_channels, in_channels // groups, *self.kernel_size, dtype=dtype, device=device)
        self.register_parameter("bias", parameter(out_channels, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def _check_padding(self, padding: Any) -> Any:
        if not isinstance(padding, str):
            return per_axis(padding, self._axes, "padding")
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string '{padding}', should be one of {{'valid', 'same'}}")
        if padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        return padding

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly from +-1 / sqrt(inputs per output)."""
        inputs = math.prod(self.weight.shape[1:])
        if inputs:
            fill_uniform(self, 1 / math.sqrt(inputs))

    def forward(self, input: Tensor) -> Tensor:
        call = getattr(functional, f"conv{self._axes}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            around = paddings(padding, self.kernel_size, self.stride, self.dilation)
            last_first = [length for pair in reversed(around) for length in pair]
            input, padding = functional.pad(input, last_first, self.padding_mode), 0
        return call(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        none, one = (0,) * self._axes, (1,) * self._axes
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, usual in (("padding", none), ("dilation", one), ("groups", 1)):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


def along_axes(n: int) -> Any:
    doc = f"Convolution of (N, C, ...) or (C, ...) along {n} axes; weight (out_channels, in_channels / groups, ...)."
    return type(f"Conv{n}d", (Convolution,), {"_axes": n, "__doc__": doc, "__module__": __name__})


Conv1d, Conv2d = (along_axes(n) for n in (1, 2))
