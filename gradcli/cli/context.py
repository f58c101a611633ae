"""What the options of a call say: its target, values, output and request."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..errors import EXIT_OK, GradcliError
from ..lang.memory import bound_memory
from ..lang.patience import CPU_SECONDS, Bound, bounded
from ..lang.settings import DEFAULT_MAX_ELEMENTS, Settings, as_written
from ..lang.values import read_json_values, read_value, read_values
from ..program.elsewhere import is_elsewhere
from ..program.target import Target, load_program
from . import status, streams
from .output import Output

if TYPE_CHECKING:
    from ..analysis.gradient import Request
    from ..program.base import Program

CALL_SECONDS = 60.0
"""Seconds that one answer from elsewhere may take, unless --timeout says otherwise."""


class Context:
    """What the options of a call say; held: what lasts until it is answered."""

    def __init__(self, command: str, options: dict[str, Any], formats: tuple[str, ...]):
        self.command = command
        self.held = contextlib.ExitStack()
        self.options = options
        options["max_elements"] = options["max_elements"] or DEFAULT_MAX_ELEMENTS
        self.settings = Settings(options["max_elements"], options["seed"], command)
        self.output = Output(
            options["format"], options["output"], options["precision"], command, formats, options["save"]
        )
        streams.claim(aside=self.output.form == "json" or "-" in (options["output"], options.get("table")))
        status.settings.color = options["color"]
        status.settings.quiet = options["quiet"]
        status.settings.verbose = options["verbose"]
        if options["verbose"]:
            status.show_log()
        self.dtype = self._dtype()
        self.words: tuple[str, ...] = ()
        self.columns: dict[str, Any] = {}

    def _dtype(self) -> Any:
        wanted = self.options["dtype"] or "float64"
        if wanted == "float32":
            from ..tape.dtypes import set_default_dtype

            set_default_dtype(np.float32)
            self.settings.real = np.float32
        if self.options["seed"]:
            from ..api.draw import manual_seed

            manual_seed(self.options["seed"])
        return np.dtype(wanted)

    def target(self) -> tuple[Target, tuple[str, ...]]:
        """Return the target, and the words NAME=VALUE that follow it."""
        words, text = self.options["words"], self.options["expression"]
        inline = text is not None
        if not inline:
            if not words:
                raise GradcliError(
                    "no TARGET given",
                    hint=f"for example: gradcli {self.command} 'x**2 * sin(y)' x=2 y=3",
                    kind="usage",
                )
            text, words = words[0], words[1:]
        return self.as_target(text, inline=inline), words

    def as_target(self, text: str, inline: bool = False) -> Target:
        """Return a target with the settings of this call; what runs no Python is bounded in memory from now on."""
        if inline or is_language(text):
            bound_memory(self.settings.max_elements)
        elif self.options.get("torch") and (".py:" in text or self.command == "gradcheck"):
            self.name_torch()
        return Target(
            text,
            inline=inline,
            safe=self.options["safe"],
            argv=self.options["argv"],
            stdout=sys.stdout,
            settings=self.settings,
            dtype=self.dtype,
            torch=self.options.get("torch", False),
            engine=self.options.get("engine"),
            timeout=self.options["timeout"] or CALL_SECONDS,
            config=self.options.get("config"),
        )

    def name_torch(self) -> None:
        """Let `import torch` mean this engine until the command ends, and its modules have the type of the inputs."""
        from ..program.torch_names import as_torch
        from ..tape.dtypes import set_default_dtype

        click.get_current_context().with_resource(as_torch())
        set_default_dtype(self.dtype)

    def bound(self, target: Target) -> Bound | None:
        """Return how long a target may take: what --timeout says, else some CPU for a program of the language.

        Elsewhere --timeout is the time of one answer.
        """
        if not target.inline and is_elsewhere(target.text):
            return None
        if self.options["timeout"] is not None:
            return Bound(self.options["timeout"])
        return Bound(CPU_SECONDS, cpu=True) if target.inline or is_language(target.text) else None

    def program(self) -> tuple[Program, dict[str, Any]]:
        """Return the program and the values given for its inputs."""
        self.output.check()
        target, self.words = self.target()
        self.held.enter_context(bounded(self.bound(target)))
        values = self.values()
        program = load_program(target)
        if self.options.get("columns") is not None:
            self.columns = self.read_columns(program, values)
        return program, {**self.columns, **values}

    def values(self) -> dict[str, Any]:
        """Return the values given for the inputs; exact ones where exact arithmetic is in force."""
        given = {**self.columns, **read_values(self.words, self.settings, strings=self.of_python)}
        return {**given, **read_json_values(self.options.get("arguments") or ())}

    @property
    def of_python(self) -> bool:
        """Whether the target is a function of a Python file, which takes strings as well."""
        words = self.options["words"]
        return self.options["expression"] is None and bool(words) and ".py:" in words[0]

    def read_columns(self, program: Program, given: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of the file of --columns that are inputs without another value. Raises GradcliError."""
        from ..lang.files import read_columns

        found = {
            as_written(n): x for n, x in read_columns(self.options["columns"], self.settings.max_elements).items()
        }
        inputs = program.input_names(found)
        left_out = [n for n in found if n in given or (inputs is not None and n not in inputs)]
        for name in left_out:
            status.detail(f"the column '{name}' is not used")
            del found[name]
        for problem in (x for x in found.values() if isinstance(x, GradcliError) and inputs is not None):
            raise problem
        return {n: x for n, x in found.items() if not isinstance(x, GradcliError)}

    def names(self, option: str) -> list[str] | None:
        """Return a comma-separated option as a list of names; None when it was not given."""
        text = self.options[option]
        if text is None:
            return None
        return [name.strip() for name in text.split(",") if name.strip()]

    def vector(self, option: str = "gradient") -> Any:
        """Return the array that an option holds; None when it was not given."""
        text = self.options[option]
        return None if text is None else read_value(text, self.settings, f"--{option}")

    def tangents(self) -> dict[str, np.ndarray]:
        """Return the arrays that --tangent NAME=VALUE gives."""
        return read_values(self.options["tangent"], self.settings)

    def report(self, result: Any, shown: Any = None) -> int:
        """Show a result (or another for it); then note inputs without influence, and where is nan. Return a code."""
        self.output.show(result if shown is None else shown)
        for name in getattr(result, "unused", ()):
            status.note(f"the output does not depend on '{name}'; its derivatives are zeros")
        from ..analysis.finite import nan_in

        if not self.options["strict"] and (nan := nan_in(result)) is not None:
            status.warn(nan)
        return self.code_of(result)

    def code_of(self, result: Any) -> int:
        """Return the exit code of a result that was shown: with --strict, 1 where it is not finite, and say where."""
        if self.options["strict"]:
            from ..analysis.finite import check_finite

            try:
                check_finite(result)
            except GradcliError as error:
                status.report(error)
                return error.exit_code
        return EXIT_OK


