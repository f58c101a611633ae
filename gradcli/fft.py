"""Fourier transforms with the names and arguments of torch.fft."""

from __future__ import annotations

from typing import Any

import numpy as np

from .api.create import make_leaf
from .api.signature import from_table, resolve
from .api.wrap import missing
from .rules.fourier import TRANSFORM_KINDS
from .rules.table import TABLE
from .tape.dtypes import defaults
from .tape.tensor import Tensor

fftshift, ifftshift = (from_table(TABLE[f"fft.{name}"]) for name in ("fftshift", "ifftshift"))
FFT_NAMES = [f"{kind}{axes}" for kind in TRANSFORM_KINDS for axes in ("", "2", "n")]
globals().update({name: resolve(f"fft.{name}") for name in FFT_NAMES})


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Frequencies of fft for n samples with spacing d."""
    return make_leaf(np.fft.fftfreq(n, d), dtype or defaults.float, requires_grad, device)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Frequencies of rfft for n samples with spacing d."""
    return make_leaf(np.fft.rfftfreq(n, d), dtype or defaults.float, requires_grad, device)


__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
__all__.extend(FFT_NAMES)
__getattr__ = missing(__name__, lambda: __all__)
