"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

from ...api.create import empty
from ...tape.parameter import Parameter
from ...tape.tensor import Tensor
from .. import functional, init
from .module import Module


def parameter(*shape: int, dtype: Any = None, device: Any = None) -> Parameter:
    """Return a parameter of a shape, to be filled."""
    return Parameter(empty(*shape, dtype=dtype, device=device))


def fill_uniform(module: Module, bound: float) -> None:
    """Fill the parameters of a module itself with uniform random numbers in [-bound, bound]."""
    for x in module.parameters(recurse=False):
        init.uniform_(x, -bound, bound)


class Identity(Module):
    """What goes in comes out; takes any settings and ignores them."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """input @ weight.T + bias; weight (out_features, in_features)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = parameter(out_features, in_features, dtype=dtype, device=device)
        self.register_parameter("bias", parameter(out_features, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly from +-1 / sqrt(in_features)."""
        fill_uniform(self, 1 / math.sqrt(self.in_features) if self.in_features else 0)

    def forward(self, input: Tensor) -> Tensor:
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
