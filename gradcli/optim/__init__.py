"""Optimizers with the names and arguments of torch.optim."""

from __future__ import annotations

from ..api.wrap import lazy

__all__, __getattr__ = lazy(__name__, {"adam": "Adam AdamW", "optimizer": "Optimizer", "sgd": "SGD"}, "lr_scheduler")
