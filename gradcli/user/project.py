"""The user's project: the Python that runs its code, and [tool.gradcli] in its pyproject.toml.

The Python is found the way ruff, ty and pyright do it. A command with a Python target restarts in it (`move`). There,
the project's packages come first in the search path, then gradcli and the packages that it needs (`__main__.py`).
"""

from __future__ import annotations

import ast
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import GradcliError, did_you_mean
from ..lang.limits import MAX_PROGRAM_BYTES
from .address import names_module, project_files, split_name
from .loading import same_file
from .tracebacks import PACKAGE, with_parents

if TYPE_CHECKING:
    from ..results.checks import CheckReport

KEYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "paths": ("a list of files and folders", lambda x: is_list(x, ".+")),
    "exclude": ('a list of patterns, such as "build" or "*_old.py"', lambda x: is_list(x, ".+")),
    "jobs": ("a whole number from 1 to 1000", lambda x: type(x) is int and 1 <= x <= 1000),
    "timeout": ("a number of seconds above 0", lambda x: type(x) in (int, float) and 0 < x < math.inf),
    "python": ("the path of a Python interpreter or environment", lambda x: isinstance(x, str) and x),
    "allow-inconclusive": ("true or false", lambda x: isinstance(x, bool)),
    "strict": ("true or false", lambda x: isinstance(x, bool)),
    "accept": ('a list of findings, such as "grads.py:f sign"', lambda x: is_list(x, r".+\.py:.+ \S+")),
}
"""For each key of the table, a description of its values and a test for them."""


def is_list(value: Any, form: str) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and re.fullmatch(form, item) for item in value)


class Project(NamedTuple):
    path: str
    settings: dict[str, Any]

    @property
    def folder(self) -> str:
        return os.path.dirname(self.path)

    @property
    def python(self) -> str | None:
        """`python`: a path, relative to the file's folder, or a command."""
        name = self.settings.get("python")
        return os.path.join(self.folder, os.path.expanduser(name)) if name and os.sep in name else name

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(os.path.relpath(os.path.join(self.folder, path)) for path in self.settings.get("paths", ()))

    def excludes(self, path: str) -> bool:
        """Report whether `exclude` matches a file or folder: its name, or its path from the project's folder."""
        near = os.path.relpath(path, self.folder)
        patterns = [pattern.rstrip("/") for pattern in self.settings.get("exclude", ())]
        return any(fnmatch(near, pattern) or fnmatch(os.path.basename(near), pattern) for pattern in patterns)

    def accepts(self, report: CheckReport) -> str:
        """Return a note if `accept` lists all findings of a report, else ""."""
        if report.verdict not in ("fail", "inconclusive"):
            return ""
        known = set()
        for entry in self.settings.get("accept", ()):
            check, _, finding = entry.rpartition(" ")
            file, name = split_name(check)
            here = report.file is not None and same_file(report.file, os.path.join(self.folder, file))
            if here and name in (report.name, split_name(report.name)[1]):
                known.add(finding)
        found = {finding.rule for finding in report.diagnosis} or {report.rule}
        if not found <= known:
            return ""
        return f"accepted in {os.path.relpath(self.path)}: {', '.join(sorted(found))}"


def project_in(files: Iterable[str]) -> Project | None:
    """Return the first of some pyproject.toml files (see `project_files`) that has [tool.gradcli].

    Raises GradcliError if it cannot be read, or has an unknown key or an unsuitable value.
    """
    found = ((path, read_settings(path)) for path in files)
    return next((Project(path, settings) for path, settings in found if settings is not None), None)


def read_settings(path: str) -> dict[str, Any] | None:
    """Return [tool.gradcli] of a pyproject.toml, if any. Raises GradcliError."""
    import tomllib

    try:
        with open(path, "rb") as file:
            data = file.read()
        tool = tomllib.loads(data.decode()).get("tool", {}) if b"gradcli" in data else {}
    except (OSError, ValueError) as error:
        raise GradcliError(f"{os.path.relpath(path)} cannot be read: {error}", kind="file") from None
    settings = tool.get("gradcli") if isinstance(tool, dict) else None
    for key, value in (settings or {}).items():
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or "see 'gradcli help configuration'"
            message = f"{os.path.relpath(path)}: [tool.gradcli] has no key '{key}'"
            raise GradcliError(message, hint=hint, kind="file")
        wanted, fits = KEYS[key]
        if not fits(value):
            message = f"{os.path.relpath(path)}: '{key}' in [tool.gradcli] must be {wanted}, not {value!r}"
            raise GradcliError(message, hint="see 'gradcli help configuration'", kind="file")
    return settings


