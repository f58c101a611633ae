"""The face of `torch.utils`: data sets in batches, and checkpoints."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..face.wrap import missing

__all__ = ["benchmark", "checkpoint", "data", "library"]
absent = missing(__name__, lambda: __all__)


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.{name}") if name in __all__ else absent(name)
