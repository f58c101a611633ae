"""NumPy archives: the gradient of each input under its name, the value under `value`."""

from __future__ import annotations

import io

import numpy as np

from ..results import Gradients, Value
from ..results.transforms import Hessian, Jacobian, Products
from . import Style


def pack_arrays(arrays: dict[str, np.ndarray]) -> bytes:
    """Return arrays as the bytes of an .npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def render_gradients(result: Gradients, style: Style) -> bytes:
    """Return gradients and retained gradients by name, and the value as `value` if no input is called so."""
    arrays = {item.name: item.grad for item in result.inputs}
    arrays.update(result.retained)
    if result.value is not None:
        arrays.setdefault("value", result.value)
    return pack_arrays(arrays)


def render_value(result: Value, style: Style) -> bytes:
    """Return the value under `value`."""
    return pack_arrays({"value": result.value})


def render_jacobian(result: Jacobian, style: Style) -> bytes:
    """Return blocks by input, and the value; a sparse Jacobian in scipy's format, inputs side by side."""
    if result.products is None:
        arrays = {item.name: item.block for item in result.blocks if item.block is not None}
        arrays.setdefault("value", result.value)
        return pack_arrays(arrays)
    from scipy.sparse import hstack, save_npz

    buffer = io.BytesIO()
    save_npz(buffer, hstack([item.sparse for item in result.blocks], format="csr"))
    return buffer.getvalue()


def render_hessian(result: Hessian, style: Style) -> bytes:
    """Return the block for inputs x and y as `x/y`, and the value."""
    arrays = {f"{name}/{other}": block for name, row in result.blocks.items() for other, block in row.items()}
    return pack_arrays({**arrays, "value": result.value})


def render_products(result: Products, style: Style) -> bytes:
    """Return products by name, and the value as `value` if nothing else is called so."""
    arrays = dict(result.parts)
    arrays.setdefault("value", result.value)
    return pack_arrays(arrays)
