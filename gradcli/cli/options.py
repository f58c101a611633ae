"""How a command is called: its options, those refused as they would do nothing, its target and values, its result."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
from click.core import ParameterSource

from ..errors import EXIT_OK, GradcliError
from ..lang.limits import CPU_SECONDS, Bound, as_written, bound, bound_memory, enforce
from ..lang.values import read_json_values, read_value, read_values
from ..program.target import KINDS, Target, as_file, is_module, kind_of_address, load_program, project_files
from ..request import SHORT, Request
from ..show import ARRAYS, CODE, FORMATS
from . import messages, output
from .messages import Command, examples_of
from .option_table import OPTIONS, import_completion
from .output import Output

if TYPE_CHECKING:
    from ..analysis.compare_formulas import FormulaComparison
    from ..program.base import Program
    from ..program.hooks import Hook


def kind_of(text: str, command: str) -> str:
    """Return what a target is, as far as its text and the files tell.

    That is an expression, script, function, checks (declared, or a folder of them), or a kind of address.
    """
    if kind := kind_of_address(text):
        return kind
    if ".py:" in text or is_module(text):
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
    """A command and what is asked of it: its target, values and output; held: what lasts until it is answered.

    options: all that were given, by their names; form: the format of the output.
    """

    def __init__(self, request: Request, formats: tuple[str, ...], options: SimpleNamespace):
        self.request, self.options, self.command = request, options, request.command
        self.output = Output(request, formats)
        self.form = self.output.form
        self.held = contextlib.ExitStack()
        self.columns: dict[str, Any] = {}

    @functools.cached_property
    def kinds(self) -> set[str]:
        """The kinds of the targets, as far as their text and the files tell."""
        words = [word for k, word in enumerate(self.request.words) if "=" not in word or (k == 0 and not self.inline)]
        return {*(kind_of(word, self.command) for word in words), *(["expression"] if self.inline else [])}

    def has(self, *names: str) -> bool:
        """Return whether one of these options is there, and not off."""
        return any(getattr(self.options, name, None) for name in names)

    def is_any(self, *kinds: str) -> bool:
        return not self.kinds.isdisjoint(kinds)

    def use_project(self) -> None:
        """Take what the user's project sets where the command line does not say it."""
        asked = self.request
        if not any(project_files(asked.words)):
            return
        from ..program.project import project_of

        project = project_of(asked.words)
        if project is None:
            return
        settings = {key.replace("-", "_"): value for key, value in project.settings.items()}
        for name in ("jobs", "timeout", "allow_inconclusive"):
            if name in settings and name not in asked.named:
                setattr(self.options, name, settings[name])
        given = {name: getattr(self.options, name) for name in ("jobs", "timeout")}
        words = asked.words or (() if self.inline else project.paths)
        self.request = asked._replace(**given, words=words, project=project)

    def move_to_project(self) -> None:
        """Go on in the Python of the user's project, where that is another one and a target is Python."""
        asked = self.request
        if bound.own_process and not bound.guest and not asked.safe and self.is_any("script", "function", "checks"):
            from ..program.interpreter import choose, move

            if to := choose(asked.words, asked.python):
                output.release()
                move(to, sys.argv[1:])
        if not asked.safe and not self.inline:
            self.request = asked._replace(words=tuple(as_file(word, installed=True) for word in asked.words))

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
        return self.request.words if self.inline else self.request.words[1:]

    def target(self) -> Target:
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
        """Return how long a target may take: what --timeout says, else some CPU for a program of the language."""
        if target.is_address:  # there --timeout is the time of one answer
            return None
        if self.request.timeout is not None:
            return Bound(self.request.timeout)
        return Bound(CPU_SECONDS, cpu=True) if target.is_language else None

    def bound_time(self, target: Target) -> None:
        self.held.enter_context(enforce(self.bound(target)))

    def program(self) -> tuple[Program, dict[str, Any]]:
        self.output.check()
        target = self.target()
        self.bound_time(target)
        values = self.values()
        program = load_program(target)
        if self.request.columns is not None:
            self.columns = self.read_columns(self.request.columns, program, values)
        return program, {**self.columns, **values}

    def why(self, program: Program) -> str:
        """Return the command that explains the gradients of a script; "" for any other program."""
        words = ["gradcli", "why", *["--torch"] * self.request.torch, program.title]
        return " ".join(words) if program.is_script else ""

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


class Rule(NamedTuple):
    """When each of some options has a use, and what is said where it has none."""

    options: str
    useful: Callable[[Call], Any]
    why: str
    hint: str = ""


