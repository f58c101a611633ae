"""Open a target: the program or the claim that its words name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import GradcliError
from ..program.target import Target, load_named, load_source, refuse_arguments
from ..request import Request
from ..user.address import kind_of_address
from ..user.frameworks import engine_of, refuse_foreign_code

if TYPE_CHECKING:
    from ..program.base import Program
    from .adapters.program import ElsewhereProgram


def load_program(target: Target) -> Program:
    """Return the program of any target. Raises GradcliError."""
    if target.is_address:
        from .adapters.program import ElsewhereProgram

        refuse_arguments(target, f"{target.text} runs elsewhere, and")
        text, request = target.text, target.request
        return ElsewhereProgram(lambda x, out, wrt: open_address(text, request._replace(out=out, wrt=wrt))(x), text)
    if target.name is None:
        return load_source(target)
    program = load_function(load_named(target), target.text, target.path, target.request)
    program.constants = target.request.constants
    return program


def load_function(function: Any, title: str, path: str, request: Request) -> Program:
    """Return the program of FILE.py:NAME. Raises GradcliError if it is not a function."""
    from ..user.loading import check_callable

    dtype, engine = request.input_dtype, engine_of(function, request.engine)
    refuse_foreign_code(function, title, engine)
    if engine is not None:
        single = "float32" if dtype == "float32" else None
        return framework_program(engine, check_callable(function, title), title, single)
    from ..program.python_file import native_program

    return native_program(function, title, path, dtype, request.command)


def framework_program(engine: str, function: Any, title: str, dtype: str | None) -> ElsewhereProgram:
    from .adapters.framework import adapter_of, framework_arguments, framework_call
    from .adapters.program import ElsewhereProgram

    def make(given: Mapping[str, Any], out: str | None, wrt: Sequence[str] | None) -> Any:
        if out is not None:
            raise GradcliError("--out names a variable of a program; a function has one output")
        arguments = framework_arguments(engine, function, given, title)
        return framework_call(engine, function, arguments, title, wrt=wrt, dtype=dtype)

    signature = adapter_of(engine).signature(function, title)
    return ElsewhereProgram(make, title, signature and [p.name for p in signature[0]])


def open_address(text: str, request: Request) -> Callable[..., Any]:
    """Connect to an address; return a function from values of its inputs to its Claim. Raises GradcliError."""
    kind = kind_of_address(text)
    if request.safe and not text.startswith("http"):
        raise GradcliError(f"--safe: {text} would have to be executed")
    if kind != "library":
        for name in request.claims:
            raise GradcliError(f"--{name} cannot be used, because {text} provides its own derivative")
    if kind != "umbridge":
        refuse_config(text, request)
    return import_module(f"{__package__}.adapters.{kind}").open_address(text, request)


def refuse_config(text: str, request: Request) -> None:
    if request.config is not None:
        raise GradcliError(f"--config: {text} takes no configuration; only UM-Bridge models do")
