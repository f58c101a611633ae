"""States in files: NumPy's .npz, which holds numbers and nothing that could be executed."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..tape.tensor import Tensor


def save(obj: Any, f: Any) -> None:
    """Write tensors by name to a file, an .npz whatever it is called; `numpy.load` reads it, too.

    f: a path or a binary file; a path is written whole or not at all. Raises TypeError for anything but a state.
    """
    if not isinstance(obj, Mapping) or not all(isinstance(k, str) and is_numbers(x) for k, x in obj.items()):
        raise TypeError("save() takes tensors by name, such as a state_dict()")
    members = {name: x._array() if isinstance(x, Tensor) else np.asarray(x) for name, x in obj.items()}
    if hasattr(f, "write"):
        write(members, f)
        return
    draft = f"{os.fspath(f)}.{os.getpid()}.part"
    try:
        with open(draft, "wb") as file:
            write(members, file)
        os.replace(draft, f)
    finally:
        if os.path.exists(draft):
            os.remove(draft)


def is_numbers(x: Any) -> bool:
    raw = x._data if isinstance(x, Tensor) else x
    return isinstance(raw, np.ndarray | np.generic) and raw.dtype.kind in "biufc"


def write(members: Mapping[str, Any], file: Any) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, raw in members.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, raw, allow_pickle=False)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True, mmap: bool | None = None) -> Any:
    """Return what `save` wrote to a file: tensors by name.

    Raises ValueError for a file that is no .npz, or that holds pickled objects: those are never loaded.
    """
    where = f if isinstance(f, str | os.PathLike) else "the file"
    try:
        archive = np.load(f, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("one array without a name")
        with archive:
            return {name: Tensor._wrap(np.array(archive[name]), None) for name in archive.files}
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{where} holds no state written by save() ({error}); pickled data is refused") from None


__all__ = ["load", "save"]
