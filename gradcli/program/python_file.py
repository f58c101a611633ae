"""Programs of what a Python file defines: functions, custom Functions and modules."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..errors import EXIT_TARGET, GradcliError
from ..tape.function import Function, has_setup
from .base import Program, is_module
from .detect_framework import ADAPTED, FRAMEWORKS, engine_of, framework_of
from .function import FunctionProgram
from .import_file import check_callable, find_in, load_module


def as_function(function: Any) -> Callable:
    """Return a custom Function as a function of the parameters of its forward, without ctx."""
    parameters = list(inspect.signature(function.forward).parameters.values())
    if not has_setup(function):
        parameters = parameters[1:]

    def call(**given: Any) -> Any:
        return function.apply(*(given.get(p.name, p.default) for p in parameters))

    call.__signature__ = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in parameters])  # type: ignore
    return call


def refuse_foreign(function: Any, title: str) -> None:
    """Raise GradcliError for code of a framework: gradcli's engine would run its values, and never its rules."""
    framework = framework_of(function)
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
    function = find_in(load_module(path, target.stdout, target.folders, source), path, name)
    engine = engine_of(function, target.engine)
    if engine is not None:
        from .elsewhere.program import framework_program

        check_callable(function, path, name)
        return framework_program(engine, function, f"{path}:{name}", target.dtype == "float32")
    refuse_foreign(function, f"{path}:{name}")
    if isinstance(function, type) and issubclass(function, Function):
        return FunctionProgram(as_function(function), f"{path}:{name}", path, target.dtype, joins=True)
    if is_module(function):
        from .nn_module import module_program

        return module_program(function, f"{path}:{name}", path, target.dtype)
    return FunctionProgram(check_callable(function, path, name), f"{path}:{name}", path, target.dtype)
