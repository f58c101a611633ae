"""Programs of what a Python file defines: functions, custom Functions and modules."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from ..errors import GradcliError, did_you_mean
from ..lang.names import as_written
from ..rules import entry
from ..tape.function import Function, has_setup
from ..tape.tensor import Tensor
from .base import Program, is_module
from .failures import WITHOUT_TORCH, guarded
from .function import FunctionProgram


class Read(importlib.abc.ExecutionLoader):
    """Loads a module whose text was read already: a pipe can be read but once."""

    def __init__(self, path: str, source: str):
        self.path, self.source = path, source

    def get_source(self, fullname: str) -> str:
        """Return the text."""
        return self.source

    def get_filename(self, fullname: str) -> str:
        """Return the file's name."""
        return self.path

    def is_package(self, fullname: str) -> bool:
        """Return False."""
        return False


def load_module(path: str, stdout: Any = None, source: str | None = None) -> Any:
    """Execute a Python file as a module and return it, its folder on the search path. source: its text, if known."""
    name = os.path.splitext(os.path.basename(path))[0]
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    loader = None if source is None else Read(path, source)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None or spec.loader is None:
        raise GradcliError(f"{path} cannot be imported", kind="file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with contextlib.redirect_stdout(stdout or sys.stdout), guarded(path, path):
        spec.loader.exec_module(module)
    return module


def as_function(function: Any) -> Callable:
    """Return a custom Function as a function of the parameters of its forward, without ctx.

    Several real outputs are joined into one vector.
    """
    parameters = list(inspect.signature(function.forward).parameters.values())
    if not has_setup(function):
        parameters = parameters[1:]

    def call(**given: Any) -> Any:
        result = function.apply(*(given.get(p.name, p.default) for p in parameters))
        if not isinstance(result, tuple):
            return result
        parts = [x.reshape(-1) for x in result if isinstance(x, Tensor) and x.requires_grad]
        return parts[0] if len(parts) == 1 else entry("concatenate").function(parts)

    call.__signature__ = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in parameters])  # type: ignore
    return call


def find_in(module: Any, path: str, name: str) -> Any:
    """Return what a dotted name means in a module. Raises GradcliError when it is not there."""
    found: Any = module
    for part in as_written(name).split("."):
        known = [n for n in vars(found) if not n.startswith("__")] if hasattr(found, "__dict__") else []
        if not hasattr(found, part):
            raise GradcliError(f"{path} defines no '{part}'", hint=did_you_mean(part, known), kind="name")
        found = getattr(found, part)
    return found


def load_function(path: str, name: str, target: Any, source: str) -> Program:
    """Return the program of a function that a file with that text defines. Raises GradcliError when there is none."""
    if not name:
        raise GradcliError(f"{path}: no name after the colon", hint=f"write {path}:FUNCTION", kind="usage")
    found = find_in(load_module(path, target.stdout, source), path, name)
    if isinstance(found, type) and issubclass(found, Function):
        return FunctionProgram(as_function(found), f"{path}:{name}", path, target.dtype)
    if is_module(found):
        from .module import module_program

        return module_program(found, f"{path}:{name}", path, target.dtype)
    origin = found if isinstance(found, type) else type(found)
    if any(kind.__module__.partition(".")[0] == "torch" for kind in origin.__mro__):
        raise GradcliError(f"{path}:{name} is made for PyTorch", hint=WITHOUT_TORCH, kind="usage")
    if not callable(found):
        raise GradcliError(f"{path}:{name} is {type(found).__name__}, not a function", kind="usage")
    return FunctionProgram(found, f"{path}:{name}", path, target.dtype)
