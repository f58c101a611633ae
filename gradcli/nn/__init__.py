"""Neural networks with the names and arguments of torch.nn. Modules are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..api.wrap import missing
from ..tape.parameter import Parameter
from . import modules

SUBMODULES = ("functional", "init", "modules", "parameter", "utils")
__all__ = ["Parameter", *SUBMODULES, *modules.__all__]  # noqa: PLE0604
absent = missing(__name__, lambda: __all__)


def __getattr__(name: str) -> Any:
    if name in SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in modules.HOMES:
        return absent(name)
    found = globals()[name] = getattr(modules, name)
    return found
