"""Modules that move elements around."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...tape.tensor import Tensor
from .module import Module
from .wrappers import REQUIRED, module_for

shaping = partial(module_for, module=__name__)


class Flatten(Module):
    """The axes from start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis as several."""

    def __init__(self, dim: int, unflattened_size: Any):
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("Unflatten(): named tensors are not supported: dim must be an int")
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


Unfold = shaping(
    "Unfold",
    "unfold",
    "The windows of (N, C, H, W) as columns.",
    kernel_size=REQUIRED,
    dilation=1,
    padding=0,
    stride=1,
)
Fold = shaping(
    "Fold",
    "fold",
    "Columns added up to (N, C, H, W).",
    output_size=REQUIRED,
    kernel_size=REQUIRED,
    dilation=1,
    padding=0,
    stride=1,
)
