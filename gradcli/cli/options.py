"""How a command gets its options, and its function what they say."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from ..render import ARRAYS
from . import status, streams
from .accept import import_completion
from .answer import answer
from .call import Asked, Call, pick
from .option_table import OPTIONS
from .output import Output
from .useless_options import check_uses

COMMON = "expression dtype seed max_elements timeout safe torch format json output save precision color quiet verbose"
"""The options of most commands that have a TARGET."""


def format_option(formats: tuple[str, ...]) -> Callable:
    """Return the option that chooses one of a command's formats."""
    return click.option(
        "-f", "--format", type=click.Choice(formats), help="Output format (table on a terminal, tsv elsewhere)."
    )


def command_options(
    names: str = "",
    formats: tuple[str, ...] = ARRAYS,
    common: str = COMMON,
    metavar: str = "TARGET [NAME=VALUE]...",
) -> Callable:
    """Give a command a TARGET, NAME=VALUE words, the named options and the common ones; both are keys of OPTIONS.

    The command's function is called with one Call, which holds what many commands ask, and with what the other
    options say, by their names. What it returns is shown.
    """

    def decorate(function: Callable) -> Callable:
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
                return answer(call.output, function(call, **options), asked.strict)

        command: Any = run
        for name in reversed([*names.split(), *common.split()]):
            command = (format_option(formats) if name == "format" else OPTIONS[name])(command)
        return click.argument("words", nargs=-1, metavar=metavar, shell_complete=import_completion("words"))(command)

    return decorate


def output_options(formats: tuple[str, ...]) -> Callable:
    """Give a command without TARGET the options of output; what its function returns is shown."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def run(format: str | None, output: str | None, save: str | None, color: str, **options: Any) -> int:
            status.settings.color = color
            shown = Output(format, output, None, str(click.get_current_context().info_name), formats, save)
            shown.check()
            return answer(shown, function(**options))

        command: Any = run
        for name in ("color", "save", "output", "json"):
            command = OPTIONS[name](command)
        return format_option(formats)(command)

    return decorate
