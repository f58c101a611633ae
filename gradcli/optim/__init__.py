"""Optimizers with the names and arguments of torch.optim."""

from __future__ import annotations

from ..face.wrap import missing
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
__getattr__ = missing(__name__, lambda: __all__)
