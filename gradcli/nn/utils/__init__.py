"""Helpers for training: gradients clipped."""

from __future__ import annotations

from ...api.wrap import lazy

__all__, __getattr__ = lazy(
    __name__,
    {
        "clip_grad": "clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
    },
)
