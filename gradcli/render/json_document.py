"""Documents of the schema gradcli/1, and numbers in them."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from .. import __version__
from ..results.locks import SCHEMA
from . import Style

CONTROL = re.compile("[\x7f-\x9f]")
"""The control characters that JSON does not need to escape."""


def as_plain_data(x: Any, precision: int | None = None) -> Any:
    """Return an array as nested lists, 0-d ones as a number; nan and the infinities as strings."""
    if isinstance(x, np.ndarray) and x.dtype == np.float64 and precision is None and np.isfinite(x).all():
        return x.tolist()
    if isinstance(x, np.ndarray):
        return [as_plain_data(item, precision) for item in x] if x.ndim else as_plain_data(x[()], precision)
    if isinstance(x, bool | np.bool_):
        return bool(x)
    if isinstance(x, complex | np.complexfloating):
        return {"re": as_plain_data(float(x.real), precision), "im": as_plain_data(float(x.imag), precision)}
    if isinstance(x, np.integer):
        return int(x)
    value = float(str(x)) if isinstance(x, np.float32) else float(x)
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if precision is None else float(f"{value:.{precision}g}")


def document(style: Style, target: str, **parts: Any) -> str:
    """Return a document with the keys that all have."""
    return json_line({**head(style, target), **parts})


def head(style: Style, target: str) -> dict[str, Any]:
    """Return the keys that all documents begin with."""
    return {"schema": SCHEMA, "command": style.command, "target": target, "version": __version__}


def present(**parts: Any) -> dict[str, Any]:
    """Return the parts that there are: neither None nor empty."""
    return {name: part for name, part in parts.items() if part not in (None, "", [], {})}


def json_line(document: dict[str, Any]) -> str:
    """Return JSON in a line, without characters that a terminal obeys."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return (text if text.isprintable() else CONTROL.sub(lambda c: f"\\u{ord(c[0]):04x}", text)) + "\n"


def optional(x: np.ndarray | None, style: Style) -> Any:
    return None if x is None else as_plain_data(x, style.precision)
