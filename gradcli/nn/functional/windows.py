"""Padding, convolutions, averages and maxima over windows.

The windows of one axis are a table: row i holds the positions that output i sees, -1 where it sees padding.
Averages are a sparse matrix per axis; maxima pick elements at positions found axis by axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api.shape import at
from ...api.wrap import operand, records_as, rename_function
from ...rules import entry
from ...rules.index import Index
from ...rules.shapes import lay_along
from ...rules.sliding_windows import Taps, Windows
from ...tape.record import relabel
from ...tape.tensor import Tensor


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements added around input: pad = (before, behind) of the last axis, then of the one before it, ...

    mode: 'constant' (value, 0 unless given), 'reflect', 'replicate' or 'circular'; negative lengths cut off.
    Raises RuntimeError where pad does not fit, NotImplementedError for another mode.
    """
    lengths = [int(n) for n in pad]
    if len(lengths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(lengths) > 2 * input.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding "
            f"length {len(lengths)} and input of dimension {input.ndim}"
        )
    pairs = list(zip(lengths[::2], lengths[1::2], strict=True))
    if mode == "constant":
        return relabel(constant_pad(input, pairs, 0.0 if value is None else value), "ConstantPadNdBackward0")
    if value is not None and value != 0:
        raise ValueError(f"Padding mode '{mode}' doesn't take in value argument")
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    for axis, (before, behind) in enumerate(pairs):
        if before or behind:
            length = input.shape[-1 - axis]
            input = at(input, -1 - axis, positions(mode, length, before, behind))
    return input


def constant_pad(input: Tensor, pairs: list, value: Any) -> Tensor:
    """Pad with a constant; pairs from the last axis on."""
    around = [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1]
    shape = tuple(n + a + b for n, (a, b) in zip(input.shape, around, strict=True))
    if min(shape, default=0) < 0:
        raise RuntimeError(f"pad {pairs} leaves a negative length of the shape {list(input.shape)}")
    cut = [slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(input.shape, around, strict=True)]
    if any(a < 0 or b < 0 for a, b in around):
        input = input[tuple(cut)]
    place = [slice(max(a, 0), m - max(b, 0)) for m, (a, b) in zip(shape, around, strict=True)]
    index = Index(tuple(place), shape)
    if value == 0:
        return entry("put_zeros")(input, index=index, lead=())
    return entry("setitem")(np.full(shape, value, input.dtype), input, index=index)


def positions(mode: str, length: int, before: int, behind: int) -> np.ndarray:
    """Return which elements of an axis the padded axis holds. Raises RuntimeError where it is too short."""
    steps = np.arange(-before, length + behind)
    if mode == "reflect" and max(before, behind) >= length:
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, "
            f"but got: padding ({before}, {behind}) at an axis of length {length}"
        )
    if mode == "circular" and max(before, behind) > length:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if mode == "circular":
        first, last = max(-before, 0), length - max(-behind, 0)
        return first + (steps - first) % (last - first)
    if mode == "reflect":
        return length - 1 - np.abs(length - 1 - np.abs(steps))
    return np.clip(steps, 0, length - 1)


def per_axis(value: Any, n: int, name: str) -> tuple[int, ...]:
    """Return one int per axis: a single number stands for all. Raises RuntimeError for another count."""
    if isinstance(value, int | np.integer):
        return (int(value),) * n
    values = tuple(int(v) for v in value)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        raise RuntimeError(f"{name} must be a number or {n} numbers, got {list(values)}")
    return values


def add_batch_axis(input: Tensor, n: int, name: str) -> tuple[Tensor, bool]:
    """Return input (N, C, ...) and whether its N was added. Raises RuntimeError for another number of axes."""
    if input.ndim == n + 2:
        return input, False
    if input.ndim == n + 1:
        return input.unsqueeze(0), True
    raise RuntimeError(
        f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, "
        f"but got input of size: {list(input.shape)}"
    )


