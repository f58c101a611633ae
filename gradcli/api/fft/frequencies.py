"""The frequencies that the elements of a transform stand for, and their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rules import entry
from ...tape.dtypes import defaults
from ...tape.tensor import Tensor
from ..create import make_leaf
from ..wrap import operand


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The zero frequency moved to the middle of the axes dim (all unless given)."""
    return entry("fft.fftshift").function(operand(input), dim)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """fftshift undone."""
    return entry("fft.ifftshift").function(operand(input), dim)


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Frequencies of fft for n elements at distance d."""
    return make_leaf(np.fft.fftfreq(n, d), dtype or defaults.float, requires_grad, device)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Frequencies of rfft for n elements at distance d."""
    return make_leaf(np.fft.rfftfreq(n, d), dtype or defaults.float, requires_grad, device)
