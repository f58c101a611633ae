"""Which Python runs the user's code: that of their project, found as ruff, ty and pyright find it.

A command whose target is Python starts again in that Python (`move`), where the project's packages come first. What
gradcli needs itself is lent to it: its own code and, behind the project's packages, those that it uses (`__main__.py`).
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import GradcliError
from ..lang.limits import MAX_TEXT
from .project import project_of
from .target import is_module, split_name
from .user_code import PACKAGE, same_file, with_parents

OLDEST = (3, 11)
ADVICE = "--python PATH chooses another Python"
PATIENCE = 60.0
"""Seconds that a Python may take to say what it is."""
PROBE = """
import sys
del sys.path[0]
from importlib.util import find_spec
tag = sys.implementation.cache_tag
print(repr((sys.prefix, tuple(sys.version_info[:3]), tag, find_spec("numpy") is not None)))
"""


class Interpreter(NamedTuple):
    """A Python, and what names it: --python, pyproject.toml, VIRTUAL_ENV, .venv or CONDA_PREFIX."""

    path: str
    origin: str


class Facts(NamedTuple):
    """What a Python says about itself."""

    prefix: str
    version: tuple[int, int, int]
    cache_tag: str
    has_numpy: bool


def find_interpreter(folder: str, wanted: str | None = None) -> Interpreter | None:
    """Return the Python of the project that a folder belongs to; None where nothing names one. Raises GradcliError."""
    project = project_of([folder])
    above = [(".venv", os.path.join(place, ".venv")) for place in with_parents(os.path.abspath(folder))]
    asked = [("--python", wanted), ("python in pyproject.toml", project and project.python)]
    virtual, conda = ((name, os.environ.get(name)) for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    for origin, place in (*asked, virtual, *above, conda):
        if place and (path := executable(place)):
            return Interpreter(path, origin)
        if place and origin not in (".venv", "CONDA_PREFIX"):
            raise GradcliError(f"{origin} is {place}, which is not a Python interpreter", hint=ADVICE, kind="file")
    return None


def executable(place: str) -> str | None:
    """Return the Python at a path: the program itself, one in an environment's folder, or a command's name."""
    if os.path.isdir(place):
        choices = [os.path.join(place, "bin", name) for name in ("python", "python3")]
    else:
        choices = [place]
    found = next(filter(None, map(shutil.which, choices)), None)
    return None if found is None else os.path.abspath(found)


def ask(found: Interpreter) -> Facts:
    """Start a Python and return what it says about itself. Raises GradcliError where it cannot run gradcli."""
    try:
        done = subprocess.run([found.path, "-c", PROBE], capture_output=True, text=True, timeout=PATIENCE, check=False)
        facts = Facts(*ast.literal_eval(done.stdout.strip().splitlines()[-1]))
    except (OSError, ValueError, SyntaxError, IndexError, TypeError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it does not answer as Python does"
        raise GradcliError(
            f"{found.path} ({found.origin}) cannot be used: {reason}", hint=ADVICE, kind="file"
        ) from None
    if facts.version < OLDEST:
        version, least = (".".join(map(str, numbers)) for numbers in (facts.version, OLDEST))
        raise GradcliError(
            f"{found.path} ({found.origin}) is Python {version}; gradcli needs {least} or later",
            hint=ADVICE,
            kind="file",
        )
    if not facts.has_numpy and facts.cache_tag != sys.implementation.cache_tag:
        hint = f"install it there, {found.path} -m pip install numpy, or choose another Python: --python PATH"
        raise GradcliError(f"{found.path} ({found.origin}) has no numpy", hint=hint, kind="file")
    return facts


def folder_of(words: Sequence[str], always: bool = False) -> str | None:
    """Return the folder of the first word that is a folder, or Python that imports something; None without one."""
    for word in words:
        path = split_name(word)[0]
        if is_module(word):
            return os.curdir
        if os.path.isdir(path):
            return path
        if path.endswith(".py") and os.path.isfile(path):
            with open(path, "rb") as file:
                if always or b"import" in file.read(MAX_TEXT):
                    return os.path.dirname(os.path.abspath(path))
    return None


def choose(words: Sequence[str], wanted: str | None = None) -> Interpreter | None:
    """Return the Python that targets are to be run by; None for the one that runs this code. Raises GradcliError."""
    folder = folder_of(words, always=wanted is not None)
    found = None if folder is None else find_interpreter(folder, wanted)
    if found is None or (same_file(found.path, sys.executable) and same_file(f"{found.path}/../..", sys.prefix)):
        return None
    facts = ask(found)
    return None if (facts.prefix, facts.version) == (sys.prefix, sys.version_info[:3]) else found


def activate(command: Sequence[str], wanted: str | None) -> None:
    """Let the programs of a command be looked for where the Python of the user's project is, first."""
    if found := find_interpreter(folder_of(command, always=True) or os.curdir, wanted):
        os.environ["PATH"] = os.pathsep.join([os.path.dirname(found.path), os.environ.get("PATH", os.defpath)])


def move(to: Interpreter, words: Sequence[str]) -> None:
    """Start gradcli again with these words, in place of this process."""
    import json

    os.execv(to.path, [to.path, os.path.join(PACKAGE, "__main__.py"), json.dumps(what_to_lend()), *words])


def what_to_lend() -> tuple[str, list[str]]:
    """Return what `lend` takes: the version that compiled packages are for, and where packages are."""
    return sys.implementation.cache_tag or "", [place for place in sys.path if os.path.isdir(place)]


def describe() -> str:
    """Return which Pythons are used in this folder: for expressions, and for Python targets."""
    own = f"{sys.executable} ({'.'.join(map(str, sys.version_info[:3]))})"
    found = find_interpreter(os.curdir)
    theirs = own if found is None else f"{found.path} ({'.'.join(map(str, ask(found).version))}), from {found.origin}"
    return f"expressions: {own}\nPython targets here: {theirs}"
