"""How a command gets its options, and its function what they say."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from ..errors import EXIT_OK, GradcliError
from ..render.formats import ARRAYS
from . import messages, streams
from .call import Asked, Call, pick
from .help import Command
from .option_table import OPTIONS
from .output import Output
from .param_types import import_completion
from .useless_options import check_uses

COMMON = "expression dtype seed max_elements timeout safe torch format json output precision color quiet verbose"
"""The options of most commands that have a TARGET."""


def format_option(formats: tuple[str, ...]) -> Callable:
    """Return the option that chooses one of a command's formats."""
    return click.option(
        "-f", "--format", type=click.Choice(formats), help="Output format (table on a terminal, tsv elsewhere)."
    )


def target_command(
    examples: str,
    names: str = "",
    formats: tuple[str, ...] = ARRAYS,
    common: str = COMMON,
    metavar: str = "TARGET [NAME=VALUE]...",
) -> Callable:
    """Make a function a command with a TARGET, NAME=VALUE words, the named options and the common ones.

    examples: `Examples: one; another`. names, common: keys of OPTIONS. formats: the first is a terminal's, the
    second a pipe's; `render` has tuples of the usual ones. The function is called with one Call, which holds what
    many commands ask, and with what the other options say, by their names. What it returns is shown.
    """

    def decorate(function: Callable) -> click.Command:
        @functools.wraps(function)
        def run(**options: Any) -> int:
            context = click.get_current_context()
            given = dict(options)
            asked = pick(Asked, options)._replace(argv=context.obj or ())
            call = Call(str(context.info_name), formats, asked)
            check_uses(call.command, given, call.output.form)
            if call.output.form == "json" or "-" in (asked.output, options.get("table")):
                streams.set_aside()
            with call.in_force():
                return show_result(call.output, function(call, **options), asked.strict)

        command: Any = run
        for name in reversed([*names.split(), *common.split()]):
            command = (format_option(formats) if name == "format" else OPTIONS[name])(command)
        words = click.argument("words", nargs=-1, metavar=metavar, shell_complete=import_completion("words"))
        return click.command(cls=Command, epilog=examples)(words(command))

    return decorate


def output_options(formats: tuple[str, ...]) -> Callable:
    """Give a command without TARGET the options of output; what its function returns is shown."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def run(format: str | None, output: str | None, color: str, **options: Any) -> int:
            messages.settings.color = color
            shown = Output(format, output, None, str(click.get_current_context().info_name), formats)
            shown.check()
            return show_result(shown, function(**options))

        command: Any = run
        for name in ("color", "output", "json"):
            command = OPTIONS[name](command)
        return format_option(formats)(command)

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
        from ..render.checks import headline

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
    from ..analysis.nonfinite import check_finite

    code = getattr(result, "exit_code", EXIT_OK)
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
    from ..analysis.nonfinite import nan_in

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
