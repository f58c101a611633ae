"""Activation functions, and random zeros when training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...api import reduce
from ...api.create import source
from ...api.wrap import operand, rename_function, resolve
from ...rules import entry
from ...tape import inplace
from ...tape.node import refusing_node
from ...tape.tensor import Tensor


def compute_into(input: Tensor, inplace_: bool, function: Callable[[], Any]) -> Any:
    """Return function(), written into input where that is asked for."""
    return inplace.update(input, function) if inplace_ else function()


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


logsigmoid = plain_activation("logsigmoid", "Logarithm of sigmoid.")
tanh = plain_activation("tanh", "Hyperbolic tangent.")
sigmoid = plain_activation("sigmoid", "1 / (1 + exp(-input)).")
relu = inplace_activation("relu", "max(input, 0).")
silu = inplace_activation("silu", "input * sigmoid(input).")


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, alpha (exp(input) - 1) elsewhere."""
    return apply("elu", input, inplace, alpha)


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


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """input times the normal distribution function; approximate='tanh' for its approximation.

    Raises RuntimeError for another approximation.
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return apply("gelu", input, False, approximate)


# -- over an axis ---------------------------------------------------------------------------------


def default_dim(ndim: int) -> int:
    """Return the axis that an old program means that names none: 0 for 0, 1 or 3 axes, else 1."""
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input) / sum(exp(input)) over dim."""
    return reduce.softmax(input, default_dim(input.ndim) if dim is None else dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Logarithm of softmax."""
    return reduce.log_softmax(input, default_dim(input.ndim) if dim is None else dim, dtype=dtype)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """input divided by its p-norm over dim, which counts as at least eps."""
    return input / reduce.norm(input, p, dim, keepdim=True).clamp_min(eps)


# -- in place -------------------------------------------------------------------------------------


def in_place(function: Any) -> Any:
    """Return the form of an activation that writes into its input."""

    def change(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)

    return rename_function(change, f"{function.__name__}_", f"In-place form of {function.__name__}.")


relu_, elu_, leaky_relu_ = map(in_place, (relu, elu, leaky_relu))


def check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability p when training, the others divided by 1 - p.

    Raises ValueError unless 0 <= p <= 1.
    """
    check_probability(p)
    if not training or p == 0:
        return input
    kept = operand(source.rng.random(tuple(input.shape)) < 1 - p).to(input.dtype)
    return compute_into(input, inplace, lambda: input * (kept if p == 1 else kept / (1 - p)))
