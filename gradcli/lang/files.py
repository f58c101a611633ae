"""Read numbers from files: NumPy arrays, tables and JSON."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import GradcliError, brief
from ..rules.shapes import count_product
from .reword import readable_message
from .tables import (
    NumberSource,
    TextRows,
    check_separator,
    guess_format,
    is_heading,
    open_source,
    parse_cell,
    read_text,
    reading,
)


def read_file(spec: str, name: str, limit: int) -> np.ndarray:
    """Read the array given after an @, as described in `open_source`. Raises GradcliError beyond `limit` elements."""
    source = open_source(spec, name, limit)
    array = np.asarray(read_and_close(source, READERS[source.kind]))
    if array.dtype.kind not in "biufc":
        raise source.error(f" contains {array.dtype} data, not numbers", kind="value")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(float)
    check_count(array.size, source)
    return array


def read_names(spec: str, limit: int) -> dict[str, np.ndarray]:
    """Read all arrays of an .npz archive or a JSON object, by name. Raises GradcliError."""
    place = f"@{spec}"
    source = open_source(spec, place, limit)

    def names(source: NumberSource) -> list[str]:
        if source.kind == "npz":
            return list(members_of(source))
        document = parse_json(source)
        if not isinstance(document, dict):
            raise GradcliError(f"{place} contains no names", hint=f"write NAME={place}")
        return list(document)

    if source.kind not in ("npz", "json") or (source.kind == "npz" and source.key):
        message = f"{place} has no names for its values"
        raise GradcliError(message, hint=f"write NAME={place}; for a table with a heading, use --columns")
    head = f"{spec}:" if not source.key else f"{spec}."
    return {key: read_file(head + key, key, limit) for key in read_and_close(source, names)}


def read_columns(spec: str, limit: int) -> dict[str, np.ndarray | GradcliError]:
    """Read the columns of a table by name; for a column that cannot be read, return its error. Raises GradcliError."""
    source = open_source(spec, "--columns", limit, default="")
    if source.kind not in SEPARATORS:
        raise source.error(" is not a .csv, .tsv or .txt file", kind="usage")
    table = read_and_close(source, lambda source: TextRows(source, SEPARATORS[source.kind]))
    names = table.rows[0][1]
    if not is_heading(names):
        raise source.error(" has no heading", "its first row must name the columns")
    columns: dict[str, np.ndarray | GradcliError] = {}
    for name in filter(None, names):
        table.source = source._replace(name=name)
        try:
            column = columns[name] = table.column(name)
            check_count(column.size, table.source)
        except GradcliError as error:
            columns[name] = error
    return columns


def read_and_close(source: NumberSource, read: Callable[[NumberSource], Any]) -> Any:
    with source.file, reading(f"{source.name}: {source.path}"):
        return read(source)


def check_count(count: int, source: NumberSource) -> None:
    if count > source.limit:
        message = f"{source.name}: the file has {count} elements; the limit is {source.limit}"
        raise GradcliError(message, hint="raise it with --max-elements", kind="limit")


def count_in_header(stream: Any) -> int:
    """Return the number of elements in the header of an .npy file. Raises ValueError for a damaged header."""
    form = np.lib.format
    version = form.read_magic(stream)
    try:
        shape, _, _ = (form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0)(stream)
    except Exception:
        raise ValueError("its header is damaged") from None
    if any(n < 0 for n in shape):
        raise ValueError("its header is damaged: a length is negative")
    return count_product(shape)


def read_array(stream: Any, source: NumberSource) -> np.ndarray:
    try:
        check_count(count_in_header(stream), source)  # before allocating memory
        stream.seek(0)
        return np.lib.format.read_array(stream, allow_pickle=False)
    except ValueError as error:
        if "pickle" not in str(error).lower():
            raise
        message = " contains pickled objects, which are never loaded (they could run code)"
        raise source.error(message, "save plain arrays: numpy.save(path, array, allow_pickle=False)") from None


def from_npy(source: NumberSource) -> np.ndarray:
    if source.key:
        message = f" contains a single array without a name, so ':{source.key}' selects nothing"
        raise source.error(message, f"index the array in the expression: {source.name}[...]", kind="usage")
    return read_array(source.file, source)


def members_of(source: NumberSource) -> dict[str, tuple[Any, str]]:
    from zipfile import BadZipFile, ZipFile

    try:
        archive = ZipFile(source.file)
    except BadZipFile:
        raise source.error(" is not an .npz archive") from None
    members = {member.removesuffix(".npy"): (archive, member) for member in archive.namelist()}
    if not members:
        raise source.error(" contains no arrays")
    return members


def from_npz(source: NumberSource) -> np.ndarray:
    members = members_of(source)
    path = source.path
    key = next(iter(members)) if not source.key and len(members) == 1 else source.key
    if key not in members:
        wanted = f"no array '{key}' in {path}" if key else f"{path} contains {len(members)} arrays"
        raise GradcliError(f"{source.name}: {wanted}", hint=f"choose one: {path}:{'|'.join(members)}", kind="file")
    archive, member = members[key]
    with archive.open(member) as part:
        return read_array(part, source)


def from_json(source: NumberSource) -> np.ndarray:
    """Read nested lists of numbers; "nan", "inf", "-inf" and {"re": a, "im": b} are numbers too."""

    def plain(x: Any) -> Any:
        if isinstance(x, list):
            return [plain(item) for item in x]
        if isinstance(x, dict) and set(x) == {"re", "im"}:
            return complex(plain(x["re"]), plain(x["im"]))
        if isinstance(x, str) and x in ("nan", "inf", "-inf"):
            return float(x)
        if isinstance(x, bool) or not isinstance(x, int | float):
            raise source.error(f" must contain numbers in nested lists, not {brief(repr(x))}", kind="value")
        return float(x)

    document = parse_json(source)
    try:
        return np.array(plain(document))
    except RecursionError:
        raise source.error(" is nested too deeply", kind="limit") from None
    except (ValueError, OverflowError) as error:
        raise source.error(f": {readable_message(error)}", kind="value") from None


def parse_json(source: NumberSource) -> Any:
    """Return a JSON document, or the part of it under the key. Raises GradcliError."""
    import json

    text = read_text(source)
    try:
        if not text.strip():
            raise source.error(" is empty or has already been read")
        try:
            document = json.loads(text)
        except json.JSONDecodeError:
            cells = text.replace(",", " ").split()
            if source.kind != "json" or source.path != "standard input" or any(parse_cell(x) is None for x in cells):
                raise
            separator = SEPARATORS[guess_format(text.encode())]
            return TextRows(source._replace(file=io.BytesIO(text.encode())), separator).numbers().tolist()
        return part_of(document, source.key, source) if source.key else document
    except json.JSONDecodeError as error:
        raise source.error(f" is not valid JSON: {error}") from None
    except RecursionError:
        raise source.error(" is nested too deeply", kind="limit") from None
    except ValueError as error:
        raise source.error(f": {readable_message(error)}", kind="value") from None


def part_of(document: Any, key: str, source: NumberSource) -> Any:
    """Return the part of a document under a key: `a`, or `a.b` for a key inside another. Raises GradcliError."""
    if isinstance(document, dict) and key in document:
        return document[key]
    for head in (key[: m.start()] for m in re.finditer(r"\.", key)):
        if isinstance(document, dict) and head in document:
            return part_of(document[head], key[len(head) + 1 :], source)
    listed = f"its keys are {', '.join(document)}" if isinstance(document, dict) and document else "it has no keys"
    raise source.error(f" has no key '{key}'", brief(listed))


def from_text(source: NumberSource) -> np.ndarray:
    table = TextRows(source, SEPARATORS[source.kind])
    check_separator(table.rows[-1][1], SEPARATORS[source.kind], f"{source.name}: {source.path}")
    return table.column(source.key) if source.key else table.numbers()


SEPARATORS = {"csv": ",", "tsv": "\t", "txt": None}
READERS = {**dict.fromkeys(SEPARATORS, from_text), "npy": from_npy, "npz": from_npz, "json": from_json}