BY_HAND = ("grad", "vjp", "jvp", "hess", "value_and_grad")
RULES = (
    Rule("engine", lambda c: c.is_any("function", "checks"), "it chooses what differentiates FILE.py:NAME"),
    Rule(
        "engine",
        lambda c: not c.has("grad", "vjp", "jvp", "value_and_grad"),
        "a derivative written by hand is judged by values alone",
    ),
    Rule(
        "grad vjp jvp",
        lambda c: c.command in ("gradcheck", "lock") or c.is_any("library"),
        "it declares a derivative in C: LIB.so:DECLARATION",
    ),
    Rule(
        "dtype",
        lambda c: c.request.dtype not in SHORT or c.has("reference"),
        "so few digits are judged by comparison with a reference",
        "add --reference NAME, the function that computes the same plainly",
    ),
    Rule("reference", lambda c: c.is_any("function"), "it names what FILE.py:FUNCTION is compared with"),
    Rule(
        "order calls taylor symbolic digits rtol atol eps show search save_points",
        lambda c: not c.has("reference"),
        "--reference compares with another derivative, not with values",
    ),
    Rule("config", lambda c: c.is_any("umbridge"), "it is for UM-Bridge models: http://HOST:PORT/MODEL and cmd:"),
    Rule("torch python", lambda c: c.is_any("script", "function", "checks"), "it is for Python files"),
    Rule("dtype", lambda c: not c.kinds <= KINDS.keys(), "what runs elsewhere is given numbers of its own type"),
    Rule(
        "symbolic",
        lambda c: c.command == "gradcheck" or FORMATS[c.form].formulas,
        "{form} files hold no formulas",
        "-f table, tsv, csv, json and latex show them",
    ),
    Rule("with_value", lambda c: c.form != "npy", "a .npy file holds one array", "write both with -o FILE.npz"),
    Rule(
        "plot",
        lambda c: c.form in ("table", "svg", "png"),
        "it draws, and {form} has no place for that",
        "leave out -f, or write a picture: -o FILE.svg",
    ),
    Rule(
        "show",
        lambda c: c.options.show == "worst" or c.form in ("table", "tsv", "csv", "json", "html"),
        "{form} shows what is wrong",
        "-f table, tsv, csv, json and html show every element",
    ),
    Rule(
        "gradient", lambda c: c.command != "graph" or c.has("with_values"), "a graph shows gradients with --values only"
    ),
    Rule(
        "direction",
        lambda c: c.form in ("dot", "mermaid", "svg", "png"),
        "a {form} has no direction",
        "draw a picture: -o FILE.svg",
    ),
    Rule("elementwise", lambda c: c.has("grad", "value_and_grad"), "it says what --grad returns", "add --grad NAME"),
    Rule("value_and_grad", lambda c: not c.is_any(*KINDS), "it needs a function of a Python file: FILE.py:f"),
    Rule(
        "symbolic digits",
        lambda c: c.command != "gradcheck" or c.is_any("expression", "script", "function", "checks"),
        "what runs elsewhere takes neither symbols nor numbers of many digits",
    ),
    Rule(
        "digits",
        lambda c: not c.has(*BY_HAND),
        "a derivative written by hand takes arrays, neither symbols nor numbers of many digits",
    ),
    Rule(
        "symbolic",
        lambda c: not c.has(*BY_HAND) or c.is_any("expression"),
        "a derivative written by hand takes arrays, not symbols",
    ),
    Rule("hess", lambda c: c.is_any("expression", "script"), "it is a formula for an expression"),
    Rule(
        "at digits",
        lambda c: c.command != "symbolic" or c.form not in CODE,
        "a function in {form} is given its point where it is called",
    ),
    Rule(
        "dtype precision detect_anomaly retain retain_all mode chunk_size sparse plot",
        lambda c: c.command in ("gradcheck", "symbolic") or not c.has("digits"),
        "--digits computes value and derivatives in a way of its own",
    ),
    Rule(
        "order steps",
        lambda c: c.command != "symbolic" or c.form not in CODE or (c.request.order == 1 and not c.request.steps),
        "a function in {form} has first derivatives, and no steps",
    ),
    Rule(
        "steps",
        lambda c: c.request.order == 1 and c.request.gradient is None,
        "it shows first derivatives of a single number",
        "leave out --order and --gradient; --out chooses another output",
    ),
    Rule("matrix", lambda c: c.form != "c", "C has no matrices", "-f python writes NumPy"),
    Rule("symmetric spd", lambda c: c.has("matrix"), "it is for formulas of matrices", "add --matrix"),
    Rule(
        "at digits simplify max_symbols gradient",
        lambda c: c.command != "symbolic" or not c.has("matrix"),
        "--matrix writes formulas for arrays of any size",
    ),
    Rule("junit", lambda c: not c.has("list"), "--list checks nothing, so there is no report"),
    Rule(
        "save_points",
        lambda c: c.has("search") or os.path.exists(c.options.save_points),
        "the file is not there, and nothing is looked for",
        "--search 100 finds points to save",
    ),
)


def check_uses(call: Call) -> None:
    """Raise GradcliError for the first option of the command line that would do nothing."""
    command = click.get_current_context().command
    flags = {str(p.name): max(p.opts, key=len) for p in command.params if isinstance(p, click.Option)}
    for rule in RULES:
        for option in rule.options.split():
            if option in flags and option in call.request.named and not rule.useful(call):
                flag, why = flags[option], rule.why.format(form=call.form)
                hint = rule.hint or f"leave out {flag}"
                raise GradcliError(f"{flag} has no use here: {why}", hint=hint)


