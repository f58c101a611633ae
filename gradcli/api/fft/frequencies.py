"""The frequencies that the elements of a transform stand for, and their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rules import fourier  # noqa: F401 - enters the functions of spectra
from ...rules.table import TABLE
from ...tape.dtypes import defaults
from ...tape.tensor import Tensor
from ..create import make_leaf
from ..wrap import from_table

fftshift, ifftshift = (from_table(TABLE[f"fft.{name}"]) for name in ("fftshift", "ifftshift"))


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Frequencies of fft for n elements at distance d."""
    return make_leaf(np.fft.fftfreq(n, d), dtype or defaults.float, requires_grad, device)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Frequencies of rfft for n elements at distance d."""
    return make_leaf(np.fft.rfftfreq(n, d), dtype or defaults.float, requires_grad, device)
