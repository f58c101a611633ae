"""Pooling."""

from __future__ import annotations

from typing import Any

from ..functional.convolution import per_axis
from .wrappers import REQUIRED, Applied, module_for


class Pool(Applied):
    """A pool over windows; the stride is the window's size unless given."""

    kernel_size: Any
    stride: Any

    def check(self) -> None:
        """Complete the stride."""
        if self.stride is None:
            self.stride = self.kernel_size


class PerAxisPool(Pool):
    """A pool whose settings are one number per axis."""

    _axes = 1
    padding: Any

    def check(self) -> None:
        """Complete the stride, and give each axis its own number."""
        super().check()
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, per_axis(getattr(self, name), self._axes, name))


def max_pool(n: int) -> type:
    return module_for(
        f"MaxPool{n}d",
        f"max_pool{n}d",
        f"Largest element of each window of {n} axes.",
        base=Pool,
        module=__name__,
        shown=("kernel_size", "stride", "padding", "dilation", "ceil_mode"),
        kernel_size=REQUIRED,
        stride=None,
        padding=0,
        dilation=1,
        return_indices=False,
        ceil_mode=False,
    )


def avg_pool(n: int) -> Any:
    more: dict[str, Any] = {} if n == 1 else {"divisor_override": None}
    return module_for(
        f"AvgPool{n}d",
        f"avg_pool{n}d",
        f"Average of each window of {n} axes.",
        base=PerAxisPool if n == 1 else Pool,
        module=__name__,
        shown=("kernel_size", "stride", "padding"),
        kernel_size=REQUIRED,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        **more,
    )


MaxPool1d, MaxPool2d = map(max_pool, (1, 2))
AvgPool1d, AvgPool2d = map(avg_pool, (1, 2))
