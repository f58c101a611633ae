"""Standard error: errors with a caret, warnings and notes; and the layout of `--help`."""

from __future__ import annotations

import codecs
import errno
import os
import re
import sys
from typing import Any

import click

from ..errors import GradcliError, Span, describe_error, escape, visible

RED, GREEN, YELLOW, CYAN, PLAIN = "\x1b[1;31m", "\x1b[1;32m", "\x1b[33m", "\x1b[36m", "\x1b[0m"


class settings:  # noqa: N801 - a namespace
    """How to report: colour (always, never, auto), errors only (quiet), more notes (verbose).

    stream: the copy of standard error, or None for sys.stderr. lost: whether a message could not be written.
    """

    color = "auto"
    quiet = False
    verbose = False
    stream: Any = None
    lost = False


def colourful(stream: Any) -> bool:
    """Report whether to use colours, by --color, NO_COLOR, FORCE_COLOR, TERM, and whether the stream is a terminal."""
    if settings.color != "auto":
        return settings.color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and is_terminal(stream)


def is_terminal(stream: Any) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def shows_progress() -> bool:
    """Return whether standard error is a terminal that can rewrite a line, and notes are wanted."""
    return is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb" and not settings.quiet


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""System errors that mean that there is no room for output."""


def say(text: str) -> None:
    """Write a line to standard error. Closed streams are ignored; a full one sets `lost`."""
    stream = settings.stream or sys.stderr
    try:
        stream.write(printable(text, stream) + "\n")
        stream.flush()
    except (OSError, ValueError, AttributeError) as error:
        settings.lost |= isinstance(error, OSError) and error.errno in FULL


def printable(text: str, stream: Any) -> str:
    """Escape the characters of a text that a stream cannot write."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "gradcli.escape").decode(encoding)


codecs.register_error("gradcli.escape", lambda error: (escape(error.object[error.start : error.end]), error.end))  # type: ignore[attr-defined]


def cell_len(text: str) -> int:
    """Return the width of a text in columns: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def excerpt(span: Span, colour: bool) -> str:
    """Return the source line of a span with carets under it; a long line is cut."""
    line, column = span.text, span.column - 1
    begin = max(0, column - 40) if len(line) > 100 else 0
    end = begin + 100
    before, after = "..." * (begin > 0), "..." * (end < len(line))
    width = max(min(span.end - span.start, min(end, len(line)) - column), 1)
    line, column = before + line[begin:end] + after, len(before) + column - begin
    line = visible(line.replace("\t", " "))
    column, width = cell_len(line[:column]), max(cell_len(line[column : column + width]), 1)
    marks = f"{RED}{'^' * width}{PLAIN}" if colour else "^" * width
    place = f"  line {span.line}\n" if "\n" in span.source.strip() else ""
    if span.origin is not None:
        place = f"  {visible(span.origin)}, line {span.line}\n"
    return f"{place}  {line}\n  {' ' * column}{marks}"


def message_text(word: str, tint: str, message: str, span: Span | None, hint: str | None) -> str:
    colour = colourful(sys.stderr)
    head = f"{tint}{word}:{PLAIN}" if colour else f"{word}:"
    lines = [f"{head} {visible(message)}"]
    if span is not None:
        lines.append(excerpt(span, colour))
    if hint:
        lines.append(f"{CYAN}hint:{PLAIN} {visible(hint)}" if colour else f"hint: {visible(hint)}")
    return "\n".join(lines)


def report(error: GradcliError) -> None:
    say(message_text("error", RED, error.message, error.span, error.hint))


def warn(message: str, span: Span | None = None, hint: str | None = None) -> None:
    if not settings.quiet:
        say(message_text("warning", YELLOW, message, span, hint))


def show_warning(message: Any, category: Any, filename: str, lineno: int, *_: Any) -> None:
    """Print a Python warning, with its place if it may come from the user's code."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    place = os.path.abspath(filename)
    ours = place.startswith(package + os.sep) or os.sep + "site-packages" + os.sep in place
    warn(f"{message}" if ours else f"{filename}:{lineno}: {message}")


def show_stray(raised: Any) -> None:
    """Print an exception that nobody could catch: in a thread, in `__del__`, or at exit."""
    from ..user.tracebacks import users_trace

    error = raised.exc_value
    if error is not None and not isinstance(error, SystemExit):
        trace = users_trace(error)
        warn(f"raised and not caught: {describe_error(error)}" + (f"\n{trace}" if trace else ""))


def note(message: str) -> None:
    if not settings.quiet:
        say(message_text("note", CYAN, message, None, None))


def detail(message: str) -> None:
    if settings.verbose:
        note(message)


def say_counts(counts: str, good: bool) -> None:
    if not settings.quiet:
        say(f"{GREEN if good else RED}{counts}{PLAIN}" if colourful(sys.stderr) else counts)


def show_log() -> None:
    import logging

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(record.getMessage())

    log = logging.getLogger("gradcli")
    log.setLevel(logging.INFO)
    log.addHandler(Notes())


TARGET_OPTIONS = (
    "expression columns engine config arguments shapes dtype seed max_elements timeout safe torch python".split()
)
OUTPUT_OPTIONS = "strict with_value format table output precision color quiet verbose help h".split()
"""Parameters for the target and its values, and for the output; the others are the command's own."""


def show_short_help(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta["gradcli.short"] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


SHORT_HELP: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": show_short_help}


FIRST_PART = re.compile(r"(?<=.{16})[.:;] (?![^\[]*\])|,? where")
"""Ends the part of an option's help that -h prints: mostly the first period or colon outside brackets."""
FLAGS_WIDTH = 26
CHOICE_LIST = re.compile(r" \[[^\]]*\]$")


class Command(click.Command):
    """A command whose help begins with examples, taken from its epilog: `Examples: one; another`."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        examples = examples_of(self)
        if examples:
            with formatter.section("Examples"):
                for example in examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        if not ctx.meta.get("gradcli.short"):
            self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        return ["--help"]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), click.Option(["-h"], help="Show one line per option.", **SHORT_HELP)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, those of the target, and those of the output; with -h one line each."""
        options = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        output = [p for p in options if p.name in OUTPUT_OPTIONS or "--help" in p.opts]
        target = [p for p in options if p.name in TARGET_OPTIONS]
        own = [p for p in options if p not in (*output, *target)]
        for title, about in (("Options", own), ("Target and values", target), ("Output", output)):
            if records := [record for p in about if (record := p.get_help_record(ctx)) is not None]:
                with formatter.section(title):
                    if not ctx.meta.get("gradcli.short"):
                        formatter.write_dl(records)
                        continue
                    for flags, text in records:
                        flags = flags if len(flags) <= FLAGS_WIDTH else CHOICE_LIST.sub(" CHOICE", flags)
                        line = f"  {flags:<{FLAGS_WIDTH}}  {FIRST_PART.split(text)[0].rstrip('.')}"
                        cut = line if len(line) <= formatter.width else f"{line[: formatter.width - 3]}..."
                        formatter.write(f"{cut}\n")


class ProgramCommand(Command):
    """A command that runs another command, which follows --. Click does not see it."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def examples_of(command: click.Command) -> list[str]:
    text = (command.epilog or "").removeprefix("Examples: ").removeprefix("Example: ")
    return re.split(r"; (?=gradcli )", text) if text else []
