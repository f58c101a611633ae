"""The names of `torch.autograd`."""

from __future__ import annotations

from ..api.wrap import lazy
from ..tape.anomaly import detect_anomaly, set_detect_anomaly
from ..tape.backward import backward, grad
from ..tape.function import Function
from ..tape.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

SUBMODULES = ("anomaly_mode", "function", "functional", "grad_mode", "gradcheck", "graph")
_, __getattr__ = lazy(__name__, {"gradcheck": "gradgradcheck"}, *SUBMODULES)
__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
