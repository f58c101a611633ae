"""Linear algebra with the names, arguments and results of torch.linalg."""

from __future__ import annotations

from ..face.wrap import missing

__all__: list[str] = []
__getattr__ = missing(__name__, lambda: __all__)
