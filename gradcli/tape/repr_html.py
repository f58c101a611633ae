"""What a notebook shows of a tensor: its numbers and its gradient as tables, and what it is."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .printing import ComplexFormat, RealFormat, tensor_text

EDGE = 5
"""Rows and columns shown at either end of a long axis."""


def tensor_html(tensor: Any) -> str:
    """Return a tensor as HTML; one of more than two axes, and of exact numbers, as it prints."""
    data = np.asarray(tensor._data)
    if data.ndim > 2 or data.dtype == object or not data.size:
        return f"<pre>{escape(tensor_text(tensor))}</pre>"
    facts = [f"shape ({', '.join(map(str, data.shape))})", str(data.dtype)]
    if tensor.grad_fn is not None:
        facts.append(f"grad_fn {tensor.grad_fn.name()}")
    elif tensor.requires_grad:
        facts.append("requires grad")
    parts = [("", data)]
    if tensor.grad_fn is None and tensor.requires_grad and tensor.grad is not None:
        parts.append(("grad", np.asarray(tensor.grad._data)))
    tables = "".join(array_html(name, part) for name, part in parts)
    return f"<div>{tables}<p><small>{escape(', '.join(facts))}</small></p></div>"


def array_html(name: str, data: np.ndarray) -> str:
    """Return an array of at most two axes as a table, long axes elided."""
    rows = np.atleast_2d(data)
    places = [shown_places(length) for length in rows.shape]
    form = (ComplexFormat if data.dtype.kind == "c" else RealFormat)(data)
    lines = [
        "".join(
            "<td>…</td>" if i is None or j is None else f"<td>{escape(form(rows[i, j].item()))}</td>"
            for j in places[1]
        )
        for i in places[0]
    ]
    caption = f"<caption>{escape(name)}</caption>" if name else ""
    return f"<table>{caption}<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def shown_places(length: int) -> list[int | None]:
    """Return the places of an axis that are shown; None stands for those left out."""
    return [*range(EDGE), None, *range(length - EDGE, length)] if length > 2 * EDGE else list(range(length))
