"""Convolutions in one and two dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...api.wrap import records_as, rename_function
from ...rules import entry
from ...rules.shapes import lay_along
from ...rules.sliding_windows import Windows
from ...tape.tensor import Tensor


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
