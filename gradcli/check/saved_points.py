"""Arrays and points in files of JSON that people read and git compares: one line per entry, sorted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..results.checks import CheckReport
from ..results.locks import SCHEMA, document_of_lines


def plain_of(x: Any) -> Any:
    """Return an array as nested lists, a number as a number; types other than float64 are named beside.

    So is the shape of an array without elements, of which lists keep only the lengths before the first zero.
    """
    raw = np.asarray(x)
    if not raw.size and raw.ndim > 1:
        return {"dtype": raw.dtype.name, "shape": [*raw.shape], "data": []}
    if raw.dtype.kind == "c":
        data: Any = np.stack([raw.real, raw.imag], -1)
        return {"dtype": raw.dtype.name, "data": plain_of(data.astype(float))}
    if raw.dtype != np.float64:
        return {
            "dtype": raw.dtype.name,
            "data": plain_of(raw.astype(float)) if raw.dtype.kind == "f" else raw.tolist(),
        }
    return [plain_of(row) for row in raw] if raw.ndim else float(raw) if np.isfinite(raw) else str(float(raw))


def array_of(data: Any) -> np.ndarray:
    """Return the array that plain data stands for. Raises ValueError."""
    try:
        if not isinstance(data, dict):
            return np.array(data, float)
        dtype = np.dtype(data["dtype"])
        if "shape" in data:
            return np.empty(0, dtype).reshape(data["shape"])
        raw = np.array(data["data"], float if dtype.kind in "fc" else dtype)
        return (raw[..., 0] + 1j * raw[..., 1]).astype(dtype) if dtype.kind == "c" else raw.astype(dtype)
    except (TypeError, LookupError, ArithmeticError) as error:
        raise ValueError(str(error)) from None


MOST_TEXT = 1 << 28
"""Characters of a document that are read: no device, and no file of another kind, fills the memory."""


def read_document(path: str, key: str, what: str) -> dict[str, Any]:
    """Return a document that `document_of_lines` wrote. Raises GradcliError."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_TEXT + 1)
        document = json.loads(text) if len(text) <= MOST_TEXT else None
    except OSError as error:
        raise GradcliError(f"cannot read {path}: {error.strerror}", kind="file") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or not isinstance(document.get(key), list):
        raise GradcliError(f"{path} is no file of {what}", hint="delete it, or name another", kind="file")
    return document


class SavedPoints:
    """The points of --save-points FILE: at each a claim was wrong once."""

    def __init__(self, path: str):
        self.path = path
        self.entries: list[dict[str, Any]] = []
        if os.path.exists(path):
            self.entries = list(read_document(path, "points", "saved points")["points"])
        try:
            self.arrays = [{name: array_of(x) for name, x in e["at"].items()} for e in self.entries]
            self.keys = [(e["file"], e["check"]) for e in self.entries]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise GradcliError(f"{path} holds an entry that is no point", hint="correct or delete it") from None

    def of(self, file: str | None, name: str) -> list[dict[str, np.ndarray]]:
        """Return the points of a check."""
        return [at for key, at in zip(self.keys, self.arrays, strict=True) if key == (file, name)]

    def text_with(self, reports: Iterable[CheckReport]) -> str | None:
        """Return the file's text with the points that were found now; None where it has all of them."""
        new = [
            {"file": r.file, "check": r.name, "at": {name: plain_of(x) for name, x in r.found.at.items()}}
            for r in reports
            if r.found is not None
        ]
        rows = {json.dumps(e, sort_keys=True): e for e in [*self.entries, *new]}
        if len(rows) == len(self.entries):
            return None
        ordered = sorted(rows.values(), key=lambda e: (str(e["file"]), e["check"], json.dumps(e["at"])))
        return document_of_lines({"schema": SCHEMA}, "points", ordered)


def write_array(x: Any) -> str:
    """Return an array as Python: a list of float64, another type by name."""
    raw = np.asarray(x)
    text = repr(raw.tolist())
    return text if raw.dtype == np.float64 else f"np.array({text}, '{raw.dtype.name}')"
