"""Modules that move elements around: flattening, padding, shuffling, resizing; and distances."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...tape.tensor import Tensor
from .. import functional
from ..functional.arguments import per_axis
from .applied import REQUIRED, Applied, applied
from .module import Module

shaping = partial(applied, module=__name__)


class Flatten(Module):
    """The axes from start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Flatten."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis as several."""

    def __init__(self, dim: int, unflattened_size: Any):
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("Unflatten(): named tensors are not supported: dim must be an int")
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        """Unflatten."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the axis and the lengths."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


PixelShuffle = shaping("PixelShuffle", "pixel_shuffle", "(C r^2, H, W) as (C, H r, W r).", upscale_factor=REQUIRED)
PixelUnshuffle = shaping(
    "PixelUnshuffle", "pixel_unshuffle", "(C, H r, W r) as (C r^2, H, W).", downscale_factor=REQUIRED
)
ChannelShuffle = shaping("ChannelShuffle", "channel_shuffle", "Channels of groups in turn.", groups=REQUIRED)
CosineSimilarity = shaping("CosineSimilarity", "cosine_similarity", "Cosine along dim.", shown=(), dim=1, eps=1e-8)
PairwiseDistance = shaping(
    "PairwiseDistance", "pairwise_distance", "p-norms of differences.", shown=(), p=2.0, eps=1e-6, keepdim=False
)
Unfold = shaping(
    "Unfold",
    "unfold",
    "The windows of (N, C, H, W) as columns.",
    kernel_size=REQUIRED,
    dilation=1,
    padding=0,
    stride=1,
)
Fold = shaping(
    "Fold",
    "fold",
    "Columns added up to (N, C, H, W).",
    output_size=REQUIRED,
    kernel_size=REQUIRED,
    dilation=1,
    padding=0,
    stride=1,
)


# -- padding --------------------------------------------------------------------------------------


class Pad(Module):
    """Elements added around: padding is a number, or (before, behind) for the last axis, the one before, ..."""

    _axes = 1
    _mode = "constant"

    def __init__(self, padding: Any, value: Any = None):
        super().__init__()
        self.padding = per_axis(padding, 2 * self._axes, "padding")
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Pad."""
        return functional.pad(input, self.padding, self._mode, self.value)

    def extra_repr(self) -> str:
        """Return the padding."""
        return str(self.padding)


class ConstantPad(Pad):
    """The same with a value to pad with."""

    def __init__(self, padding: Any, value: Any):
        super().__init__(padding, value)

    def extra_repr(self) -> str:
        """Return the padding and the value."""
        return f"padding={self.padding}, value={self.value}"


class CircularPad(Pad):
    """The same for an input of that many axes, one more, or two more."""

    def __init__(self, padding: Any):
        super().__init__(padding)

    def forward(self, input: Tensor) -> Tensor:
        """Pad. Raises ValueError for another number of axes."""
        ranks = self._axes + 1, self._axes + 2
        if input.ndim not in ranks:
            raise ValueError(f"expected {ranks[0]}D or {ranks[1]}D input (got {input.ndim}D input)")
        return super().forward(input)


class PlainPad(Pad):
    """The same without a value to choose."""

    def __init__(self, padding: Any):
        super().__init__(padding, 0.0 if self._mode == "constant" else None)


def padding(name: str, mode: str, n: int, base: type) -> Any:
    """Return the class of a kind of padding of n axes."""
    doc = f"{mode.title()} padding of the last {n} axes."
    return type(f"{name}{n}d", (base,), {"_axes": n, "_mode": mode, "__doc__": doc, "__module__": __name__})


ZeroPad1d, ZeroPad2d, ZeroPad3d = (padding("ZeroPad", "constant", n, PlainPad) for n in (1, 2, 3))
ConstantPad1d, ConstantPad2d, ConstantPad3d = (padding("ConstantPad", "constant", n, ConstantPad) for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (
    padding("ReflectionPad", "reflect", n, PlainPad) for n in (1, 2, 3)
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (
    padding("ReplicationPad", "replicate", n, PlainPad) for n in (1, 2, 3)
)
CircularPad1d, CircularPad2d, CircularPad3d = (padding("CircularPad", "circular", n, CircularPad) for n in (1, 2, 3))


# -- another size ---------------------------------------------------------------------------------


class Resizing(Applied):
    """Another size by interpolation: size, or scale_factor times the old one."""

    size: Any
    scale_factor: Any

    def check(self) -> None:
        """Keep factors as floats."""
        factor = self.scale_factor
        if factor is not None:
            self.scale_factor = tuple(map(float, factor)) if isinstance(factor, tuple | list) else float(factor)

    def extra_repr(self) -> str:
        """Return size or factor, and the mode."""
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)}, mode={self.mode!r}"


Upsample: Any = shaping(
    "Upsample",
    "interpolate",
    "Another size by interpolation.",
    base=Resizing,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
)


class UpsamplingNearest2d(Upsample):
    """Another size by repetition."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Another size by bilinear interpolation, corners aligned."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "bilinear", True)


__all__ = [
    "ChannelShuffle",
    "CosineSimilarity",
    "Flatten",
    "Fold",
    "PairwiseDistance",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
] + [f"{kind}Pad{n}d" for kind in ("Zero", "Constant", "Reflection", "Replication", "Circular") for n in (1, 2, 3)]
