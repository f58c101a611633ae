"""Numbers in rows: .csv, .tsv and .txt."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GradcliError

if TYPE_CHECKING:
    from .sources import Source

MAX_TEXT = 64 << 20
"""Characters of text that are read: what they hold takes up to 30 times as much memory."""
AS_ARRAY = "save large arrays as .npy: numpy.save(path, array)"
UNITS = ("i", "j", "J")
"""Complex numbers that in a first row are names."""


def read_text(source: Source) -> str:
    """Return the text of a source, in UTF-8. Raises GradcliError for more than MAX_TEXT of it."""
    try:
        text = io.TextIOWrapper(source.file, encoding="utf-8-sig").read(MAX_TEXT + 1)
        text.encode()  # standard input may let wrong bytes pass, as surrogates
    except UnicodeError:
        raise source.error(" is not UTF-8 text") from None
    if len(text) > MAX_TEXT:
        raise too_much(source.name, source.path, MAX_TEXT)
    return text


def too_much(name: str, place: str, most: int, hint: str | None = AS_ARRAY) -> GradcliError:
    """Return the error for a source that holds more than is read."""
    return GradcliError(f"{name}: {place} holds more than {most >> 20} MiB of text", hint=hint, kind="limit")


class Rows:
    """A table of text: numbered rows of cells, without comments and empty lines. Raises GradcliError for none."""

    def __init__(self, source: Source, separator: str | None):
        blanks = " \r\n\v\f" if separator == "\t" else None  # an empty cell between tabs is one
        lines = read_text(source).split("\n")
        numbered = [(i + 1, raw.split("#")[0].strip(blanks)) for i, raw in enumerate(lines)]
        self.source = source
        self.rows = [(i, split_cells(line, separator)) for i, line in numbered if line]
        if not self.rows:
            raise source.error(" is empty")

    def numbers(self) -> np.ndarray:
        """Return all as one array; a first row without any number is a heading."""
        rows = self.without_heading(is_heading(self.rows[0][1]))
        table = [[self.number(cell, i) for cell in row] for i, row in rows]
        self.check_lengths(rows)
        array = np.array(table)
        return array[:, 0] if array.shape[1] == 1 else array[0] if array.shape[0] == 1 else array

    def without_heading(self, has_heading: bool) -> list:
        """Return the rows of numbers. Raises GradcliError for none."""
        rows = self.rows[has_heading:]
        if not rows:
            raise self.source.error(" has a heading and no numbers")
        return rows

    def check_lengths(self, rows: list) -> None:
        """Raise GradcliError for rows of different lengths."""
        lengths = {len(row) for _, row in rows}
        if len(lengths) != 1:
            name, path = self.source.name, self.source.path
            raise GradcliError(f"{name}: the rows of {path} have different lengths: {sorted(lengths)}", kind="file")

    def column(self, key: str) -> np.ndarray:
        """Return the column of that name in the first row, or of that number, counted from 0. Others may be text."""
        heading = self.rows[0][1]
        named = key in heading
        if not named and not (key.isdecimal() and int(key) < len(heading)):
            known = f"the columns are {', '.join(heading)}" if is_heading(heading) else "it has no heading"
            raise self.source.error(f" has no column '{key}'", known)
        self.check_lengths(self.rows)
        place = heading.index(key) if named else int(key)
        rows = self.without_heading(named or is_heading(heading))
        return np.array([self.number(row[place], i) for i, row in rows])

    def number(self, cell: str, row: int) -> float | complex:
        """Return a cell as a number. Raises GradcliError for text."""
        number = parse_cell(cell)
        if number is None:
            raise self.source.error(f", row {row}: '{cell}' is no number")
        return number


def from_text(separator: str | None) -> Any:
    """Return a reader of numbers in rows, or of one column of them."""

    def read(source: Source) -> Any:
        table = Rows(source, separator)
        check_separator(table.rows[-1][1], separator, f"{source.name}: {source.path}, row {table.rows[-1][0]}")
        return table.column(source.key) if source.key else table.numbers()

    return read


def split_cells(line: str, separator: str | None) -> list[str]:
    """Return the cells of a line; quotes keep a separator inside a cell."""
    if separator and '"' in line:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]
    return [strip_quotes(cell) for cell in line.split(separator)]


def is_heading(cells: list[str]) -> bool:
    """Return whether cells hold text and no number; the first one may be empty, as over the names of rows."""
    return any(cells) and not any(cell and cell not in UNITS and parse_cell(cell) is not None for cell in cells)


def strip_quotes(cell: str) -> str:
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
