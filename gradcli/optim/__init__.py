"""Optimizers with the names and arguments of torch.optim."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..api.wrap import missing
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
absent = missing(__name__, lambda: [*__all__, "lr_scheduler"])


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.{name}") if name == "lr_scheduler" else absent(name)
