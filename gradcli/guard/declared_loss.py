"""Find the loss that the user declares: as a name in a file before the command runs, then as a function in it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..errors import GradcliError, did_you_mean
from ..user.address import as_file, split_name


def read_address(address: str) -> tuple[str, str]:
    """Return file and name of FILE.py:NAME. Raises GradcliError if the file does not define the name."""
    file, name = split_name(as_file(address))
    if not name or not name.isidentifier() or not file.endswith(".py"):
        raise GradcliError(
            f"--loss {address}: write FILE.py:NAME", hint="NAME(model, batches) returns the loss of a step"
        )
    if not os.path.isfile(file):
        raise GradcliError(f"no such file: {file}", kind="file")
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (SyntaxError, ValueError) as error:
        raise GradcliError(f"{file} is not valid Python: {error}", kind="file") from None
    names = set(names_bound_in(tree.body))
    if name not in names and "*" not in names:
        hint = did_you_mean(name, names) or "NAME(model, batches) returns the loss of a step, and is at the top level"
        raise GradcliError(f"{file} does not define '{name}'", hint=hint, kind="name")
    return os.path.realpath(file), name


def names_bound_in(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements bind at the top level of a file; "*" for an import of all names."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in names)
            case _:
                stored = (n for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
                yield from (node.id for node in stored)
                inner = [n for n in ast.walk(statement) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
                yield from (node.name for node in inner)


def find_loss(file: str, name: str) -> Callable | None:
    """Return the function in the module that has been loaded from a file, else import the file; None without NAME."""
    loaded = [m for m in list(sys.modules.values()) if is_loaded_from(getattr(m, "__file__", None), file)]
    for module in loaded:
        if callable(found := getattr(module, name, None)):
            return named_function(found, name)
    if loaded:
        return None
    return named_function(getattr(import_file(file), name, None), name)


LIST_USED = re.compile(r"\b(list|sequence|ReplayedBatches)\b")
"""What the message of a TypeError or AttributeError contains if a list was used as something else."""


def hint_on_call(loss: Callable, name: str, error: Exception) -> str | None:
    """Say how a declared loss is called if it takes other arguments, or uses the list of batches as a tensor."""
    misused = isinstance(error, TypeError | AttributeError) and LIST_USED.search(str(error)) is not None
    try:
        inspect.signature(loss).bind(None, None)
    except TypeError:
        misused = True
    except ValueError:  # it has no signature
        pass
    called = f"gradcli calls {name}(model, batches), where batches is the list of the batches since the step before"
    return called if misused else None


def is_loaded_from(path: object, file: str) -> bool:
    return isinstance(path, str) and os.path.realpath(path) == file


def named_function(function: Callable | None, name: str) -> Callable | None:
    """Return a function with a name, also for an object that can be called."""
    if function is None or hasattr(function, "__name__"):
        return function

    def call(model: Any, batches: Any) -> Any:
        return function(model, batches)

    call.__name__ = name
    return call


def import_file(file: str) -> object:
    """Import a file as a module, with its folder in the search path."""
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(file))
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
