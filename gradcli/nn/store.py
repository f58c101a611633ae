"""States of modules in files: NumPy's .npz, which holds numbers and nothing that could be executed."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..tape.tensor import Tensor

NO_STATE = "save() takes a dictionary of tensors by name, such as module.state_dict()"


def as_plain(name: Any, value: Any) -> np.ndarray:
    """Return a value as an array. Raises TypeError for anything but numbers."""
    raw = value._array() if isinstance(value, Tensor) else np.asarray(value)
    if not isinstance(name, str) or raw.dtype.kind not in "biufc":
        raise TypeError(f"{NO_STATE}; {name!r} is {type(value).__name__}")
    return raw


def save(obj: Mapping[str, Any], f: Any) -> None:
    """Write tensors by name to a file, an .npz whatever it is called; `numpy.load` reads it, too.

    f: a path or a binary file; a path is written whole or not at all. Raises TypeError for anything but numbers.
    """
    if not isinstance(obj, Mapping):
        raise TypeError(f"{NO_STATE}, not {type(obj).__name__}")
    arrays = {name: as_plain(name, value) for name, value in obj.items()}
    if hasattr(f, "write"):
        write(arrays, f)
        return
    draft = f"{os.fspath(f)}.{os.getpid()}.part"
    try:
        with open(draft, "wb") as file:
            write(arrays, file)
        os.replace(draft, f)
    finally:
        if os.path.exists(draft):
            os.remove(draft)


def write(arrays: Mapping[str, np.ndarray], file: Any) -> None:
    """Write arrays as members of a zip file."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, raw in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, raw, allow_pickle=False)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> dict[str, Tensor]:
    """Return the tensors of a file that `save` wrote, by name.

    Raises ValueError for a file that is no .npz, or that holds pickled objects: those are never loaded.
    """
    where = f if isinstance(f, str | os.PathLike) else "the file"
    try:
        found = np.load(f, allow_pickle=False)
        if isinstance(found, np.ndarray):
            raise ValueError("one array without a name")
        with found:
            return {name: Tensor._wrap(np.array(found[name]), None) for name in found.files}
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{where} holds no state written by save() ({error}); pickled data is refused") from None


__all__ = ["load", "save"]
