"""Convolutions and transposed convolutions in any number of dimensions, and windows as columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...rules.windows import Windows
from ...tape.tensor import Tensor
from .arguments import per_axis, records_as, rename_function, run


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


def add_bias(out: Tensor, bias: Tensor | None, unbatched: bool) -> Tensor:
    """Return (N, G, O, ...) as (N, channels, ...) with the bias added, without N where that was added."""
    shape = tuple(out.shape)
    out = out.reshape(shape[0], shape[1] * shape[2], *shape[3:])
    if bias is not None:
        out = out + bias.reshape(-1, *(1,) * (out.ndim - 2))
    return out.squeeze(0) if unbatched else out


def check_weight(weight: Tensor, groups: int, n: int, name: str) -> None:
    """Raise RuntimeError or ValueError for weights that cannot be."""
    if groups < 1:
        raise RuntimeError("non-positive groups is not supported")
    if weight.ndim != n + 2:
        raise RuntimeError(f"{name}: expected weight with {n + 2} axes, got shape {list(weight.shape)}")
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(weight.shape)} instead"
        )


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
    """Return the convolution in n dimensions."""

    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        check_weight(weight, groups, n, name)
        x, unbatched = add_batch_axis(input, n, name)
        batch, channels, *size = x.shape
        outputs, part, *kernel = weight.shape
        if channels != part * groups:
            raise RuntimeError(
                f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} "
                f"to have {part * groups} channels, but got {channels} channels instead"
            )
        stride, dilation = per_axis(stride, n, "stride"), per_axis(dilation, n, "dilation")
        check_steps(stride, dilation)
        around = paddings(padding, tuple(kernel), stride, dilation)
        axes = zip(size, kernel, stride, dilation, around, strict=True)
        out = tuple((m + a + b - d * (k - 1) - 1) // s + 1 for m, k, s, d, (a, b) in axes)
        if min(out) < 1:
            padded = " x ".join(str(m + a + b) for m, (a, b) in zip(size, around, strict=True))
            covered = " x ".join(str(d * (k - 1) + 1) for k, d in zip(kernel, dilation, strict=True))
            raise RuntimeError(
                f"Calculated padded input size per channel: ({padded}). Kernel size: ({covered}). Kernel size can't "
                "be greater than actual input size"
            )
        windows = Windows(tuple(size), tuple(kernel), stride, dilation, around, out)
        grouped = x.reshape(batch, groups, part, *size)
        weights = weight.reshape(groups, outputs // groups, part, *kernel)
        return add_bias(run("convolve_windows", grouped, weights, windows=windows), bias, unbatched)

    return rename_function(
        function,
        name,
        f"Convolve {n}-dimensional input (N, C, ...) or (C, ...) with weight (O, C / groups, ...).",
        "ConvolutionBackward0",
    )


def conv_transpose(n: int, name: str) -> Callable:
    """Return the transposed convolution in n dimensions."""

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
        check_weight(weight, groups, n, name)
        x, unbatched = add_batch_axis(input, n, name)
        batch, channels, *out = x.shape
        inputs, part, *kernel = weight.shape
        if channels != inputs:
            raise RuntimeError(
                f"Given transposed=1, weight of size {list(weight.shape)}, expected input{list(input.shape)} "
                f"to have {inputs} channels, but got {channels} channels instead"
            )
        stride, dilation = per_axis(stride, n, "stride"), per_axis(dilation, n, "dilation")
        check_steps(stride, dilation)
        extra = per_axis(output_padding, n, "output_padding")
        if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, "
                f"but got output_padding: {list(extra)} stride: {list(stride)} dilation: {list(dilation)}"
            )
        around = per_axis(padding, n, "padding")
        axes = zip(out, kernel, stride, dilation, around, extra, strict=True)
        size = tuple((m - 1) * s - 2 * p + d * (k - 1) + e + 1 for m, k, s, d, p, e in axes)
        if min(size) < 1:
            raise RuntimeError(f"Given input size per channel: {out}. Calculated output size: {list(size)}")
        windows = Windows(size, tuple(kernel), stride, dilation, tuple((p, p) for p in around), tuple(out))
        grouped = x.reshape(batch, groups, inputs // groups, *out)
        weights = weight.reshape(groups, inputs // groups, part, *kernel)
        return add_bias(run("unconvolve_windows", grouped, weights, windows=windows), bias, unbatched).contiguous()

    return rename_function(
        function,
        name,
        f"The transpose of conv{n}d as a map of its input; weight (C, O / groups, ...).",
        "ConvolutionBackward0",
    )


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
    axes = zip(size, kernel, steps, dilated, around, strict=True)
    out = tuple((m + 2 * p - d * (k - 1) - 1) // s + 1 for m, k, s, d, p in axes)
    if min(out) < 1:
        raise RuntimeError(f"the array of sliding blocks has shape {list(out)}, but its lengths must be positive")
    return Windows(tuple(size), kernel, steps, dilated, tuple((p, p) for p in around), out)


@records_as("Im2ColBackward0")
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of (N, C, H, W) as columns (N, C kernel, windows)."""
    x, unbatched = add_batch_axis(input, 2, "unfold")
    batch, channels, *size = x.shape
    windows = column_windows(size, kernel_size, dilation, padding, stride)
    cut = run("unfold_windows", x, windows=windows).permute(0, 1, 4, 5, 2, 3)
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
    out = run("fold_windows", parted.permute(0, 1, 4, 5, 2, 3), windows=windows)
    return out.squeeze(0) if unbatched else out
