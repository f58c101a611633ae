"""Numbers in files: arrays of NumPy's, tables and JSON."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from ..errors import GradcliError, nearest
from .limits import product
from .reword import readable

MAX_TEXT = 64 << 20
"""Characters of text that are read: what they hold takes up to 30 times as much memory."""


def read_file(spec: str, name: str, limit: int) -> np.ndarray:
    """Return the array in a file: .npy, .npz (FILE:key), .csv, .tsv, .txt, .json, or - for JSON on standard input.

    Raises GradcliError, also for more than `limit` elements.
    """
    if spec == "-":
        return few(
            from_json(read_text(standard_input(), name, "standard input"), name, "standard input"), limit, name
        )
    if not spec.strip():
        raise GradcliError(f"{name}: no file after @", hint=f"for example {name}=@data.npy", kind="usage")
    path, _, key = spec.partition(":") if ".npz:" in spec else (spec, "", "")
    if not os.path.exists(path):
        raise GradcliError(f"{name}: no such file: {path}", hint=nearest_file(path), kind="file")
    if os.path.isdir(path):
        raise GradcliError(f"{name}: {path} is a directory", kind="file")
    kind = os.path.splitext(path)[1].lower()
    reader = READERS.get(kind)
    if reader is None:
        raise GradcliError(
            f"{name}: {path}: unknown type of file '{kind or path}'",
            hint=f"the types are {', '.join(READERS)}",
            kind="file",
        )
    try:
        raw = reader(path, key, name, limit)
    except GradcliError:
        raise
    except UnicodeDecodeError:
        raise GradcliError(f"{name}: {path} is not UTF-8 text", kind="file") from None
    except MemoryError:
        raise GradcliError(f"{name}: {path} does not fit into memory", kind="limit") from None
    except Exception as error:  # readers of foreign formats raise whatever they like
        raise GradcliError(
            f"{name}: cannot read {path}: {readable(error) if str(error) else error!r}", kind="file"
        ) from None
    return few(checked_numbers(raw, f"{name}: {path}"), limit, name)


def few(raw: Any, limit: int, name: str) -> Any:
    """Return an array (or anything with a size). Raises GradcliError for one of more than `limit` elements."""
    if raw.size > limit:
        raise GradcliError(
            f"{name}: the file has {raw.size} elements; the limit is {limit}",
            hint="raise it with --max-elements",
            kind="limit",
        )
    return raw


class Header:
    """What an array's file says of it before the data. Raises ValueError for a damaged one."""

    def __init__(self, stream: Any):
        form = np.lib.format
        version = form.read_magic(stream)
        read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        try:
            self.shape = read(stream)[0]
        except Exception:
            raise ValueError("its header is damaged") from None
        self.size = product(self.shape)
        if any(n < 0 for n in self.shape):
            raise ValueError("its header is damaged: a length is negative")


def read_text(stream: Any, name: str, place: str) -> str:
    """Return the text of a stream. Raises GradcliError for more than MAX_TEXT of it."""
    text = stream.read(MAX_TEXT + 1)
    if len(text) > MAX_TEXT:
        raise GradcliError(
            f"{name}: {place} holds more than {MAX_TEXT >> 20} MiB of text",
            hint="save large arrays as .npy: numpy.save(path, array)",
            kind="limit",
        )
    return text


def standard_input() -> Any:
    """Return the stream. Raises GradcliError when it is closed."""
    if sys.stdin is None or sys.stdin.closed:
        raise GradcliError("standard input is closed", hint="pipe something into it, or name a file", kind="file")
    return sys.stdin


