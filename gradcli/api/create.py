"""Functions that create, convert, copy and describe tensors, including random ones."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import add_advice
from ..tape import inplace
from ..tape.dtypes import DTYPE_ALIASES, DType, as_numpy, defaults, package_name, refuse_device
from ..tape.modes import random_numbers, report_event
from ..tape.record import cast
from ..tape.tensor import Tensor, as_raw
from .wrap import offer, public

AnyNumber = Any


def make_leaf(raw: Any, dtype: Any, requires_grad: bool, device: Any = None) -> Tensor:
    """Return raw data as a leaf of the given type. Raises RuntimeError for a device other than the CPU."""
    check_device(device)
    wanted = as_numpy(dtype)
    if wanted is not None and raw.dtype != wanted:
        raw = raw.astype(wanted)
    tensor = Tensor._wrap(raw[()] if raw.ndim == 0 else raw, None)
    if requires_grad and raw.dtype.kind not in "fc":
        raise add_advice(
            RuntimeError("Only Tensors of floating point and complex dtype can require gradients"),
            f"this one is {tensor.dtype}: pass a dtype such as float64, or use floats",
        )
    return tensor.requires_grad_() if requires_grad else report_event("make", raw, tensor)


def check_device(device: Any) -> None:
    """Raise RuntimeError unless the device is the CPU or None."""
    if device is not None and not str(device).startswith("cpu"):
        refuse_device(device)


def plain_data(data: Any) -> Any:
    """Return nested lists, which may contain tensors, as a new array."""
    if isinstance(data, Tensor):
        return np.array(data._data)
    if isinstance(data, list | tuple) and any(isinstance(x, Tensor | list | tuple) for x in data):
        return np.array([plain_data(x) for x in data])
    return np.array(data)


def find_ragged(data: Any, dim: int = 1) -> str:
    """Describe the first nested sequence whose length differs from its siblings'."""
    lengths = [len(x) if isinstance(x, list | tuple) else 0 for x in data]
    for n in lengths:
        if n != lengths[0]:
            return f"expected sequence of length {lengths[0]} at dim {dim} (got {n})"
    inner = (find_ragged(x, dim + 1) for x in data if isinstance(x, list | tuple))
    return next(filter(None, inner), "")


@public(method=False)
def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a new leaf with a copy of data: an array, scalar or nested lists. Python floats get the default type."""
    try:
        raw = plain_data(data)
    except ValueError:
        raise ValueError(find_ragged(data)) from None
    if dtype is None and not hasattr(data, "dtype"):
        dtype = {"f": defaults.float, "c": np.result_type(defaults.float, np.complex64)}.get(raw.dtype.kind)
        dtype = defaults.float if raw.size == 0 else dtype
    if raw.dtype.kind == "O" and any(x is None for x in raw.flat):
        raise RuntimeError("Could not infer dtype of NoneType")
    if raw.dtype.kind not in "fciub":
        raise TypeError(f"cannot make a tensor from {raw.dtype} data ({type(data).__name__})")
    return report_event("tensor", data, make_leaf(raw, dtype, requires_grad, device))


@public(method=False)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return data as a tensor, without a copy if it is an array or tensor of that type."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray):
        check_device(device)
        return report_event("tensor", data, Tensor._wrap(as_raw(data, dtype), None))
    return tensor(data, dtype=dtype, device=device)


@public(names=("asarray",), method=False)
def from_numpy(array: np.ndarray) -> Tensor:
    """Return a tensor that shares an array's memory; return a tensor, as NumPy functions may give, unchanged."""
    if isinstance(array, Tensor) and not array.requires_grad:
        return array
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return report_event("tensor", array, Tensor._wrap(array, None))


def lengths(size: tuple) -> tuple[int, ...]:
    """Return the lengths in f(2, 3) or f((2, 3)) as (2, 3)."""
    if len(size) == 1 and not isinstance(size[0], int | np.integer):
        size = tuple(size[0])
    return tuple(int(n) for n in size)


