"""Matrix Market coordinate text of a Jacobian, its inputs side by side."""

from __future__ import annotations

import io

from ...results.transforms import Jacobian
from .. import Style, renders


@renders()
def render_jacobian(result: Jacobian, style: Style) -> str:
    """Return the Jacobian as one matrix; a comment says which columns belong to which input."""
    from scipy.io import mmwrite
    from scipy.sparse import csr_array, hstack

    rows = result.value.size
    parts = [
        item.sparse if item.block is None else csr_array(item.block.reshape((rows, item.value.size)))
        for item in result.blocks
    ]
    lines, start = [f"rows: {result.output or 'out'}, shape {list(result.value.shape)}"], 1
    for item in result.blocks:
        lines.append(f"columns {start} to {start + item.value.size - 1}: {item.name}, shape {list(item.value.shape)}")
        start += item.value.size
    buffer = io.BytesIO()
    mmwrite(buffer, hstack(parts, format="coo"), comment="\n".join(lines), precision=style.precision or 17)
    return buffer.getvalue().decode()
