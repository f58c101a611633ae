"""Padding, convolutions, and pooling over sliding windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api.shape import at, stack
from ..api.wrap import records_as, rename_function
from ..rules import entry
from ..rules.shapes import lay_along
from ..rules.sliding_windows import Windows
from ..tape.record import relabel
from ..tape.tensor import Tensor
from .layers import REQUIRED, Applied, Filled, layer


def per_axis(value: Any, n: int, name: str) -> tuple[int, ...]:
    """Return one int per axis, repeating a single number. Raises RuntimeError for any other count."""
    values = (int(value),) if isinstance(value, int | np.integer) else tuple(int(v) for v in value)
    if len(values) not in (1, n):
        raise RuntimeError(f"{name} must be a number or {n} numbers, got {list(values)}")
    return values * n if len(values) == 1 else values


def add_batch_axis(input: Tensor, n: int, name: str) -> Tensor:
    """Return input as (N, C, ...). Raises RuntimeError unless it has n + 1 or n + 2 axes."""
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, "
            f"but got input of size: {list(input.shape)}"
        )
    return input if input.ndim == n + 2 else input.unsqueeze(0)


def lay_windows(size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool = False) -> Windows:
    """Return the windows over an array of `size`. Raises RuntimeError if none fits or a step is not positive.

    padding: (before, after) per axis. ceil: the last window may extend beyond the end.
    """
    n = len(size)
    strides, dilations = per_axis(stride, n, "stride"), per_axis(dilation, n, "dilation")
    if min(strides) < 1:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilations) < 1:
        raise RuntimeError("dilation should be greater than zero")
    padded = [m + a + b for m, (a, b) in zip(size, padding, strict=True)]
    spans = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    counts = [(m - span + ceil * (s - 1)) // s + 1 for m, span, s in zip(padded, spans, strides, strict=True)]
    if min(counts) < 1:
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, spans))}). Kernel size can't be greater than actual input size"
        )
    if ceil:
        inside = [(m + a - 1) // s + 1 for m, (a, _), s in zip(size, padding, strides, strict=True)]
        counts = list(map(min, counts, inside))
    ends = [(count - 1) * s + span for count, s, span in zip(counts, strides, spans, strict=True)]
    around = tuple((a, max(b, end - m - a)) for m, (a, b), end in zip(size, padding, ends, strict=True))
    return Windows(tuple(size), tuple(kernel), strides, dilations, around, tuple(counts))


PADDED = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""PyTorch's modes of padding other than constant, and NumPy's names."""


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Add elements around input. pad: (before, after) of the last axis, then of the second-last axis, and so on.

    mode: constant (value, by default 0), reflect (mirrored), replicate (the last element repeated), or circular.
    Negative numbers remove elements: with circular before the others add some, else afterwards.
    """
    if mode != "constant" and mode not in PADDED:
        raise NotImplementedError(f"Unrecognised padding mode {mode}; use constant, {', '.join(PADDED)}")
    pairs = [(int(a), int(b)) for a, b in zip(pad[::2], pad[1::2], strict=True)]
    if len(pairs) > input.ndim:
        raise RuntimeError(f"pad takes (before, after) for at most {input.ndim} axes, got {pad}")
    around = [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1]
    added = [(max(a, 0), max(b, 0)) for a, b in around]
    if mode == "circular" and added != around:
        input, around = crop(input, around), added
    if mode != "constant":
        check_reach(input, added, mode)
        out = entry("pad").function(input, added, mode=PADDED[mode])
        names = {"reflect": f"ReflectionPad{len(pairs)}D", "replicate": f"ReplicationPad{len(pairs)}D"}
        out = relabel(out, f"{names[mode]}Backward0") if mode in names else out
    else:
        out = relabel(entry("pad").function(input, added, constant_values=value or 0), "ConstantPadNdBackward0")
    return out if added == around else crop(out, around)


def check_reach(input: Tensor, added: list[tuple[int, int]], mode: str) -> None:
    """Raise RuntimeError if mirrored or repeated elements would not suffice for the padding."""
    for axis, (sides, size) in enumerate(zip(added, input.shape, strict=True)):
        if max(sides) and ((mode == "reflect" and max(sides) >= size) or (mode == "circular" and max(sides) > size)):
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: padding "
                f"({', '.join(map(str, sides))}) at dimension {axis} of input {list(input.shape)}"
            )


def crop(x: Tensor, around: list[tuple[int, int]]) -> Tensor:
    """Remove as many elements as negative numbers say, before and after along each axis."""
    removed = [(max(-a, 0), max(-b, 0)) for a, b in around]
    if any(a + b > n for n, (a, b) in zip(x.shape, removed, strict=True)):
        raise RuntimeError(f"pad removes more elements than there are: {removed} of shape {list(x.shape)}")
    return x[tuple(slice(a, n - b) for n, (a, b) in zip(x.shape, removed, strict=True))]


def check_padding(padding: str, stride: Sequence[int], error: type[Exception]) -> None:
    """Raise an error of this type for an unknown padding string, or for 'same' with a stride above 1."""
    if padding not in ("same", "valid"):
        raise error(f"Invalid padding string '{padding}', should be one of {{'valid', 'same'}}")
    if padding == "same" and max(stride) > 1:
        raise error("padding='same' is not supported for strided convolutions")


def pad_around(padding: Any, kernel: list[int], stride: Any, dilation: Any) -> tuple[tuple[int, int], ...]:
    """Return (before, after) per axis from numbers, 'valid' or 'same'. Raises RuntimeError for anything else."""
    n = len(kernel)
    if isinstance(padding, str):
        check_padding(padding, per_axis(stride, n, "stride"), RuntimeError)
    if padding == "same":
        totals = [d * (k - 1) for d, k in zip(per_axis(dilation, n, "dilation"), kernel, strict=True)]
        return tuple((t // 2, t - t // 2) for t in totals)
    numbers = (0,) * n if padding == "valid" else per_axis(padding, n, "padding")
    if min(numbers) < 0:
        raise RuntimeError("negative padding is not supported")
    return tuple((p, p) for p in numbers)


def conv(n: int) -> Callable:
    name = f"conv{n}d"

    @records_as("ConvolutionBackward0")
    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        if groups < 1:
            raise RuntimeError("non-positive groups is not supported")
        if weight.ndim != n + 2:
            raise RuntimeError(f"{name}: expected weight with {n + 2} axes, got shape {list(weight.shape)}")
        x = add_batch_axis(input, n, name)
        (batch, channels, *size), (outputs, inner, *kernel) = x.shape, weight.shape
        if outputs % groups:
            raise RuntimeError(f"{name}: {outputs} output channels cannot be divided into {groups} groups")
        if channels != inner * groups:
            raise RuntimeError(
                f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} "
                f"to have {inner * groups} channels, but got {channels} channels instead"
            )
        windows = lay_windows(size, kernel, stride, pad_around(padding, kernel, stride, dilation), dilation)
        out = entry("convolve_windows")(
            x.reshape(batch, groups, inner, *size),
            weight.reshape(groups, outputs // groups, inner, *kernel),
            windows=windows,
        ).reshape(batch, outputs, *windows.out)
        if bias is not None:
            out = out + lay_along(bias, 1 - out.ndim)
        return out if x is input else out.squeeze(0)

    doc = f"Convolve {n}-dimensional input (N, C, ...) or (C, ...) with weight (O, C / groups, ...)."
    return rename_function(function, name, doc)


conv1d, conv2d = map(conv, (1, 2))


class Convolution(Filled):
    """Convolution of (N, C, ...) or (C, ...) along the last axes; weight (out_channels, in_channels / groups, ...)."""

    _axes = 1
    _function: Callable

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
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, count in (("in_channels", in_channels), ("out_channels", out_channels)):
            if count % groups:
                raise ValueError(f"{name} must be divisible by groups")
            setattr(self, name, count)
        for name, value in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation)):
            setattr(self, name, per_axis(value, self._axes, name))
        if isinstance(padding, str):
            check_padding(padding, self.stride, ValueError)
        self.padding = padding if isinstance(padding, str) else per_axis(padding, self._axes, "padding")
        self.groups = groups
        self._make((out_channels, in_channels // groups, *self.kernel_size), bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        defaults = {"padding": (0,) * self._axes, "dilation": (1,) * self._axes, "groups": 1}
        others = [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        fixed = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        return ", ".join([*fixed, *others, *["bias=False"][self.bias is not None :]])


class Conv1d(Convolution):
    __doc__ = Convolution.__doc__
    _function = staticmethod(conv1d)


class Conv2d(Convolution):
    __doc__ = Convolution.__doc__
    _axes = 2
    _function = staticmethod(conv2d)


def lay_pool(x: Tensor, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Windows:
    """Return the windows of a pool over the last n axes of x. Raises RuntimeError for too much padding."""
    kernels, paddings = per_axis(kernel, n, "kernel_size"), per_axis(padding, n, "padding")
    for k, p, d in zip(kernels, paddings, per_axis(dilation, n, "dilation"), strict=True):
        if p < 0 or 2 * p > d * (k - 1) + 1:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} "
                f"and dilation={d}"
            )
    around = [(p, p) for p in paddings]
    return lay_windows(x.shape[-n:], kernels, kernels if stride is None else stride, around, dilation, ceil)


def avg_pool(n: int) -> Callable:
    name = f"avg_pool{n}d"

    @records_as(f"AvgPool{n}DBackward0" if n > 1 else "")
    def function(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Tensor:
        x = add_batch_axis(input, n, name)
        windows = lay_pool(x, n, kernel_size, stride, padding, 1, False)
        out = entry("unfold_windows")(x, windows=windows).sum((*range(-n, 0),)) / math.prod(windows.kernel)
        return out if x is input else out.squeeze(0)

    doc = f"Average over windows of the last {n} axes of (N, C, ...) or (C, ...), including zero padding."
    return rename_function(function, name, doc)


avg_pool1d, avg_pool2d = map(avg_pool, (1, 2))


def adaptive_avg_pool(n: int) -> Callable:
    @records_as(f"AdaptiveAvgPool{n}DBackward0" if n > 1 else "")
    def function(input: Tensor, output_size: Any) -> Tensor:
        sizes = output_size if isinstance(output_size, list | tuple) else (output_size,) * n
        for axis, wanted in zip(range(-n, 0), sizes, strict=True):
            length = input.shape[axis]
            count = length if wanted is None else wanted
            ends = [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
            input = stack([at(input, axis, slice(*pair)).mean(axis) for pair in ends], axis)
        return input

    doc = f"Average over the last {n} axes, divided into output_size windows of nearly equal length."
    return rename_function(function, f"adaptive_avg_pool{n}d", doc)


adaptive_avg_pool1d, adaptive_avg_pool2d = map(adaptive_avg_pool, (1, 2))


def find_maxima(data: np.ndarray, windows: Windows) -> np.ndarray:
    """Return the place of each window's first maximum in flattened planes of data (lead + windows.size): lead + out."""
    plane = math.prod(windows.size)
    numbers = windows.take(np.arange(1, plane + 1).reshape(windows.size))  # 0 in the padding
    places = numbers.reshape(*windows.out, math.prod(windows.kernel)) - 1
    first = np.take_along_axis(places, (places >= 0).argmax(-1)[..., None], -1)
    places = np.where(places >= 0, places, first)
    seen = data.reshape(*data.shape[: data.ndim - len(windows.size)], plane)[..., places]
    best = seen.argmax(-1)[..., None]
    return np.take_along_axis(np.broadcast_to(places, seen.shape), best, -1)[..., 0]


