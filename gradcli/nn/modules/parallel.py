"""Modules over several devices: there is one, so that the module inside is called as it is."""

from __future__ import annotations

from typing import Any

from .module import Module


class DataParallel(Module):
    """Calls the module inside."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module = module
        self.device_ids: list = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module inside."""
        return self.module(*inputs, **kwargs)