def filler(name: str, value: int, doc: str) -> Any:

    def function(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        kind = as_numpy(dtype) or defaults.float
        return make_leaf(np.full(lengths(size), value, kind), None, requires_grad, device)

    return offer(name, function, doc, method=False)


zeros = filler("zeros", 0, "Zeros.")
ones = filler("ones", 1, "Ones.")
empty = filler("empty", 0, "Zeros (PyTorch leaves the memory uninitialized).")


@public(method=False)
def full(
    size: Any, fill_value: AnyNumber, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor filled with a value, in the type of the value unless dtype is given."""
    if isinstance(fill_value, str):
        raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not str")
    if dtype is None and not isinstance(fill_value, builtins.float):
        dtype = np.asarray(fill_value).dtype
    kind = as_numpy(dtype) or defaults.float
    return make_leaf(np.full(lengths((size,)), fill_value, kind), None, requires_grad, device)


@public(method=False)
def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Identity matrix."""
    return make_leaf(np.eye(n, m, dtype=as_numpy(dtype) or defaults.float), None, requires_grad, device)


@public(method=False)
def arange(
    start: AnyNumber,
    end: AnyNumber | None = None,
    step: AnyNumber = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from start (default 0) up to but excluding end; integers if all arguments are integers."""
    start, end = (0, start) if end is None else (start, end)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None and any(isinstance(n, builtins.float) for n in (start, end, step)):
        dtype = defaults.float
    return make_leaf(np.arange(start, end, step), dtype, requires_grad, device)


@public(method=False)
def linspace(
    start: AnyNumber, end: AnyNumber, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Evenly spaced numbers from start to end, including both."""
    return make_leaf(np.linspace(start, end, steps), dtype or defaults.float, requires_grad, device)


@public(method=False)
def logspace(
    start: AnyNumber,
    end: AnyNumber,
    steps: int,
    base: AnyNumber = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from base**start to base**end, evenly spaced in the exponent."""
    return make_leaf(np.logspace(start, end, steps, base=base), dtype or defaults.float, requires_grad, device)


@public(method=False)
def manual_seed(seed: int) -> None:
    """Seed the random number generator of rand, randn and similar functions."""
    random_numbers.rng = np.random.default_rng(int(seed) % 2**64)


def draw_normal(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return standard normal random numbers; the parts of complex ones have variance 1/2 each."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        return random_numbers.rng.normal(0, math.sqrt(0.5), (*shape, 2)).view(np.complex128)[..., 0].astype(dtype)
    return random_numbers.rng.standard_normal(shape).astype(dtype)


@public(method=False)
def rand(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform random numbers in [0, 1)."""
    kind = as_numpy(dtype) or defaults.float
    is_complex = kind.kind == "c"
    raw = random_numbers.rng.random((*lengths(size), 2) if is_complex else lengths(size))
    return make_leaf(raw.view(np.complex128)[..., 0] if is_complex else raw, kind, requires_grad, device)


@public(method=False)
def randn(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Standard normal random numbers; the parts of complex ones have variance 1/2 each."""
    kind = as_numpy(dtype) or defaults.float
    return make_leaf(draw_normal(lengths(size), kind), kind, requires_grad, device)


@public(method=False)
def randint(
    low: int, high: Any, size: Any = None, *, dtype: Any = np.int64, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Random integers from low (default 0) up to but excluding high."""
    low, high, size = (0, low, high) if size is None else (low, high, size)
    return make_leaf(random_numbers.rng.integers(low, high, lengths((size,))), dtype, requires_grad, device)


@public(method=False)
def randperm(n: int, *, dtype: Any = np.int64, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    return make_leaf(random_numbers.rng.permutation(n), dtype, requires_grad, device)


def like(make: Any, of_shape: bool) -> None:
    """Register zeros_like(tensor) or tensor.new_zeros(...). of_shape: use the tensor's shape as well as its type."""

    def function(
        input: Tensor, *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        kind = input._data.dtype if dtype is None else dtype
        shape = (tuple(input.shape),) if of_shape else ()
        return make(*shape, *args, dtype=kind, device=device, requires_grad=requires_grad)

    name = make.__name__
    if of_shape:
        offer(f"{name}_like", function, f"Same as {name}, with the shape and type of input.", method=False)
    else:
        offer(f"new_{name}", function, f"Same as {name}, with the type of this tensor.")


for _make in (zeros, ones, empty, full, rand, randn):
    like(_make, of_shape=True)
for _make in (zeros, ones, empty, full, tensor):
    like(_make, of_shape=False)


@public(method=False)
def randint_like(input: Tensor, low: int, high: int | None = None, *, dtype: Any = None) -> Tensor:
    """Same as randint, with the shape and type of input."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape), dtype=dtype or input._data.dtype)


@public(method=False)
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Normal random numbers. mean, std: tensors, which are broadcast, or numbers together with a size."""
    if np.any(as_raw(std) < 0):
        raise RuntimeError(f"normal expects std >= 0.0, but found std {np.min(as_raw(std)):g}")
    kinds = [x._data.dtype for x in (mean, std) if isinstance(x, Tensor)]
    kind = as_numpy(dtype) or (kinds[0] if kinds else defaults.float)
    shape = np.broadcast_shapes(as_raw(mean).shape, as_raw(std).shape) if size is None else lengths((size,))
    raw = draw_normal(shape, kind) * as_raw(std) + as_raw(mean)
    return make_leaf(np.asarray(raw), kind, requires_grad, device)


@public
def normal_(input: Tensor, mean: float = 0, std: float = 1) -> Tensor:
    """Fill in place with normal random numbers."""
    raw = draw_normal(tuple(input.shape), input.dtype.numpy) * std + mean
    return input.copy_(Tensor._wrap(np.asarray(raw), None).to(input.dtype))


@public
def uniform_(input: Tensor, low: float = 0, high: float = 1) -> Tensor:
    """Fill in place with uniform random numbers."""
    return input.copy_(tensor(random_numbers.rng.uniform(low, high, tuple(input.shape))).to(input.dtype))


@public
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Convert the tensor to another type; return the tensor itself if nothing changes."""
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


for _name, _dtype in DTYPE_ALIASES.items():
    offer(_name, conversion(_dtype), f"Convert the tensor to {_dtype.name}.")


@public
def astype(input: Tensor, dtype: Any) -> Tensor:
    """Convert the tensor to another type."""
    wanted = as_numpy(dtype)
    assert wanted is not None
    return cast(input, wanted)


offer("numel nelement", lambda input: int(input._data.size), "The number of elements.")
offer("dim ndimension", lambda input: input._data.ndim, "The number of axes.")
offer("is_floating_point", lambda input: input._data.dtype.kind in "fO", "Whether the elements are real numbers.")
offer("is_complex", lambda input: input._data.dtype.kind == "c", "Whether the elements are complex.")
offer("is_tensor", lambda obj: isinstance(obj, Tensor), "Whether an object is a Tensor.", method=False)
offer("detach", lambda input: input.detach(), "A tensor that shares the memory but is not in the graph.", method=False)
offer("cpu", lambda input, *args, **kwargs: input, "Return the tensor, which is always on the CPU.")
offer("type_as", lambda input, other: cast(input, other._data.dtype), "Convert the tensor to the type of another.")
is_contiguous = offer(
    "is_contiguous", lambda input: bool(input._array().flags.c_contiguous), "Whether elements are contiguous in memory."
)


@public
def type_(input: Tensor, dtype: Any = None) -> Any:
    """Convert the tensor to a type; without dtype, return the name of its type."""
    return (
        input.to(getattr(dtype, "dtype", dtype)) if dtype is not None else f"{package_name()}.{input.dtype.title}Tensor"
    )


@public
def contiguous(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return a tensor that is contiguous in memory, which is the tensor itself if possible."""
    return input if is_contiguous(input) else input.clone()


@public
def size(input: Tensor, dim: int | None = None) -> Any:
    """Return the shape, or the length of one axis."""
    return input.shape if dim is None else input.shape[dim]


@public
def stride(input: Tensor, dim: int | None = None) -> Any:
    """Return the distance, in elements, between neighbours along each axis, or along dim."""
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
    """Copy the elements of src into this tensor."""
    source = cast(src if isinstance(src, Tensor) else Tensor._wrap(np.asarray(src), None), input._data.dtype)
    return inplace.update(input, lambda: source)
