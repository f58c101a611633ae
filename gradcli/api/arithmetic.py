"""Elementwise functions, reductions and order statistics whose arguments in PyTorch differ from the table's."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.select import lanes
from ..rules.shapes import negative_axes, negative_axis
from ..tape import inplace
from ..tape.dtypes import COMPLEX_OF
from ..tape.modes import report_event
from ..tape.operators import recorders
from ..tape.record import dispatch, relabel
from ..tape.tensor import Tensor, as_operand, as_raw
from .signature import from_signature
from .wrap import as_method_operand, offer, public, stand_alone


def as_first_operand(x: Any) -> Any:
    """Return a first operand as a Tensor, but keep a Python number, which must not decide the type."""
    return x if isinstance(x, int | float | complex) else as_method_operand(x)


@public
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input + alpha * other."""
    return recorders["add"](as_first_operand(input), as_operand(other if alpha == 1 else other * alpha))


@public(names=("subtract",))
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input - alpha * other."""
    return recorders["subtract"](as_first_operand(input), as_operand(other if alpha == 1 else other * alpha))


@public(names=("divide", "true_divide"))
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, rounded to integers if rounding_mode is 'floor' or 'trunc'."""
    if rounding_mode is None:
        return recorders["divide"](as_first_operand(input), as_operand(other))
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return dispatch(entry(f"{rounding_mode}_divide"), (as_first_operand(input), as_operand(other)))


@public
def pow_(input: Any, exponent: Any) -> Tensor:
    """input raised to the power exponent."""
    if not isinstance(input, Tensor):
        return dispatch(entry("power"), (as_operand(input), exponent))
    return recorders["power"](input, as_operand(exponent))


