"""NumPy files: archives of the gradients by input, with the value under `value`, and .npy with the one array."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ..errors import GradcliError
from . import Style, renders
from .results import Gradients, Hessian, Jacobian, Products, Value


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


@renders("npz", "npy")
def render_arrays(result: Gradients | Value | Jacobian | Hessian | Products, style: Style) -> bytes:
    """Return derivatives by name, and the value as `value` if nothing else is called so; as .npy the one array.

    A sparse Jacobian has scipy's format, inputs side by side. Raises GradcliError for .npy where there is not one.
    """
    buffer = io.BytesIO()
    if style.form == "npy":
        np.save(buffer, only_array(result))
        return buffer.getvalue()
    if isinstance(result, Jacobian) and result.products is not None:
        from scipy.sparse import hstack, save_npz

        save_npz(buffer, hstack([item.sparse for item in result.blocks], format="csr"))
        return buffer.getvalue()
    arrays = arrays_of(result)
    if result.value is not None:
        arrays.setdefault("value", result.value)
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def only_array(result: Any) -> np.ndarray:
    """Return the one array that a result holds. Raises GradcliError where there are others, or none."""
    whole = result.whole if isinstance(result, Hessian) else None
    arrays = arrays_of(result) if whole is None else {"hessian": whole}
    if len(arrays) != 1:
        there = ", ".join(arrays) or "none that is dense"
        raise GradcliError(
            f"a .npy file holds one array, and there are {there}",
            hint="choose one with --wrt, or write them all by name: -o FILE.npz",
            kind="usage",
        )
    return next(iter(arrays.values()))
