"""What a Python file defines."""

from __future__ import annotations

import os
from typing import Any

from ..errors import GradcliError, did_you_mean
from ..lang.settings import as_written
from .failures import blame_user_code
from .import_scope import Folders, Surroundings, change_to, root_of


def load_module(path: str, stdout: Any = None, folders: Folders | None = None, source: str | None = None) -> Any:
    """Execute a Python file as a module and return it.

    Its surroundings are one of `folders`, to be put in place again when it is to run; without those, they stay in
    place from now on. source: its text, if that was read already.
    """
    os.environ.setdefault("JAX_ENABLE_X64", "true")  # read by JAX when it is first imported
    surroundings = Surroundings(root_of(path)) if folders is None else folders.of(path)
    if folders is None:
        change_to(surroundings)
    return surroundings.load(path, stdout, source)


def find_in(module: Any, path: str, name: str) -> Any:
    """Return what a dotted name means in a module. Raises GradcliError when it is not there, or raises."""
    attribute: Any = module
    for part in as_written(name).split("."):
        with blame_user_code(path, f"{path}:{name}"):
            known = [n for n in vars(attribute) if not n.startswith("__")] if hasattr(attribute, "__dict__") else []
            if not hasattr(attribute, part):
                raise GradcliError(f"{path} defines no '{part}'", hint=did_you_mean(part, known), kind="name")
            attribute = getattr(attribute, part)
    return attribute


def check_callable(function: Any, path: str, name: str) -> Any:
    """Return what a file calls by a name. Raises GradcliError for what cannot be called."""
    if not callable(function):
        raise GradcliError(f"{path}:{name} is {type(function).__name__}, not a function", kind="usage")
    return function