@public(names=("clip",))
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit elements to [min, max]. The limits may be numbers or tensors, and either may be None."""
    clip: Any = entry("clip")
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    return relabel(dispatch(clip, clip.bind(input, min, max)[0]), f"ClampBackward{int(not tensors)}")


offer("clamp_min", lambda input, min: clamp(input, min=min), "Elements limited to >= min.", node="ClampMinBackward0")
offer("clamp_max", lambda input, max: clamp(input, max=max), "Elements limited to <= max.", node="ClampMaxBackward0")


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
    """Round to the given number of decimals, halves to even."""
    return input.clone() if input.dtype.kind in "iu" else entry("around").function(input, decimals)


@public
def sign(input: Tensor) -> Tensor:
    """Return -1, 0 or 1; booleans are unchanged. Raises RuntimeError for complex numbers, for which there is sgn."""
    x = as_method_operand(input)
    if x.dtype.kind == "c":
        raise RuntimeError("Unlike NumPy, torch.sign doesn't support complex numbers; use sgn")
    return sgn(x) if x.dtype.kind == "b" else dispatch(entry("sign"), (x,))


@public
def sgn(input: Tensor) -> Tensor:
    """Return the sign of real numbers, or x / |x| of complex ones; booleans are unchanged."""
    return input.clone() if input.dtype.kind == "b" else dispatch(entry("sgn"), (input,))


@public
def polygamma(n: Any, input: Any) -> Tensor:
    """n-th derivative of digamma; as a method, input.polygamma(n)."""
    if isinstance(n, Tensor):
        n, input = input, n
    return entry("polygamma").function(n, input)


@public(method=False, node="ComplexBackward0")
def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """Make a complex tensor from its real and imaginary parts."""
    if real.dtype != imag.dtype or real.dtype.dtype not in COMPLEX_OF:
        raise RuntimeError(f"complex needs tensors of the same floating-point type, got {real.dtype} and {imag.dtype}")
    # stack as pairs, because multiplying by 1j would turn infinite parts into nan
    pairs = entry("stack").function(np.broadcast_arrays(real, imag), axis=-1)
    return entry("clone")(entry("view_as_complex")(pairs))


@public
def imag(input: Tensor) -> Tensor:
    """Imaginary part. Raises RuntimeError for real tensors."""
    if input.dtype.kind not in "cO":  # "O": exact numbers, which may be complex
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return entry("imag").function(input)


def fill_constant(input: Tensor, value: Any) -> Tensor:
    """Return a tensor filled with one value, in the shape and type of input; the gradient of input is 0."""
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"fill only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    value = inplace.as_type_of(value, input)
    if input.requires_grad or value.requires_grad:
        return entry("where")(np.zeros(input.shape, bool), input, value)
    return Tensor._wrap(np.full(input.shape, as_raw(value), input._data.dtype), None)


@public
def fill_(input: Tensor, value: Any) -> Tensor:
    """Set all elements to a value."""
    name = f"FillBackward{3 if isinstance(value, Tensor) else 2}"
    return inplace.update(input, lambda: relabel(fill_constant(input, value), name))


@public
def zero_(input: Tensor) -> Tensor:
    """Set all elements to 0."""
    return inplace.update(input, lambda: relabel(fill_constant(input, 0), "ZeroBackward0"))


ValuesIndices = namedtuple("ValuesIndices", ["values", "indices"])


def enter_variance(name: str, doc: str) -> None:
    """Register a variance or standard deviation, which divides by n - correction, by default n - 1."""

    def function(
        input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        x = as_method_operand(input)
        if x.dtype.kind not in "fcO":
            raise RuntimeError("std and var only support floating point and complex dtypes")
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None or unbiased else 0
        axis = negative_axes(None if dim == () or dim == [] else dim, max(x.ndim, 1) if dim is not None else x.ndim)
        params = {"axis": axis[: x.ndim], "keepdims": keepdim, "correction": correction}
        return dispatch(entry(name), (x,), params)

    offer(name, function, doc)

    def with_mean(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, **options: Any) -> tuple:
        x = as_method_operand(input)
        dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
        return function(x, dim, unbiased, keepdim, **options), x.mean(dim, keepdim)

    word = "Variance" if name == "var" else "Standard deviation"
    doc = f"{word} and mean over dim."
    offer(f"{name}_mean", with_mean, doc, method=False, node=f"{name.title()}MeanBackward0")


enter_variance("var", "Variance over dim, with divisor n - correction (by default n - 1).")
enter_variance("std", "Standard deviation over dim, with divisor n - correction (by default n - 1).")


def positions_in(x: Any, indices: np.ndarray) -> Tensor:
    """Return positions in x as a tensor outside the graph."""
    return report_event("argsort", x, Tensor._wrap(indices, None))


def pick_positions(x: Tensor, indices: np.ndarray, dim: int, node: str) -> Tensor:
    """Return the elements at integer positions along dim. node: the name of the result's node."""
    return dispatch(entry("getitem"), (x,), {"index": lanes(x.shape, indices, dim), "label": node})


def pick_in_lanes(x: Tensor, indices: np.ndarray, axis: int, keepdim: bool, node: str) -> ValuesIndices:
    """Return (values, indices) of one element per lane; indices has length 1 along axis."""
    values = pick_positions(x, indices, axis, node)
    if not keepdim:
        values, indices = relabel(values.squeeze(axis), node), indices.squeeze(axis)
        stand_alone(values, ())
    return ValuesIndices(values, positions_in(x, indices))


def pick_only(x: Tensor) -> ValuesIndices:
    """Return (values, indices) of the only element of a 0-d tensor."""
    return ValuesIndices(x.clone(), Tensor._wrap(np.zeros((), np.int64), None))


