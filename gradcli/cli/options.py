"""How a command is called: its options, target, values and result."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.core import ParameterSource

from ..claims.open import load_program
from ..errors import EXIT_OK, GradcliError
from ..lang.limits import CPU_SECONDS, Bound, as_written, bound, bound_memory, enforce
from ..lang.values import read_json_values, read_value, read_values
from ..program.target import Target
from ..request import Request
from ..results.formats import ARRAY_FORMATS
from ..user.address import as_file, join_structures, kind_of_address, names_module, project_files
from . import messages, output
from .messages import Command, examples_of
from .option_table import OPTIONS, PYTHON, Option, import_completion
from .output import Output

if TYPE_CHECKING:
    from ..analysis.compare_formulas import FormulaComparison
    from ..program.base import Program
    from ..program.hooks import Hook


def guess_kind(text: str, command: str) -> str:
    """Guess the kind of a target from its text and the files.

    The kind is expression, script, function, checks (a file that declares some, or a folder), or a kind of address.
    """
    if kind := kind_of_address(text):
        return kind
    if ".py:" in text or names_module(text):
        return "function"
    if os.path.isdir(text):
        return "checks"
    if not text.endswith(".py"):
        return "expression"
    if command not in ("gradcheck", "lock"):
        return "script"
    from ..check.targets import mentions_checks

    return "checks" if mentions_checks(text) else "script"


class Call:
    """A command with its request, target, values and output. contexts: those that end with the command."""

    def __init__(self, request: Request, formats: tuple[str, ...]):
        self.request, self.command = request, request.command
        self.output = Output(request, formats)
        self.form = self.output.form
        self.contexts = contextlib.ExitStack()
        self.columns: dict[str, Any] = {}

    @functools.cached_property
    def kinds(self) -> set[str]:
        words = [word for k, word in enumerate(self.request.words) if "=" not in word or (k == 0 and not self.inline)]
        return {*(guess_kind(word, self.command) for word in words), *(["expression"] if self.inline else [])}

    def is_any(self, *kinds: str) -> bool:
        return not self.kinds.isdisjoint(kinds)

    def use_project(self) -> None:
        """Use the settings of the user's project that the command line does not override."""
        asked = self.request
        files = list(project_files(asked.words))
        if not files:
            return
        from ..user.project import project_in

        project = project_in(files)
        if project is None:
            return
        set_there = {"jobs", "timeout"} & project.settings.keys() - asked.named
        given = {name: project.settings[name] for name in set_there}
        words = asked.words or (() if self.inline else project.paths)
        self.request = asked._replace(**given, words=words, project=project)

    def move_to_project(self) -> None:
        """Continue in the Python of the user's project, if it is not this one and a target runs Python."""
        asked = self.request
        if bound.own_process and not bound.guest and not asked.safe and self.is_any(*PYTHON.split()):
            from ..user.project import choose_python, move

            if to := choose_python(asked.words, asked.python):
                output.release()
                move(to, sys.argv[1:])
        if not asked.safe and not self.inline:
            self.request = asked._replace(words=tuple(as_file(word, installed=True) for word in asked.words))

    @contextlib.contextmanager
    def in_force(self) -> Iterator[None]:
        """Apply the settings for messages, types and random numbers while the command runs."""
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
        with self.contexts:
            yield

    @property
    def inline(self) -> bool:
        """Whether the target is an expression, whatever it looks like."""
        return self.request.expression is not None

    @property
    def words(self) -> tuple[str, ...]:
        return self.request.words if self.inline else self.request.words[1:]

    def target(self) -> Target:
        if self.request.expression is None and not self.request.words:
            raise no_target()
        text = self.request.words[0] if self.request.expression is None else self.request.expression
        return self.as_target(text, inline=self.inline)

    def as_target(self, text: str, inline: bool = False) -> Target:
        """Return a target with the settings of this call, and bound the memory if it does not run Python.

        With --torch, `import torch` loads this engine until the command ends, and the inputs' type is its default type.
        """
        target = Target(text, self.request, inline, sys.stdout)
        if target.is_language:
            bound_memory(self.request.max_elements)
        elif self.request.torch and (target.name is not None or self.command == "gradcheck"):
            from ..tape.dtypes import set_default_dtype
            from ..user.torch_names import as_torch

            self.contexts.enter_context(as_torch())
            set_default_dtype(self.request.input_dtype)
        return target

    def bound(self, target: Target) -> Bound | None:
        """Return the time limit of a target: --timeout, else CPU seconds for a program of the language."""
        if target.is_address:  # --timeout bounds each answer
            return None
        if self.request.timeout is not None:
            return Bound(self.request.timeout)
        return Bound(CPU_SECONDS, cpu=True) if target.is_language else None

    def bound_time(self, target: Target) -> None:
        self.contexts.enter_context(enforce(self.bound(target)))

    def program(self) -> tuple[Program, dict[str, Any]]:
        self.output.check()
        target = self.target()
        self.bound_time(target)
        values = self.values()
        program = open_program(target)
        if self.request.columns is not None:
            self.columns = self.read_columns(self.request.columns, program, values)
        return program, {**self.columns, **values}

    def why(self, program: Program) -> str:
        """Return the command that explains the gradients of a script, "" for other programs."""
        words = ["gradcli", "why", *["--torch"] * self.request.torch, program.title]
        return shlex.join(words) if program.is_script else ""

    def values(self, words: tuple[str, ...] | None = None) -> dict[str, Any]:
        """Return the values that words (default: those of the call) and --arg give to inputs."""
        of_python = not self.inline and bool(self.request.words) and ".py:" in self.request.words[0]  # takes strings
        words = self.words if words is None else words
        given, constants = read_values(words, self.request, strings=of_python), read_json_values(self.request.arguments)
        for word in words:
            if (name := as_written(word.partition("=")[0].strip())) in constants:
                raise GradcliError(f"'{name}' is given as {word} and with --arg", hint="keep one of them")
        return {**self.columns, **given, **constants}

    def read_columns(self, path: str, program: Program, given: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of a file that are inputs without a value. Raises GradcliError."""
        from ..lang.files import read_columns

        columns = {as_written(n): x for n, x in read_columns(path, self.request.max_elements).items()}
        inputs = program.input_names(columns)
        left_out = [n for n in columns if n in given or (inputs is not None and n not in inputs)]
        for name in left_out:
            messages.detail(f"the column '{name}' is not used")
            del columns[name]
        if not columns:
            raise GradcliError(
                f"--columns: no column of {path} is an input without a value",
                hint="leave out --columns, or the values of inputs that have a column",
            )
        for problem in (x for x in columns.values() if isinstance(x, GradcliError) and inputs is not None):
            raise problem
        return {n: x for n, x in columns.items() if not isinstance(x, GradcliError)}

    def asked(self, **more: Any) -> Request:
        """Return the request with --gradient and --hook read. more: other fields to replace."""
        text = self.request.gradient
        vector = None if text is None else read_value(text, self.request, "--gradient")
        return self.request._replace(gradient=vector, hooks=self.hooks(), **more)

    def hooks(self) -> list[Hook]:
        """Return the hooks of --hook NAME=ACTION. Raises GradcliError."""
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


def open_program(target: Target) -> Program:
    """Return the program of a target, differentiated from its values with --numeric. Raises GradcliError."""
    if not target.request.numeric:
        return load_program(target)
    from ..analysis.numeric_program import NumericProgram

    return NumericProgram(target)


KIND_WORDS = {
    "expression": "expressions",
    "script": "scripts",
    "function": "FILE.py:NAME",
    "checks": "files of checks",
    "library": "C libraries (LIB.so:DECLARATION)",
    "umbridge": "UM-Bridge models",
    "ase": "calculators of ASE (ase:FILE.py:NAME)",
}


def join_words(words: list[str], last: str) -> str:
    return f" {last} ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])


def check_uses(call: Call, options: dict[str, Any]) -> None:
    """Raise GradcliError for the first option that would be ignored, according to its declaration."""
    known = {str(p.name): p for p in click.get_current_context().command.params if isinstance(p, Option)}
    flags = {name: max(option.opts, key=len) for name, option in known.items()}
    for name, option in known.items():
        if name not in call.request.named:
            continue
        flag, needed = flags[name], [other for other in option.needs if other in flags]
        if option.targets and call.kinds and call.kinds.isdisjoint(option.targets):
            words = join_words([KIND_WORDS[kind] for kind in option.targets], "and")
            raise GradcliError(f"{flag} is for {words} only", hint=f"leave out {flag}")
        if option.formats and call.form not in option.formats:
            allowed = join_words([form for form in option.formats if form in call.output.formats], "or")
            hint = f"use -f {allowed}, or leave out {flag}"
            raise GradcliError(f"{flag} has no effect on {call.form} output", hint=hint)
        if needed and not any(options[other] for other in needed):
            raise GradcliError(f"{flag} needs {flags[needed[0]]}", hint=f"add {flags[needed[0]]}")
        for other in option.excludes:
            if other in call.request.named:
                raise GradcliError(f"{flag} cannot be combined with {flags[other]}", hint="leave out one of them")


def no_target() -> GradcliError:
    example = examples_of(click.get_current_context().command)[0]
    return GradcliError("no TARGET given", hint=f"for example: {example}")


@contextlib.contextmanager
def suggesting_numeric(call: Call) -> Iterator[None]:
    """Suggest --numeric if a target raises an error in the block, but gives a value."""
    try:
        yield
    except GradcliError as error:
        failed = error.kind == "target" or "gives no derivative" in error.message
        if failed and not call.request.numeric and "--numeric" not in (error.hint or "") and has_value(call):
            advice = "--numeric computes a numeric derivative, with its error, from values alone"
            error.hint = f"{error.hint}; {advice}" if error.hint else advice
        raise


def has_value(call: Call) -> bool:
    """Report whether a function, or a program elsewhere, returns a number for the values of a call."""
    if call.request.safe or call.inline or call.is_any("expression", "script", "checks"):
        return False
    call.request = call.request._replace(numeric=True)
    with contextlib.suppress(GradcliError), open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        program = open_program(call.target())
        return program.run(call.values(), wrt=call.request.wrt).output is not None
    return False


def comparison_of(call: Call, program: Program) -> FormulaComparison:
    from ..analysis.compare_formulas import FormulaComparison

    return FormulaComparison(program, call.values, call.asked())


def add_check(call: Call, result: Any, *, symbolic: bool = False, order: int = 1) -> Any:
    """Add the report of --check to a result: numeric derivatives, forward mode, 50 digits and formulas."""
    from ..check.check import Check
    from ..check.targets import checks_of

    more: dict[str, Any] = {"digits": 50, "symbolic": symbolic} if order == 1 else {"order": order}
    named = call.request.named | set(more)
    (check,) = checks_of([call.target()], call.request._replace(values=call.values(), shapes={}, named=named, **more))
    return result._replace(check=check.run() if isinstance(check, Check) else check)


COMMON = "expression dtype seed max_elements timeout safe torch python format json output precision color quiet verbose"
"""The options of most commands that have a TARGET."""


def format_option(formats: tuple[str, ...], default: str = "") -> Callable:
    default_words = default or f"{formats[0]} on a terminal, else {formats[1]}"
    return click.option("-f", "--format", type=click.Choice(formats), help=f"Output format [{default_words}].")


def target_command(
    examples: str,
    names: str = "",
    formats: tuple[str, ...] = ARRAY_FORMATS,
    common: str = COMMON,
    metavar: str = "TARGET [NAME=VALUE]...",
    complete: str = "words",
) -> Callable:
    """Turn a function into a command with a TARGET, NAME=VALUE words, the named options and the common ones.

    examples: `Examples: one; another`. names, common: keys of OPTIONS. formats: the first is the default on a terminal,
    the second in a pipe; `show` has tuples of the usual ones. metavar, complete: for the words. The function is
    called with a Call and, as keywords, the options that are not fields of Request. Its result is shown.
    """

    def decorate(function: Callable) -> click.Command:

        @functools.wraps(function)
        def run(**options: Any) -> int:
            context = click.get_current_context()
            named = frozenset(n for n in options if context.get_parameter_source(n) is ParameterSource.COMMANDLINE)
            asked = {name: value for name in Request._fields if (value := options.get(name)) is not None}
            given, argv = options["words"], context.obj or ()
            if argv and not given and options.get("expression") is None:
                given, argv = words_after_dashes(argv, context.command), ()
            asked["words"] = tuple(join_structures(given))
            request = Request(command=str(context.info_name), named=named, argv=argv, **asked)
            call = Call(request, formats)
            check_uses(call, options)
            own = {name: value for name, value in options.items() if name not in Request._fields}
            if call.command == "gradcheck":
                call.use_project()
            call.move_to_project()
            if call.form == "json" or "-" in (request.output, options.get("table")):
                output.set_aside()
            with call.in_force(), suggesting_numeric(call) if "numeric" in options else contextlib.nullcontext():
                return show_result(call.output, function(call, **own), request.strict)

        command: Any = run
        for name in reversed([*names.split(), *common.split()]):
            command = (format_option(formats) if name == "format" else OPTIONS[name])(command)
        words = click.argument("words", nargs=-1, metavar=metavar, shell_complete=import_completion(complete))
        return click.command(cls=Command, epilog=examples)(words(command))

    return decorate


def words_after_dashes(words: tuple[str, ...], command: click.Command) -> tuple[str, ...]:
    """Return the words after `--` if no target stands before it, as in `grad -- '-x^2' x=2`. Raises GradcliError."""
    flags = {flag for p in command.params for flag in p.opts if flag.startswith("--")}
    if late := next((word for word in words if word.partition("=")[0] in flags), None):
        raise GradcliError(f"'{late}' is an option, but it comes after --", hint="put options before --")
    return words


def show_result(output: Output, result: Any, strict: bool = False) -> int:
    """Show a result, with its notes and warnings on standard error, and return the exit code.

    result: an exit code or None if the command has shown its results itself. strict: nan and infinity are errors.
    """
    if result is None or isinstance(result, int):
        return result or EXIT_OK
    output.show(result)
    for agreement in getattr(result, "symbolic", ()):
        for note in agreement.notes:
            messages.note(f"{agreement.name}: {note}")
    if wrong := [item.name for item in getattr(result, "symbolic", ()) if not item.agrees]:
        messages.warn(f"the formulas and the engine disagree on {', '.join(wrong)}")
    report = getattr(result, "check", None)
    if report is not None and output.form not in ("table", "json"):
        messages.note(f"check of {report.name}: {report.verdict}, {report.headline()}")
    for text in getattr(result, "notes", ()):
        messages.note(text)
    for text in getattr(result, "missing", ()):
        messages.warn(text)
    for name in getattr(result, "unused", ()):
        messages.note(f"the output does not depend on '{name}'; its derivatives are zeros")
    if getattr(result, "detached", False):
        nothing = "none" if any(item.grad is None for item in result.inputs) else "zeros"
        messages.warn(
            f"the output does not depend on any input, so all gradients are {nothing}",
            hint="detach(), no_grad() and numpy() cut the graph",
        )
    from ..results.base import check_finite, exit_code_of

    code = exit_code_of(result)
    if not strict:
        warn_of_nan(result)
        return code
    try:
        check_finite(result)
    except GradcliError as error:
        messages.report(error)
        return code or error.exit_code
    return code


def warn_of_nan(result: Any) -> None:
    """Warn about nan in a result: where it is and, with --detect-anomaly, which operation produced it."""
    from ..results.base import nan_in

    nan = nan_in(result)
    if nan is None:
        return
    if getattr(result, "missing", ()):
        return
    if not hasattr(result, "anomaly"):
        messages.warn(nan)
    elif result.anomaly is None:
        messages.warn(nan, hint="--detect-anomaly names the operation that produces it")
    else:
        message, span = result.anomaly
        messages.warn(f"{nan}: {message}" if message else nan, span)