def prepare(
    input: Tensor, weight: Tensor, stride: Any, dilation: Any, groups: int, n: int, name: str
) -> tuple[Tensor, bool, tuple[int, ...], tuple[int, ...]]:
    """Return input (N, C, ...), whether its N was added, and strides and dilations per axis.

    Raises RuntimeError for weights, steps or numbers of channels that cannot be.
    """
    if groups < 1:
        raise RuntimeError("non-positive groups is not supported")
    if weight.ndim != n + 2:
        raise RuntimeError(f"{name}: expected weight with {n + 2} axes, got shape {list(weight.shape)}")
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(weight.shape)} instead"
        )
    x, unbatched = add_batch_axis(input, n, name)
    expected = weight.shape[1] * groups
    if x.shape[1] != expected:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, "
            f"expected input{list(input.shape)} to have {expected} channels, but got {x.shape[1]} channels instead"
        )
    strides, dilations = per_axis(stride, n, "stride"), per_axis(dilation, n, "dilation")
    check_steps(strides, dilations)
    return x, unbatched, strides, dilations


def multiply_windows(
    name: str, x: Tensor, weight: Tensor, groups: int, windows: Windows, bias: Tensor | None, unbatched: bool
) -> Tensor:
    """Record a product of windows and weights by groups of channels; add the bias, and take off an added N."""
    out = entry(name)(
        x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]),
        weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:]),
        windows=windows,
    )
    out = out.reshape(out.shape[0], out.shape[1] * out.shape[2], *out.shape[3:])
    if bias is not None:
        out = out + lay_along(bias, 1 - out.ndim)
    return out.squeeze(0) if unbatched else out


def lay_windows(size: Any, kernel: Any, stride: tuple, dilation: tuple, around: tuple) -> Windows:
    """Return as many windows as fit into an array of `size` with (before, behind) `around` it; none may."""
    axes = zip(size, kernel, stride, dilation, around, strict=True)
    out = tuple((m + a + b - d * (k - 1) - 1) // s + 1 for m, k, s, d, (a, b) in axes)
    return Windows(tuple(size), tuple(kernel), stride, dilation, around, out)


def check_steps(stride: tuple, dilation: tuple) -> None:
    """Raise RuntimeError unless strides and dilations are positive."""
    if min(stride) < 1:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) < 1:
        raise RuntimeError("dilation should be greater than zero")


