"""Neural networks with the names and arguments of torch.nn."""

from __future__ import annotations

from . import functional

__all__ = ["functional"]
