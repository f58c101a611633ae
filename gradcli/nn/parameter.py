"""What a module holds: parameters to train, and buffers."""

from __future__ import annotations

from ..tape.parameter import Parameter

__all__ = ["Parameter"]