def enter_extreme(name: str, word: str) -> None:
    """Register max or min: of all elements, along dim with positions, or of two tensors."""

    def extreme(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        x = as_method_operand(input)
        if dim is None:
            whole = dispatch(entry(name), (x,), {"axis": negative_axes(None, x.ndim), "keepdims": False})
            return relabel(whole, f"{name.title()}Backward1")
        if isinstance(dim, Tensor):
            return entry(f"{name}imum")(x, dim)
        if x.ndim == 0:
            return pick_only(x)
        axis = negative_axis(dim, x.ndim)
        indices = (np.argmax if name == "max" else np.argmin)(x._data, axis=axis, keepdims=True)
        return pick_in_lanes(x, indices, axis, keepdim, f"{name.title()}Backward0")

    offer(name, extreme, f"The {word} element; with dim, (values, indices); with a second tensor, the {word} of both.")


enter_extreme("max", "largest")
enter_extreme("min", "smallest")


@public(method=False)
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple:
    """Return central differences along every axis of dim, with one-sided differences of order edge_order at the ends.

    spacing: one distance for all axes, one per axis, or a tensor of coordinates per axis.
    """
    spacing = 1 if spacing is None else spacing
    spacings = spacing if isinstance(spacing, list | tuple) else (spacing,)
    slopes = entry("gradient").function(as_method_operand(input), *spacings, axis=dim, edge_order=edge_order)
    return slopes if isinstance(slopes, tuple) else (slopes,)


vector_norm = from_signature(
    entry("norm"), next(text for text in entry("norm").torch if text.startswith("norm")), "norm"
)


@public
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """Vector norm of order p over dim, or with 'nuc' the sum of the singular values of matrices."""
    if p != "nuc":
        return vector_norm(input, p, dim, keepdim, dtype)
    axes = (0, 1) if dim is None and input.ndim == 2 else dim
    if not isinstance(axes, list | tuple) or len(axes) != 2:
        raise RuntimeError(f"norm: the order 'nuc' needs two axes, got {dim}")
    from ..rules.matrix_functions import matrix_norm  # the family of decompositions is loaded when it is needed

    return matrix_norm(input if dtype is None else input.to(dtype), "nuc", tuple(axes), keepdim)


@public(method=False)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum of products over dims, a number of axes or the axes of both; an axis of length 1 meets any length."""
    if isinstance(dims, list | tuple):
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
        for i, j in zip(left, right, strict=True):
            if a.shape[i] != b.shape[j] and 1 in (a.shape[i], b.shape[j]):
                a, b = (a, b.sum(j, keepdim=True)) if a.shape[i] == 1 else (a.sum(i, keepdim=True), b)
    return entry("tensordot").function(a, b, dims)


def order(data: np.ndarray, axis: int, descending: bool = False) -> np.ndarray:
    """Return the positions that sort data; equal elements keep their order."""
    if not descending:
        return np.argsort(data, axis=axis, kind="stable")
    flipped = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(flipped, axis)


@public
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return (values, indices) in ascending or descending order along dim."""
    x = as_method_operand(input)
    axis = negative_axis(dim, x.ndim)
    if x.ndim == 0:
        return pick_only(x)
    indices = order(as_raw(x), axis, descending)
    return ValuesIndices(pick_positions(x, indices, axis, "SortBackward0"), positions_in(x, indices))


@public
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the positions that sort the elements along dim."""
    if input.ndim == 0:
        return Tensor._wrap(np.zeros((), np.int64), None)
    return positions_in(input, order(as_raw(input), negative_axis(dim, input.ndim), descending))


@public
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Return (values, indices) of the k largest elements along dim, or the k smallest with largest=False."""
    axis = negative_axis(dim, input.ndim)
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if input.ndim == 0:
        return pick_only(input)
    indices = np.take(order(as_raw(input), axis, largest), np.arange(k), axis=axis)
    return ValuesIndices(pick_positions(input, indices, axis, "TopkBackward0"), positions_in(input, indices))


def enter_median(name: str, doc: str, ignore_nan: bool) -> None:

    def function(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        x = as_method_operand(input)
        if dim is None:
            return entry("lower_median").function(x, ignore_nan=ignore_nan)
        axis = negative_axis(dim, x.ndim)
        if x.ndim == 0:
            return pick_only(x)
        data = as_raw(x)
        ranks, missing = order(data, axis), (data != data).sum(axis, keepdims=True)
        length = data.shape[axis]
        if ignore_nan:
            places = np.maximum(length - missing - 1, 0) // 2
        else:
            places = np.where(missing > 0, length - missing, (length - 1) // 2)
        indices = np.take_along_axis(ranks, places, axis)
        return pick_in_lanes(x, indices, axis, keepdim, f"{name.title()}Backward1")

    offer(name, function, f"The lower median of all elements{doc}; with dim, (values, indices).")


enter_median("median", " (nan if any is nan)", False)
enter_median("nanmedian", " that are not nan", True)
