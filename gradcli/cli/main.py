"""The entry point: finds the command, and turns exceptions into messages and exit codes."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import re
import shlex
import sys
import threading
import warnings
from importlib import import_module
from itertools import pairwise
from typing import Any

import click

from .. import __version__
from ..errors import (
    EXIT_DEFECT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    GradcliError,
    TargetError,
    describe_error,
    did_you_mean,
    nearest_names,
    shorten,
)
from ..lang.limits import bound, deadline, out_of_memory
from . import COMPLETE, messages, output

GROUPS = {
    "Compute": {
        "grad": "Value and gradient of an expression, a file or a script.",
        "eval": "Only the value.",
        "jacobian": "The full Jacobian, dense or sparse.",
        "hessian": "All second derivatives of a scalar output.",
        "vjp": "Product of a vector with the Jacobian.",
        "jvp": "Derivative in a given direction.",
        "hvp": "Product of the Hessian with a vector.",
        "sweep": "Value and gradient at every row of a table.",
    },
    "See": {
        "symbolic": "Derivatives as formulas, by SymPy.",
        "trace": "The backward pass, step by step.",
        "graph": "The recorded graph: a tree, dot, mermaid, svg or png.",
        "plot": "A function and its derivative, drawn.",
        "precision": "How many digits of value and gradient are right.",
        "why": "Why a gradient is None, zero or nan, and at which line.",
    },
    "Check": {
        "gradcheck": "Check that derivatives are right.",
        "fix": "Search for an edit that repairs a wrong derivative.",
        "watch": "Check the derivatives a program uses while it runs.",
        "mutate": "How many wrong gradients the tests notice.",
        "lock": "Write gradients to a file, and compare with them later.",
    },
    "Help": {
        "run": "Run a Python script, with --torch on gradcli's own engine.",
        "ops": "The functions of the language, with their derivatives.",
        "schema": "The form of the JSON that commands print.",
        "completion": "A completion script for bash, zsh or fish.",
        "help": "A page of the manual.",
    },
}
"""The commands, grouped by purpose, each with a line of help."""
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
COMMAND_HOMES = {
    **dict.fromkeys(("grad", "jacobian", "hessian", "vjp", "jvp", "hvp", "symbolic"), "commands.derivatives"),
    **dict.fromkeys(("eval", "plot", "precision", "sweep"), "commands.points"),
    **dict.fromkeys(("graph", "trace", "why", "run"), "commands.runs"),
    **dict.fromkeys(("lock", "mutate", "watch"), "commands.guard"),
    **dict.fromkeys(("ops", "schema"), "commands.help"),
    "fix": "commands.repair",
    "completion": "complete",
}
"""The modules of commands that share one."""
SPIN = "20"
"""How long OpenBLAS's threads wait actively for work before they sleep: 2^20 cycles, 0.3 ms at 3 GHz.

