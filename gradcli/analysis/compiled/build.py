"""Libraries made of C by the system's compiler, kept by their content in the user's cache."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .expression import RefusedError

FLAGS = (
    "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared",
)  # fmt: skip
"""None of -ffast-math that takes nan and infinity for granted, or reorders: errno and traps are not looked at."""
COMPILER_SECONDS = 60
"""Seconds that the compiler may take."""


def compiler() -> list[str]:
    command = shlex.split(os.environ.get("CC") or "cc")
    path = shutil.which(command[0]) if command else None
    if path is None:
        raise RefusedError("there is", f"no C compiler ({command[0] if command else 'cc'})")
    return [path, *command[1:]]


def cache_folder() -> Path:
    """Return the folder for what may be made again, in the user's cache."""
    place = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(place) / "gradcli"


def fingerprint(source: str, command: list[str]) -> str:
    """Return what tells libraries apart: source, compiler, and the processor that they are made for."""
    made = os.stat(os.path.realpath(command[0]))
    parts = [source, *command, *FLAGS, str(made.st_mtime_ns), str(made.st_size), *os.uname()[3:]]
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        parts += [
            line for line in file.read().split("\n\n")[0].splitlines() if line.startswith(("flags", "model name"))
        ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def load(source: str) -> Any:
    """Return the function `evaluate` of a source, compiled unless it is in the cache. Raises RefusedError."""
    command = compiler()
    folder = cache_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        with tempfile.TemporaryDirectory(prefix="gradcli-") as place:
            return open_library(build(source, command, Path(place) / "evaluate.so"))
    path = folder / f"{fingerprint(source, command)}.so"
    if path.exists():
        with contextlib.suppress(OSError):
            return open_library(path)
    return open_library(build(source, command, path))


def build(source: str, command: list[str], path: Path) -> Path:
    """Compile a source into a library, which is renamed into place. Raises RefusedError."""
    with tempfile.TemporaryDirectory(prefix=".build-", dir=path.parent) as folder:
        text, made = os.path.join(folder, "evaluate.c"), os.path.join(folder, "evaluate.so")
        Path(text).write_text(source, encoding="ascii")
        try:
            done = subprocess.run(
                [*command, *FLAGS, "-o", made, text, "-lm"],
                capture_output=True, text=True, errors="replace", timeout=COMPILER_SECONDS, check=False,
            )  # fmt: skip
            said = done.stderr.strip().splitlines()
            if done.returncode or not os.path.exists(made):
                first = next(
                    (line for line in said if "error" in line), said[0] if said else f"status {done.returncode}"
                )
                raise RefusedError("the C compiler", f"failed: {first.strip()[:200]}")
            os.replace(made, path)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RefusedError("the C compiler", f"failed: {error}") from None
    return path


def open_library(path: Path) -> Any:
    """Return the function of a library. Raises RefusedError where it cannot be loaded."""
    try:
        function = ctypes.CDLL(str(path)).evaluate
    except OSError as error:
        raise RefusedError("the library", f"could not be loaded: {error}") from None
    function.restype = None
    function.argtypes = [ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    return function
