"""Resizing: every mode is a sparse matrix of constants along each axis."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...rules.resample import Taps
from ...tape.tensor import Tensor
from .arguments import run
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

CUBIC = -0.75
CUBIC_ANTIALIAS = -0.5
RANKS = {"linear": (3,), "bilinear": (4,), "trilinear": (5,), "bicubic": (4,)}
AREAS = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)


def cubic(x: np.ndarray, a: float) -> np.ndarray:
    """The cubic convolution kernel (Keys 1981) with slope a at 1."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def triangle(x: np.ndarray) -> np.ndarray:
    """max(0, 1 - |x|)."""
    return np.maximum(1 - np.abs(x), 0)


def sources(size: int, out: int, scale: float | None, align_corners: bool, cut: bool) -> np.ndarray:
    """Return where, among the positions of the input, each output lies; cut: not before the first."""
    steps = np.arange(out)
    if align_corners:
        return steps * ((size - 1) / (out - 1) if out > 1 else 0.0)
    ratio = 1.0 / scale if scale is not None and scale > 0 else size / out
    places = (steps + 0.5) * ratio - 0.5
    return np.maximum(places, 0.0) if cut else places


def linear_taps(size: int, out: int, scale: float | None, align_corners: bool) -> Taps:
    """Two neighbours."""
    places = sources(size, out, scale, align_corners, True)
    first = np.minimum(places.astype(int), size - 1)
    second = np.minimum(first + 1, size - 1)
    part = np.clip(places - first, 0.0, 1.0)
    return Taps(np.stack([first, second], -1), np.stack([1 - part, part], -1), size)


def cubic_taps(size: int, out: int, scale: float | None, align_corners: bool) -> Taps:
    """Four neighbours; those outside are the nearest inside."""
    places = sources(size, out, scale, align_corners, False)
    first = np.floor(places).astype(int)
    offsets = np.arange(-1, 3)
    weights = cubic((places - first)[:, None] - offsets, CUBIC)
    return Taps(np.clip(first[:, None] + offsets, 0, size - 1), weights, size)


def nearest_taps(size: int, out: int, scale: float | None, shift: float) -> Taps:
    """One neighbour, found in single precision as PyTorch does."""
    ratio = np.float32(1.0 / scale if scale is not None and scale > 0 else size / out)
    places = np.floor((np.arange(out, dtype=np.float32) + np.float32(shift)) * ratio).astype(int)
    return Taps(np.minimum(places, size - 1)[:, None], np.ones((out, 1)), size)


def smooth_taps(
    size: int, out: int, scale: float | None, align_corners: bool, kernel: Callable, support: int
) -> Taps:
    """All elements under a kernel stretched by the ratio of lengths when shrinking; weights add up to 1."""
    if align_corners:
        ratio = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        ratio = 1.0 / scale if scale is not None and scale > 0 else size / out
    stretch = max(ratio, 1.0)
    reach = support * stretch
    centres = ratio * (np.arange(out) + 0.5)
    starts = np.maximum((centres - reach + 0.5).astype(int), 0)
    ends = np.minimum((centres + reach + 0.5).astype(int), size)
    table = starts[:, None] + np.arange(max((ends - starts).max(initial=0), 1))
    weights = np.where(table < ends[:, None], kernel((table - centres[:, None] + 0.5) / stretch), 0.0)
    total = weights.sum(-1, keepdims=True)
    return Taps(np.minimum(table, size - 1), weights / np.where(total == 0, 1.0, total), size)


def taps_of(mode: str, size: int, out: int, scale: float | None, align_corners: bool, antialias: bool) -> Taps:
    """Return the map of one axis."""
    if mode == "nearest":
        return nearest_taps(size, out, scale, 0.0)
    if mode == "nearest-exact":
        return nearest_taps(size, out, scale, 0.5)
    if antialias and mode == "bicubic":
        return smooth_taps(size, out, scale, align_corners, lambda x: cubic(x, CUBIC_ANTIALIAS), 2)
    if antialias:
        return smooth_taps(size, out, scale, align_corners, triangle, 1)
    if mode == "bicubic":
        return cubic_taps(size, out, scale, align_corners)
    return linear_taps(size, out, scale, align_corners)


def check(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    """Raise ValueError or NotImplementedError for what does not go together."""
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: "
                "linear | bilinear | bicubic | trilinear"
            )
    elif mode not in RANKS:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported with the modes nearest | linear | bilinear | "
            f"bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if input.ndim not in RANKS.get(mode, (3, 4, 5)):
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {RANKS.get(mode, '3D, 4D or 5D')}")
    if antialias and not (mode in ("bilinear", "bicubic") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )


def lengths_of(input: Tensor, size: Any, scale_factor: Any, recompute: bool | None) -> tuple[list, list]:
    """Return the output lengths, and per axis the factor to compute with (None: the ratio of lengths)."""
    n = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined, and one of them must be")
    given = size if size is not None else scale_factor
    values = list(given) if isinstance(given, list | tuple) else [given] * n
    if len(values) != n:
        raise ValueError(
            f"Input and output must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(input.shape[2:])} and {len(values)} numbers"
        )
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return [int(v) for v in values], [None] * n
    factors = [float(v) for v in values]
    lengths = [math.floor(m * f) for m, f in zip(input.shape[2:], factors, strict=True)]
    return lengths, [None] * n if recompute else factors


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize (N, C, ...) to a size or by a factor.

    mode: 'nearest', 'nearest-exact', 'area' for 1 to 3 axes, 'linear' for 1, 'bilinear' and 'bicubic' for 2,
    'trilinear' for 3. align_corners: the outermost elements keep their places. antialias: average when shrinking.
    """
    check(input, mode, align_corners, antialias)
    lengths, factors = lengths_of(input, size, scale_factor, recompute_scale_factor)
    if min(lengths) < 1 or min(input.shape[2:]) < 1:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(input.shape[2:])} output {lengths}"
        )
    if mode == "area":
        return AREAS[input.ndim - 3](input, lengths)
    result = input
    keeps = antialias or mode.endswith("linear") or (mode == "nearest" and input.ndim == 4)
    for axis, out, factor in zip(range(-len(lengths), 0), lengths, factors, strict=True):
        if keeps and out == input.shape[axis]:
            continue  # whatever the factor, as PyTorch does in these modes
        taps = taps_of(mode, input.shape[axis], out, factor, bool(align_corners), antialias)
        result = run("resample", result, taps=taps, axis=axis, back=False)
    return input.clone() if result is input else result


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """interpolate under its old name."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate with the mode 'nearest'."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate with the mode 'bilinear' and aligned corners."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, "bilinear", True)
