"""Errors of the user's code: which frames are the user's, and what to say about them."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from ..errors import ENDINGS, GradcliError, NotBatchableError, Span, TargetError, describe_error, text_of
from .forks import end_forks
from .instrument import BIND_NAME

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def python_syntax_error(error: Exception, path: str, source: str) -> GradcliError:
    span = None
    if isinstance(error, SyntaxError) and error.lineno:
        lines = source.splitlines(keepends=True)
        start = sum(map(len, lines[: error.lineno - 1])) + max((error.offset or 1) - 1, 0)
        span = Span(source, start, start + 1, path)
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return GradcliError(f"{path} is not valid Python: {message}", span=span, kind="syntax")


def script_error(error: BaseException, path: str) -> GradcliError:
    frames = users_frames(error.__traceback__)
    trace = users_trace(error).replace(f"{BIND_NAME}(", "(")
    message = f"{path} raised {describe_error(error)}"
    notes = getattr(error, "__notes__", ())
    for line in notes if isinstance(notes, list | tuple) else ():
        message += f"\n  {text_of(line)}"
    hint = hint_on_import(error, path) if isinstance(error, ImportError) else None
    failure = TargetError(message + (f"\n{trace}" if trace else ""), hint=hint)
    failure.cause = error
    failure.cause_line = (frames[-1].filename, frames[-1].lineno or 0) if frames else None
    return failure


def hint_on_import(error: ImportError, path: str) -> str | None:
    """Return what to do about a module that was not found: install it, or add its folder to the search path."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    name = error.name.partition(".")[0]
    folder = os.path.dirname(os.path.abspath(path))
    places = ((place, os.path.join(place, file)) for place in with_parents(folder) for file in (f"{name}.py", name))
    there = next((place for place, file in places if os.path.exists(file)), None)
    if there is not None and name != "torch":
        return f"it is in {there}: put PYTHONPATH={there} before the command"
    more = ", or use gradcli's own engine instead with --torch" if name == "torch" else ""
    where = f"it is neither in {folder} nor installed for {sys.executable}"
    return f"{where}; install it there, or choose another Python with --python PATH, or set PYTHONPATH=FOLDER{more}"


def with_parents(path: str) -> Iterator[str]:
    """Yield a path and the folders above it, the nearest first."""
    while True:
        yield path
        path, below = os.path.dirname(path), path
        if path == below:
            return


def exit_text(code: Any) -> str:
    """Describe how a script exited: with a status, or with a message."""
    if isinstance(code, int):
        return f"exited with status {code}"
    return f"ended: {text}" if (text := text_of(code)) else "called sys.exit() without a readable message"


def raised_by_user(error: BaseException) -> bool:
    """Report whether the innermost frame of an exception is the user's own code, not a library that it called."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return bool(users_frames(place))


def place_of_return(method: Any, last: int | None = None) -> str:
    """Return the line of a method's `return`, or the line `last` if it lies in the method, as file:line and text.

    For a class, return its first line.
    """
    import inspect

    method = inspect.unwrap(method)
    try:
        lines, start = inspect.getsourcelines(method)
    except (OSError, TypeError):
        return str(getattr(method, "__qualname__", method))
    k = last_return(lines)
    if isinstance(method, type):
        last = start
    if last is not None and 0 <= last - start < len(lines):
        k = last - start
    text = lines[k].strip()
    return f"{users_path(str(inspect.getsourcefile(method)))}:{start + k}\n    {text}\n    {'^' * len(text)}"


def last_return(lines: list[str]) -> int:
    """Return the index of a function's last line with `return`, or else of its last line."""
    return max((k for k, line in enumerate(lines) if re.search(r"\breturn\b", line)), default=len(lines) - 1)


def line_of_return(method: Any) -> tuple[str, int] | None:
    """Return the file and line of the last `return` of the user's method; None if it is not the user's."""
    import inspect

    method = inspect.unwrap(method)
    with contextlib.suppress(OSError, TypeError):
        file, (lines, start) = inspect.getsourcefile(method), inspect.getsourcelines(method)
        if file is not None and is_users(file):
            return file, start + last_return(lines)
    return None


def users_trace(error: BaseException | None) -> str:
    """Return the traceback of an exception as Python prints it, without frames of libraries and gradcli."""
    import traceback

    return "" if error is None else "".join(traceback.format_list(users_frames(error.__traceback__))).rstrip()


def users_path(file: str) -> str:
    """Return a file's path for messages: relative if it is below the current folder, else absolute."""
    try:
        full, near = os.path.abspath(file), os.path.relpath(file)
    except OSError:  # the folder is gone
        return file
    return full if near.startswith(os.pardir) else near


@functools.cache
def library_folders() -> tuple[str, ...]:
    """Return the folders of gradcli and of Python's own library, each with a separator at its end."""
    import sysconfig

    paths = sysconfig.get_paths()
    return tuple(place + os.sep for place in (PACKAGE, paths["stdlib"], paths["platstdlib"]))


@functools.cache
def is_users(file: str) -> bool:
    """Report whether a file is the user's, not part of gradcli, Python or an installed package."""
    with contextlib.suppress(OSError):  # the current folder may be gone
        file = file if file.startswith("<") else os.path.abspath(file)
    return not (file.startswith(("<", *library_folders())) or "-packages" + os.sep in file)


def users_frames(trace: Any) -> list[Any]:
    import traceback

    frames = [frame for frame in traceback.extract_tb(trace) if is_users(frame.filename)]
    for frame in frames:
        frame.filename = users_path(frame.filename)
    return frames


@contextlib.contextmanager
def blame_user_code(path: str, what: str) -> Any:
    """Turn exceptions of the user's code into a GradcliError with the frames of that code."""
    try:
        with end_forks():
            yield
    except (GradcliError, NotBatchableError, *ENDINGS):
        raise
    except SystemExit as stop:
        raise TargetError(f"{what} {exit_text(stop.code)}") from None
    except BaseException as error:
        hidden = error.__cause__ if isinstance(error, SystemError) else None  # a C function did not pass it on
        raise script_error(hidden or error, path) from None
