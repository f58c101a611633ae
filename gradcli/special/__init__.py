"""Special functions with the names and arguments of torch.special."""

from __future__ import annotations

from ..face.wrap import missing

__all__: list[str] = []
__getattr__ = missing(__name__, lambda: __all__)
