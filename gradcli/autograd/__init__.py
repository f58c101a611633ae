"""The names of `torch.autograd`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..api.wrap import missing
from ..tape.anomaly import detect_anomaly, set_detect_anomaly
from ..tape.backward import backward, grad
from ..tape.function import Function
from ..tape.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

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
SUBMODULES = {"anomaly_mode", "function", "functional", "grad_mode", "gradcheck", "graph"}
_missing = missing(__name__, lambda: [*__all__, *SUBMODULES])


def __getattr__(name: str) -> Any:
    if name == "gradgradcheck":
        return import_module(f"{__name__}.gradcheck").gradgradcheck
    return import_module(f"{__name__}.{name}") if name in SUBMODULES else _missing(name)