def no_target() -> GradcliError:
    example = examples_of(click.get_current_context().command)[0]
    return GradcliError("no TARGET given", hint=f"for example: {example}")


def formulas_of(call: Call, program: Program) -> FormulaComparison:
    from ..analysis.compare_formulas import FormulaComparison

    return FormulaComparison(program, call.values, call.asked())


def add_check(call: Call, result: Any, *, symbolic: bool = False, order: int = 1) -> Any:
    """Return a result with the report on its derivative, where --check asks for it.

    It is held against numeric derivatives and forward mode, and 50 digits and formulas where there are such.
    """
    if not call.options.check:
        return result
    from ..check.check import Check
    from ..check.targets import checks_of

    more: dict[str, Any] = {"digits": 50, "symbolic": symbolic} if order == 1 else {"order": order}
    named = call.request.named | set(more)
    (check,) = checks_of([call.target()], call.request._replace(values=call.values(), shapes={}, named=named, **more))
    return result._replace(witnesses=(check.run() if isinstance(check, Check) else check,))


COMMON = "expression dtype seed max_elements timeout safe torch python format json output precision color quiet verbose"
"""The options of most commands that have a TARGET."""


def format_option(formats: tuple[str, ...]) -> Callable:
    return click.option(
        "-f", "--format", type=click.Choice(formats), help="Output format (table on a terminal, tsv elsewhere)."
    )


def target_command(
    examples: str,
    names: str = "",
    formats: tuple[str, ...] = ARRAYS,
    common: str = COMMON,
    metavar: str = "TARGET [NAME=VALUE]...",
    complete: str = "words",
) -> Callable:
    """Make a function a command with a TARGET, NAME=VALUE words, the named options and the common ones.

    examples: `Examples: one; another`. names, common: keys of OPTIONS. formats: the first is a terminal's, the
    second a pipe's; `show` has tuples of the usual ones. metavar, complete: of the words. The function is called with
    one Call. What it returns is shown.
    """

    def decorate(function: Callable) -> click.Command:

        @functools.wraps(function)
        def run(**options: Any) -> int:
            context = click.get_current_context()
            named = frozenset(n for n in options if context.get_parameter_source(n) is ParameterSource.COMMANDLINE)
            asked = {name: value for name in Request._fields if (value := options.get(name)) is not None}
            asked["words"] = tuple(map(as_file, options["words"]))
            request = Request(command=str(context.info_name), named=named, argv=context.obj or (), **asked)
            call = Call(request, formats, SimpleNamespace(**options))
            check_uses(call)
            if call.command == "gradcheck":
                call.use_project()
            call.move_to_project()
            if call.form == "json" or "-" in (request.output, options.get("table")):
                output.set_aside()
            with call.in_force():
                return show_result(call.output, function(call), request.strict)

        command: Any = run
        for name in reversed([*names.split(), *common.split()]):
            command = (format_option(formats) if name == "format" else OPTIONS[name])(command)
        words = click.argument("words", nargs=-1, metavar=metavar, shell_complete=import_completion(complete))
        return click.command(cls=Command, epilog=examples)(words(command))

    return decorate


def show_result(output: Output, result: Any, strict: bool = False) -> int:
    """Show a result, say on standard error what else is to be known, and return the exit code.

    A command that showed its results by itself returns the code, or None. strict: a number that is not finite is an
    error.
    """
    if result is None or isinstance(result, int):
        return result or EXIT_OK
    output.show(result)
    for agreement in getattr(result, "symbolic", ()):
        for note in agreement.notes:
            messages.note(f"{agreement.name}: {note}")
    if wrong := [item.name for item in getattr(result, "symbolic", ()) if not item.agrees]:
        messages.warn(f"the formulas and the engine disagree on {', '.join(wrong)}")
    for report in getattr(result, "witnesses", ()) if output.form not in ("table", "json") else ():
        from ..show.checks import headline

        messages.note(f"check of {report.name}: {report.verdict}, {headline(report)}")
    for text in getattr(result, "notes", ()):
        messages.note(text)
    for name in getattr(result, "unused", ()):
        messages.note(f"the output does not depend on '{name}'; its derivatives are zeros")
    if getattr(result, "detached", False):
        nothing = "none" if any(item.grad is None for item in result.inputs) else "zeros"
        messages.warn(
            f"the output does not depend on any input, so all gradients are {nothing}",
            hint="detach(), no_grad() and numpy() cut the graph",
        )
    from ..show.results import check_finite, exit_code_of

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
    """Say where a result holds nan, and which operation made it, where that was looked for."""
    from ..show.results import nan_in

    nan = nan_in(result)
    if nan is None:
        return
    if not hasattr(result, "anomaly"):
        messages.warn(nan)
    elif result.anomaly is None:
        messages.warn(nan, hint="--detect-anomaly names the operation that makes it")
    else:
        message, span = result.anomaly
        messages.warn(f"{nan}: {message}" if message else nan, span)
