"""Functions of neural networks with the names and arguments of torch.nn.functional."""

from __future__ import annotations

from ...face.wrap import missing

__all__: list[str] = []
__getattr__ = missing(__name__, lambda: __all__)
