"""NumPy archives: the gradient of each input under its name, the value under `value`."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ...results import Gradients, Value
from ...results.transforms import Hessian, Jacobian, Products
from .. import Style, renders


def arrays_of(result: Any) -> dict[str, np.ndarray]:
    """Return the derivatives in a result by name, those of a Hessian as `x/y`; sparse ones and none are left out."""
    if isinstance(result, Value):
        return {"value": result.value}
    if isinstance(result, Gradients):
        every = {**{item.name: item.grad for item in result.inputs}, **result.retained}
        return {name: grad for name, grad in every.items() if grad is not None}
    if isinstance(result, Jacobian):
        return {item.name: item.block for item in result.blocks if item.block is not None}
    if isinstance(result, Hessian):
        return {f"{name}/{other}": block for name, row in result.blocks.items() for other, block in row.items()}
    return dict(result.parts) if isinstance(result, Products) else {}


@renders()
def render_arrays(result: Gradients | Value | Jacobian | Hessian | Products, style: Style) -> bytes:
    """Return derivatives by name, and the value as `value` if nothing else is called so.

    A sparse Jacobian has scipy's format, inputs side by side.
    """
    buffer = io.BytesIO()
    if isinstance(result, Jacobian) and result.products is not None:
        from scipy.sparse import hstack, save_npz

        save_npz(buffer, hstack([item.sparse for item in result.blocks], format="csr"))
        return buffer.getvalue()
    arrays = arrays_of(result)
    if result.value is not None:
        arrays.setdefault("value", result.value)
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()
