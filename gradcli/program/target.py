"""From what the user typed to a program: an expression, a file, standard input."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from typing import TYPE_CHECKING, Any

from ..errors import GradcliError
from ..lang.limits import FILE_ENDINGS, MAX_TEXT
from ..request import Request
from .elsewhere import is_elsewhere

if TYPE_CHECKING:
    from .base import Program
    from .script import ScriptProgram
    from .user_code import Folders


class Target:
    """A target and how to run it.

    text: what the user typed; inline: it is an expression, whatever it looks like. request: what is asked. stdout:
    where a script's own output goes. folders: where to keep what Python files import, None when they stay in place.
    """

    def __init__(
        self,
        text: str,
        request: Request | None = None,
        *,
        inline: bool = False,
        stdout: Any = None,
        folders: Folders | None = None,
    ):
        self.text, self.request, self.inline = text, request or Request(), inline
        self.stdout, self.folders = stdout, folders


def load_program(target: Target) -> Program:
    """Return the program that a target names. Raises GradcliError for files that are missing or no text."""
    text = target.text
    if target.inline:
        return expression(text, None, text, target)
    if text == "-":
        return expression(read_standard_input(), "standard input", "-", target)
    if is_elsewhere(text):
        return at_address(text, target)
    path, colon, name = text.partition(".py:")
    if colon:
        return load_object(path + ".py", name, target)
    if os.path.isdir(text):
        raise GradcliError(f"{text} is a directory", hint="name a file in it", kind="file")
    if text.endswith(os.sep):
        from ..lang.tables import nearest_file

        raise GradcliError(f"no such folder: {text}", hint=nearest_file(text.rstrip(os.sep)), kind="file")
    looks_like_file = text.endswith(FILE_ENDINGS)
    if not looks_like_file and not os.path.exists(text):
        return expression(text, None, text, target)
    source = read_source(text)
    if not text.endswith(".py"):
        return expression(source, text, text, target)
    from ..lang.parse import NotInLanguageError

    try:
        return expression(source, text, text, target)
    except NotInLanguageError as reason:
        return script(text, source, target, reason)
    except GradcliError as error:
        if error.kind != "syntax" or not is_python(source):
            raise
        return script(text, source, target, error)


def at_address(text: str, target: Target) -> Program:
    from .elsewhere.address import open_address, refuse_to_execute
    from .elsewhere.program import ElsewhereProgram

    if target.request.safe:
        refuse_to_execute(text)
    refuse_arguments(target, f"{text} runs elsewhere, and")
    return ElsewhereProgram(
        lambda given, out, wrt: open_address(text, target.request._replace(out=out, wrt=wrt))(given), text
    )


def expression(source: str, origin: str | None, title: str, target: Target) -> Program:
    """Return an expression program. Raises GradcliError for arguments, which only scripts have."""
    from ..lang.parse import parse
    from .expression import ExpressionProgram

    parsed = parse(source, origin)
    refuse_arguments(target, f"{title} is an expression, which")
    return ExpressionProgram(parsed, title, target.request, target.request.input_dtype)


def refuse_arguments(target: Target, what: str) -> None:
    """Raise GradcliError for arguments after --, which only scripts have."""
    if target.request.argv:
        raise GradcliError(
            f"{what} takes no arguments: {' '.join(target.request.argv)}",
            hint="what follows -- is for scripts; give values as NAME=VALUE before it",
            kind="usage",
        )


def script(path: str, source: str, target: Target, reason: GradcliError | None = None) -> ScriptProgram:
    """Return a script program, unless nothing may be executed. reason: why it is no expression program."""
    if target.request.safe:
        why = "" if reason is None else f": {reason.message}"
        raise GradcliError(
            f"--safe: {path} is a Python script, which would have to be executed{why}",
            span=None if reason is None else reason.span,
            hint="run it without --safe if you trust it",
            kind="usage",
        )
    from .script import ScriptProgram

    return ScriptProgram(path, source, target.request.argv, target.stdout, target.request.torch)


def load_script(target: Target) -> ScriptProgram:
    """Return a Python file as a script, whatever its statements. Raises GradcliError for any other target."""
    if not target.text.endswith(".py"):
        raise GradcliError(f"{target.text} is no Python script", hint="name one: gradcli run FILE.py", kind="usage")
    return script(target.text, read_source(target.text), target)


def load_object(path: str, name: str, target: Target) -> Program:
    source = read_source(path)
    if target.request.safe:
        raise GradcliError(f"--safe: {path} is Python, which would have to be executed", kind="usage")
    refuse_arguments(target, f"{path}:{name} is no script, so it")
    from .python_file import load_function

    return load_function(path, name, target, source)


def is_python(source: str) -> bool:
    import ast

    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def read_standard_input() -> str:
    """Return the text on standard input. Raises GradcliError when it is too long or no UTF-8."""
    from ..lang.tables import standard_input

    return decode(standard_input().buffer.read(MAX_TEXT + 1), "standard input")


def read_source(path: str) -> str:
    """Return the text of a file. Raises GradcliError when it is missing, unreadable, too long or no UTF-8."""
    try:
        with open(path, "rb") as file:
            if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError
            data = file.read(MAX_TEXT + 1)
    except FileNotFoundError:
        from ..lang.tables import nearest_file

        raise GradcliError(f"no such file: {path}", hint=nearest_file(path), kind="file") from None
    except IsADirectoryError:
        raise GradcliError(f"{path} is a directory", kind="file") from None
    except PermissionError:
        raise GradcliError(f"{path} cannot be read: permission denied", kind="file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GradcliError(f"{path} cannot be read: {reason}", kind="file") from None
    return decode(data, path)


def decode(data: bytes, place: str) -> str:
    if len(data) > MAX_TEXT:
        raise GradcliError(f"{place} is longer than {MAX_TEXT} bytes (1 MiB)", kind="limit")
    if place.endswith(".py"):
        import tokenize

        with contextlib.suppress(SyntaxError, UnicodeDecodeError, LookupError):  # as Python reads it
            return data.decode(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GradcliError(
            f"{place} is not UTF-8 text (byte {error.start} is {data[error.start]:#04x}); is it a binary file?",
            kind="file",
        ) from None
