"""Arithmetic with PyTorch's arguments."""

from __future__ import annotations

import math
from typing import Any

from ..rules import entry
from ..tape.operators import recorders
from ..tape.record import as_operand, dispatch, relabel
from ..tape.tensor import Tensor
from .wrap import operand, public


def first(x: Any) -> Any:
    """Return a first operand as a Tensor; a Python number stays one, so that it does not decide the type."""
    return x if isinstance(x, int | float | complex) else operand(x)


@public
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input + alpha * other."""
    return recorders["add"](first(input), as_operand(other if alpha == 1 else other * alpha))


@public(names=("subtract",))
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input - alpha * other."""
    return recorders["subtract"](first(input), as_operand(other if alpha == 1 else other * alpha))


@public
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha * input."""
    return recorders["subtract"](as_operand(other), operand(input if alpha == 1 else input * alpha))


@public(names=("divide", "true_divide"))
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, rounded to integers where rounding_mode is 'floor' or 'trunc'."""
    if rounding_mode is None:
        return recorders["divide"](first(input), as_operand(other))
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return dispatch(entry(f"{rounding_mode}_divide"), (first(input), as_operand(other)))


@public
def pow_(input: Any, exponent: Any) -> Tensor:
    """input to the power exponent."""
    if not isinstance(input, Tensor):
        return dispatch(entry("power"), (as_operand(input), exponent))
    return recorders["power"](input, as_operand(exponent))


@public(names=("clip",))
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Elements limited to [min, max]; numbers or tensors, either may be None."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    low, high = -math.inf if min is None else min, math.inf if max is None else max
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    return relabel(dispatch(entry("clip"), (input, low, high)), f"ClampBackward{int(not tensors)}")


@public
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Elements not below min."""
    return relabel(clamp(input, min=min), "ClampMinBackward0")


@public
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Elements not above max."""
    return relabel(clamp(input, max=max), "ClampMaxBackward0")


@public
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold."""
    return entry("softplus").function(input, beta, threshold)


@public
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    return relabel(input + tensor1 * tensor2 * value, "AddcmulBackward0")


@public
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    return relabel(input + tensor1 / tensor2 * value, "AddcdivBackward0")


@public
def round_(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Nearest number with so many decimals, halves to even."""
    rounded = entry("round")
    if input.dtype.kind in "iu":
        return input.clone()
    if not decimals:
        return dispatch(rounded, (input,))
    return dispatch(rounded, (input * 10.0**decimals,)) / 10.0**decimals