def paddings(padding: Any, kernel: tuple, stride: tuple, dilation: tuple) -> tuple:
    """Return (before, behind) per axis from numbers, 'valid' or 'same'. Raises RuntimeError for other words."""
    n = len(kernel)
    if not isinstance(padding, str):
        values = per_axis(padding, n, "padding")
        if min(values) < 0:
            raise RuntimeError("negative padding is not supported")
        return tuple((p, p) for p in values)
    if padding == "valid":
        return ((0, 0),) * n
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if max(stride) > 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    return tuple((t // 2, t - t // 2) for t in totals)


def conv(n: int, name: str) -> Callable:
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
        x, unbatched, strides, dilations = prepare(input, weight, stride, dilation, groups, n, name)
        size, kernel = x.shape[2:], weight.shape[2:]
        around = paddings(padding, kernel, strides, dilations)
        windows = lay_windows(size, kernel, strides, dilations, around)
        if min(windows.out) < 1:
            padded = " x ".join(str(m + a + b) for m, (a, b) in zip(size, around, strict=True))
            covered = " x ".join(str(d * (k - 1) + 1) for k, d in zip(kernel, dilations, strict=True))
            raise RuntimeError(
                f"Calculated padded input size per channel: ({padded}). Kernel size: ({covered}). Kernel size can't "
                "be greater than actual input size"
            )
        return multiply_windows("convolve_windows", x, weight, groups, windows, bias, unbatched)

    doc = f"Convolve {n}-dimensional input (N, C, ...) or (C, ...) with weight (O, C / groups, ...)."
    return rename_function(function, name, doc)


conv1d, conv2d = (conv(n, f"conv{n}d") for n in (1, 2))


def window_table(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> np.ndarray:
    """Return the positions (out, kernel) of an axis. Raises RuntimeError where there is no window.

    ceil: a last window that begins inside may reach over the end.
    """
    if stride < 1:
        raise RuntimeError("stride should not be zero")
    span = dilation * (kernel - 1) + 1
    if padding < 0 or 2 * padding > span:
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={padding}, kernel_size={kernel} "
            f"and dilation={dilation}"
        )
    room = size + 2 * padding - span
    out = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (out - 1) * stride >= size + padding:
        out -= 1
    if out < 1:
        raise RuntimeError(f"an axis of length {size} is too small for a window of {kernel}: output size {out}")
    table = stride * np.arange(out)[:, None] + dilation * np.arange(kernel) - padding
    return np.where((table >= 0) & (table < size), table, -1)


def pool_tables(x: Tensor, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> list:
    kernels = per_axis(kernel, n, "kernel_size")
    steps = kernels if stride is None or stride == [] or stride == () else per_axis(stride, n, "stride")
    axes = (x.shape[-n:], kernels, steps, per_axis(padding, n, "padding"), per_axis(dilation, n, "dilation"))
    return [window_table(*axis, ceil) for axis in zip(*axes, strict=True)]


# -- averages -------------------------------------------------------------------------------------


def sum_windows(x: Tensor, tables: list, divisors: list) -> Tensor:
    """Return the sums over windows, divided per axis."""
    for i, (table, divisor) in enumerate(zip(tables, divisors, strict=True)):
        axis = i - len(tables)
        weights = (table >= 0) / np.reshape(np.asarray(divisor, float), (-1, 1))
        taps = Taps(np.maximum(table, 0), weights, x.shape[axis])
        x = entry("resample")(x, taps=taps, axis=axis, back=False)
    return x


def avg_pool(n: int, name: str) -> Callable:
    @records_as(f"AvgPool{n}DBackward0" if n > 1 else "")
    def function(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        x, unbatched = add_batch_axis(input, n, name)
        tables = pool_tables(x, n, kernel_size, stride, padding, 1, ceil_mode)
        divisors = [((table >= 0).sum(-1)) for table in tables]
        if count_include_pad:
            kernels = per_axis(kernel_size, n, "kernel_size")
            steps = kernels if not stride else per_axis(stride, n, "stride")
            axes = (x.shape[-n:], kernels, steps, per_axis(padding, n, "padding"), tables)
            divisors = [
                np.minimum(s * np.arange(len(t)) - p + k, size + p) - (s * np.arange(len(t)) - p)
                for size, k, s, p, t in zip(*axes, strict=True)
            ]
        out = sum_windows(x, tables, divisors)
        return out.squeeze(0) if unbatched else out

    doc = f"Average over windows of the last {n} axes of (N, C, ...) or (C, ...)."
    return rename_function(function, name, doc)


avg_pool1d, avg_pool2d = (avg_pool(n, f"avg_pool{n}d") for n in (1, 2))


# -- maxima ---------------------------------------------------------------------------------------


def largest_positions(data: np.ndarray, tables: list) -> np.ndarray:
    """Return where, in each flattened plane, the first largest element of each window lies.

    data: (..., *sizes); returns (..., *outs).
    """
    sizes = data.shape[data.ndim - len(tables) :]
    places = np.broadcast_to(np.arange(math.prod(sizes)).reshape(sizes), data.shape)
    for axis in range(-1, -len(tables) - 1, -1):
        table = tables[axis]
        first = np.take_along_axis(table, (table >= 0).argmax(-1)[:, None], -1)
        table = np.where(table >= 0, table, first)
        cut = np.take(data, table, axis=axis)
        best = cut.argmax(axis, keepdims=True)
        data = np.take_along_axis(cut, best, axis).squeeze(axis)
        places = np.take_along_axis(np.take(places, table, axis=axis), best, axis).squeeze(axis)
    return places


def at_places(x: Tensor, places: np.ndarray, n: int) -> Tensor:
    """Return the elements of x at positions in its planes of n axes; places: (..., *outs)."""
    lead, plane = x.shape[: x.ndim - n], math.prod(x.shape[x.ndim - n :])
    starts = plane * np.arange(math.prod(lead)).reshape(lead + (1,) * n)
    return x.reshape(-1)[places + starts]


def pool_maxima(input: Tensor, n: int, name: str, tables_of: Callable, return_indices: bool) -> Any:
    """Return the maxima over windows, with their positions if wanted."""
    x, unbatched = add_batch_axis(input, n, name)
    places = largest_positions(x.detach().numpy(), tables_of(x))
    values, indices = at_places(x, places, n), operand(places)
    if unbatched:
        values, indices = values.squeeze(0), indices.squeeze(0)
    return (values, indices) if return_indices else values


def max_pool(n: int, name: str) -> Callable:

    @records_as(f"MaxPool{n}DWithIndicesBackward0" if n > 1 else "")
    def function(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        def tables(x: Tensor) -> list:
            return pool_tables(x, n, kernel_size, stride, padding, dilation, ceil_mode)

        return pool_maxima(input, n, name, tables, return_indices)

    doc = f"Largest element of each window of the last {n} axes."
    return rename_function(function, name, doc)


max_pool1d, max_pool2d = (max_pool(n, f"max_pool{n}d") for n in (1, 2))
