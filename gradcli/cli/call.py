"""A command as it was called: its target, the values of its inputs, where its result goes, what checks it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..errors import GradcliError
from ..lang.limits import CPU_SECONDS, Bound, as_written, bound_memory, enforce
from ..lang.values import read_json_values, read_value, read_values
from ..program.target import Target, load_program
from ..request import Request
from . import messages
from .messages import examples_of
from .output import Output

if TYPE_CHECKING:
    from ..analysis.compare_formulas import FormulaComparison
    from ..program.base import Program
    from ..program.hooks import Hook
    from ..show.check_results import CheckReport
    from ..show.formula_results import LongNumbers


def make_request(command: str, options: dict[str, Any], named: frozenset[str], own: set[str]) -> Request:
    """Take out of options what a request has a field for, but for the command's own parameters, and make one."""
    context = click.get_current_context()
    fields = [name for name in Request._fields if name in options and name not in own]
    asked = {name: value for name in fields if (value := options.pop(name)) is not None}
    return Request(command=command, named=named, argv=context.obj or (), **asked)


class Call:
    """A command and what is asked of it: its target, values and output; held: what lasts until it is answered."""

    def __init__(self, request: Request, formats: tuple[str, ...]):
        self.request, self.formats, self.command = request, formats, request.command
        self.output = Output(request, formats)
        self.held = contextlib.ExitStack()
        self.columns: dict[str, Any] = {}

    @contextlib.contextmanager
    def in_force(self) -> Iterator[None]:
        """Let messages, numbers and what the user's code prints be as it was asked, while the command runs."""
        asked, settings = self.request, messages.settings
        settings.color, settings.quiet, settings.verbose = asked.color, asked.quiet, asked.verbose
        if asked.verbose:
            messages.show_log()
        if asked.dtype == "float32":
            from ..tape.dtypes import set_default_dtype

            set_default_dtype(np.float32)
        if asked.seed:
            from ..api.create import manual_seed

            manual_seed(asked.seed)
        with self.held:
            yield

    @property
    def inline(self) -> bool:
        """Whether the target is an expression, whatever it looks like."""
        return self.request.expression is not None

    @property
    def words(self) -> tuple[str, ...]:
        """The words that follow the target."""
        return self.request.words if self.inline else self.request.words[1:]

    def target(self) -> Target:
        """Return the target. Raises GradcliError where there is none."""
        if self.request.expression is None and not self.request.words:
            raise no_target()
        text = self.request.words[0] if self.request.expression is None else self.request.expression
        return self.as_target(text, inline=self.inline)

    def as_target(self, text: str, inline: bool = False) -> Target:
        """Return a target with the settings of this call; what runs no Python is bounded in memory from now on.

        Under --torch, `import torch` means this engine until the command ends, and has the type of the inputs.
        """
        target = Target(text, self.request, inline, sys.stdout)
        if target.is_language:
            bound_memory(self.request.max_elements)
        elif self.request.torch and (target.name is not None or self.command == "gradcheck"):
            from ..program.torch_names import as_torch
            from ..tape.dtypes import set_default_dtype

            self.held.enter_context(as_torch())
            set_default_dtype(self.request.input_dtype)
        return target

    def bound(self, target: Target) -> Bound | None:
        """Return how long a target may take: what --timeout says, else some CPU for a program of the language.

        Elsewhere --timeout is the time of one answer.
        """
        if target.is_address:
            return None
        if self.request.timeout is not None:
            return Bound(self.request.timeout)
        return Bound(CPU_SECONDS, cpu=True) if target.is_language else None

    def bound_time(self, target: Target) -> None:
        """End the call when a target takes longer than it may."""
        self.held.enter_context(enforce(self.bound(target)))

    def program(self) -> tuple[Program, dict[str, Any]]:
        """Return the program and the values given for its inputs."""
        self.output.check()
        target = self.target()
        self.bound_time(target)
        values = self.values()
        program = load_program(target)
        if self.request.columns is not None:
            self.columns = self.read_columns(self.request.columns, program, values)
        return program, {**self.columns, **values}

    def values(self, words: tuple[str, ...] | None = None) -> dict[str, Any]:
        """Return the values given for the inputs, by words (or by others); exact ones in exact arithmetic."""
        of_python = not self.inline and bool(self.request.words) and ".py:" in self.request.words[0]  # takes strings
        given = read_values(self.words if words is None else words, self.request, strings=of_python)
        return {**self.columns, **given, **read_json_values(self.request.arguments)}

    def read_columns(self, path: str, program: Program, given: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of a file that are inputs without another value. Raises GradcliError."""
        from ..lang.files import read_columns

        columns = {as_written(n): x for n, x in read_columns(path, self.request.max_elements).items()}
        inputs = program.input_names(columns)
        left_out = [n for n in columns if n in given or (inputs is not None and n not in inputs)]
        for name in left_out:
            messages.detail(f"the column '{name}' is not used")
            del columns[name]
        if not columns:
            raise GradcliError(
                f"--columns has no use here: no column of {path} is an input without a value",
                hint="leave out --columns, or the values of inputs that are columns",
            )
        for problem in (x for x in columns.values() if isinstance(x, GradcliError) and inputs is not None):
            raise problem
        return {n: x for n, x in columns.items() if not isinstance(x, GradcliError)}

    def asked(self, **more: Any) -> Request:
        """Return the request with --gradient and --hook read, and more."""
        text = self.request.gradient
        vector = None if text is None else read_value(text, self.request, "--gradient")
        return self.request._replace(gradient=vector, hooks=self.hooks(), **more)

    def hooks(self) -> list[Hook]:
        """Return the hooks of --hook NAME=ACTION. Raises GradcliError for a word that is none."""
        hooks: list[Hook] = []
        for word in self.request.hooks:
            from ..program.hooks import Hook

            name, sign, action = word.partition("=")
            if not sign or not name or not action:
                raise GradcliError(
                    f"--hook {word}: write NAME=ACTION",
                    hint="ACTION is print, an expression in g such as g*2, or FILE.py:function",
                )
            hooks.append(Hook(as_written(name), action, self.request, sys.stdout))
        return hooks


def no_target() -> GradcliError:
    example = examples_of(click.get_current_context().command)[0]
    return GradcliError("no TARGET given", hint=f"for example: {example}")


def compute_in_digits(
    call: Call, compute: Callable[..., LongNumbers], program: Program, request: Request, digits: int, *, alone: bool
) -> LongNumbers:
    """Return values and derivatives in many digits, in time. alone: whether nothing else is asked for besides."""
    from ..analysis.precision import TIMEOUT, in_time

    if not alone:
        raise GradcliError("--digits goes alone, without --symbolic and --check")
    return in_time(lambda: compute(program, call.values, request, digits), digits, call.request.timeout or TIMEOUT)


def formulas_of(call: Call, program: Program, max_symbols: int) -> FormulaComparison:
    """Return the formulas that a result is to be compared with."""
    from ..analysis.compare_formulas import TIMEOUT, FormulaComparison

    return FormulaComparison(program, call.values, call.asked(), max_symbols, call.request.timeout or TIMEOUT)


def check_derivative(call: Call, *, symbolic: bool = False, order: int = 1) -> CheckReport:
    """Return the report on a derivative: numeric, forward mode, and 50 digits and formulas where there are such."""
    from ..check.check import Check
    from ..check.targets import checks_of

    more: dict[str, Any] = {"digits": 50, "symbolic": symbolic} if order == 1 else {"order": order}
    named = call.request.named | set(more)
    (check,) = checks_of([call.target()], call.request._replace(values=call.values(), shapes={}, named=named, **more))
    return check.run() if isinstance(check, Check) else check
