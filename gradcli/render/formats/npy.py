"""NumPy files: the one array that there is."""

from __future__ import annotations

import io

import numpy as np

from ...errors import GradcliError
from ...results import Gradients, Value
from ...results.transforms import Hessian, Jacobian, Products
from .. import Style, renders
from .npz import arrays_of


@renders()
def render_array(result: Gradients | Value | Jacobian | Hessian | Products, style: Style) -> bytes:
    """Return the bytes of a .npy file. Raises GradcliError where there is not one array."""
    whole = result.whole if isinstance(result, Hessian) else None
    arrays = arrays_of(result) if whole is None else {"hessian": whole}
    if len(arrays) != 1:
        there = ", ".join(arrays) or "none that is dense"
        raise GradcliError(
            f"a .npy file holds one array, and there are {there}",
            hint="choose one with --wrt, or write them all by name: -o FILE.npz",
            kind="usage",
        )
    buffer = io.BytesIO()
    np.save(buffer, next(iter(arrays.values())))
    return buffer.getvalue()
