"""Numbers in rows: .csv, .tsv and .txt."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np

from ..errors import GradcliError

MAX_TEXT = 64 << 20
"""Characters of text that are read: what they hold takes up to 30 times as much memory."""
UNITS = ("i", "j", "J")
"""Complex numbers that in a first row are names."""


def read_text(stream: Any, name: str, place: str) -> str:
    """Return the text of a stream. Raises GradcliError for more than MAX_TEXT of it."""
    try:
        text = stream.read(MAX_TEXT + 1)
        text.encode()  # standard input may let wrong bytes pass, as surrogates
    except UnicodeError:
        raise GradcliError(f"{name}: {place} is not UTF-8 text", kind="file") from None
    if len(text) > MAX_TEXT:
        raise GradcliError(
            f"{name}: {place} holds more than {MAX_TEXT >> 20} MiB of text",
            hint="save large arrays as .npy: numpy.save(path, array)",
            kind="limit",
        )
    return text


def as_text(file: Any) -> Any:
    """Return a file of bytes as one of text in UTF-8."""
    return io.TextIOWrapper(file, encoding="utf-8-sig")


def from_text(separator: str | None) -> Any:
    """Return a reader of numbers in rows; a first row without any number is a heading."""
    blanks = " \r\n\v\f" if separator == "\t" else None  # an empty cell between tabs is one

    def read(file: Any, path: str, key: str, name: str, limit: int) -> Any:
        lines = read_text(as_text(file), name, path).split("\n")
        numbered = [(i + 1, raw.split("#")[0].strip(blanks)) for i, raw in enumerate(lines)]
        rows = [(i, [strip_quotes(cell) for cell in line.split(separator)]) for i, line in numbered if line]
        if not rows:
            raise GradcliError(f"{name}: {path} is empty", kind="file")
        check_separator(rows[-1][1], separator, f"{name}: {path}, row {rows[-1][0]}")
        if is_heading(rows[0][1]):
            rows = rows[1:]
        if not rows:
            raise GradcliError(f"{name}: {path} has a heading and no numbers", kind="file")
        table = [[number(cell, path, i, name) for cell in row] for i, row in rows]
        lengths = {len(row) for row in table}
        if len(lengths) != 1:
            raise GradcliError(f"{name}: the rows of {path} have different lengths: {sorted(lengths)}", kind="file")
        array = np.array(table)
        return array[:, 0] if array.shape[1] == 1 else array[0] if array.shape[0] == 1 else array

    return read


def is_heading(cells: list[str]) -> bool:
    """Return whether cells hold text and no number; the first one may be empty, as over the names of rows."""
    return any(cells) and not any(cell and cell not in UNITS and parse_cell(cell) is not None for cell in cells)


def strip_quotes(cell: str) -> str:
    """Return a cell without the quotes around it."""
    cell = cell.strip()
    return cell[1:-1].strip() if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def check_separator(cells: list[str], separator: str | None, place: str) -> None:
    """Raise GradcliError for a row that another separator than the file type's would split into numbers."""
    for other in (";", ",", "\t"):
        if other == separator:
            continue
        for cell in cells:
            if other in cell and all(parse_cell(part.strip()) is not None for part in cell.split(other)):
                word = {",": "commas", "\t": "tabs", None: "blanks"}[separator]
                raise GradcliError(f"{place}: numbers are separated by {other!r} there, not by {word}", kind="file")


def parse_cell(cell: str) -> float | complex | None:
    """Return a cell as a number, an empty one as nan; None for text. Complex ones are written 1+2j or 1+2i."""
    try:
        return float(cell) if cell else float("nan")
    except ValueError:
        pass
    try:
        return complex(re.sub(r"i(?=\)?$)", "j", cell.replace(" ", "")))
    except ValueError:
        return None


def number(cell: str, path: str, row: int, name: str) -> float | complex:
    """Return a cell of a table as a number. Raises GradcliError for text."""
    found = parse_cell(cell)
    if found is None:
        raise GradcliError(f"{name}: {path}, row {row}: '{cell}' is no number", kind="file")
    return found
