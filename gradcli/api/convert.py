"""Types, copies, and plain facts about a tensor."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tape import inplace
from ..tape.dtypes import ALIASES, DType, as_numpy, package_name
from ..tape.record import cast
from ..tape.tensor import Tensor, as_raw
from .create import check_device
from .wrap import offer, public


@public
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor in another type; itself if nothing changes."""
    kwargs.pop("non_blocking", None)
    copy = kwargs.pop("copy", False)
    check_device(kwargs.pop("device", None))
    wanted = as_numpy(kwargs.pop("dtype", None))
    for argument in args:
        if isinstance(argument, Tensor):
            wanted = argument._data.dtype
        elif isinstance(argument, DType | np.dtype | builtins.type):
            wanted = as_numpy(argument)
        elif not isinstance(argument, bool):
            check_device(argument)
    result = input if wanted is None else cast(input, wanted)
    return result.clone() if copy and result is input else result


def conversion(dtype: DType) -> Callable:
    return lambda input: cast(input, dtype.dtype)


for _name, _dtype in ALIASES.items():
    offer(_name, conversion(_dtype), f"The tensor as {_dtype.name}.")


@public
def astype(input: Tensor, dtype: Any) -> Tensor:
    """The tensor in another type."""
    wanted = as_numpy(dtype)
    assert wanted is not None
    return cast(input, wanted)


offer("numel nelement", lambda input: int(input._data.size), "The number of elements.")
offer("dim ndimension", lambda input: input._data.ndim, "The number of axes.")
offer("is_floating_point", lambda input: input._data.dtype.kind in "fO", "Whether the elements are real numbers.")
offer("is_complex", lambda input: input._data.dtype.kind == "c", "Whether the elements are complex.")
offer("is_tensor", lambda obj: isinstance(obj, Tensor), "Whether something is a Tensor.", method=False)
offer("detach", lambda input: input.detach(), "The same memory outside the graph.", method=False)
offer("cpu", lambda input, *args, **kwargs: input, "The tensor itself.")
offer("type_as", lambda input, other: cast(input, other._data.dtype), "The tensor in the type of another.")
is_contiguous = offer(
    "is_contiguous", lambda input: bool(input._array().flags.c_contiguous), "Whether elements lie one after another."
)


@public
def type_(input: Tensor, dtype: Any = None) -> Any:
    """The tensor in a type, or the name of its type."""
    return (
        input.to(getattr(dtype, "dtype", dtype)) if dtype is not None else f"{package_name()}.{input.dtype.title}Tensor"
    )


@public
def contiguous(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor with its elements one after another in memory; itself if they are."""
    return input if is_contiguous(input) else input.clone()


@public
def size(input: Tensor, dim: int | None = None) -> Any:
    """The shape, or the length of one axis."""
    return input.shape if dim is None else input.shape[dim]


@public
def stride(input: Tensor, dim: int | None = None) -> Any:
    """Distances, in elements, between neighbours along each axis."""
    strides = tuple(n // input._data.itemsize for n in input._array().strides)
    return strides if dim is None else strides[dim]


@public
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    return input.shape == other.shape and bool((input._data == other._data).all())


@public
def allclose(input: Tensor, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements agree within tolerances."""
    return bool(np.allclose(as_raw(input), as_raw(other), rtol, atol, equal_nan))


@public
def isclose(input: Tensor, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where the elements agree within tolerances."""
    return Tensor._wrap(np.isclose(as_raw(input), as_raw(other), rtol, atol, equal_nan), None)


@public
def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Take over another tensor's elements."""
    source = cast(src if isinstance(src, Tensor) else Tensor._wrap(np.asarray(src), None), input._data.dtype)
    return inplace.update(input, lambda: source)
