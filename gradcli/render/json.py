"""One JSON document per command, schema gradcli/1."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from .. import __version__
from ..errors import GradcliError
from ..results import Gradients
from . import Style


def plain(x: Any, precision: int | None = None) -> Any:
    """Return an array as nested lists, 0-d ones as a number; nan and the infinities as strings."""
    if isinstance(x, np.ndarray):
        return [plain(item, precision) for item in x] if x.ndim else plain(x[()], precision)
    if isinstance(x, bool | np.bool_):
        return bool(x)
    if isinstance(x, complex | np.complexfloating):
        return {"re": plain(float(x.real), precision), "im": plain(float(x.imag), precision)}
    if isinstance(x, np.integer):
        return int(x)
    value = float(str(x)) if isinstance(x, np.float32) else float(x)
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if precision is None else float(f"{value:.{precision}g}")


def document(command: str, target: str, **parts: Any) -> str:
    """Return a document with the keys that all have."""
    head = {"schema": "gradcli/1", "command": command, "target": target, "version": __version__}
    return json.dumps({**head, **parts}, ensure_ascii=False, allow_nan=False) + "\n"


def gradients(result: Gradients, style: Style) -> str:
    """Return value, gradients and retained gradients."""
    parts: dict[str, Any] = {
        "value": None if result.value is None else plain(result.value, style.precision),
        "grad": {item.name: plain(item.grad, style.precision) for item in result.inputs},
    }
    if result.output is not None:
        parts["output"] = result.output
    if result.retained:
        parts["retained"] = {name: plain(g, style.precision) for name, g in result.retained.items()}
    return document(style.command, result.target, **parts)


def error(problem: GradcliError) -> str:
    """Return an error as a document."""
    span = problem.span
    place = (
        None
        if span is None
        else {
            "start": span.start,
            "end": span.end,
            "line": span.line,
            "column": span.column,
            "text": span.text,
            "file": span.origin,
        }
    )
    parts = {
        "kind": problem.kind,
        "message": problem.message,
        "span": place,
        "hint": problem.hint,
        "exit": problem.exit_code,
    }
    return json.dumps({"error": parts}, ensure_ascii=False) + "\n"
