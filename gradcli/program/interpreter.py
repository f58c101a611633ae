"""Which Python runs the user's code: that of their project, found as ruff, ty and pyright find it.

A command with a Python target restarts in that Python (`move`). There, the project's packages come first in the search
path, then gradcli and the packages that it needs (`__main__.py`).
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
from .project import project_in
from .target import is_module, project_files, split_name
from .user_code import PACKAGE, same_file, with_parents

OLDEST = (3, 11)
ADVICE = "--python PATH chooses another Python"
PATIENCE = 60.0
"""Seconds that a Python may take to answer PROBE."""
PROBE = """
import sys
del sys.path[0]
from importlib.util import find_spec
tag = sys.implementation.cache_tag
print(repr((sys.prefix, tuple(sys.version_info[:3]), tag, find_spec("numpy") is not None)))
"""


class Interpreter(NamedTuple):
    """A Python, and where its path came from: --python, pyproject.toml, VIRTUAL_ENV, .venv or CONDA_PREFIX."""

    path: str
    origin: str


class Facts(NamedTuple):
    """The answer to PROBE."""

    prefix: str
    version: tuple[int, int, int]
    cache_tag: str
    has_numpy: bool


def find_interpreter(folder: str, wanted: str | None = None) -> Interpreter | None:
    """Return the Python of the project that a folder belongs to, if anything names one. Raises GradcliError."""
    project = project_in(project_files([folder]))
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
    """Return the absolute path of a Python. place: its path, an environment's folder, or a command."""
    if os.path.isdir(place):
        choices = [os.path.join(place, "bin", name) for name in ("python", "python3")]
    else:
        choices = [place]
    found = next(filter(None, map(shutil.which, choices)), None)
    return None if found is None else os.path.abspath(found)


def ask(found: Interpreter) -> Facts:
    """Start a Python and return its answer to PROBE. Raises GradcliError if it cannot run gradcli."""
    name = f"{found.path} ({found.origin})"
    try:
        done = subprocess.run([found.path, "-c", PROBE], capture_output=True, text=True, timeout=PATIENCE, check=False)
        facts = Facts(*ast.literal_eval(done.stdout.strip().splitlines()[-1]))
    except (OSError, ValueError, SyntaxError, IndexError, TypeError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it does not answer as Python does"
        raise GradcliError(f"{name} cannot be used: {reason}", hint=ADVICE, kind="file") from None
    if facts.version < OLDEST:
        version, least = (".".join(map(str, numbers)) for numbers in (facts.version, OLDEST))
        raise GradcliError(f"{name} is Python {version}; gradcli needs {least} or later", hint=ADVICE, kind="file")
    if not facts.has_numpy and facts.cache_tag != sys.implementation.cache_tag:
        hint = f"install it there, {found.path} -m pip install numpy, or choose another Python: --python PATH"
        raise GradcliError(f"{name} has no numpy", hint=hint, kind="file")
    return facts


def folder_of(words: Sequence[str], always: bool = False) -> str | None:
    """Return the folder of the first word that is a folder, a module, or a Python file with imports, if any.

    always: whether files without imports count, too.
    """
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
    """Return the Python that runs these targets; None for the one that runs this code. Raises GradcliError."""
    folder = folder_of(words, always=wanted is not None)
    found = None if folder is None else find_interpreter(folder, wanted)
    if found is None or (same_file(found.path, sys.executable) and same_file(f"{found.path}/../..", sys.prefix)):
        return None
    facts = ask(found)
    return None if (facts.prefix, facts.version) == (sys.prefix, sys.version_info[:3]) else found


def activate(command: Sequence[str], wanted: str | None) -> None:
    """Put the folder of the project's Python first in PATH, for a command of the user's."""
    if found := find_interpreter(folder_of(command, always=True) or os.curdir, wanted):
        os.environ["PATH"] = os.pathsep.join([os.path.dirname(found.path), os.environ.get("PATH", os.defpath)])


def move(to: Interpreter, words: Sequence[str]) -> None:
    """Replace this process by gradcli with these words in another Python."""
    import json

    os.execv(to.path, [to.path, os.path.join(PACKAGE, "__main__.py"), json.dumps(what_to_lend()), *words])


def what_to_lend() -> tuple[str, list[str]]:
    """Return the arguments of `lend`: the version that compiled packages are for, and the folders of packages."""
    return sys.implementation.cache_tag or "", [place for place in sys.path if os.path.isdir(place)]


def describe() -> str:
    """Describe the Pythons for expressions and for Python targets in this folder."""
    own = f"{sys.executable} ({'.'.join(map(str, sys.version_info[:3]))})"
    found = find_interpreter(os.curdir)
    theirs = own if found is None else f"{found.path} ({'.'.join(map(str, ask(found).version))}), from {found.origin}"
    return f"expressions: {own}\nPython targets here: {theirs}"
