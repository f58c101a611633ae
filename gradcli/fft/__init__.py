"""Fourier transforms with the names and arguments of torch.fft."""

from __future__ import annotations

from ..face.wrap import missing
from .frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from .transforms import FUNCTIONS

globals().update(FUNCTIONS)
__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
__all__ += list(FUNCTIONS)
__getattr__ = missing(__name__, lambda: __all__)