def nearest_file(path: str) -> str | None:
    """Return a hint with the file in the same folder whose name is most alike."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return f"there is no folder {folder}"
    found = nearest(os.path.basename(path), os.listdir(folder))
    return f"did you mean '{os.path.join(os.path.dirname(path), found[0])}'?" if found else None


def checked_numbers(raw: Any, place: str) -> np.ndarray:
    """Return data as an array of numbers. Raises GradcliError for anything else."""
    array = np.asarray(raw)
    if array.dtype.kind not in "biufc":
        raise GradcliError(f"{place} holds {array.dtype} data, not numbers", kind="value")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(float)
    return array


def from_npy(path: str, key: str, name: str, limit: int) -> Any:
    """Read one array. Pickled objects are refused."""
    try:
        with open(path, "rb") as file:
            few(Header(file), limit, name)
        return np.load(path, allow_pickle=False)
    except ValueError as error:
        raise refused_pickle(path, name, error) from None


def from_npz(path: str, key: str, name: str, limit: int) -> Any:
    """Read one array of an archive: the one called `key`, or the only one."""
    from zipfile import is_zipfile

    if not is_zipfile(path):
        raise GradcliError(f"{name}: {path} is no .npz archive", kind="file")
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = list(archive.files)
            if not key and len(names) == 1:
                key = names[0]
            if not names:
                raise GradcliError(f"{name}: {path} holds no arrays", kind="file")
            if key not in names:
                wanted = f"no array '{key}' in {path}" if key else f"{path} holds {len(names)} arrays"
                raise GradcliError(f"{name}: {wanted}", hint=f"choose one: {path}:{'|'.join(names)}", kind="file")
            member = key if key in archive.zip.namelist() else f"{key}.npy"
            with archive.zip.open(member) as file:
                few(Header(file), limit, name)
            return archive[key]
    except ValueError as error:
        raise refused_pickle(path, name, error) from None


def refused_pickle(path: str, name: str, error: Exception) -> GradcliError:
    """Return the error for a file that NumPy cannot read, or only by unpickling."""
    if "pickle" in str(error).lower():
        return GradcliError(
            f"{name}: {path} holds pickled objects, which are never loaded (they could run code)",
            hint="save plain arrays: numpy.save(path, array, allow_pickle=False)",
            kind="file",
        )
    return GradcliError(f"{name}: cannot read {path}: {readable(error)}", kind="file")


def from_text(separator: str | None) -> Any:
    """Return a reader of numbers in rows; a first row that is no number is a heading."""

    def read(path: str, key: str, name: str, limit: int) -> Any:
        with open(path, encoding="utf-8-sig") as file:
            lines = read_text(file, name, path).split("\n")
        numbered = [(i + 1, raw.split("#")[0].strip()) for i, raw in enumerate(lines)]
        rows = [(i, [unquoted(cell) for cell in line.split(separator)]) for i, line in numbered if line]
        if not rows:
            raise GradcliError(f"{name}: {path} is empty", kind="file")
        check_separator(rows[-1][1], separator, f"{name}: {path}, row {rows[-1][0]}")
        if not any(is_number(cell) for cell in rows[0][1]):
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


def unquoted(cell: str) -> str:
    """Return a cell without the quotes around it."""
    cell = cell.strip()
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def check_separator(cells: list[str], separator: str | None, place: str) -> None:
    """Raise GradcliError for a row that another separator than the file type's would split into numbers."""
    for other in (";", ",", "\t"):
        if other == separator:
            continue
        for cell in cells:
            if other in cell and all(is_number(part) for part in cell.split(other)):
                word = {",": "commas", "\t": "tabs", None: "blanks"}[separator]
                raise GradcliError(f"{place}: numbers are separated by {other!r} there, not by {word}", kind="file")


def is_number(text: str) -> bool:
    """Return whether a cell of a table is a number."""
    try:
        complex(text.strip().replace("i", "j") if text.strip() not in ("inf", "-inf", "nan") else text)
    except ValueError:
        return text.strip() == ""
    return True


def number(text: str, path: str, row: int, name: str) -> Any:
    """Return a cell of a table as a number; an empty one is nan."""
    text = text.strip()
    try:
        return float(text) if text else float("nan")
    except ValueError:
        pass
    try:
        return complex(text.replace(" ", ""))
    except ValueError:
        raise GradcliError(f"{name}: {path}, row {row}: '{text}' is no number", kind="file") from None


def from_json_file(path: str, key: str, name: str, limit: int) -> Any:
    """Read nested lists of numbers."""
    with open(path, encoding="utf-8-sig") as file:
        return from_json(read_text(file, name, path), name, path)


def from_json(text: str, name: str, place: str) -> np.ndarray:
    """Return nested lists of numbers (strings nan, inf, -inf; {"re": a, "im": b}) as an array."""
    import json

    def plain(x: Any) -> Any:
        if isinstance(x, list):
            return [plain(item) for item in x]
        if isinstance(x, dict) and set(x) == {"re", "im"}:
            return complex(plain(x["re"]), plain(x["im"]))
        if isinstance(x, str) and x in ("nan", "inf", "-inf"):
            return float(x)
        if isinstance(x, bool) or not isinstance(x, int | float):
            raise GradcliError(f"{name}: {place} must hold numbers in nested lists, not {x!r}", kind="value")
        return float(x)

    try:
        if not text.strip():
            raise GradcliError(f"{name}: {place} is empty or was read before", kind="file")
        return np.array(plain(json.loads(text)))
    except json.JSONDecodeError as error:
        raise GradcliError(f"{name}: {place} is no JSON: {error}", kind="file") from None
    except RecursionError:
        raise GradcliError(f"{name}: {place} is nested too deeply", kind="limit") from None
    except (ValueError, OverflowError) as error:
        raise GradcliError(f"{name}: {place}: {readable(error)}", kind="value") from None


READERS: dict[str, Any] = {
    ".npy": from_npy,
    ".npz": from_npz,
    ".csv": from_text(","),
    ".tsv": from_text("\t"),
    ".txt": from_text(None),
    ".json": from_json_file,
}
