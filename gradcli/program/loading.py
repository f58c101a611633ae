"""What a Python file defines."""

from __future__ import annotations

import os
from typing import Any

from ..errors import GradcliError, did_you_mean
from ..lang.settings import as_written
from .failures import blame_user_code
from ..errors import EXIT_TARGET, GradcliError, did_you_mean
from ..lang.names import as_written
from ..rules import entry
from ..tape.function import Function, has_setup
from ..tape.tensor import Tensor
from .base import Program, is_module
from .frameworks import ADAPTED, FRAMEWORKS, engine_of, framework_of
from .function import FunctionProgram
from .surroundings import Folders, Surroundings, change_to, root_of


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
    found: Any = module
    for part in as_written(name).split("."):
        with blame_user_code(path, f"{path}:{name}"):
            known = [n for n in vars(found) if not n.startswith("__")] if hasattr(found, "__dict__") else []
            if not hasattr(found, part):
                raise GradcliError(f"{path} defines no '{part}'", hint=did_you_mean(part, known), kind="name")
            found = getattr(found, part)
    return found


def check_callable(found: Any, path: str, name: str) -> Any:
    """Return what a file calls by a name. Raises GradcliError for what cannot be called."""
    if not callable(found):
        raise GradcliError(f"{path}:{name} is {type(found).__name__}, not a function", kind="usage")
    return found


def refuse_foreign(found: Any, title: str) -> None:
    """Raise GradcliError for code of a framework: gradcli's engine would run its values, and never its rules."""
    framework = framework_of(found)
    if framework is not None:
        raise GradcliError(
            f"{title} uses {FRAMEWORKS[framework]}, whose own derivative rules gradcli's engine does not run",
            hint="leave --engine out" if framework in ADAPTED else "check a derivative by hand: gradcheck --grad",
            kind="target",
            exit_code=EXIT_TARGET,
        )


def load_function(path: str, name: str, target: Any, source: str) -> Program:
    """Return the program of a function that a file with that text defines. Raises GradcliError when there is none."""
    if not name:
        raise GradcliError(f"{path}: no name after the colon", hint=f"write {path}:FUNCTION", kind="usage")
    found = find_in(load_module(path, target.stdout, target.folders, source), path, name)
    engine = engine_of(found, target.engine)
    if engine is not None:
        from .elsewhere.program import framework_program

        check_callable(found, path, name)
        return framework_program(engine, found, f"{path}:{name}", target.dtype == "float32")
    refuse_foreign(found, f"{path}:{name}")
    if isinstance(found, type) and issubclass(found, Function):
        return FunctionProgram(as_function(found), f"{path}:{name}", path, target.dtype)
    if is_module(found):
        from .module import module_program

        return module_program(found, f"{path}:{name}", path, target.dtype)
    return FunctionProgram(check_callable(found, path, name), f"{path}:{name}", path, target.dtype)
