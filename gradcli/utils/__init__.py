"""The face of `torch.utils`: data sets in batches, checkpoints, and tensors that trade places."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..face.wrap import missing

SUBMODULES = ("benchmark", "checkpoint", "data", "library")
__all__ = [*SUBMODULES, "swap_tensors"]  # noqa: PLE0604
absent = missing(__name__, lambda: __all__)


def __getattr__(name: str) -> Any:
    if name == "swap_tensors":
        return import_module("gradcli.tape.exchange").swap_tensors
    return import_module(f"{__name__}.{name}") if name in SUBMODULES else absent(name)
