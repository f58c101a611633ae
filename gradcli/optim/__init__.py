"""Optimizers with the names and arguments of torch.optim."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..face.wrap import missing
from .adam import Adam, AdamW
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .scaled import Adadelta, Adagrad, RMSprop
from .sgd import SGD
from .variants import ASGD, Adamax, NAdam, RAdam, Rprop

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
]
absent = missing(__name__, lambda: [*__all__, "lr_scheduler"])


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.{name}") if name == "lr_scheduler" else absent(name)
