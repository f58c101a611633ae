"""NumPy archives: the gradient of each input under its name, the value under `value`."""

from __future__ import annotations

import io

import numpy as np

from ..results import Gradients
from . import Style


def packed(arrays: dict[str, np.ndarray]) -> bytes:
    """Return arrays as the bytes of an .npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def gradients(result: Gradients, style: Style) -> bytes:
    """Return gradients and retained gradients by name, and the value as `value` if no input is called so."""
    arrays = {item.name: item.grad for item in result.inputs}
    arrays.update(result.retained)
    if result.value is not None:
        arrays.setdefault("value", result.value)
    return packed(arrays)