With the default of 2^26 or 2^28, each thread computes in vain for up to 0.1 s after NumPy is imported. See issue 5171
of OpenBLAS. Products of matrices in a loop are as fast with 2^20: the pauses between them are shorter.
"""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        if bound.own_process:
            os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", SPIN)
        import numpy as np  # --help and the completion of words do without it

        np.seterr(all="ignore")
        module = import_module(f"{__package__}.{COMMAND_HOMES.get(name, f'commands.{name}')}")
        if bound.own_process:
            gc.freeze()
            gc.enable()
        return getattr(module, name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            hint = "see 'gradcli grad', or 'gradcli symbolic' for formulas" if name in NAMES_OF_GRAD else None
            hint = hint or did_you_mean(name, COMMANDS)
            if hint is None and ("=" in name or not name.isidentifier()):
                hint = f"to differentiate an expression: gradcli grad '{name}'"
            raise GradcliError(f"unknown command '{name}'", hint=hint or "see 'gradcli --help'")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        commands = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(group.items()))


VERSION_HELP = "Show the version and exit; with -v also which Pythons are used."


def show_version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    click.echo(f"gradcli, version {__version__}")
    if ctx.params["verbose"]:
        from ..user.project import describe_pythons

        click.echo(describe_pythons())
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-v", "verbose", is_flag=True, is_eager=True, hidden=True)
@click.option("--version", is_flag=True, expose_value=False, callback=show_version, help=VERSION_HELP)
def cli(verbose: bool) -> None:
    """Compute and check gradients from the command line.

    \b
    gradcli grad 'x**2 * sin(y)' x=2 y=3
    """


def main(argv: list[str] | None = None) -> int:
    if COMPLETE in os.environ:
        from .complete import answer_shell

        return answer_shell(cli, os.environ[COMPLETE])
    words = sys.argv[1:] if argv is None else argv
    dashes = words.index("--") if "--" in words else len(words)
    words, script_words = words[:dashes], words[dashes + 1 :]  # what follows -- is for the script
    formats = formats_asked(words)
    output.claim()
    warnings.showwarning = messages.show_warning  # type: ignore[assignment]
    if bound.own_process:
        sys.unraisablehook = threading.excepthook = messages.show_stray
        # if a library call does not return in time, another thread ends the process
        deadline.give_up = lambda late: os._exit(fail(late.error(), "json" in formats))
    try:
        if len(formats) > 1:
            raise GradcliError(f"two formats at once: {' and '.join(sorted(formats))}", hint="keep one")
        code = cli.main(words or ["--help"], prog_name="gradcli", standalone_mode=False, obj=tuple(script_words))
        output.finish_output()
        done = code if isinstance(code, int) else EXIT_OK
        return done or (EXIT_USAGE if messages.settings.lost else EXIT_OK)
    except (BrokenPipeError, output.NobodyReadsError):
        output.silence()
        return EXIT_OK
    except BaseException as error:
        if isinstance(getattr(error, "cause", None), BrokenPipeError) and output.nobody_reads():
            output.silence()
            return EXIT_OK
        return fail(explain_comma(as_gradcli_error(error, words), words), "json" in formats)
    finally:
        if not bound.own_process:
            output.release()


INTERRUPTED = GradcliError("interrupted", kind="interrupted", exit_code=EXIT_INTERRUPTED)


def ended(how: str) -> GradcliError:
    return TargetError(f"the target {how}")


def as_gradcli_error(error: BaseException, words: list[str]) -> GradcliError:
    """Convert any exception to an error to report; an unexpected one is a defect."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    if isinstance(error, GradcliError):
        return error
    if isinstance(error, click.UsageError):
        return usage_error(error, words)
    if isinstance(error, click.ClickException):
        return GradcliError(error.format_message())
    if isinstance(error, MemoryError):
        return out_of_memory("this")
    if isinstance(error, OSError):
        what = "cannot write the result" if error.errno in UNWRITABLE else "the system reported an error"
        where = f": {error.filename}" if isinstance(error.filename, str) else ""
        return GradcliError(f"{what}: {error.strerror or error}{where}", kind="file")
    from ..user.tracebacks import exit_text, raised_by_user, users_trace

    if isinstance(error, SystemExit):  # from a hook or a backward: click does not raise it
        return ended(exit_text(error.code))
    if not isinstance(error, Exception):
        return ended(f"raised {type(error).__name__}")
    if raised_by_user(error):
        return ended(f"raised {describe_error(error)}\n{users_trace(error)}")
    return defect(error)


