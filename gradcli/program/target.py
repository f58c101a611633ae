"""What a command works on, and how to read it: an expression, a file, a script, or standard input."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import GradcliError
from ..lang.limits import FILE_ENDINGS, MAX_PROGRAM_BYTES
from ..request import Request
from ..user.address import as_file, hint_on, kind_of_address, split_name

if TYPE_CHECKING:
    from ..user.loading import Folders
    from .base import Program
    from .script import ScriptProgram


class Target(NamedTuple):
    """A target and how to run it.

    text: what the user typed. inline: whether it is an expression, whatever it looks like. stdout: the stream for a
    script's output. folders: keeps the modules of Python files; None if they stay in sys.modules.
    """

    text: str
    request: Request = Request()
    inline: bool = False
    stdout: Any = None
    folders: Folders | None = None

    @property
    def path(self) -> str:
        """The file of a target; the text if it is not a file."""
        return self.text if self.inline else split_name(self.text)[0]

    @property
    def name(self) -> str | None:
        """The NAME of FILE.py:NAME; None for any other target."""
        return None if self.inline else split_name(self.text)[1]

    @property
    def is_address(self) -> bool:
        return not self.inline and kind_of_address(self.text) is not None

    @property
    def is_language(self) -> bool:
        """Whether its text looks like a program of the expression language."""
        return self.inline or (".py" not in self.text and not self.is_address)


def load_source(target: Target) -> Program:
    """Return the program of an expression, a file of the expression language, a script, or standard input."""
    text = target.text
    if target.inline:
        return expression(text, None, target)
    if text == "-":
        from ..lang.tables import standard_input

        source = decode_source(standard_input().buffer.read(MAX_PROGRAM_BYTES + 1), "standard input")
        return expression(source, "standard input", target)
    if os.path.isdir(text):
        raise GradcliError(f"{text} is a directory", hint="name a file in it", kind="file")
    if text.endswith(os.sep):
        from ..lang.tables import nearest_file

        raise GradcliError(f"no such folder: {text}", hint=nearest_file(text.rstrip(os.sep)), kind="file")
    if not text.endswith(FILE_ENDINGS) and not os.path.exists(text):
        try:
            return expression(text, None, target)
        except GradcliError as error:
            raise explain_path(text, error) from None
    source = read_source(text)
    if not text.endswith(".py"):
        try:
            return expression(source, text, target)
        except GradcliError as error:
            error.hint = hint_on(text) or error.hint
            raise
    from ..lang.parse import NotInLanguageError

    try:
        return expression(source, text, target)
    except NotInLanguageError as reason:
        return script(source, target, reason)
    except GradcliError as error:
        if error.kind != "syntax" or not is_python(source):
            raise
        return script(source, target, error)


def explain_path(text: str, error: GradcliError) -> GradcliError:
    """Return the error for an expression; if its text looks like a path or an import, one that says so."""
    from ..lang.tables import VALUE_FORMATS, nearest_file

    module, _, name = text.replace(".py/", ".").replace("/", ".").rpartition(".")
    if not re.fullmatch(r"[\w./-]+", text):
        return error
    if name.lower() in (*VALUE_FORMATS, "ipynb", "md", "parquet", "so", "dylib", "dll"):
        return GradcliError(f"no such file: {text}", hint=nearest_file(text), kind="file")
    named = as_file(f"{module}:{name}")
    if split_name(named)[1] is not None:
        error.hint = f"to name a function of {split_name(named)[0]}, write {named}"
    return error


def expression(source: str, origin: str | None, target: Target) -> Program:
    from ..lang.parse import parse
    from .expression import ExpressionProgram

    parsed = parse(source, origin)
    refuse_arguments(target, f"{target.text} is an expression, which")
    return ExpressionProgram(parsed, target.text, target.request, target.request.input_dtype)


def refuse_arguments(target: Target, what: str) -> None:
    if target.request.argv:
        message = f"{what} takes no arguments: {' '.join(target.request.argv)}"
        raise GradcliError(message, hint="arguments after -- are for scripts; give values as NAME=VALUE before it")


def refuse_python(path: str, request: Request) -> None:
    if request.safe:
        raise GradcliError(f"--safe: {path} is Python, which is not run")


def script(source: str, target: Target, reason: GradcliError | None = None) -> ScriptProgram:
    """Return a script program. reason: why it is not an expression. Raises GradcliError with --safe."""
    if target.request.safe:
        why = "" if reason is None else f" ({reason.message})"
        message = f"--safe: {target.text} is a Python script, which is not run{why}"
        span = None if reason is None else reason.span
        raise GradcliError(message, span=span, hint="run it without --safe if you trust it")
    from .script import ScriptProgram

    return ScriptProgram(source, target.text, target.request, target.stdout)


def load_script(target: Target) -> ScriptProgram:
    """Return a Python file as a script, even if it could be an expression. Raises GradcliError for other targets."""
    if not target.text.endswith((".py", ".ipynb")):  # reading a notebook raises the error for it
        hint = f"name one: gradcli {target.request.command} FILE.py"
        raise GradcliError(f"{target.text} is not a Python script", hint=hint)
    return script(read_source(target.text), target)


def load_file(target: Target) -> Any:
    """Execute the file of FILE.py:NAME and return it as a module. Raises GradcliError."""
    from ..user.loading import load_module

    path, source = target.path, read_source(target.path)
    refuse_python(path, target.request)
    refuse_arguments(target, f"{target.text} is not a script, so it")
    if not target.name:
        raise GradcliError(f"{path}: no name after the colon", hint=f"write {path}:FUNCTION")
    return load_module(path, target.stdout, target.folders, source)


def load_named(target: Target) -> Any:
    from ..user.loading import find_in

    return find_in(load_file(target), target.path, str(target.name))


def is_python(source: str) -> bool:
    import ast

    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def read_source(path: str) -> str:
    """Return the text of a file. Raises GradcliError if it is missing, unreadable, too long or not UTF-8."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_PROGRAM_BYTES + 1)
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
    if path.endswith(".ipynb"):
        hint = f"convert it: jupyter nbconvert --to script {shlex.quote(path)}"
        raise GradcliError(f"{path} is a Jupyter notebook", hint=hint, kind="file")
    return decode_source(data, path)


def decode_source(data: bytes, place: str) -> str:
    if len(data) > MAX_PROGRAM_BYTES:
        raise GradcliError(f"{place} is longer than {MAX_PROGRAM_BYTES} bytes (1 MiB)", kind="limit")
    if place.endswith(".py"):
        import tokenize

        with contextlib.suppress(SyntaxError, UnicodeDecodeError, LookupError):  # decode it as Python does
            return data.decode(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{place} is not UTF-8 text (byte {error.start} is {data[error.start]:#04x}); is it a binary file?"
        raise GradcliError(message, hint=hint_on(place), kind="file") from None
