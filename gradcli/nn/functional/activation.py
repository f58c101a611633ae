"""Activation functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import norms, reduce
from ...api.arithmetic import softplus  # noqa: F401 - also the function of nn.functional
from ...api.random import source
from ...api.where_search import where
from ...api.wrap import operand, records_as, rename_function, resolve
from ...rules import entry
from ...tape.node import refusing_node
from ...tape.tensor import Tensor
from .arguments import compute_into


def apply(name: str, input: Tensor, inplace: bool = False, *args: Any) -> Tensor:
    """Apply an entry of the table, in place where asked for."""
    if not (inplace or args):
        return resolve(name)(input)  # type: ignore[misc]
    return compute_into(input, inplace, lambda: entry(name).function(input, *args))


def plain_activation(name: str, doc: str) -> Callable[[Tensor], Tensor]:
    """Return the activation of an entry's name that has no settings."""

    def function(input: Tensor) -> Tensor:
        return apply(name, input)

    return rename_function(function, name, doc)


def inplace_activation(name: str, doc: str) -> Callable[..., Tensor]:
    """Return the activation of an entry's name that may work in place."""

    def function(input: Tensor, inplace: bool = False) -> Tensor:
        return apply(name, input, inplace)

    return rename_function(function, name, doc)


tanhshrink = plain_activation("tanhshrink", "input - tanh(input).")
logsigmoid = plain_activation("logsigmoid", "Logarithm of sigmoid.")
tanh = plain_activation("tanh", "Hyperbolic tangent.")
sigmoid = plain_activation("sigmoid", "1 / (1 + exp(-input)).")
relu = inplace_activation("relu", "max(input, 0).")
relu6 = inplace_activation("relu6", "min(max(input, 0), 6).")
selu = inplace_activation("selu", "elu scaled so that it keeps mean 0 and variance 1.")
hardswish = inplace_activation("hardswish", "input times hardsigmoid(input).")
hardsigmoid = inplace_activation("hardsigmoid", "Ramp from 0 at -3 to 1 at 3.")
silu = inplace_activation("silu", "input * sigmoid(input).")
mish = inplace_activation("mish", "input * tanh(softplus(input)).")


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, alpha (exp(input) - 1) elsewhere."""
    return apply("elu", input, inplace, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, alpha (exp(input / alpha) - 1) elsewhere."""
    return apply("celu", input, inplace, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where positive, negative_slope * input elsewhere."""
    return one_way(apply("leaky_relu", input, inplace, negative_slope), inplace and negative_slope < 0)


def one_way(result: Tensor, is_lost: bool) -> Tensor:
    """Return a result; where its operand can no longer be told from it, backward raises RuntimeError."""
    if is_lost and result._node is not None:
        result._node = refusing_node(
            (result._data.shape, result._data.dtype),
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This "
            "is caused by calling in-place forward function with a negative slope, please call out-of-place version "
            "instead.",
            (result._node,),
        )
    return result


@records_as("PreluKernelBackward0")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input where positive, weight * input elsewhere; one weight, or one per channel (axis 1).

    Raises RuntimeError when the number of weights is neither 1 nor that of the channels.
    """
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.ndim == 1 and weight.shape[0] not in (1, channels):
        raise RuntimeError(
            "Mismatch of parameter numbers and input channel size. "
            f"Found parameter numbers = {weight.shape[0]} and channel size = {channels}."
        )
    return apply("prelu", input, False, weight)


@records_as("RreluWithNoiseBackward0")
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """leaky_relu, its slope random in [lower, upper] per element when training, else the middle."""
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slopes = np.ones(input.shape)
    below = input.detach().numpy() <= 0
    slopes[below] = source.rng.uniform(lower, upper, (int(below.sum()),))
    slope = operand(slopes).to(input.dtype)
    return compute_into(input, inplace, lambda: where(input > 0, input, slope * input))


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """input limited to [min_val, max_val]. Raises ValueError when they are in the wrong order."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return apply("hardtanh", input, inplace, min_val, max_val)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """input where it exceeds the threshold, else value."""
    return apply("threshold", input, inplace, threshold, value)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """input times the normal distribution function; approximate='tanh' for its approximation.

    Raises RuntimeError for another approximation.
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return apply("gelu", input, False, approximate)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input where |input| > lambd, else 0."""
    return apply("hardshrink", input, False, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input moved towards 0 by lambd. Raises RuntimeError for a negative lambd."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return apply("softshrink", input, False, lambd)


def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""
    return input / (1 + abs(input)) if input.dtype.kind == "c" else apply("softsign", input)


@records_as("GluBackward0")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along dim times sigmoid of the second. Raises RuntimeError for an odd length."""
    if input.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if input.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    half = input.shape[dim] // 2
    return input.narrow(dim, 0, half) * sigmoid(input.narrow(dim, half, half))


# -- over an axis ---------------------------------------------------------------------------------


def default_dim(ndim: int) -> int:
    """Return the axis that an old program means that names none: 0 for 0, 1 or 3 axes, else 1."""
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input) / sum(exp(input)) over dim."""
    return reduce.softmax(input, default_dim(input.ndim) if dim is None else dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax of -input."""
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Logarithm of softmax."""
    return reduce.log_softmax(input, default_dim(input.ndim) if dim is None else dim, dtype=dtype)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """input divided by its p-norm over dim, which counts as at least eps."""
    return input / norms.norm(input, p, dim, keepdim=True).clamp_min(eps)


# -- in place -------------------------------------------------------------------------------------


def in_place(function: Any) -> Any:
    """Return the form of an activation that writes into its input."""

    def change(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)

    return rename_function(change, f"{function.__name__}_", f"In-place form of {function.__name__}.")


relu_, elu_, selu_, celu_, leaky_relu_, rrelu_, hardtanh_, threshold_ = map(
    in_place, (relu, elu, selu, celu, leaky_relu, rrelu, hardtanh, threshold)
)
