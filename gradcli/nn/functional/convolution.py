"""Convolutions and transposed convolutions in any number of dimensions, and windows as columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...api.wrap import records_as, rename_function
from ...rules import entry
from ...rules.shapes import lay_along
from ...rules.sliding_windows import Windows
from ...tape.tensor import Tensor
from .arguments import per_axis


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
    input: Tensor, weight: Tensor, stride: Any, dilation: Any, groups: int, n: int, name: str, transposed: bool
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
    expected = weight.shape[0] if transposed else weight.shape[1] * groups
    if x.shape[1] != expected:
        raise RuntimeError(
            f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {list(weight.shape)}, "
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
        x, unbatched, strides, dilations = prepare(input, weight, stride, dilation, groups, n, name, False)
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


def conv_transpose(n: int, name: str) -> Callable:
    @records_as("ConvolutionBackward0")
    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        x, unbatched, strides, dilations = prepare(input, weight, stride, dilation, groups, n, name, True)
        out, kernel = x.shape[2:], weight.shape[2:]
        extra = per_axis(output_padding, n, "output_padding")
        if any(e >= max(s, d) for e, s, d in zip(extra, strides, dilations, strict=True)):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, "
                f"but got output_padding: {list(extra)} stride: {list(strides)} dilation: {list(dilations)}"
            )
        around = per_axis(padding, n, "padding")
        axes = zip(out, kernel, strides, dilations, around, extra, strict=True)
        size = tuple((m - 1) * s - 2 * p + d * (k - 1) + e + 1 for m, k, s, d, p, e in axes)
        if min(size) < 1:
            raise RuntimeError(f"Given input size per channel: {list(out)}. Calculated output size: {list(size)}")
        windows = Windows(size, tuple(kernel), strides, dilations, tuple((p, p) for p in around), tuple(out))
        return multiply_windows("unconvolve_windows", x, weight, groups, windows, bias, unbatched).contiguous()

    doc = f"The transpose of conv{n}d as a map of its input; weight (C, O / groups, ...)."
    return rename_function(function, name, doc)


conv1d, conv2d, conv3d = (conv(n, f"conv{n}d") for n in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (conv_transpose(n, f"conv_transpose{n}d") for n in (1, 2, 3))


# -- columns --------------------------------------------------------------------------------------


def column_windows(size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Windows:
    """Return the windows of a plane. Raises RuntimeError where there are none."""
    kernel, steps = per_axis(kernel_size, 2, "kernel_size"), per_axis(stride, 2, "stride")
    dilated, around = per_axis(dilation, 2, "dilation"), per_axis(padding, 2, "padding")
    if min(kernel) < 1:
        raise RuntimeError("kernel size should be greater than zero")
    check_steps(steps, dilated)
    windows = lay_windows(size, kernel, steps, dilated, tuple((p, p) for p in around))
    if min(windows.out) < 1:
        blocks = list(windows.out)
        raise RuntimeError(f"the array of sliding blocks has shape {blocks}, but its lengths must be positive")
    return windows


@records_as("Im2ColBackward0")
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of (N, C, H, W) as columns (N, C kernel, windows)."""
    x, unbatched = add_batch_axis(input, 2, "unfold")
    batch, channels, *size = x.shape
    windows = column_windows(size, kernel_size, dilation, padding, stride)
    cut = entry("unfold_windows")(x, windows=windows).permute(0, 1, 4, 5, 2, 3)
    out = cut.reshape(batch, channels * math.prod(windows.kernel), math.prod(windows.out))
    return out.squeeze(0) if unbatched else out


@records_as("Col2ImBackward0")
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns (N, C kernel, windows) added up to (N, C, H, W): the transpose of unfold."""
    x, unbatched = add_batch_axis(input, 1, "fold")
    windows = column_windows(per_axis(output_size, 2, "output_size"), kernel_size, dilation, padding, stride)
    area, count = math.prod(windows.kernel), math.prod(windows.out)
    if x.shape[1] % area or x.shape[2] != count:
        raise RuntimeError(
            f"fold needs input (N, multiple of {area}, {count}) for this output size, got {list(input.shape)}"
        )
    parted = x.reshape(x.shape[0], x.shape[1] // area, *windows.kernel, *windows.out)
    out = entry("fold_windows")(parted.permute(0, 1, 4, 5, 2, 3), windows=windows)
    return out.squeeze(0) if unbatched else out
