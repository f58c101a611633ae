"""Numbers in files: arrays of NumPy's, tables and JSON."""

from __future__ import annotations

import os
import stat
import sys
from typing import Any

import numpy as np

from ..errors import GradcliError, brief, nearest
from .limits import count_product
from .reword import readable
from .tables import as_text, from_text, read_text

MOST_AT_ONCE = 1 << 24
"""Bytes that are read at once."""


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
        with open(path, "rb") as file:  # once: a pipe can be read but once
            raw = reader(file, path, key, name, limit)
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
    return few(check_numbers(raw, f"{name}: {path}"), limit, name)


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


def from_npz(file: Any, path: str, key: str, name: str, limit: int) -> Any:
    """Read one array of an archive: the one called `key`, or the only one."""
    from zipfile import BadZipFile, ZipFile

    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        raise GradcliError(f"{name}: {path} is no regular file, as an .npz archive has to be", kind="file")
    try:
        archive = ZipFile(file)
    except BadZipFile:
        raise GradcliError(f"{name}: {path} is no .npz archive", kind="file") from None
    members = {member.removesuffix(".npy"): member for member in archive.namelist()}
    names = list(members)
    if not key and len(names) == 1:
        key = names[0]
    if not names:
        raise GradcliError(f"{name}: {path} holds no arrays", kind="file")
    if key not in members:
        wanted = f"no array '{key}' in {path}" if key else f"{path} holds {len(names)} arrays"
        raise GradcliError(f"{name}: {wanted}", hint=f"choose one: {path}:{'|'.join(names)}", kind="file")
    try:
        with archive.open(members[key]) as part:
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


def from_json_file(file: Any, path: str, key: str, name: str, limit: int) -> Any:
    """Read nested lists of numbers."""
    return from_json(read_text(as_text(file), name, path), name, path)


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
            raise GradcliError(
                f"{name}: {place} must hold numbers in nested lists, not {brief(repr(x))}", kind="value"
            )
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
