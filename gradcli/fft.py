"""Fourier transforms with the names and arguments of torch.fft."""

from __future__ import annotations

from .api.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from .api.fft.transforms import FUNCTIONS
from .api.wrap import missing

globals().update(FUNCTIONS)
__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
__all__ += list(FUNCTIONS)
__getattr__ = missing(__name__, lambda: __all__)
