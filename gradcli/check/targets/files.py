"""Finding the checks that files declare."""

from __future__ import annotations

import ast
import os
import stat
import time
from typing import Any

from ...errors import GradcliError
from ...lang.settings import MAX_TEXT
from ...program.import_file import load_module
from ...program.import_scope import Folders, same_file
from ...results.checks import CheckReport
from ..check import Check
from ..declare import REGISTRY

DECLARING = {"check", "check_gradient"}
"""A file that names none of these declares no check, and is not imported."""


def mentions_checks(path: str) -> bool:
    """Return whether a Python file may declare checks: it speaks of gradcli, and names what declares them.

    Only regular files are read, and no more of them than a target may be long.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_TEXT)
    except (OSError, ValueError):
        return False
    if "gradcli" not in text or "check" not in text:
        return False
    if any(f"{name}(" in text for name in DECLARING):  # also where it cannot be parsed: importing it says why
        return True
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return bool(DECLARING & (imported | attributes))


def files_in(folder: str) -> list[str]:
    """Return the Python files below a folder that may declare checks, sorted; hidden folders are left out."""
    paths = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in ("__pycache__", "node_modules"))
        paths += [os.path.join(place, name) for name in sorted(names) if name.endswith(".py")]
    return [path for path in paths if mentions_checks(path)]


def import_checks(path: str, folders: Folders, stdout: Any = None) -> list[Check] | CheckReport:
    """Import a file and return the checks that it declares; a report of what went wrong when it cannot be.

    A file that it imports declares its checks by that, and not again when its own turn comes.
    """
    before = len(REGISTRY)
    start = time.perf_counter()
    try:
        load_module(path, stdout, folders)
    except GradcliError as error:
        del REGISTRY[before:]
        return CheckReport(
            path, path, None, "error", time.perf_counter() - start, message=error.message, hint=error.hint
        )
    declared = REGISTRY[before:]
    del REGISTRY[before:]
    if not any(
        belongs(check, path) for check in declared
    ):  # the file may have been there already, for a function of it
        declared += [check for check in REGISTRY if belongs(check, path)]
        REGISTRY[:] = [check for check in REGISTRY if not belongs(check, path)]
    for check in declared:
        check.file = path if check.file is None or belongs(check, path) else near(check.file)
        check.surroundings = folders.of(path)
    return declared


def belongs(check: Check, path: str) -> bool:
    """Return whether a check is declared for a function of a file."""
    return check.file is not None and same_file(check.file, path)


def near(path: str) -> str:
    """Return a path from here for what is below the working directory."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative
