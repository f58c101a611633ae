"""Neural networks with the names and arguments of torch.nn. Modules are imported when they are first used."""

from __future__ import annotations

from ..api.wrap import lazy
from . import modules

__all__, __getattr__ = lazy(
    __name__,
    {"modules": " ".join(modules.__all__), "parameter": "Parameter"},
    *("functional", "init", "modules", "parameter", "utils"),
)
