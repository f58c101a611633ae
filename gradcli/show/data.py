"""Formats for programs, with one function each for all results: tsv, csv, text, code, json, npz and npy."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import __version__
from ..errors import GradcliError, visible
from ..results.base import SCHEMA, Rows, dense_arrays, document_of, document_of_lines, rows_of
from ..results.formats import CODE, Style

NONE = "none"  # a gradient that is None
ERROR_DIGITS = 2  # of the errors of numeric derivatives, for readers


def shape_text(shape: tuple[int | str, ...], scalar: str = "scalar") -> str:
    return "×".join(map(str, shape)) or scalar


def number(x: Any, precision: int | None = None) -> str:
    """Write a number so that it reads back equal, or with `precision` digits; complex as 1.5+2.0j, and -0.0 as 0.0."""
    if x is None:
        return NONE
    if isinstance(x, complex | np.complexfloating):
        real, imag = number(x.real, precision), number(x.imag, precision)
        return f"{real}{imag if imag.startswith('-') else '+' + imag}j"
    if isinstance(x, bool | np.bool_):
        return str(bool(x))
    if precision is not None:
        return f"{float(x):z.{precision}g}"
    return str(x or abs(x)) if isinstance(x, np.float32 | np.integer) else repr(float(x) + 0.0)


def write_cells(rows: Rows, precision: int | None, clean: Callable[[str], str]) -> Iterator[list[str]]:
    """Yield rows as text. clean: makes the user's text safe to print."""

    def write(x: Any) -> str:
        if isinstance(x, np.ndarray):
            return json_line(as_plain_data(x + 0.0 if x.dtype.kind in "fc" else x, precision)).rstrip()
        if isinstance(x, str) or callable(x):
            return clean(x(precision) if callable(x) else x)
        return number(x, precision)

    often = {
        str: clean,
        float: (lambda x: repr(x + 0.0)) if precision is None else write,
        tuple: lambda pair: clean("/".join(pair)),
    }
    return ([often.get(type(x), write)(x) for x in row] for row in rows)


def one_line(text: str) -> str:
    """Return text without tabs, line breaks and control characters."""
    return text if text.isprintable() and " " not in text else visible(" ".join(text.split()))


def write_tsv(result: Any, style: Style) -> str:
    rows = result.lines() if hasattr(result, "lines") else rows_of(result)
    return "".join(["\t".join(cells) + "\n" for cells in write_cells(rows, style.precision, one_line)])


def write_csv(result: Any, style: Style) -> str:
    """Return the rows below a heading; a name of two parts fills two columns."""
    import csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    more = ("formula",) if getattr(result, "symbolic", ()) else ("error",) if getattr(result, "errors", {}) else ()
    writer.writerow((*getattr(result, "columns", ("name", "value")), *more))
    rows = ((*row[0], *row[1:]) if isinstance(row[0], tuple) else row for row in rows_of(result))
    writer.writerows(write_cells(rows, style.precision, visible))
    return text.getvalue()


def write_raw(result: Any, style: Style) -> str:
    """Return numbers alone, one per line, without their errors."""
    place = -2 if getattr(result, "errors", {}) else -1
    return "".join(cells[place] + "\n" for cells in write_cells(rows_of(result), style.precision, one_line))


def write_text(result: Any, style: Style) -> str:
    """Return a formula per line; without Unicode, ∂ is written as del."""
    text = "".join("\t".join(row) + "\n" for row in result.rows())
    return text if style.unicode else text.replace("∂", "del ")


def write_source(result: Any, style: Style) -> str:
    return result.code


def write_json(result: Any, style: Style) -> str:
    """Return the result's document on one line. A lock has one line per check, so that git can compare it."""
    head = {"schema": SCHEMA, "command": style.command, "target": getattr(result, "target", ""), "version": __version__}
    document = as_plain_data({**head, **document_of(result)}, style.precision)
    key = getattr(result, "on_lines", None)
    return document_of_lines(document, key, document.pop(key)) if key else json_line(document)


def as_plain_data(x: Any, precision: int | None = None) -> Any:
    """Convert to JSON's types: arrays to nested lists (or a number), parts of results to their documents.

    nan and infinities become strings.
    """
    if x is None or isinstance(x, str | bool | int):
        return x
    if isinstance(x, Mapping):
        return {key: as_plain_data(item, precision) for key, item in x.items()}
    if hasattr(x, "json") or hasattr(x, "_fields"):
        return as_plain_data(document_of(x), precision)
    if isinstance(x, list | tuple):
        return [as_plain_data(item, precision) for item in x]
    if not isinstance(x, np.ndarray):
        return plain_number(x)
    return as_plain_data(x.tolist()) if x.dtype.kind in "OU" else nest_numbers(x, precision)


def nest_numbers(x: np.ndarray, precision: int | None) -> Any:
    if x.dtype == np.float64 and precision is None and np.isfinite(x).all():
        return x.tolist()
    if x.ndim > 1:
        return [nest_numbers(item, precision) for item in x]
    return [plain_number(item, precision) for item in x] if x.ndim else plain_number(x[()], precision)


def plain_number(x: Any, precision: int | None = None) -> Any:
    if isinstance(x, bool | np.bool_):
        return bool(x)
    if isinstance(x, complex | np.complexfloating):
        return {"re": plain_number(float(x.real), precision), "im": plain_number(float(x.imag), precision)}
    if isinstance(x, np.integer):
        return int(x)
    value = float(str(x)) if isinstance(x, np.float32) else float(x)
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if precision is None else float(f"{value:.{precision}g}")


def json_line(document: Any) -> str:
    import json

    return visible(json.dumps(document, ensure_ascii=False, allow_nan=False)) + "\n"


def error_document(problem: GradcliError) -> str:
    span = problem.span and document_of(problem.span, "start end line column text file=origin")
    document = document_of(problem, "kind message span hint exit=exit_code") | {"span": span}
    return json_line({"error": document})


def write_npz(result: Any, style: Style) -> bytes:
    """Return derivatives by name, and the value as `value` if no input has that name; errors as `error_NAME`.

    A sparse Jacobian has SciPy's format, with the inputs side by side.
    """
    buffer, arrays = io.BytesIO(), dense_arrays(result)
    sparse = [block.array for block in result.arrays if block.is_sparse]
    if sparse:
        from scipy.sparse import hstack, save_npz

        save_npz(buffer, hstack(sparse, format="csr"))
        return buffer.getvalue()
    for block in result.arrays:
        if block.error is not None:
            arrays.setdefault(f"error_{block.key}", block.error)
    if result.value is not None:
        arrays.setdefault("value", result.value)
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def write_npy(result: Any, style: Style) -> bytes:
    """Return the one array that a result holds. Raises GradcliError if it holds none or several."""
    whole = getattr(result, "whole", None)
    arrays = dense_arrays(result) if whole is None else {"hessian": whole}
    if len(arrays) != 1:
        there = ", ".join(arrays) or "no dense array"
        raise GradcliError(
            f"a .npy file holds one array, but the result has {there}",
            hint="choose one with --wrt, or write them all by name: -o FILE.npz",
        )
    buffer = io.BytesIO()
    np.save(buffer, next(iter(arrays.values())))
    return buffer.getvalue()


WRITERS = {
    "tsv": write_tsv,
    "csv": write_csv,
    "raw": write_raw,
    "text": write_text,
    **dict.fromkeys(CODE, write_source),
    "json": write_json,
    "npz": write_npz,
    "npy": write_npy,
}
