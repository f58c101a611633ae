"""Numbers in files: arrays of NumPy's, tables and JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import GradcliError, brief
from .limits import count_product
from .reword import readable
from .sources import Source, open_source
from .tables import Rows, as_text, from_text, is_heading, read_text

MOST_AT_ONCE = 1 << 24
"""Bytes that are read at once."""


def read_file(spec: str, name: str, limit: int) -> np.ndarray:
    """Return the array that a value's @ names: FILE or FILE:KEY, - for standard input, see sources.open_source.

    Raises GradcliError, also for more than `limit` elements.
    """
    source = open_source(spec, name, limit)
    raw = attempt(source, name, lambda reader: reader(source.file, source.path, source.key, name, limit))
    return few(check_numbers(raw, f"{name}: {source.path}"), limit, name)


def read_names(spec: str, limit: int) -> dict[str, np.ndarray]:
    """Return all arrays of a file by name: those of an .npz archive or a JSON object. Raises GradcliError."""
    place = f"@{spec}"
    source = open_source(spec, place, limit)

    def names(reader: Any) -> list[str]:
        if source.kind == "npz":
            return list(members_of(source.file, source.path, place))
        found = parse_json(read_text(as_text(source.file), place, source.path), place, source.path)
        found = found if not source.key else part_of(found, source.key, place, source.path)
        if not isinstance(found, dict):
            raise GradcliError(f"{place} holds no names", hint=f"write NAME={place}", kind="usage")
        return list(found)

    if source.kind not in ("npz", "json") or (source.kind == "npz" and source.key):
        raise GradcliError(
            f"{place} gives no names to its values",
            hint=f"write NAME={place}; a table with a heading goes with --columns",
            kind="usage",
        )
    head = f"{spec}:" if not source.key else f"{spec}."
    return {key: read_file(head + key, key, limit) for key in attempt(source, place, names)}


def read_columns(spec: str, limit: int) -> dict[str, np.ndarray | GradcliError]:
    """Return the columns of a table with a heading by name; of those that are no numbers, why.

    Raises GradcliError.
    """
    place = "--columns"
    source = open_source(spec, place, limit, default="")
    separators = {"csv": ",", "tsv": "\t", "txt": None}
    if source.kind not in separators:
        raise GradcliError(f"{place}: {source.path} is no .csv, .tsv or .txt file", kind="usage")
    table = attempt(source, place, lambda _: Rows(source.file, source.path, place, separators[source.kind]))
    names = table.rows[0][1]
    if not is_heading(names):
        raise GradcliError(
            f"{place}: {source.path} has no heading", hint="its first row has to name the columns", kind="file"
        )
    found: dict[str, np.ndarray | GradcliError] = {}
    for name in filter(None, names):
        try:
            found[name] = few(table.column(name, name), limit, name)
        except GradcliError as error:
            found[name] = error
    return found


def attempt(source: Source, name: str, read: Callable[[Any], Any]) -> Any:
    """Return what is read of a source with the reader of its kind, and close it. Raises GradcliError."""
    path = source.path
    try:
        with source.file:
            return read(READERS[source.kind])
    except GradcliError:
        raise
    except UnicodeDecodeError:
        raise GradcliError(f"{name}: {path} is not UTF-8 text", kind="file") from None
    except MemoryError:
        from .memory import out_of_memory

        raise out_of_memory(f"'{name}' ({path})") from None
    except Exception as error:  # readers of foreign formats raise whatever they like
        raise GradcliError(
            f"{name}: cannot read {path}: {readable(error) if str(error) else error!r}", kind="file"
        ) from None


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
            self.shape, self.columns_first, self.dtype = read(stream)
        except Exception:
            raise ValueError("its header is damaged") from None
        self.size = count_product(self.shape)
        if any(n < 0 for n in self.shape):
            raise ValueError("its header is damaged: a length is negative")

    def read(self, stream: Any) -> np.ndarray:
        """Return the array whose data follow. Raises ValueError for what are no plain numbers, or too few."""
        if self.dtype.hasobject:
            raise ValueError("pickled objects")
        array = np.empty(self.size, self.dtype)
        room = array.view(np.uint8).data if array.nbytes else memoryview(b"")
        done = 0
        while done < len(room):
            count = stream.readinto(room[done : done + MOST_AT_ONCE])
            if not count:
                raise ValueError("the file is empty or cut short")
            done += count
        return array.reshape(self.shape, order="F" if self.columns_first else "C")


def check_numbers(raw: Any, place: str) -> np.ndarray:
    """Return data as an array of numbers. Raises GradcliError for anything else."""
    array = np.asarray(raw)
    if array.dtype.kind not in "biufc":
        raise GradcliError(f"{place} holds {array.dtype} data, not numbers", kind="value")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(float)
    return array


def from_npy(file: Any, path: str, key: str, name: str, limit: int) -> Any:
    """Read one array. Pickled objects are refused."""
    try:
        return few(Header(file), limit, name).read(file)
    except ValueError as error:
        raise refused_pickle(path, name, error) from None


def members_of(file: Any, path: str, name: str) -> dict[str, tuple[Any, str]]:
    """Return the arrays of an archive: by name, the archive and the member."""
    from zipfile import BadZipFile, ZipFile

    try:
        archive = ZipFile(file)
    except BadZipFile:
        raise GradcliError(f"{name}: {path} is no .npz archive", kind="file") from None
    found = {member.removesuffix(".npy"): (archive, member) for member in archive.namelist()}
    if not found:
        raise GradcliError(f"{name}: {path} holds no arrays", kind="file")
    return found


def from_npz(file: Any, path: str, key: str, name: str, limit: int) -> Any:
    """Read one array of an archive: the one called `key`, or the only one."""
    members = members_of(file, path, name)
    names = list(members)
    if not key and len(names) == 1:
        key = names[0]
    if key not in members:
        wanted = f"no array '{key}' in {path}" if key else f"{path} holds {len(names)} arrays"
        raise GradcliError(f"{name}: {wanted}", hint=f"choose one: {path}:{'|'.join(names)}", kind="file")
    archive, member = members[key]
    try:
        with archive.open(member) as part:
            return few(Header(part), limit, name).read(part)
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


def from_json(file: Any, path: str, key: str, name: str, limit: int) -> np.ndarray:
    """Read nested lists of numbers (strings nan, inf, -inf; {"re": a, "im": b}), or those under a key."""

    def plain(x: Any) -> Any:
        if isinstance(x, list):
            return [plain(item) for item in x]
        if isinstance(x, dict) and set(x) == {"re", "im"}:
            return complex(plain(x["re"]), plain(x["im"]))
        if isinstance(x, str) and x in ("nan", "inf", "-inf"):
            return float(x)
        if isinstance(x, bool) or not isinstance(x, int | float):
            raise GradcliError(
                f"{name}: {path} must hold numbers in nested lists, not {brief(repr(x))}",
                kind="value",
            )
        return float(x)

    found = parse_json(read_text(as_text(file), name, path), name, path)
    try:
        return np.array(plain(part_of(found, key, name, path) if key else found))
    except RecursionError:
        raise GradcliError(f"{name}: {path} is nested too deeply", kind="limit") from None
    except (ValueError, OverflowError) as error:
        raise GradcliError(f"{name}: {path}: {readable(error)}", kind="value") from None


def parse_json(text: str, name: str, place: str) -> Any:
    """Return what a text in JSON says. Raises GradcliError."""
    import json

    try:
        if not text.strip():
            raise GradcliError(f"{name}: {place} is empty or was read before", kind="file")
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise GradcliError(f"{name}: {place} is no JSON: {error}", kind="file") from None
    except RecursionError:
        raise GradcliError(f"{name}: {place} is nested too deeply", kind="limit") from None
    except ValueError as error:
        raise GradcliError(f"{name}: {place}: {readable(error)}", kind="value") from None


def part_of(found: Any, key: str, name: str, place: str) -> Any:
    """Return the part of a document under a key: `a`, or `a.b` for one inside another. Raises GradcliError."""
    if isinstance(found, dict) and key in found:
        return found[key]
    heads = [key[: m.start()] for m in re.finditer(r"\.", key)]
    for head in heads:
        if isinstance(found, dict) and head in found:
            return part_of(found[head], key[len(head) + 1 :], name, place)
    listed = f"its keys are {', '.join(found)}" if isinstance(found, dict) and found else "there are no keys"
    raise GradcliError(f"{name}: {place} has no key '{key}'", hint=brief(listed), kind="file")


READERS: dict[str, Any] = {
    "npy": from_npy,
    "npz": from_npz,
    "csv": from_text(","),
    "tsv": from_text("\t"),
    "txt": from_text(None),
    "json": from_json,
}
