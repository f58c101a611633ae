"""Open files, pipes and standard input that contain numbers, and read tables of text."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..errors import GradcliError, nearest_names
from .limits import out_of_memory

MAX_TEXT = 64 << 20  # characters to read; as numbers they take up to 30 times as much memory
IMAGINARY_UNITS = ("i", "j", "J")  # complex numbers that count as names in the first row
ROW_NUMBERS = "row 1 is the first one below the heading"


@contextlib.contextmanager
def reading(place: str) -> Iterator[None]:
    """Turn anything that the reader of a format raises into a GradcliError that names the place."""
    try:
        yield
    except GradcliError:
        raise
    except UnicodeDecodeError:
        raise GradcliError(f"{place} is not UTF-8 text", kind="file") from None
    except MemoryError:
        raise out_of_memory(place) from None
    except Exception as error:
        from .reword import readable_message

        why = getattr(error, "strerror", None) or (readable_message(error) if str(error) else repr(error))
        raise GradcliError(f"{place} cannot be read: {why}", kind="file") from None


def read_text(source: NumberSource) -> str:
    """Read the UTF-8 text of a source. Raises GradcliError for more than MAX_TEXT characters."""
    try:
        text = io.TextIOWrapper(source.file, encoding="utf-8-sig").read(MAX_TEXT + 1)
        text.encode()  # standard input may let invalid bytes pass, as surrogates
    except UnicodeError:
        raise source.error(" is not UTF-8 text") from None
    if len(text) > MAX_TEXT:
        raise too_much(source.name, source.path, MAX_TEXT)
    return text


def too_much(name: str, place: str, most: int, arrays: bool = False) -> GradcliError:
    hint = None if arrays else "save large arrays as .npy: numpy.save(path, array)"
    return GradcliError(f"{name}: {place} contains more than {most >> 20} MiB of text", hint=hint, kind="limit")


class TextRows:
    """A table of text: rows of cells, without comments and empty lines, numbered from 1 below a heading.

    Raises GradcliError if it is empty.
    """

    def __init__(self, source: NumberSource, separator: str | None):
        blanks = " \r\n\v\f" if separator == "\t" else None  # keep empty cells between tabs
        lines = (raw.split("#")[0].strip(blanks) for raw in read_text(source).split("\n"))
        rows = [split_cells(line, separator) for line in lines if line]
        if not rows:
            raise source.error(" is empty")
        self.source = source
        self.rows = list(enumerate(rows, 0 if is_heading(rows[0]) else 1))

    def numbers(self) -> np.ndarray:
        """Return all cells as one array. A first row without any number is a heading."""
        rows = self.without_heading(is_heading(self.rows[0][1]))
        table = [[self.number(cell, i) for cell in row] for i, row in rows]
        self.check_lengths(rows)
        array = np.array(table)
        return array[:, 0] if array.shape[1] == 1 else array[0] if array.shape[0] == 1 else array

    def without_heading(self, has_heading: bool) -> list:
        rows = self.rows[has_heading:]
        if not rows:
            raise self.source.error(" has a heading but no numbers")
        return rows

    def check_lengths(self, rows: list) -> None:
        lengths = sorted({len(row) for _, row in rows})
        if len(lengths) != 1:
            name, path = self.source.name, self.source.path
            raise GradcliError(f"{name}: the rows of {path} have different lengths: {lengths}", kind="file")

    def column(self, key: str) -> np.ndarray:
        """Return a column by its name in the first row, or by its number from 0. Other columns may be text."""
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
        number = parse_cell(cell)
        if number is None:
            hint = None if self.rows[0][0] else ROW_NUMBERS
            raise self.source.error(f", row {row}: '{cell}' is not a number", hint)
        return number


def split_cells(line: str, separator: str | None) -> list[str]:
    """Split a line into cells. A cell in quotes may contain separators."""
    if separator and '"' in line:
        return [cell.strip() for cell in next(read_rows([line], separator, skipinitialspace=True))]
    cells = (cell.strip() for cell in line.split(separator))
    return [cell[1:-1].strip() if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell for cell in cells]


def read_rows(lines: Iterable[str], separator: str, **options: Any) -> Iterator[list[str]]:
    """Yield the cells of each row of CSV. Lifts csv's limit of 128 KiB for a cell."""
    csv.field_size_limit(MAX_TEXT)
    return csv.reader(lines, delimiter=separator, **options)