def is_language(text: str) -> bool:
    """Return whether a target on the command line is a program of the language, not Python or something elsewhere."""
    return ".py" not in text and not is_elsewhere(text)


def request_of(context: Context) -> Request:
    """Return what a call asks of backward: inputs, output, vector, hooks, and gradients to retain."""
    from ..analysis.gradient import Request

    options = context.options
    return Request(
        wrt=context.names("wrt"),
        out=options["out"],
        vector=context.vector() if "gradient" in options else None,
        hooks=hooks_of(context) if "hooks" in options else (),
        retain=None if options.get("retain_all") else options.get("retain", ()),
        with_value=options.get("with_value", False),
    )


def hooks_of(context: Context) -> list:
    """Return the hooks of the command line. Raises GradcliError for one that is no NAME=ACTION."""
    hooks: list = []
    if not context.options["hooks"]:
        return hooks
    from ..program.hook import Hook

    for word in context.options["hooks"]:
        name, sign, action = word.partition("=")
        if not sign or not name or not action:
            raise GradcliError(
                f"--hook {word}: write NAME=ACTION",
                hint="ACTION is print, an expression in g such as g*2, or FILE.py:function",
                kind="usage",
            )
        hooks.append(Hook(as_written(name), action, context.settings, context.options["safe"], sys.stdout))
    return hooks