def max_pool(n: int) -> Callable:
    name = f"max_pool{n}d"

    @records_as(f"MaxPool{n}DWithIndicesBackward0" if n > 1 else "")
    def function(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        x = add_batch_axis(input, n, name)
        windows = lay_pool(x, n, kernel_size, stride, padding, dilation, ceil_mode)
        places = find_maxima(x.detach().numpy(), windows)
        planes = np.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], *(1,) * n)
        out = x.reshape(-1)[places + math.prod(windows.size) * planes]
        return out if x is input else out.squeeze(0)

    doc = f"Largest element of each window of the last {n} axes."
    return rename_function(function, name, doc)


max_pool1d, max_pool2d = map(max_pool, (1, 2))


class Pool(Applied):
    """Pooling over windows; the default stride is the size of the window."""

    kernel_size: Any
    stride: Any

    def _set(self, name: str, value: Any) -> None:
        setattr(self, name, self.kernel_size if name == "stride" and value is None else value)


class LinePool(Pool):
    """Pooling along one axis, with settings stored as tuples."""

    def _set(self, name: str, value: Any) -> None:
        super()._set(name, value)
        if name in ("kernel_size", "stride", "padding"):
            setattr(self, name, per_axis(getattr(self, name), 1, name))


WINDOWS: dict[str, Any] = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
MAXIMA = {**WINDOWS, "dilation": 1, "ceil_mode": False}
MaxPool1d = layer("MaxPool1d", max_pool1d, base=Pool, **MAXIMA)
MaxPool2d = layer("MaxPool2d", max_pool2d, base=Pool, **MAXIMA)
AvgPool1d = layer("AvgPool1d", avg_pool1d, base=LinePool, **WINDOWS)
AvgPool2d = layer("AvgPool2d", avg_pool2d, base=Pool, **WINDOWS)
AdaptiveAvgPool1d = layer("AdaptiveAvgPool1d", adaptive_avg_pool1d, output_size=REQUIRED)
AdaptiveAvgPool2d = layer("AdaptiveAvgPool2d", adaptive_avg_pool2d, output_size=REQUIRED)