def is_heading(cells: list[str]) -> bool:
    """Return whether cells are names. Next to other names, nan and inf count as names. Cells may be empty."""
    others = [cell for cell in cells if cell and cell not in IMAGINARY_UNITS and parse_cell(cell) is not None]
    return any(cells) and all(map(str.isidentifier, others)) and len(others) < len(list(filter(None, cells)))


def check_separator(cells: list[str], separator: str | None, place: str) -> None:
    """Raise GradcliError for a row that a separator other than the file type's would split into numbers."""
    for other in (";", ",", "\t"):
        if other == separator:
            continue
        for cell in cells:
            if other in cell and all(parse_cell(part.strip()) is not None for part in cell.split(other)):
                word = {",": "commas", "\t": "tabs", None: "blanks"}[separator]
                raise GradcliError(f"{place}: numbers are separated by {other!r}, not by {word}", kind="file")


FORTRAN = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))[dD]([-+]?\d+)\Z")
"""A number in double precision, as Fortran prints it: 1.5D+03."""


def read_number(cell: str) -> float:
    """Return a real number. An empty cell and NA, as R writes a missing value, are nan. Raises ValueError."""
    try:
        return float(cell)
    except ValueError:
        if cell in ("", "NA"):
            return float("nan")
        return float(FORTRAN.sub(r"\1e\2", cell))


def parse_cell(cell: str) -> float | complex | None:
    """Return a cell as a number, or None if it is text. Complex numbers are written 1+2j or 1+2i."""
    try:
        return read_number(cell)
    except ValueError:
        pass
    try:
        return complex(re.sub(r"i(?=\)?$)", "j", cell.replace(" ", "")))
    except ValueError:
        return None


VALUE_FORMATS = ("npy", "npz", "csv", "tsv", "txt", "json")
"""File types by suffix. Without one of these, :FORMAT after the name decides, or for pipes and devices the content."""
ARRAY_BEGINNINGS = (b"\x93NUMPY", b"PK\x03\x04")  # the first bytes of .npy and .npz files
ARRAY_HEADER = 1 << 20  # bytes that an array's file may have in addition to its data


class NumberSource(NamedTuple):
    """An open source of numbers.

    name: what the numbers are for; messages start with it. limit: the maximum number of elements. kind: one of
    VALUE_FORMATS. key: the part to read, empty for all of it.
    """

    name: str
    limit: int
    file: Any
    path: str
    kind: str
    key: str

    def error(self, what: str, hint: str | None = None, kind: str = "file") -> GradcliError:
        return GradcliError(f"{self.name}: {self.path}{what}", hint=hint, kind=kind)