OLDEST = (3, 11)
PYTHON_ADVICE = "--python PATH chooses another Python"
WAIT = 60.0
"""Time limit in seconds for a Python to answer PROBE."""
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
    """Return the Python of the project that a folder belongs to, if one is configured or found. Raises GradcliError."""
    project = project_in(project_files([folder]))
    above = [(".venv", os.path.join(place, ".venv")) for place in with_parents(os.path.abspath(folder))]
    asked = [("--python", wanted), ("python in pyproject.toml", project and project.python)]
    virtual, conda = ((name, os.environ.get(name)) for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    for origin, place in (*asked, virtual, *above, conda):
        if place and (path := executable(place)):
            return Interpreter(path, origin)
        if place and origin not in (".venv", "CONDA_PREFIX"):
            raise GradcliError(
                f"{origin} is {place}, which is not a Python interpreter", hint=PYTHON_ADVICE, kind="file"
            )
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
    import subprocess  # imported here because it is slow and rarely needed

    name = f"{found.path} ({found.origin})"
    try:
        done = subprocess.run([found.path, "-c", PROBE], capture_output=True, text=True, timeout=WAIT, check=False)
        facts = Facts(*ast.literal_eval(done.stdout.strip().splitlines()[-1]))
    except (OSError, ValueError, SyntaxError, IndexError, TypeError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it does not respond as Python does"
        raise GradcliError(f"{name} cannot be used: {reason}", hint=PYTHON_ADVICE, kind="file") from None
    if facts.version < OLDEST:
        version, least = (".".join(map(str, numbers)) for numbers in (facts.version, OLDEST))
        raise GradcliError(
            f"{name} is Python {version}; gradcli needs {least} or later", hint=PYTHON_ADVICE, kind="file"
        )
    if not facts.has_numpy and facts.cache_tag != sys.implementation.cache_tag:
        hint = f"install it there ({found.path} -m pip install numpy), or choose another Python with --python PATH"
        raise GradcliError(f"{name} has no numpy", hint=hint, kind="file")
    return facts


def folder_of(words: Sequence[str], always: bool = False) -> str | None:
    """Return the folder of the first word that is a folder, a module, or a Python file with imports, if any.

    always: whether files without imports count, too.
    """
    for word in words:
        path = split_name(word)[0]
        if names_module(word):
            return os.curdir
        if os.path.isdir(path):
            return path
        if path.endswith(".py") and os.path.isfile(path):
            with open(path, "rb") as file:
                if always or b"import" in file.read(MAX_PROGRAM_BYTES):
                    return os.path.dirname(os.path.abspath(path))
    return None


def choose_python(words: Sequence[str], wanted: str | None = None) -> Interpreter | None:
    """Return the Python that runs these targets; None for the one that runs this code. Raises GradcliError."""
    folder = folder_of(words, always=wanted is not None)
    found = None if folder is None else find_interpreter(folder, wanted)
    if found is None:
        return None
    prefix = os.path.dirname(os.path.dirname(found.path))  # environments may link to the same file
    if same_file(found.path, sys.executable) and same_file(prefix, sys.prefix):
        return None
    facts = ask(found)
    return None if (facts.prefix, facts.version) == (sys.prefix, sys.version_info[:3]) else found


def activate(command: Sequence[str], wanted: str | None) -> None:
    """Put the folder of the project's Python first in PATH, for a command that the user runs."""
    if found := find_interpreter(folder_of(command, always=True) or os.curdir, wanted):
        os.environ["PATH"] = os.pathsep.join([os.path.dirname(found.path), os.environ.get("PATH", os.defpath)])


def move(to: Interpreter, words: Sequence[str]) -> None:
    """Replace this process with gradcli in another Python, run with these words."""
    import json

    os.execv(to.path, [to.path, os.path.join(PACKAGE, "__main__.py"), json.dumps(what_to_lend()), *words])


def what_to_lend() -> tuple[str, list[str]]:
    """Return the arguments of `lend`: the Python version of compiled packages, and the folders that hold packages."""
    return sys.implementation.cache_tag or "", [place for place in sys.path if os.path.isdir(place)]


def describe_pythons() -> str:
    """Describe the Pythons for expressions and for Python targets in this folder."""
    own = f"{sys.executable} ({'.'.join(map(str, sys.version_info[:3]))})"
    found = find_interpreter(os.curdir)
    theirs = own if found is None else f"{found.path} ({'.'.join(map(str, ask(found).version))}), from {found.origin}"
    return f"expressions: {own}\nPython targets here: {theirs}"
