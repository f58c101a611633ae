"""Values given on the command line: NAME=VALUE, where VALUE is an expression or @FILE."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import numpy as np

from ..errors import GradcliError, nearest
from ..tape.tensor import Tensor
from . import tree
from .evaluate import CONSTANTS, Evaluator, Settings, lifted
from .parse import parse

NAME = re.compile(r"(?:[^\W\d]\w*|\d+(?=\.))(?:\.\w+|\[\d+\])*\Z")
MAX_FILE = 8 << 30


def split_value(word: str) -> tuple[str, str]:
    """Split NAME=VALUE. Raises GradcliError for anything else."""
    name, sign, text = word.partition("=")
    if not sign or not NAME.match(name.strip()):
        raise GradcliError(
            f"'{word}' is no NAME=VALUE", hint="give values as x=2 or w='[[1, 2], [3, 4]]'", kind="usage"
        )
    if not text.strip():
        raise GradcliError(f"'{word}' gives no value", hint=f"write {name}=2 or {name}=@file.npy", kind="usage")
    return name.strip(), text


def read_values(words: tuple[str, ...], settings: Settings) -> dict[str, np.ndarray]:
    """Return the arrays that words of the form NAME=VALUE stand for. Raises GradcliError."""
    values: dict[str, np.ndarray] = {}
    for word in words:
        name, text = split_value(word)
        if name in values:
            raise GradcliError(f"'{name}' is given twice", kind="usage")
        values[name] = read_value(text, settings, name)
    return values


def read_value(text: str, settings: Settings, name: str = "value") -> np.ndarray:
    """Return the array that a VALUE stands for.

    text: an expression without names (but pi, e and the like), or @FILE. Raises GradcliError.
    """
    if text.lstrip().startswith("@"):
        raw = read_file(text.lstrip()[1:], name)
        if raw.size > settings.max_elements:
            raise GradcliError(
                f"{name}: the file has {raw.size} elements; the limit is {settings.max_elements}",
                hint="raise it with --max-elements",
                kind="limit",
            )
        return raw
    program = parse(text)
    for statement in program.statements:
        if statement.target is not None or len(program.statements) > 1:
            raise GradcliError(
                f"the value of '{name}' must be one expression", span=program.span(statement.value), kind="syntax"
            )
        for node in statement.value.walk():
            if isinstance(node, tree.Name) and node.name not in CONSTANTS:
                raise GradcliError(
                    f"the value of '{name}' may not use the name '{node.name}'",
                    span=program.span(node),
                    hint="values are numbers, lists, or calls such as linspace(0, 1, 5)",
                    kind="name",
                )
    value = Evaluator(program, settings).run({})
    if isinstance(value, tuple):
        try:
            value = np.array([x._data if isinstance(x, Tensor) else x for x in value])
        except ValueError:
            raise GradcliError(
                f"the parts of the value of '{name}' must have one shape",
                span=program.span(program.statements[0].value),
                hint="write a list: [[1, 2], [3, 4]]",
                kind="shape",
            ) from None
    return np.asarray(lifted(value)._data if not isinstance(value, np.ndarray) else value)


# -- files --------------------------------------------------------------------------------------------


def read_file(spec: str, name: str) -> np.ndarray:
    """Return the array in a file: .npy, .npz (FILE:key), .csv, .tsv, .txt, .json, or - for JSON on standard input."""
    if spec == "-":
        return from_json(standard_input().read(), name, "standard input")
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
        raw = reader(path, key, name)
    except GradcliError:
        raise
    except UnicodeDecodeError:
        raise GradcliError(f"{name}: {path} is not UTF-8 text", kind="file") from None
    except MemoryError:
        raise GradcliError(f"{name}: {path} does not fit into memory", kind="limit") from None
    except Exception as error:  # readers of foreign formats raise whatever they like
        raise GradcliError(
            f"{name}: cannot read {path}: {str(error).splitlines()[0] if str(error) else error!r}", kind="file"
        ) from None
    return checked_numbers(raw, f"{name}: {path}")


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


def from_npy(path: str, key: str, name: str) -> Any:
    """Read one array. Pickled objects are refused."""
    try:
        return np.load(path, allow_pickle=False)
    except ValueError as error:
        raise refused_pickle(path, name, error) from None


def from_npz(path: str, key: str, name: str) -> Any:
    """Read one array of an archive: the one called `key`, or the only one."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not hasattr(archive, "files"):
                raise GradcliError(f"{name}: {path} is no .npz archive", kind="file")
            names = list(archive.files)
            if not key and len(names) == 1:
                key = names[0]
            if not names:
                raise GradcliError(f"{name}: {path} holds no arrays", kind="file")
            if key not in names:
                wanted = f"no array '{key}' in {path}" if key else f"{path} holds {len(names)} arrays"
                raise GradcliError(f"{name}: {wanted}", hint=f"choose one: {path}:{'|'.join(names)}", kind="file")
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
    return GradcliError(f"{name}: cannot read {path}: {error}", kind="file")


def from_text(separator: str | None) -> Any:
    """Return a reader of numbers in rows; a first row that is no number is a heading."""

    def read(path: str, key: str, name: str) -> Any:
        with open(path, encoding="utf-8-sig") as file:
            numbered = [(i + 1, raw.split("#")[0].strip()) for i, raw in enumerate(file)]
        rows = [(i, line.split(separator)) for i, line in numbered if line]
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


def from_json_file(path: str, key: str, name: str) -> Any:
    """Read nested lists of numbers."""
    with open(path, encoding="utf-8-sig") as file:
        return from_json(file.read(), name, path)


def from_json(text: str, name: str, place: str) -> np.ndarray:
    """Return nested lists of numbers (strings nan, inf, -inf; {"re": a, "im": b}) as an array."""
    import json

    def plain(x: Any) -> Any:
        if isinstance(x, list):
            return [plain(item) for item in x]
        if isinstance(x, dict) and set(x) == {"re", "im"}:
            return complex(x["re"], x["im"])
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
        raise GradcliError(f"{name}: {place}: {error}", kind="value") from None


READERS: dict[str, Any] = {
    ".npy": from_npy,
    ".npz": from_npz,
    ".csv": from_text(","),
    ".tsv": from_text("\t"),
    ".txt": from_text(None),
    ".json": from_json_file,
}