def usage_error(error: click.UsageError, words: list[str]) -> GradcliError:
    text = error.format_message()
    message, hint = shorten(text[:1].lower() + text[1:].removesuffix(".")), None
    name = next((word for word in words if word in COMMANDS), "")
    command = error.ctx.command_path if error.ctx else f"gradcli {name}".rstrip()
    typed = next((w for w in words if w.startswith("-") and not w.startswith("--") and set(w) & set("*/^+()")), None)
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        message = f"no such option '{error.option_name}'"
        hint = OPTION_INSTEAD.get((name, error.option_name)) or advice_on_option(
            error.option_name, error.ctx.command, words
        )
    elif command == "gradcli watch" and "extra arg" in message:
        hint = "write the command after --: gradcli watch -- python fit.py"
    if typed is not None:
        hint = f"an expression that starts with '-' needs -e: gradcli {name or 'grad'} -e '{typed}'"
    return GradcliError(message, hint=hint or f"see '{command} --help'")


def advice_on_option(option: str, command: click.Command, words: list[str]) -> str | None:
    """Return a hint for an unknown option: a similar one, or how to write a script's argument or an input's value."""
    from .options import guess_kind

    known = {flag.lstrip("-"): flag for p in command.params for flag in p.opts}
    plain = option.lstrip("-")
    if close := [plain] if plain in known else nearest_names(plain, known):
        return f"did you mean '{known[close[0]]}'?"
    if all(p.name != "words" for p in command.params):
        return None
    place = next((k for k, word in enumerate(words) if word.startswith(option)), 0)
    if any(guess_kind(word, str(command.name)) == "script" for word in words[:place]):
        return f"put the script's arguments after --: gradcli {shlex.join([*words[:place], '--', *words[place:]])}"
    name, sign, _ = words[place].lstrip("-").partition("=")
    return f"write values without dashes: {words[place].lstrip('-')}" if sign and name.isidentifier() else None


DECIMAL_COMMA = re.compile(r"[^\W\d][\w.]*=(?:[^,\[(@]*:)?-?\d+,\d+(?::[^\[(@]*)?\Z")
"""A value, or a range, with a single comma between digits: x=1,5 or x=0,5:2."""


def explain_comma(error: GradcliError, words: list[str]) -> GradcliError:
    """Add to an error about a shape or a value that the comma in x=1,5 separates two numbers."""
    given = [word for before, word in pairwise(["", *words]) if before != "--shape"]
    word = next(filter(DECIMAL_COMMA.match, given), None)
    if word is not None and error.kind in ("shape", "value", "target"):
        advice = f"the comma in {word} separates two numbers; a decimal number has a point: {word.replace(',', '.')}"
        error.hint = f"{advice}; {error.hint}" if error.hint else advice
    return error


UNWRITABLE = (*messages.FULL, errno.EROFS, errno.EBADF, errno.EPIPE)
"""System errors that mean that the output cannot be written."""
NAMES_OF_GRAD = "diff derivative deriv differentiate derive gradient d/dx".split()
OPTION_INSTEAD = {("gradcheck", "--jac"): "the option is --grad", ("grad", "--vector"): "the option is -g VALUE"}
"""Other names for the command `grad`, and advice on options of other tools."""


def defect(error: Exception) -> GradcliError:
    import platform
    import traceback

    trace = "".join(traceback.format_exception(error)).rstrip()
    return GradcliError(
        f"gradcli {__version__} has a defect (Python {platform.python_version()}):\n{trace}",
        hint="please report it with the command line and the text above",
        kind="defect",
        exit_code=EXIT_DEFECT,
    )


def fail(error: GradcliError, as_json: bool) -> int:
    """Report an error and return its exit code. as_json: also on standard output, unless results have been written."""
    if as_json and not output.begun():
        from ..show.data import error_document

        with contextlib.suppress(OSError, ValueError, output.NobodyReadsError):
            output.write(error_document(error))
    if error is INTERRUPTED:
        messages.say(error.message)
    else:
        messages.report(error)
    return error.exit_code


def formats_asked(words: list[str]) -> set[str]:
    asked = {"json"} if "--json" in words else set()
    for word, following in pairwise([*words, ""]):
        if word.startswith("-") and (option := re.fullmatch(r"(?:-[qvh]*f|--format(?:=|$))(.*)", word)):
            asked.add(option[1] or following)
    return asked
