"""Fourier transforms with the names and arguments of torch.fft."""

from __future__ import annotations

from ..face.wrap import missing

__all__: list[str] = []
__getattr__ = missing(__name__, lambda: __all__)
