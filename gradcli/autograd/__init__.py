"""The face of `torch.autograd`."""

from __future__ import annotations

from ..tape.backward import backward, grad
from ..tape.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["backward", "enable_grad", "grad", "inference_mode", "no_grad", "set_grad_enabled"]
