"""Text to tree. Python's own parser reads the text; only a small list of its node types is let through.

Nothing is ever evaluated by Python. `^` is read as power before parsing; positions are mapped back, so that
every error points into the text that the user wrote.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import GradcliError, Span
from . import tree
from .from_ast import MAX_NESTING, Converter, too_deep
from .positions import Positions
from .settings import MAX_TEXT

MARKS = re.compile(r"[#\n()\[\]{}]")
LARGE_TEXT = 1 << 16
"""From this length on, a text gets the larger stack at once."""


def parse(source: str, origin: str | None = None) -> tree.Program:
    """Parse a program: statements on lines of their own or separated by semicolons.

    origin: the file's name, for errors. Raises GradcliError for text that is too long or too deep, that is
    not Python's syntax, or that uses more of Python than the language has.
    """
    check_size(source, origin)
    with collector_paused():
        return read(source, origin)


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Let no garbage be looked for: a tree has no cycles, and a large one would be walked again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read(source: str, origin: str | None) -> tree.Program:
    """Return the program of a text whose size was checked."""
    text = source.replace("\r\n", " \n").replace("\r", "\n").replace("\f", " ").replace("\t", " ").rstrip()
    margin = text[: len(text) - len(text.lstrip())]
    lead = len(margin) - (margin.rfind("\n") + 1) if "\n" not in margin else 0
    prepared = text[lead:].replace("^", "**")
    positions = Positions(source[lead:], prepared)
    module = parse_by_python(prepared, source, lead, positions, origin)
    converter = Converter(source, lead, positions, origin)
    statements = [converter.statement(node) for node in module.body]
    if not statements:
        raise GradcliError("the program is empty", hint="write an expression such as 'x**2 * sin(y)'", kind="syntax")
    return tree.Program(source, statements, origin)


def check_size(source: str, origin: str | None) -> None:
    """Raise GradcliError for a text above the limits, or one that holds a NUL character."""
    size = len(source) if source.isascii() else len(source.encode(errors="surrogatepass"))
    if size > MAX_TEXT:
        raise GradcliError(
            f"the program has {size} bytes; the limit is {MAX_TEXT} (1 MiB)", kind="limit", hint="split it into files"
        )
    if "\0" in source:
        where = source.index("\0")
        raise GradcliError(
            "the program holds a NUL character; is it a binary file?",
            span=Span(source, where, where, origin),
            kind="syntax",
        )
    depth, comment = 0, False
    for mark in MARKS.finditer(source):
        c, i = mark.group(), mark.start()
        if c in "#\n":
            comment = c == "#"
        elif not comment and c in "([{":
            depth += 1
            if depth > MAX_NESTING:
                raise too_deep(Span(source, i, i + 1, origin))
        elif not comment and c in ")]}":
            depth -= 1


def parse_by_python(prepared: str, source: str, lead: int, positions: Positions, origin: str | None) -> Any:
    """Return Python's tree. A sum of very many terms is a deep tree to Python: it gets a larger stack."""

    def attempt() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(prepared, filename=origin or "<expression>")

    try:
        if len(prepared) < LARGE_TEXT:
            with contextlib.suppress(RecursionError, MemoryError):
                return attempt()
        return with_large_stack(attempt)
    except SyntaxError as error:
        from .reword import keyword_as_name

        word = keyword_as_name(prepared, error.lineno or 1) if len(prepared) < LARGE_TEXT else None
        if word is not None:
            start = lead + positions.in_source(word.start())
            raise GradcliError(
                f"'{word.group()}' is a Python keyword, which cannot be a name",
                span=Span(source, start, start + len(word.group()), origin),
                hint=f"give it another: {'lam' if word.group() == 'lambda' else word.group() + '_'}",
                kind="syntax",
            ) from None
        raise syntax_error(error, source, lead, positions, origin) from None
    except (RecursionError, MemoryError):
        raise too_deep(None) from None
    except ValueError as error:
        raise GradcliError(f"the program cannot be read: {error}", kind="syntax") from None


def with_large_stack(function: Callable[[], Any]) -> Any:
    """Run a function in a thread with room for deep recursion; its exception is raised here."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((function(), None))
        except BaseException as error:
            outcome.append((None, error))

    limit, size = sys.getrecursionlimit(), threading.stack_size()
    try:
        threading.stack_size(512 << 20)
        sys.setrecursionlimit(1_000_000)
        thread = threading.Thread(target=run)
        try:
            thread.start()
        except RuntimeError as failure:  # there is no room for the stack
            raise MemoryError from failure
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def syntax_error(
    error: SyntaxError, source: str, lead: int, positions: Positions, origin: str | None
) -> GradcliError:
    """Return Python's complaint as ours, pointing into the user's text."""
    message = (error.msg or "invalid syntax").removeprefix("invalid syntax. ").rstrip(".")
    message = {
        "Perhaps you forgot a comma?": "invalid syntax; perhaps an operator or a comma is missing",
        "unexpected EOF while parsing": "the expression is incomplete",
    }.get(message, message)
    if "integer string conversion" in message:
        message = "a number has too many digits"
    if "too many nested parentheses" in message or "too many levels" in message:
        return too_deep(None)
    line = error.lineno or 1
    row = positions.lines[min(line, len(positions.lines)) - 1]

    def place(offset: int | None) -> int:
        column = min(max((offset or 1) - 1, 0), len(row))
        return lead + positions.in_source(positions.starts[min(line, len(positions.lines)) - 1] + column)

    start = place(error.offset)
    same_line = error.end_lineno in (None, error.lineno)
    end = place(error.end_offset) if error.end_offset and error.end_offset > 0 and same_line else start + 1
    from .reword import syntax_hint

    hint = syntax_hint(message, source, start)
    if message == "invalid syntax" and start >= len(source.rstrip()):
        message, hint = "the expression is incomplete", None
    return GradcliError(message, span=Span(source, start, end, origin), hint=hint, kind="syntax")