def open_source(spec: str, name: str, limit: int, default: str = "json") -> NumberSource:
    """Open the source after the @ of a value: PATH, PATH:KEY, -, -:FORMAT, -:FORMAT:KEY or -:KEY. Raises GradcliError.

    default: the format of standard input if the user names none; if empty, the content decides. Data from pipes and
    devices is kept, so that they can be opened again.
    """
    if not spec.strip():
        raise GradcliError(f"{name}: no file after @", hint=f"for example {name}=@data.npy")
    if spec.partition(":")[0] == "-":
        kind, key = split_format(spec[2:])
        data = read_stream("-", name, limit)
        return NumberSource(name, limit, io.BytesIO(data), "standard input", kind or default or guess_format(data), key)
    path, key = split_key(spec)
    if not os.path.exists(path):
        raise GradcliError(f"{name}: no such file: {path}", hint=nearest_file(path), kind="file")
    if os.path.isdir(path):
        raise GradcliError(f"{name}: {path} is a directory", kind="file")
    suffix = os.path.splitext(path)[1].lower()
    known = suffix[1:] if suffix[1:] in VALUE_FORMATS else ""
    kind, part = ("", key) if known else split_format(key)
    if stat.S_ISREG(os.stat(path).st_mode):
        if not known and not kind:
            hint = (
                f"the types are {', '.join('.' + form for form in VALUE_FORMATS)}; for any other file, write @FILE:csv"
            )
            raise GradcliError(f"{name}: {path}: unknown type of file '{suffix or path}'", hint=hint, kind="file")
        with reading(f"{name}: {path}"):
            return NumberSource(name, limit, open(path, "rb"), path, known or kind, part)
    if known == "npz":
        raise GradcliError(f"{name}: {path} is not a regular file, and an .npz archive must be one", kind="file")
    data = read_stream(path, name, limit)
    return NumberSource(name, limit, io.BytesIO(data), path, known or kind or guess_format(data), part)


def split_key(spec: str) -> tuple[str, str]:
    """Split PATH:KEY; the path itself may contain colons."""
    places = [len(spec), *(m.start() for m in re.finditer(":", spec))]
    at = next((i for i in places if os.path.exists(spec[:i])), None)
    if at is None:
        ending = re.search(rf"\.({'|'.join(VALUE_FORMATS)}):", spec)
        at = ending.end() - 1 if ending else len(spec)
    return spec[:at], spec[at + 1 :]


def split_format(text: str) -> tuple[str, str]:
    """Split FORMAT:KEY; the format may be missing."""
    head, _, rest = text.partition(":")
    return (head, rest) if head in VALUE_FORMATS else ("", text)


STREAM_DATA: dict[Any, bytes] = {}  # the data of streams, which can be read only once


def read_stream(path: str, name: str, limit: int) -> bytes:
    """Read a pipe, a device or standard input (-), once. Raises GradcliError for more data than the limit allows."""
    is_standard = path in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
    stream: Any = standard_input() if is_standard else (path, os.stat(path).st_ino)
    place = "standard input" if is_standard else path
    if stream in STREAM_DATA:
        return STREAM_DATA[stream]
    with reading(f"{name}: {place}"):
        file = stream.buffer if is_standard else open(path, "rb")  # noqa: SIM115 - until the command ends
        data = file.read(6)
        arrays = data.startswith(ARRAY_BEGINNINGS)
        most = 16 * limit + ARRAY_HEADER if arrays else MAX_TEXT
        data += file.read(most - len(data) + 1)
    if len(data) > most:
        raise too_much(name, place, most, arrays)
    STREAM_DATA[stream] = data
    return data


def guess_format(data: bytes) -> str:
    """Guess the format of data from its beginning: arrays, JSON, or rows of text by their separator."""
    for beginning, form in zip(ARRAY_BEGINNINGS, VALUE_FORMATS, strict=False):
        if data.startswith(beginning):
            return form
    text = data[:ARRAY_HEADER].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text.startswith(("[", "{")) or re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?\s*", text):  # or a single number
        return "json"
    line = next((line for line in text.splitlines() if line.split("#")[0].strip()), "")
    return "tsv" if "\t" in line else "csv" if "," in line else "txt"


def standard_input() -> Any:
    if sys.stdin is None or sys.stdin.closed:
        raise GradcliError("standard input is closed", hint="pipe something into it, or name a file", kind="file")
    return sys.stdin


def nearest_file(path: str) -> str | None:
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return f"no such folder: {folder}"
    names = nearest_names(os.path.basename(path), os.listdir(folder))
    return f"did you mean '{os.path.join(os.path.dirname(path), names[0])}'?" if names else None
