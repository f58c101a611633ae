"""[tool.gradcli] in the pyproject.toml of the user's project: gradcheck's defaults, and accepted findings."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import GradcliError, did_you_mean
from .target import split_name
from .user_code import same_file

if TYPE_CHECKING:
    from ..show.check_results import CheckReport

KEYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "paths": ("a list of files and folders", lambda x: is_list(x, ".+")),
    "exclude": ('a list of patterns, such as "build" or "*_old.py"', lambda x: is_list(x, ".+")),
    "jobs": ("a whole number from 1 to 1000", lambda x: type(x) is int and 1 <= x <= 1000),
    "timeout": ("a number of seconds above 0", lambda x: type(x) in (int, float) and 0 < x < math.inf),
    "python": ("the path of a Python or of its environment", lambda x: isinstance(x, str) and x),
    "allow-inconclusive": ("true or false", lambda x: isinstance(x, bool)),
    "accept": ('a list of findings, such as "grads.py:f sign"', lambda x: is_list(x, r".+\.py:.+ \S+")),
}
"""For each key of the table, the description and the test of its values."""


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

    def accept(self, report: CheckReport) -> CheckReport:
        """Return a report with the verdict "accepted" if `accept` lists all of its findings."""
        if report.verdict not in ("fail", "inconclusive"):
            return report
        known = set()
        for entry in self.settings.get("accept", ()):
            check, _, finding = entry.rpartition(" ")
            file, name = split_name(check)
            here = report.file is not None and same_file(report.file, os.path.join(self.folder, file))
            if here and name in (report.name, split_name(report.name)[1]):
                known.add(finding)
        found = {finding.rule for finding in report.diagnosis} or {report.rule}
        if not found <= known:
            return report
        note = f"accepted in {os.path.relpath(self.path)}: {', '.join(sorted(found))}"
        return replace(report, verdict="accepted", notes=(*report.notes, note))


def project_in(files: Iterable[str]) -> Project | None:
    """Return the first of some pyproject.toml files (see `project_files`) that has [tool.gradcli].

    Raises GradcliError if it cannot be read, or has an unknown key or an unsuitable value.
    """
    found = ((path, read(path)) for path in files)
    return next((Project(path, settings) for path, settings in found if settings is not None), None)


def read(path: str) -> dict[str, Any] | None:
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
