"""Functions of elements, where PyTorch's arguments differ from the table's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from ..tape import inplace
from ..tape.dtypes import COMPLEX_OF
from ..tape.operators import recorders
from ..tape.record import dispatch, relabel
from ..tape.tensor import Tensor, as_operand, as_raw
from .wrap import offer, operand, public


def first(x: Any) -> Any:
    """Return a first operand as a Tensor; a Python number stays one, because it must not decide the type."""
    return x if isinstance(x, int | float | complex) else operand(x)


@public
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input + alpha * other."""
    return recorders["add"](first(input), as_operand(other if alpha == 1 else other * alpha))


@public(names=("subtract",))
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input - alpha * other."""
    return recorders["subtract"](first(input), as_operand(other if alpha == 1 else other * alpha))


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
    clip: Any = entry("clip")
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    return relabel(dispatch(clip, clip.bind(input, min, max)[0]), f"ClampBackward{int(not tensors)}")


offer("clamp_min", lambda input, min: clamp(input, min=min), "Elements not below min.", node="ClampMinBackward0")
offer("clamp_max", lambda input, max: clamp(input, max=max), "Elements not above max.", node="ClampMaxBackward0")


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
    """Round to a number of decimals, halves to even."""
    return input.clone() if input.dtype.kind in "iu" else entry("around").function(input, decimals)


@public
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1; booleans as they are. Raises RuntimeError for complex numbers, which have a direction instead."""
    x = operand(input)
    if x.dtype.kind == "c":
        raise RuntimeError("Unlike NumPy, torch.sign doesn't support complex numbers; use sgn")
    return sgn(x) if x.dtype.kind == "b" else dispatch(entry("sign"), (x,))


@public
def sgn(input: Tensor) -> Tensor:
    """The sign of real numbers, the direction of complex ones; booleans as they are."""
    return input.clone() if input.dtype.kind == "b" else dispatch(entry("sgn"), (input,))


@public
def polygamma(n: Any, input: Any) -> Tensor:
    """n-th derivative of digamma; as a method input.polygamma(n)."""
    if isinstance(n, Tensor):
        n, input = input, n
    return entry("polygamma").function(n, input)


@public(method=False, node="ComplexBackward0")
def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """A complex tensor from its parts."""
    if real.dtype != imag.dtype or real.dtype.dtype not in COMPLEX_OF:
        raise RuntimeError(f"complex needs two tensors of one floating-point type, got {real.dtype} and {imag.dtype}")
    # as pairs: a product with 1j would turn infinite parts into nan
    pairs = entry("stack").function(np.broadcast_arrays(real, imag), axis=-1)
    return entry("clone")(entry("view_as_complex")(pairs))


@public
def imag(input: Tensor) -> Tensor:
    """Imaginary part. Raises RuntimeError for real tensors."""
    if input.dtype.kind not in "cO":  # exact numbers are complex only if they have an imaginary part
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return entry("imag").function(input)


def fill_constant(input: Tensor, value: Any) -> Tensor:
    """Return one value in the shape and type of input, which gets the gradient 0."""
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"fill only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    value = inplace.as_type_of(value, input)
    if input.requires_grad or value.requires_grad:
        return entry("where")(np.zeros(input.shape, bool), input, value)
    return Tensor._wrap(np.full(input.shape, as_raw(value), input._data.dtype), None)


@public
def fill_(input: Tensor, value: Any) -> Tensor:
    """Set all elements to one value."""
    name = f"FillBackward{3 if isinstance(value, Tensor) else 2}"
    return inplace.update(input, lambda: relabel(fill_constant(input, value), name))


@public
def zero_(input: Tensor) -> Tensor:
    """Set all elements to 0."""
    return inplace.update(input, lambda: relabel(fill_constant(input, 0), "ZeroBackward0"))
