"""Helpers for training: gradients clipped, parameters as one vector."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...api.wrap import missing

HOMES = {
    **dict.fromkeys(
        ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"),
        "clip_grad",
    ),
    **dict.fromkeys(("parameters_to_vector", "vector_to_parameters"), "convert_parameters"),
}
__all__ = sorted(HOMES)  # noqa: PLE0605
absent = missing(__name__, lambda: __all__)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        return absent(name)
    found = globals()[name] = getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    return found
